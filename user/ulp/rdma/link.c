// SPDX-License-Identifier: BSD-2-Clause
/*
 * Links: the Falcon connections of queue pairs and of datagrams (RDMA 6.6), found by queue pair
 * numbers and addresses, and by CID. link_dial.c makes their connections.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/rdma/link.h"
#include "ulp/rdma/objects.h"

static uint32_t hash(enum link_kind kind, const struct ulp_ends *ends, uint32_t qpn)
{
	uint32_t h = qpn;

	/* One queue pair has one link: only datagrams are told apart by addresses. */
	for (int i = 0; i < 16 && kind == LINK_DATAGRAM; i++)
		h = (h ^ ends->remote.b[i]) * 16777619u;
	return h % LINK_BUCKETS;
}

struct rdma_link *link_new(struct rdma *r, enum link_kind kind, const struct ulp_ends *ends,
			   uint32_t qpn, uint32_t dest_qpn)
{
	struct rdma_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->r = r;
	link->kind = kind;
	link->ends = *ends;
	link->qpn = qpn;
	link->dest_qpn = dest_qpn;
	link->pause_ms = LINK_REDIAL_MS;
	TAILQ_INIT(&link->waits);
	LIST_INSERT_HEAD(&r->links->buckets[hash(kind, ends, qpn)], link, bucket);
	return link;
}

struct rdma_link *link_new_datagram(struct rdma *r, const struct ulp_ends *ends, uint32_t member,
				    uint32_t peer_member)
{
	struct rdma_link *link = link_new(r, LINK_DATAGRAM, ends, member, peer_member);

	if (link && ends->ordered)
		link->modes = RDMA_LINK_ORDERED;
	return link;
}

struct rdma_link *link_find(const struct rdma_links *l, enum link_kind kind, const struct ulp_ends *ends,
			    uint32_t qpn, uint32_t dest_qpn)
{
	struct rdma_link *link;

	LIST_FOREACH(link, &l->buckets[hash(kind, ends, qpn)], bucket) {
		/* Two queue pairs have one link at most: that their orders differ is told to who dials. */
		if (link->kind == kind && link->qpn == qpn && link->dest_qpn == dest_qpn &&
		    (kind == LINK_RC || link->ends.ordered == ends->ordered) &&
		    link->ends.family == ends->family &&
		    falcon_addr_equal(&link->ends.local, &ends->local) &&
		    falcon_addr_equal(&link->ends.remote, &ends->remote))
			return link;
	}
	return NULL;
}

void link_wake(struct rdma_link *link, bool up)
{
	struct rdma_link_wait *w;

	while ((w = TAILQ_FIRST(&link->waits))) {
		rdma_link_unwait(w);
		if (!w->done(w, up)) {
			TAILQ_INSERT_HEAD(&link->waits, w, entry);
			link->nheld += w->held;
			break;
		}
		/* It is not stuck: patience begins anew. */
		link->give_up_at = 0;
	}
}

void link_free(struct rdma_link *link, const char *why)
{
	link_hang_up(link, why);
	if (link->timed)
		LIST_REMOVE(link, in_timed);
	LIST_REMOVE(link, bucket);
	link_wake(link, false);
	link_unpay_all(link);
	free(link);
}

int rdma_links_open(struct rdma *r)
{
	r->links = calloc(1, sizeof(*r->links));
	if (!r->links)
		return -ENOMEM;
	TAILQ_INIT(&r->links->leaving);
	return 0;
}

void rdma_links_close(struct rdma *r)
{
	if (!r->links)
		return;
	link_leave_run(r, UINT64_MAX);
	for (unsigned int i = 0; i < LINK_BUCKETS; i++)
		while (!LIST_EMPTY(&r->links->buckets[i]))
			link_free(LIST_FIRST(&r->links->buckets[i]), "the agent stops");
	free(r->links->by_cid);
	free(r->links);
	r->links = NULL;
}

/* Who cannot have a link because of |rc| is told EINVAL, unless he can do something about it. */
static struct rdma_link *none(int rc)
{
	errno = rc == -EDQUOT || rc == -ENOMEM ? -rc : EINVAL;
	return NULL;
}

struct rdma_link *rdma_link_connect(struct rdma_qp *qp, const struct fverbs_ah_attr *ah,
				    uint32_t dest_qpn, uint8_t modes, uint64_t timeout_ns,
				    const struct rdma_link_ops *ops, void *owner, char *err,
				    size_t errlen)
{
	const struct rdma_qp_init *parts = rdma_qp_parts(qp);
	struct rdma *r = parts->ctx->r;
	uint32_t qpn = rdma_qp_num(qp);
	struct rdma_link *link;
	struct ulp_ends ends;
	int rc;

	if (link_ends(r, parts->device, ah, &ends, err, errlen) < 0)
		return none(-EINVAL);
	ends.ordered = modes & RDMA_LINK_ORDERED;
	link = link_new(r, LINK_RC, &ends, qpn, dest_qpn);
	if (!link) {
		snprintf(err, errlen, "out of memory");
		return none(-ENOMEM);
	}
	link->qp = qp;
	link->modes = modes;
	link->ops = ops;
	link->owner = owner;
	link->timeout = timeout_ns;
	rc = link_pay(link, parts->ctx->owner.uid, err, errlen);
	if (rc == 0)
		rc = link_dial(link, err, errlen);
	if (rc < 0) {
		link_free(link, err);
		return none(rc);
	}
	return link;
}

/* That others have made for us, or that has no address handle at the moment, does as well. */
struct rdma_link *rdma_link_datagram(struct rdma_ctx *ctx, uint32_t device, const struct fverbs_ah_attr *ah,
				     uint32_t peer_member, bool ordered, char *err, size_t errlen)
{
	struct rdma *r = ctx->r;
	struct rdma_link *link;
	struct ulp_ends ends;
	int rc;

	if (link_ends(r, device, ah, &ends, err, errlen) < 0)
		return none(-EINVAL);
	ends.ordered = ordered;
	link = link_find(r->links, LINK_DATAGRAM, &ends, r->member, peer_member);
	if (!link)
		link = link_new_datagram(r, &ends, r->member, peer_member);
	if (!link) {
		snprintf(err, errlen, "out of memory");
		return none(-ENOMEM);
	}
	rc = link_pay(link, ctx->owner.uid, err, errlen);
	if (rc == 0 && link->state == LINK_IDLE)
		rc = link_dial(link, err, errlen);
	if (rc < 0) {
		if (link->state == LINK_IDLE)
			link_free(link, err);
		return none(rc);
	}
	link->handles++;
	link->give_up_at = 0;
	if (link->state == LINK_WAITING && link->redial_at == UINT64_MAX)
		link->redial_at = 0;
	link_due(link);
	return link;
}

void rdma_link_wait(struct rdma_link *link, struct rdma_link_wait *w)
{
	if (TAILQ_EMPTY(&link->waits))
		link->give_up_at = 0;
	w->link = link;
	TAILQ_INSERT_TAIL(&link->waits, w, entry);
	link->nheld += w->held;
	link_due(link);
}

void rdma_link_unwait(struct rdma_link_wait *w)
{
	TAILQ_REMOVE(&w->link->waits, w, entry);
	w->link->nheld -= w->held;
}

bool rdma_link_has_waits(const struct rdma_link *link)
{
	return !TAILQ_EMPTY(&link->waits);
}

bool rdma_link_unreachable(const struct rdma_link *link)
{
	return link->unreachable;
}

uint32_t rdma_link_places(const struct rdma_link *link)
{
	return link->nheld < LINK_HELD_MAX ? LINK_HELD_MAX - link->nheld : 0;
}

void rdma_link_room(struct rdma_link *link)
{
	if (!TAILQ_EMPTY(&link->waits))
		link_due(link);
}

void rdma_link_put(struct rdma_link *link)
{
	if (link->state == LINK_UP)
		link_leave(link);
	link_free(link, "the queue pair has left it");
}

void rdma_link_put_datagram(struct rdma_link *link, const struct rdma_ctx *ctx)
{
	link_unpay(link, ctx->owner.uid);
	link->handles--;
	link->give_up_at = 0;
	link_due(link);
}

struct fcore_conn *rdma_link_core(const struct rdma_link *link)
{
	return link->core;
}

uint32_t rdma_link_max_len(const struct rdma_link *link)
{
	return link->max_len;
}

bool rdma_link_reasons(const struct rdma_link *link)
{
	return link->extensions & LINK_REASONS;
}

bool rdma_link_pads(const struct rdma_link *link)
{
	return link->extensions & LINK_ROOM;
}

void rdma_link_gids(const struct rdma_link *link, uint8_t local[16], uint8_t remote[16])
{
	link_gid(link->ends.family, &link->ends.local, local);
	link_gid(link->ends.family, &link->ends.remote, remote);
}

struct rdma_qp *rdma_link_qp(const struct rdma_link *link)
{
	return link->qp;
}

struct rdma_link *rdma_link_of(struct rdma *r, const struct fcore_conn *c)
{
	uint32_t cid = fcore_conn_cid(c);

	return cid < r->links->ncids ? r->links->by_cid[cid] : NULL;
}
