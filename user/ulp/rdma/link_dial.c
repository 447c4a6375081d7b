// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a link gets its connection. Both ends of it may dial, in any order and at the same time:
 *
 *   the peer is not ready        it refuses; we hang up and wait for its dial, and dial again in a
 *                                while, should it never come
 *   both dial                    the end with the lower (address, queue pair number) goes first: it
 *                                refuses the other's dial while its own is under way, and the other
 *                                end hangs up when that arrives
 *
 * Times that a link waits for are kept in one list, which rdma_links_run() goes through when the
 * earliest has come:
 *
 *   give_up_at   RC: the queue pair's patience; datagrams: of those who wait, for the connection or for
 *                room in it, or without address handles the time that it is kept
 *   redial_at    after a refusal LINK_REDIAL_MS, doubling; after a loss at once, or LINK_HIGHER_MS
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/wire/wire.h"
#include "ulp/rdma/link.h"

static uint64_t ms(uint64_t n)
{
	return n * 1000000;
}

static void say(struct rdma_link *link, const char *why)
{
	if (why != link->why)
		snprintf(link->why, sizeof(link->why), "%s", why);
}

/* Our dial goes before the peer's. */
static bool goes_first(const struct rdma_link *link)
{
	int c = falcon_addr_cmp(&link->ends.local, &link->ends.remote);

	return c < 0 || (c == 0 && link->qpn < link->dest_qpn);
}

bool link_to_itself(const struct rdma_link *link)
{
	return falcon_addr_equal(&link->ends.local, &link->ends.remote) && link->qpn == link->dest_qpn;
}

/* Have connection |cid| be |link|'s. */
static int claim(struct rdma_links *l, uint32_t cid, struct rdma_link *link)
{
	uint32_t n = l->ncids ? l->ncids : 64;
	struct rdma_link **p;

	while (n <= cid)
		n *= 2;
	if (n > l->ncids) {
		p = realloc(l->by_cid, n * sizeof(*p));
		if (!p)
			return -ENOMEM;
		memset(p + l->ncids, 0, (n - l->ncids) * sizeof(*p));
		l->by_cid = p;
		l->ncids = n;
	}
	l->by_cid[cid] = link;
	return 0;
}

static void drop(struct rdma *r, uint32_t *cid, const char *why)
{
	if (!*cid)
		return;
	r->links->by_cid[*cid] = NULL;
	r->host.ulp->hangup(r->host.agent, *cid, why);
	*cid = 0;
}

void link_hang_up(struct rdma_link *link, const char *why)
{
	drop(link->r, &link->cid, why);
	drop(link->r, &link->twin, why);
	link->core = NULL;
	link->max_len = 0;
}

static void look_at(struct rdma_link *link, uint64_t at)
{
	struct rdma_links *l = link->r->links;

	if (!link->timed)
		LIST_INSERT_HEAD(&l->timed, link, in_timed);
	link->timed = true;
	if (at < l->next_at)
		l->next_at = at;
}

void link_due(struct rdma_link *link)
{
	look_at(link, 0);
}

static void offer(const struct rdma_link *link, struct ulp_data *out)
{
	const struct link_offer o = {
		.kind = link->kind,
		.modes = link->modes,
		.extensions = LINK_EXTENSIONS,
		.src_qpn = link->qpn,
		.dst_qpn = link->dest_qpn,
		.max_len = LINK_MAX_LEN,
	};

	link_offer_pack(&o, out);
}

int link_dial(struct rdma_link *link, char *err, size_t errlen)
{
	const struct rdma_host *host = &link->r->host;
	struct ulp_dial d = { .proto = FALCON_PROTO_RDMA, .ends = link->ends, .peer = "",
			      .uid = link_payer(link) };
	int cid;

	if (!host->ulp) {
		snprintf(err, errlen, "there is no agent to dial with");
		return -ENETDOWN;
	}
	offer(link, &d.data);
	cid = host->ulp->dial(host->agent, &d, err, errlen);
	if (cid < 0)
		return cid;
	if (claim(link->r->links, (uint32_t)cid, link) < 0) {
		host->ulp->hangup(host->agent, (uint32_t)cid, "out of memory");
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	link->cid = (uint32_t)cid;
	link->dialled = true;
	link->state = LINK_DIALLING;
	link_due(link);
	return 0;
}

static void wait_for_dial(struct rdma_link *link, uint64_t pause)
{
	link->state = LINK_WAITING;
	link->redial_at = UINT64_MAX;
	if (link->kind == LINK_RC || link->handles)
		link->redial_at = link->r->now + ms(pause + (goes_first(link) ? 0 : LINK_HIGHER_MS));
	link_due(link);
}

static void wait_longer(struct rdma_link *link)
{
	wait_for_dial(link, link->pause_ms);
	link->pause_ms *= 2;
	if (link->pause_ms > LINK_REDIAL_MAX_MS)
		link->pause_ms = LINK_REDIAL_MAX_MS;
}

/* The owner may put |link| from within. */
static void die(struct rdma_link *link, const char *why)
{
	link_hang_up(link, why);
	link->state = LINK_DEAD;
	link->give_up_at = UINT64_MAX;
	link->ops->down(link->owner, link, why);
}

static const char *ordering(uint8_t modes)
{
	if (modes & RDMA_LINK_ORDERED)
		return "strongly ordered";
	return modes & RDMA_LINK_UNORDERED ? "unordered" : "weakly ordered";
}

static const char *errors(uint8_t modes)
{
	return modes & RDMA_LINK_CIE ? "complete-in-error" : "verbs-compatible";
}

static const char *service(uint8_t modes)
{
	return modes & RDMA_LINK_XRC ? "XRC" : "RC";
}

/* False, with a sentence: the two ends have been made for different modes (RDMA 6.2, 6.3). */
static bool same_modes(const struct rdma_link *link, uint8_t theirs, char *err, size_t errlen)
{
	uint8_t ours = link->modes;

	if (ours == theirs)
		return true;
	if (link->kind == LINK_DATAGRAM)
		snprintf(err, errlen, "datagrams are %s here, yours %s", ordering(ours), ordering(theirs));
	else
		snprintf(err, errlen, "queue pair %u is %s, %s, %s here, yours %s, %s, %s", link->qpn,
			 service(ours), ordering(ours), errors(ours), service(theirs), ordering(theirs),
			 errors(theirs));
	return false;
}

/* 0, or why a dial of the peer's, which the link is the right one for, is not taken. */
static int check_dial(const struct rdma_link *link, const struct link_offer *o, char *err, size_t errlen)
{
	if (!same_modes(link, o->modes, err, errlen))
		return -EBUSY;
	if (link->state == LINK_DEAD)
		snprintf(err, errlen, "the connection of queue pair %u here has been lost", link->qpn);
	else if (link->state == LINK_UP || link->state == LINK_ACCEPTED || link->twin)
		snprintf(err, errlen, "%s connected already",
			 link->kind == LINK_RC ? "the queue pair is" : "datagrams are");
	else if (link->state == LINK_DIALLING && goes_first(link)) {
		snprintf(err, errlen, "both ends dial, and this one goes first");
		return -EALREADY;
	} else
		return 0;
	return -EBUSY;
}

static void take_dial(struct rdma_link *link, uint32_t cid)
{
	if (link_to_itself(link) && link->state == LINK_DIALLING) {
		link->twin = cid;
		return;
	}
	drop(link->r, &link->cid, "the peer's dial goes first");
	link->cid = cid;
	link->dialled = false;
	link->state = LINK_ACCEPTED;
}

int rdma_links_accept(struct rdma *r, const struct ulp_request *req, struct ulp_data *reply,
		      char *err, size_t errlen)
{
	struct rdma_link *link;
	struct link_offer o;
	int rc;

	if (link_offer_unpack(&req->data, &o, err, errlen) < 0)
		return -EPROTO;
	if (req->ends.ordered != (bool)(o.modes & RDMA_LINK_ORDERED)) {
		snprintf(err, errlen, "offer and connection differ in their order");
		return -EPROTO;
	}
	link = link_find(r->links, o.kind, &req->ends, o.dst_qpn, o.src_qpn);
	if (!link && o.kind == LINK_RC) {
		snprintf(err, errlen, "queue pair %u here does not wait for your %u (yet)",
			 o.dst_qpn, o.src_qpn);
		return -ENOENT;
	}
	if (!link)
		link = link_new_datagram(r, &req->ends, o.dst_qpn, o.src_qpn);
	if (!link) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	rc = check_dial(link, &o, err, errlen);
	if (rc < 0)
		return rc;
	if (claim(r->links, req->cid, link) < 0) {
		snprintf(err, errlen, "out of memory");
		if (link->state == LINK_IDLE)
			link_free(link, err);
		return -ENOMEM;
	}
	take_dial(link, req->cid);
	offer(link, reply);
	return 0;
}

/* Whether what the peer says with its offer is for this link; if not, |err| tells. */
static bool offer_fits(const struct rdma_link *link, const struct ulp_conn *conn,
		       struct link_offer *o, char *err, size_t errlen)
{
	if (link_offer_unpack(&conn->data, o, err, errlen) < 0)
		return false;
	if (o->kind == link->kind && o->src_qpn == link->dest_qpn && o->dst_qpn == link->qpn)
		return same_modes(link, o->modes, err, errlen);
	snprintf(err, errlen, "the peer's offer is for other queue pairs");
	return false;
}

int rdma_links_conn_up(struct rdma *r, const struct ulp_conn *conn)
{
	struct rdma_link *link = conn->cid < r->links->ncids ? r->links->by_cid[conn->cid] : NULL;
	struct link_offer o;
	char err[128];

	/* One that was hung up meanwhile, or our own other end. */
	if (!link || conn->cid == link->twin)
		return 0;
	if (!offer_fits(link, conn, &o, err, sizeof(err))) {
		say(link, err);
		link_hang_up(link, err);
		wait_longer(link);
		return 0;
	}
	link->state = LINK_UP;
	link->unreachable = false;
	link->extensions = o.extensions & LINK_EXTENSIONS;
	link->core = conn->core;
	link->peer_max_len = o.max_len;
	link->max_len = conn->max_len < o.max_len ? conn->max_len : o.max_len;
	link->pause_ms = LINK_REDIAL_MS;
	link->give_up_at = link->kind == LINK_RC ? UINT64_MAX : 0;
	if (link->ops)
		link->ops->up(link->owner, link);
	else
		link_due(link);	/* who waits is woken in the layer's round, where the core can be told */
	return 0;
}

void rdma_links_conn_resized(struct rdma *r, uint32_t cid, uint32_t max_len)
{
	struct rdma_link *link = cid < r->links->ncids ? r->links->by_cid[cid] : NULL;

	if (!link || link->state != LINK_UP || cid != link->cid)
		return;
	link->max_len = max_len < link->peer_max_len ? max_len : link->peer_max_len;
	if (link->ops)
		link->ops->resized(link->owner, link);
}

void rdma_links_conn_down(struct rdma *r, uint32_t cid, const char *why)
{
	struct rdma_link *link = cid < r->links->ncids ? r->links->by_cid[cid] : NULL;
	bool was_up = link && link->state == LINK_UP;

	if (!link) {
		link_left(r, cid);
		return;
	}
	say(link, why);
	/* There is no session yet; the agent goes on by itself. */
	if (link->state == LINK_DIALLING && cid == link->cid)
		return;
	if (link->kind == LINK_RC && was_up)
		return die(link, why);
	link_hang_up(link, why);
	if (link->kind == LINK_DATAGRAM && !link->handles)
		link_free(link, why);
	else
		wait_for_dial(link, 0);
}

void rdma_links_refused(struct rdma *r, uint32_t cid, const char *why)
{
	struct rdma_link *link = cid < r->links->ncids ? r->links->by_cid[cid] : NULL;

	if (!link || link->state != LINK_DIALLING)
		return;
	say(link, why);
	link_hang_up(link, why);
	wait_longer(link);
}

/* Somebody else has removed what was being dialled: begin again. */
void rdma_links_conn_gone(struct rdma *r, uint32_t cid)
{
	struct rdma_link *link = cid < r->links->ncids ? r->links->by_cid[cid] : NULL;

	if (!link)
		return;
	r->links->by_cid[cid] = NULL;
	if (link->cid == cid)
		link->cid = 0;
	else
		link->twin = 0;
	link_hang_up(link, "its other end was removed");
	if (link->kind == LINK_DATAGRAM && !link->handles)
		link_free(link, "removed");
	else
		wait_longer(link);
}

static uint64_t patience(const struct rdma_link *link)
{
	if (link->kind == LINK_RC)
		return link->timeout && link->state != LINK_UP ? link->r->now + link->timeout
							       : UINT64_MAX;
	if (!TAILQ_EMPTY(&link->waits))
		return link->r->now + ms(LINK_WAIT_MS);
	return link->handles ? UINT64_MAX : link->r->now + ms(LINK_IDLE_MS);
}

/* False: |link| may be gone. */
static bool out_of_patience(struct rdma_link *link)
{
	char why[192];

	if (link->kind == LINK_RC) {
		snprintf(why, sizeof(why), "not connected in time%s%s", link->why[0] ? ": " : "",
			 link->why);
		die(link, why);
		return false;
	}
	if (!TAILQ_EMPTY(&link->waits)) {
		link->unreachable = link->state != LINK_UP;
		link_wake(link, false);
		link->give_up_at = patience(link);
		return true;
	}
	link->give_up_at = UINT64_MAX;
	if (link->handles)
		return true;
	/* Who has dialled ends it. */
	if (link->cid && !link->dialled)
		return true;
	link_free(link, "no datagrams for a while");
	return false;
}

static void serve(struct rdma_link *link)
{
	uint64_t now = link->r->now, at;
	char err[128];

	/* What has waited is sent before the queue pairs have their turns with what comes later. */
	if (link->state == LINK_UP)
		link_wake(link, true);
	if (!link->give_up_at)
		link->give_up_at = patience(link);
	if (link->give_up_at <= now && !out_of_patience(link))
		return;
	if (link->state == LINK_WAITING && link->redial_at <= now &&
	    link_dial(link, err, sizeof(err)) < 0) {
		say(link, err);
		wait_longer(link);
	}
	at = link->give_up_at;
	if (link->state == LINK_WAITING && link->redial_at < at)
		at = link->redial_at;
	if (at != UINT64_MAX)
		look_at(link, at);
}

uint32_t rdma_links_run(struct rdma *r)
{
	struct rdma_links *l = r->links;
	struct link_list now = l->timed;
	struct rdma_link *link = LIST_FIRST(&now);
	uint32_t n = 0;

	link_leave_run(r, r->now);
	if (r->now < l->next_at || !link)
		return 0;
	link->in_timed.le_prev = &LIST_FIRST(&now);
	LIST_INIT(&l->timed);
	l->next_at = UINT64_MAX;
	/* Whatever is called may put links of this list, and others. */
	while ((link = LIST_FIRST(&now))) {
		LIST_REMOVE(link, in_timed);
		link->timed = false;
		serve(link);
		n++;
	}
	return n;
}

uint64_t rdma_links_deadline(const struct rdma *r)
{
	uint64_t leave = link_leave_deadline(r->links);
	uint64_t at = LIST_EMPTY(&r->links->timed) ? UINT64_MAX : r->links->next_at;

	return leave < at ? leave : at;
}
