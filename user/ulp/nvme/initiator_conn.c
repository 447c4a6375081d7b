// SPDX-License-Identifier: BSD-2-Clause
/* The initiator's connections: requests sent, data pulled, answers taken. */
#include <stdio.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

/* Whether one request, and its tag, stand for all nCMDs of |p|. */
static bool stands_for_all(const struct nvme_piece *p)
{
	return p->combined && nvme_piece_reads(p);
}

/* The nCMD that |h| is about, or NULL: nobody has asked for it. */
static struct nvme_incmd *find(struct nvme_iconn *c, const struct falcon_nvme_hdr *h)
{
	struct nvme_incmd *n = &c->ncmds[h->itag % INCMDS];

	if (!n->used || !n->piece || nvme_incmd_tag(n) != h->itag || n->piece->id != h->icmd)
		return NULL;
	if (stands_for_all(n->piece))
		return h->offset >= n->piece->first && h->offset - n->piece->first < n->piece->n ? n : NULL;
	return h->offset == n->piece->first + n->index ? n : NULL;
}

static void put(struct nvme_incmd *n)
{
	if (n->piece || n->refs)
		return;
	n->used = false;
	n->conn->used--;
	n->gen++;
	n->next = n->conn->free;
	n->conn->free = n;
	n->conn->dev->in->ready++;
}

/* The push of |n|'s request, and of its data if they go with it. */
static int push(struct nvme_iconn *c, struct nvme_incmd *n)
{
	struct nvme_piece *p = n->piece;
	bool data = p->combined && !nvme_piece_reads(p);
	struct falcon_nvme_request req;
	struct fcore_txn txn = {
		.proto = FALCON_PROTO_NVME, .ulp_hdr = &req, .ulp_hdr_len = sizeof(req),
		.cookie = (uintptr_t)n | NVME_COOKIE_INITIATOR,
	};
	uint32_t at, len;
	uint8_t inv = 0;
	int rc;

	if (data) {
		at = nvme_piece_part(p, n->index, &len);
		txn.payload = nvme_incmd_data(n, at, len, &inv);
		txn.len = len + nvme_ipi_bytes(p, at, len);
		n->pushed = p;
		p->busy++;
	}
	nvme_incmd_request(n, inv, &req);
	rc = fcore_push(c->core, &txn, c->dev->in->now);
	if (rc && data) {
		n->pushed = NULL;
		p->busy--;
	}
	return rc;
}

/*
 * Push the request of |p|'s next nCMD. False: not now. The transaction may end before this returns, where
 * a filter ends it (Falcon 11), and take the connection with it, and |p|.
 */
static bool send_one(struct nvme_iconn *c, struct nvme_piece *p)
{
	struct nvme_incmd *n = c->free;
	uint16_t was = p->next;

	if (!n)
		return false;
	c->free = n->next;
	n->piece = p;
	n->index = was;
	n->refs = 1;
	n->used = true;
	c->used++;
	LIST_INSERT_HEAD(&p->ncmds, n, of_piece);
	c->open += was == 0;
	p->next = stands_for_all(p) ? p->n : was + 1;
	if (push(c, n) == 0)
		return true;
	p->next = was;
	c->open -= was == 0;
	LIST_REMOVE(n, of_piece);
	n->used = false;
	c->used--;
	n->piece = NULL;
	n->refs = 0;
	n->next = c->free;
	c->free = n;
	c->blocked = true;
	return false;
}

void nvme_piece_queue(struct nvme_piece *p)
{
	p->next = p->done = p->busy = 0;
	p->n = 1;
	memset(p->come, 0, sizeof(p->come));
	LIST_INIT(&p->ncmds);
	p->open = true;
	p->conn->dev->in->ready++;
	TAILQ_INSERT_TAIL(&p->conn->queue, p, link);
}

/* Sent in part means that the target has a tCMD for it. */
static bool queued(const struct nvme_piece *p)
{
	return p->next < p->n;
}

void nvme_piece_unlink(struct nvme_piece *p)
{
	struct nvme_iconn *c = p->conn;

	TAILQ_REMOVE(queued(p) ? &c->queue : &c->active, p, link);
	c->open -= p->next > 0;
	p->open = false;
	nvme_ipi_end(p);
}

uint32_t nvme_iconn_send(struct nvme_iconn *c)
{
	const struct fcore_conn *core = c->core;
	struct nvme_piece *p;
	uint32_t sent = 0;

	while (c->core && !c->resetting && !c->blocked && (p = TAILQ_FIRST(&c->queue))) {
		if (p->next == 0) {
			if ((p->icmd && !c->confirmed) || c->leaving || c->open >= c->credit ||
			    !nvme_ipi_begin(p))
				break;
			nvme_piece_number(p);
		}
		while (c->core == core && !c->resetting && p->next < p->n && send_one(c, p))
			sent++;
		if (c->core != core || p->next < p->n)
			break;
		TAILQ_REMOVE(&c->queue, p, link);
		TAILQ_INSERT_TAIL(&c->active, p, link);
	}
	return sent;
}

static void check_end(struct nvme_piece *p)
{
	if (p->next == p->n && p->done == p->n && !p->busy)
		nvme_piece_end(p);
}

static void unlink_ncmd(struct nvme_incmd *n)
{
	LIST_REMOVE(n, of_piece);
	n->piece = NULL;
	put(n);
}

/* |count| nCMDs more of |p| have been answered. */
static void answered(struct nvme_piece *p, uint16_t count, uint16_t status)
{
	if (!p->status)
		p->status = status;
	p->done += count;
	if (p->next == p->n && p->done == p->n && p->got && !p->status)
		p->status = nvme_ipi_verify(p);
	check_end(p);
}

/* |n| has its answer. */
static void end_ncmd(struct nvme_incmd *n, uint16_t status)
{
	struct nvme_piece *p = n->piece;

	unlink_ncmd(n);
	answered(p, 1, status);
}

/* One answer for all that is left of |p|. */
static void end_all(struct nvme_piece *p, uint16_t status)
{
	struct nvme_incmd *n;

	while ((n = LIST_FIRST(&p->ncmds)))
		unlink_ncmd(n);
	answered(p, p->n - p->done, status);
}

/* An answer to one of the nCMDs that |n| stands for. */
static void end_one_of(struct nvme_incmd *n, uint16_t status)
{
	struct nvme_piece *p = n->piece;

	if (status)
		return end_all(p, status);
	if (p->done + 1 == p->n)
		unlink_ncmd(n);
	answered(p, 1, 0);
}

/* The data of a Read Response for nCMD |i|, if it has what it should. */
static bool take_data(struct nvme_incmd *n, uint16_t i, const struct falcon_nvme_response *r, uint32_t len)
{
	struct nvme_piece *p = n->piece;
	const struct nvme_cipher *cipher = n->conn->dev->attr.cipher;
	uint32_t want, at = nvme_piece_part(p, i, &want);
	uint8_t bit = (uint8_t)(1 << i % 8);

	len -= (uint32_t)sizeof(*r);
	if (falcon_nvme_status(r))
		return len == 0;
	if (len != want + nvme_ipi_bytes(p, at, want) || p->come[i / 8] & bit)
		return false;
	p->come[i / 8] |= bit;
	if (nvme_piece_protected(p))
		nvme_ipi_take(p, at, want, (const uint8_t *)(r + 1));
	else if (!p->icmd || !cipher)
		memcpy(p->data + at, r + 1, want);
	else if (!cipher->crypt(cipher, false, nvme_piece_unit(p, at), r + 1, p->data + at, want, NULL))
		p->status = NVME_SC_INTERNAL;
	return true;
}

/* Whether |h| is the header of an answer to |n|. */
static bool is_answer(const struct nvme_incmd *n, const struct falcon_nvme_hdr *h)
{
	const struct nvme_piece *p = n->piece;

	if (nvme_piece_reads(p))
		return h->type == FALCON_NVME_READ_RESPONSE;
	return h->type == FALCON_NVME_WRITE_COMPLETION ||
	       (h->type == FALCON_NVME_COMMAND_COMPLETION && p->combined && p->next == p->n);
}

static void take_answer(struct nvme_incmd *n, const struct falcon_nvme_hdr *h, uint16_t status)
{
	if (stands_for_all(n->piece))
		end_one_of(n, status);
	else if (h->type == FALCON_NVME_COMMAND_COMPLETION)
		end_all(n->piece, status);
	else
		end_ncmd(n, status);
}

void nvme_initiator_on_push(struct nvme_initiator *in, struct fcore_conn *core, uint32_t rsn,
			    const void *payload, uint32_t len, uint64_t now)
{
	struct nvme_iconn *c = in->by_cid[fcore_conn_cid(core)];
	struct nvme_incmd *n = NULL;
	struct falcon_nvme_hdr h;
	uint16_t status = 0;

	in->now = now;
	if (c && falcon_nvme_nbth_unpack(payload, len, &h))
		n = find(c, &h);
	if (n && !is_answer(n, &h))
		n = NULL;
	/* |payload| is gone with fcore_push_done(). */
	if (n)
		status = falcon_nvme_status(payload);
	if (n && nvme_piece_reads(n->piece) &&
	    !take_data(n, (uint16_t)(h.offset - n->piece->first), payload, len))
		n = NULL;
	fcore_push_done(core, rsn, n ? FCORE_PUSH_ACK : FCORE_PUSH_CIE, 0, 0, now);
	if (n)
		take_answer(n, &h, status);
	else if (c)
		c->dev->info.malformed++;
}

void nvme_initiator_on_pull(struct nvme_initiator *in, struct fcore_conn *core, uint32_t rsn,
			    const void *hdr, uint32_t hdr_len, uint16_t request_len, uint64_t now)
{
	struct nvme_iconn *c = in->by_cid[fcore_conn_cid(core)];
	struct fcore_response resp = {};
	struct nvme_incmd *n = NULL;
	struct falcon_nvme_response w;
	struct falcon_nvme_hdr h;
	uint32_t at = 0, len = 0, md = 0;
	const uint8_t *payload;

	if (c && falcon_nvme_nbth_unpack(hdr, hdr_len, &h) &&
	    h.type == FALCON_NVME_WRITE_DATA_REQUEST)
		n = find(c, &h);
	if (n && nvme_piece_pulls(n->piece))
		at = nvme_piece_part(n->piece, n->index, &len);
	if (len)
		md = nvme_ipi_bytes(n->piece, at, len);
	if (!n || n->held || !len || request_len != sizeof(w) + len + md) {
		if (c)
			c->dev->info.malformed++;
		fcore_pull_respond(core, rsn, &resp, now);
		return;
	}
	if (n->piece->icmd && n->piece->icmd->cancelled)
		return fcore_pull_respond(core, rsn, &resp, now);
	h.type = FALCON_NVME_WRITE_DATA;
	h.inv = 0;
	payload = nvme_incmd_data(n, at, len, &h.inv);
	falcon_nvme_response_pack(&h, 0, &w);
	n->refs++;
	n->held = n->piece;
	n->piece->busy++;
	resp = (struct fcore_response){ .ulp_hdr = &w, .ulp_hdr_len = sizeof(w),
					.payload = payload, .len = len + md,
					.cookie = (uintptr_t)n | NVME_COOKIE_INITIATOR };
	fcore_pull_respond(core, rsn, &resp, now);
}

void nvme_initiator_on_response_done(struct nvme_incmd *n)
{
	struct nvme_piece *p = n->held;

	n->held = NULL;
	n->refs--;
	put(n);
	if (p) {
		p->busy--;
		check_end(p);
	}
}

void nvme_initiator_on_completion(struct nvme_incmd *n, enum falcon_completion_code code)
{
	struct nvme_piece *pushed = n->pushed;

	n->refs--;
	n->pushed = NULL;
	if (pushed)
		pushed->busy--;
	if (code == kCmplAck || !n->piece) {
		put(n);
		if (pushed)
			check_end(pushed);
		return;
	}
	if (code == kCmplTargetNackCIE)
		end_ncmd(n, NVME_SC_INTERNAL | NVME_SC_DNR);
	else
		nvme_iconn_reset(n->conn, "a request did not get through");
}

static void lost_piece(struct nvme_piece *p)
{
	bool sent = p->next > 0;

	p->open = false;
	if (!p->icmd)
		return;
	if (p->icmd->expired || p->icmd->cancelled) {
		p->status = NVME_SCT_PATH << 8 | NVME_SC_HOST_PATH_ERROR;
		nvme_piece_end(p);
		return;
	}
	p->conn->dev->info.retried += sent;
	p->status = 0;
	nvme_piece_queue(p);
}

void nvme_iconn_lost(struct nvme_iconn *c)
{
	struct nvme_pieces all = TAILQ_HEAD_INITIALIZER(all);
	struct nvme_piece *p;

	for (unsigned int i = 0; i < INCMDS; i++) {
		struct nvme_incmd *n = &c->ncmds[i];

		n->held = n->pushed = NULL;
		if (n->used && n->piece) {
			n->piece = NULL;
			put(n);
		}
	}
	c->open = 0;
	TAILQ_CONCAT(&all, &c->active, link);
	TAILQ_CONCAT(&all, &c->queue, link);
	while ((p = TAILQ_FIRST(&all))) {
		TAILQ_REMOVE(&all, p, link);
		nvme_ipi_end(p);
		lost_piece(p);
	}
}

bool nvme_iconn_leaves(struct nvme_iconn *c, uint16_t status)
{
	switch (status & 0x7ff) {
	case NVME_SCT_PATH << 8 | NVME_SC_ANA_PERSISTENT_LOSS:
	case NVME_SCT_PATH << 8 | NVME_SC_ANA_INACCESSIBLE:
	case NVME_SCT_PATH << 8 | NVME_SC_ANA_TRANSITION:
		break;
	default:
		return false;
	}
	nvme_iconn_failed(c, "the target says that the namespace is not accessible by this path");
	c->leaving = true;
	c->dev->in->ready++;
	return true;
}

void nvme_iconn_leave(struct nvme_iconn *c)
{
	const struct nvme_piece *p = TAILQ_FIRST(&c->queue);
	char why[sizeof(c->reason)];

	if (!c->leaving || (p && p->next))
		return;
	TAILQ_FOREACH(p, &c->active, link)
		if (p->icmd)
			return;
	memcpy(why, c->reason, sizeof(why));
	nvme_iconn_reset(c, why);
}

void nvme_iconn_failed(struct nvme_iconn *c, const char *why)
{
	snprintf(c->reason, sizeof(c->reason), "%s", why);
	c->refused = false;
}

void nvme_iconn_refused(struct nvme_iconn *c, const char *why)
{
	nvme_iconn_reset(c, why);
	c->refused = true;
}

void nvme_iconn_reset(struct nvme_iconn *c, const char *why)
{
	struct nvme_initiator *in = c->dev->in;
	int cid = c->cid;

	if (cid < 0 || c->resetting)
		return;
	c->dev->info.resets++;
	c->resetting = true;
	nvme_iconn_failed(c, why);
	/* conn_down() comes only for what was up, and perhaps from within. */
	if (!c->core)
		nvme_initiator_conn_down(in, (uint32_t)cid, why);
	in->host->hangup(in->agent, (uint32_t)cid, why);
}
