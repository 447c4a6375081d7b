// SPDX-License-Identifier: BSD-2-Clause
/* The initiator's nCMDs: requests sent, data pulled, answers taken. */
#include <stdio.h>
#include <string.h>

#include "ulp/nvme/initiator_priv.h"

enum { TAG_SHIFT = 8 };		/* a tag is a generation above an index of this many bits */
_Static_assert(INCMDS == 1 << TAG_SHIFT, "indexes fill their bits");

/* NVMe's opcode of |p|; the connection's own commands are admin commands. */
static uint8_t opcode(const struct nvme_piece *p)
{
	if (p->icmd)
		return p->icmd->sqe.opcode;
	return p == &p->conn->event ? nvme_admin_async_event : nvme_admin_identify;
}

/* Its opcode is one of the admin set. */
static bool admin(const struct nvme_piece *p)
{
	return !p->icmd || !p->icmd->sqe.qid;
}

bool nvme_piece_pulls(const struct nvme_piece *p)
{
	return !admin(p) && (opcode(p) == nvme_cmd_write || opcode(p) == nvme_cmd_compare);
}

bool nvme_piece_reads(const struct nvme_piece *p)
{
	return admin(p) ? opcode(p) != nvme_admin_async_event : opcode(p) == nvme_cmd_read;
}

static uint32_t tag_of(const struct nvme_incmd *n)
{
	return ((uint32_t)n->gen << TAG_SHIFT | (uint32_t)(n - n->conn->ncmds)) &
	       FALCON_NVME_TAG_MASK;
}

/* The nCMD that |h| is about, or NULL: nobody has asked for it. */
static struct nvme_incmd *find(struct nvme_iconn *c, const struct falcon_nvme_hdr *h)
{
	struct nvme_incmd *n = &c->ncmds[h->itag % INCMDS];

	if (!n->used || !n->piece || tag_of(n) != h->itag || n->piece->id != h->icmd)
		return NULL;
	return h->offset == n->piece->first + n->index ? n : NULL;
}

static void put(struct nvme_incmd *n)
{
	if (n->piece || n->refs)
		return;
	n->used = false;
	n->gen++;
	n->next = n->conn->free;
	n->conn->free = n;
	n->conn->dev->in->ready++;
}

/* Where the data of nCMD |i| are in the piece's, and how many bytes. */
static uint32_t data_at(const struct nvme_piece *p, uint16_t i, uint32_t *len)
{
	uint32_t at = i * p->conn->unit;

	*len = p->bytes - at < p->conn->unit ? p->bytes - at : p->conn->unit;
	return at;
}

/* How many nCMDs |bytes| make on |c|. */
static uint32_t count(const struct nvme_iconn *c, uint32_t bytes)
{
	return bytes ? (bytes + c->unit - 1) / c->unit : 1;
}

/* The numbers that depend on the paths; they may have changed since |p| was last sent. */
static void number(struct nvme_piece *p)
{
	struct nvme_initiator *in = p->conn->dev->in;
	uint32_t n = count(p->conn, p->bytes), other = 0;

	p->id = in->next_id++ & FALCON_NVME_TAG_MASK;
	p->first = 0;
	if (p->split) {
		const struct nvme_piece *q = &p->icmd->pieces[!p->group];

		other = count(q->conn->core ? q->conn : p->conn, q->bytes);
		p->first = p->group ? (uint16_t)other : 0;
		/* Both groups have the iCMD's identifier, unless one of them is sent again. */
		if (p->group && !p->icmd->expired && q->next && !q->done)
			p->id = q->id;
	}
	p->n = (uint16_t)n;
	p->total = (uint16_t)(n + other - 1);
}

static void fill(struct nvme_incmd *n)
{
	const struct nvme_piece *p = n->piece;
	const struct nvme_iconn *c = n->conn;
	const struct falcon_nvme_hdr h = {
		.type = admin(p) ? FALCON_NVME_COMMAND :
			opcode(p) == nvme_cmd_read ? FALCON_NVME_READ_REQUEST :
			opcode(p) == nvme_cmd_write ? FALCON_NVME_WRITE_REQUEST :
						      FALCON_NVME_COMMAND,
		.split = p->split, .group = p->group, .total = (uint8_t)p->total,
		.offset = (uint8_t)(p->first + n->index), .itag = tag_of(n), .icmd = p->id,
		.function = c->attr->ends.function,
	};
	struct falcon_nvme_cmd cmd = {
		.initiator_nsid = (uint16_t)c->dev->attr.nsid, .target_nsid = (uint16_t)p->nsid,
		.slba = p->lba, .nlb = (uint16_t)(p->blocks ? p->blocks - 1 : 0),
		.unit = c->unit == FALCON_NVME_NCMD_DATA ? 0 : (uint8_t)(c->unit / 512),
		.reftag = UINT32_MAX, .apptag_mask = UINT16_MAX, .apptag = UINT16_MAX,
		.opcode = opcode(p), .admin = admin(p), .sqid = p->sqid,
	};

	if (p->icmd && admin(p)) {
		cmd.nlb = (uint16_t)p->blocks;
		cmd.dsm = (uint8_t)(le32toh(p->icmd->sqe.cdw13) >> 24);
		cmd.reftag = p->bytes / 4 - 1;
	} else if (p->icmd) {
		uint32_t cdw12 = le32toh(p->icmd->sqe.cdw12), cdw13 = le32toh(p->icmd->sqe.cdw13);
		bool data = opcode(p) == nvme_cmd_read || opcode(p) == nvme_cmd_write;

		cmd.fua = cdw12 >> 30 & 1;
		cmd.lr = cdw12 >> 31;
		cmd.dtype = opcode(p) == nvme_cmd_write ? cdw12 >> 20 & 0xf : 0;
		cmd.dspec = opcode(p) == nvme_cmd_write ? (uint16_t)(cdw13 >> 16) : 0;
		cmd.dsm = data ? (uint8_t)cdw13 :
			  opcode(p) == nvme_cmd_write_zeroes ? cdw12 >> 25 & FALCON_NVME_DEALLOCATE :
							       0;
		nvme_ipi_request(p, &cmd);
	} else {
		cmd.reftag = p == &c->event ? 0 : NVME_IDENTIFY_CNS_NS;
	}
	falcon_nvme_request_pack(&h, &cmd, &n->req);
}

/*
 * Push the request of |p|'s next nCMD. False: not now. The transaction may end before this returns, where
 * a filter ends it (Falcon 11), and take the connection with it, and |p|.
 */
static bool send_one(struct nvme_iconn *c, struct nvme_piece *p)
{
	struct nvme_incmd *n = c->free;
	struct fcore_txn txn = {
		.proto = FALCON_PROTO_NVME, .payload = n ? &n->req : NULL,
		.len = sizeof(n->req), .cookie = (uintptr_t)n | NVME_COOKIE_INITIATOR,
	};

	if (!n)
		return false;
	c->free = n->next;
	n->piece = p;
	n->index = p->next;
	n->refs = 1;
	n->used = true;
	fill(n);
	c->open += p->next++ == 0;
	if (fcore_push(c->core, &txn, c->dev->in->now) == 0)
		return true;
	c->open -= --p->next == 0;
	n->used = false;
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
			if (c->open >= c->credit || !nvme_ipi_begin(p))
				break;
			number(p);
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

/* |n| has its answer. */
static void end_ncmd(struct nvme_incmd *n, uint16_t status)
{
	struct nvme_piece *p = n->piece;

	n->piece = NULL;
	if (!p->status)
		p->status = status;
	p->done++;
	put(n);
	if (p->next == p->n && p->done == p->n && p->got && !p->status)
		p->status = nvme_ipi_verify(p);
	check_end(p);
}

/* Number of the 512 bytes of the device that are |at| bytes into |p|. */
static uint64_t unit_of(const struct nvme_piece *p, uint32_t at)
{
	return ((p->dev_lba << p->conn->block_shift) + at) / 512;
}

/* The data of a Read Response, if it has what it should. */
static bool take_data(struct nvme_incmd *n, const struct falcon_nvme_response *r, uint32_t len)
{
	struct nvme_piece *p = n->piece;
	const struct nvme_cipher *cipher = n->conn->dev->attr.cipher;
	uint32_t want, at = data_at(p, n->index, &want);

	len -= (uint32_t)sizeof(*r);
	if (falcon_nvme_status(r))
		return len == 0;
	if (len != want + nvme_ipi_bytes(p, at, want))
		return false;
	if (nvme_piece_protected(p))
		nvme_ipi_take(p, at, want, (const uint8_t *)(r + 1));
	else if (!p->icmd || !cipher)
		memcpy(p->data + at, r + 1, want);
	else if (!cipher->crypt(cipher, false, unit_of(p, at), r + 1, p->data + at, want, NULL))
		p->status = NVME_SC_INTERNAL;
	return true;
}

/* What is sent of |n|'s data, |len| bytes; INV if they are not what the host says, or not encrypted. */
static const uint8_t *sent_data(struct nvme_incmd *n, uint32_t at, uint32_t len, uint8_t *inv)
{
	const struct nvme_cipher *cipher = n->conn->dev->attr.cipher;
	struct nvme_piece *p = n->piece;
	uint16_t status = 0;
	uint8_t *out;

	if (!cipher && !nvme_piece_protected(p))
		return p->data + at;
	out = n->conn->bounce + (n - n->conn->ncmds) * BOUNCE_BYTES;
	if (nvme_piece_protected(p))
		status = nvme_ipi_put(p, at, len, out);
	else if (!cipher->crypt(cipher, true, unit_of(p, at), p->data + at, out, len, NULL))
		status = NVME_SC_INTERNAL;
	if (!status)
		return out;
	memset(out, 0, len + nvme_ipi_bytes(p, at, len));
	*inv = 1;
	/* Better known here than at the target, which has only the bit. */
	if (!p->status)
		p->status = status;
	return out;
}

void nvme_initiator_on_push(struct nvme_initiator *in, struct fcore_conn *core, uint32_t rsn,
			    const void *payload, uint32_t len, uint64_t now)
{
	struct nvme_iconn *c = in->by_cid[fcore_conn_cid(core)];
	struct nvme_incmd *n = NULL;
	struct falcon_nvme_hdr h;

	in->now = now;
	if (c && falcon_nvme_nbth_unpack(payload, len, &h))
		n = find(c, &h);
	if (n && h.type != (nvme_piece_reads(n->piece) ? FALCON_NVME_READ_RESPONSE :
							 FALCON_NVME_WRITE_COMPLETION))
		n = NULL;
	if (n && nvme_piece_reads(n->piece) && !take_data(n, payload, len))
		n = NULL;
	fcore_push_done(core, rsn, n ? FCORE_PUSH_ACK : FCORE_PUSH_CIE, 0, 0, now);
	if (n)
		end_ncmd(n, falcon_nvme_status(payload));
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
		at = data_at(n->piece, n->index, &len);
	if (len)
		md = nvme_ipi_bytes(n->piece, at, len);
	if (!n || n->held || !len || request_len != sizeof(w) + len + md) {
		if (c)
			c->dev->info.malformed++;
		fcore_pull_respond(core, rsn, &resp, now);
		return;
	}
	h.type = FALCON_NVME_WRITE_DATA;
	h.inv = 0;
	payload = sent_data(n, at, len, &h.inv);
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
	n->refs--;
	if (code == kCmplAck || !n->piece) {
		put(n);
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
	if (p->icmd->expired) {
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

		n->held = NULL;
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

void nvme_iconn_reset(struct nvme_iconn *c, const char *why)
{
	struct nvme_initiator *in = c->dev->in;
	int cid = c->cid;

	if (cid < 0 || c->resetting)
		return;
	c->dev->info.resets++;
	c->resetting = true;
	snprintf(c->reason, sizeof(c->reason), "%s", why);
	/* conn_down() comes only for what was up, and perhaps from within. */
	if (!c->core)
		nvme_initiator_conn_down(in, (uint32_t)cid, why);
	in->host->hangup(in->agent, (uint32_t)cid, why);
}
