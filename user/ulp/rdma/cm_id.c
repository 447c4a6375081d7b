// SPDX-License-Identifier: BSD-2-Clause
/* Ids of the connection manager, their ports and devices, and the channels on which events wait. */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/rdma/cm.h"

bool rcm_same_addr(const struct fverbs_cm_addr *a, const struct fverbs_cm_addr *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, a->family == AF_INET ? 4 : 16);
}

/* ---- ids ---- */

struct rcm_id *rcm_id_new(struct rdma *r, struct rcm_channel *ch, uint16_t ps, uint8_t qp_type)
{
	struct rdma_cm *cm = r->cm;
	struct rcm_id *id = calloc(1, sizeof(*id));
	uint32_t n = 1;

	while (n < RCM_IDS && cm->by_place[cm->last_place = cm->last_place % (RCM_IDS - 1) + 1])
		n++;
	if (!id || n == RCM_IDS) {
		free(id);
		return NULL;
	}
	id->r = r;
	id->channel = ch;
	id->number = (uint32_t)++cm->generation[cm->last_place] << 16 | cm->last_place;
	id->number = (id->number & ((1U << RDMA_CM_ID_BITS) - 1)) | r->member << RDMA_CM_ID_BITS;
	id->ps = ps;
	id->qp_type = qp_type;
	id->datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	id->timeout = RCM_TIMEOUT;
	id->at = UINT64_MAX;
	cm->by_place[cm->last_place] = id;
	LIST_INSERT_HEAD(&cm->ids, id, entry);
	return id;
}

struct rcm_id *rcm_id_find(const struct rdma *r, uint32_t number)
{
	struct rcm_id *id = r->cm->by_place[number % RCM_IDS];

	return id && id->number == number ? id : NULL;
}

bool rcm_is_unfetched(const struct rcm_id *id)
{
	const struct rcm_event *e;

	STAILQ_FOREACH(e, &id->channel->events, entry)
		if (e->child == id)
			return true;
	return false;
}

/* Events that |id| has caused, and with them requests that nobody has fetched. */
static void drop_events(struct rcm_id *id)
{
	struct rcm_event *e, *next;

	for (e = STAILQ_FIRST(&id->channel->events); e; e = next) {
		next = STAILQ_NEXT(e, entry);
		if (e->of != id && e->child != id)
			continue;
		STAILQ_REMOVE(&id->channel->events, e, rcm_event, entry);
		if (e->child && e->child != id) {
			e->child->listener = NULL;
			rcm_id_free(e->child);
		}
		free(e);
	}
}

void rcm_id_free(struct rcm_id *id)
{
	struct rdma_cm *cm = id->r->cm;
	struct rcm_id *other;

	rcm_leave(id);
	drop_events(id);
	if (id->listener)
		id->listener->children--;
	LIST_FOREACH(other, &cm->ids, entry)
		if (other->listener == id)
			other->listener = NULL;
	cm->by_place[id->number % RCM_IDS] = NULL;
	LIST_REMOVE(id, entry);
	free(id);
}

/* ---- channels ---- */

struct rcm_channel *rcm_channel_new(struct rdma *r, struct rdma_ctx *ctx, int fd)
{
	struct rdma_cm *cm = r->cm;
	struct rcm_channel *ch;
	uint32_t n = 0;

	LIST_FOREACH(ch, &cm->channels, entry)
		n += ch->ctx == ctx;
	ch = n < RCM_CHANNELS_MAX ? calloc(1, sizeof(*ch)) : NULL;
	if (!ch)
		return NULL;
	ch->ctx = ctx;
	ch->fd = fd;
	ch->number = ++cm->last_channel;
	STAILQ_INIT(&ch->events);
	LIST_INSERT_HEAD(&cm->channels, ch, entry);
	return ch;
}

void rcm_channel_free(struct rcm_channel *ch)
{
	struct rdma *r = ch->ctx->r;
	struct rcm_id *id;

again:
	LIST_FOREACH(id, &r->cm->ids, entry) {
		if (id->channel == ch) {
			rcm_id_free(id);
			goto again;
		}
	}
	LIST_REMOVE(ch, entry);
	r->host.close(r->host.arg, ch->ctx->owner.uid, ch->fd);
	free(ch);
}

struct rcm_channel *rcm_channel_find(const struct rdma_ctx *ctx, uint32_t number)
{
	struct rcm_channel *ch;

	LIST_FOREACH(ch, &ctx->r->cm->channels, entry)
		if (ch->ctx == ctx && ch->number == number)
			return ch;
	return NULL;
}

static bool pay(struct rdma *r, struct rcm_channel *ch)
{
	static const char byte;

	while (ch->owed && r->host.send(r->host.arg, ch->fd, &byte, 1) != -EAGAIN)
		ch->owed--;
	return !ch->owed;
}

bool rcm_settle(struct rdma *r)
{
	struct rcm_channel *ch;
	bool all = true;

	LIST_FOREACH(ch, &r->cm->channels, entry)
		all &= pay(r, ch);
	return all;
}

static void append(struct rcm_channel *ch, struct rcm_event *e)
{
	struct rdma *r = ch->ctx->r;

	STAILQ_INSERT_TAIL(&ch->events, e, entry);
	ch->owed++;
	if (!pay(r, ch))
		rcm_later(r, r->now + RCM_RETRY_MS * 1000000ULL);
}

void rcm_event(struct rcm_id *id, uint32_t type, int status, struct rcm_id *child)
{
	struct rcm_event *e = calloc(1, sizeof(*e));

	if (!e)
		return;
	e->of = id;
	e->child = child;
	e->event = (struct fverbs_cm_event){
		.cookie = id->cookie,
		.id = child ? child->number : id->number,
		.type = type,
		.status = status,
		.datagram = id->datagram,
		.param = child ? child->remote : id->remote,
	};
	append(id->channel, e);
}

bool rcm_event_take(struct rcm_channel *ch, struct fverbs_cm_event *out)
{
	struct rcm_event *e = STAILQ_FIRST(&ch->events);

	if (!e)
		return false;
	STAILQ_REMOVE_HEAD(&ch->events, entry);
	*out = e->event;
	/* The id may have got its cookie since. */
	out->cookie = e->of->cookie;
	e->of->reported++;
	free(e);
	return true;
}

void rcm_migrate(struct rcm_id *id, struct rcm_channel *to)
{
	struct rcm_channel *from = id->channel;
	struct rcm_event *e, *next;

	id->channel = to;
	if (from == to)
		return;
	for (e = STAILQ_FIRST(&from->events); e; e = next) {
		next = STAILQ_NEXT(e, entry);
		if (e->of != id)
			continue;
		STAILQ_REMOVE(&from->events, e, rcm_event, entry);
		if (e->child)
			e->child->channel = to;
		append(to, e);
	}
}

/* ---- addresses and ports ---- */

bool rcm_is_any(const struct fverbs_cm_addr *a)
{
	static const uint8_t none[16];

	return !memcmp(a->addr, none, a->family == AF_INET ? 4 : 16);
}

/* Whether two ids cannot be told apart by where requests go. */
static bool collide(const struct rcm_id *a, const struct rcm_id *b)
{
	if (a == b || a->ps != b->ps || b->state == RCM_IDLE || b->peer ||
	    a->src.port != b->src.port || (a->reuse && b->reuse && b->state != RCM_LISTEN))
		return false;
	return a->any || b->any || rcm_same_addr(&a->src, &b->src);
}

static bool is_free(const struct rcm_id *id)
{
	const struct rdma_group *g = id->r->group;
	const struct rcm_id *other;

	for (uint32_t i = 0; i < g->n; i++)
		LIST_FOREACH(other, &g->all[i]->cm->ids, entry)
			if (collide(id, other))
				return false;
	return true;
}

static int choose_port(struct rcm_id *id)
{
	struct rdma_cm *cm = id->r->cm;

	for (uint32_t n = RCM_PORT_FIRST; n <= RCM_PORT_LAST; n++) {
		cm->last_port = cm->last_port % (RCM_PORT_LAST - RCM_PORT_FIRST + 1) + 1;
		id->src.port = htons((uint16_t)(RCM_PORT_FIRST + cm->last_port - 1));
		if (is_free(id))
			return 0;
	}
	return -EADDRNOTAVAIL;
}

int rcm_find_device(struct rcm_id *id)
{
	struct rdma *r = id->r;
	uint8_t gid[16] = { [10] = 0xff, [11] = 0xff };

	if (id->src.family == AF_INET)
		memcpy(gid + 12, id->src.addr, 4);
	else
		memcpy(gid, id->src.addr, 16);
	rdma_devices_refresh(r);
	for (uint32_t d = 0; d < r->ndevices; d++) {
		for (uint32_t g = 0; g < r->devices[d].ngids; g++) {
			if (memcmp(r->devices[d].gids[g].raw, gid, 16) != 0)
				continue;
			id->device = d;
			id->sgid_index = g;
			id->bound = true;
			return 0;
		}
	}
	return -ENODEV;
}

int rcm_bind(struct rcm_id *id, const struct fverbs_cm_addr *addr)
{
	int rc = 0;

	id->src = *addr;
	id->any = rcm_is_any(addr);
	if (!id->any && rcm_find_device(id) < 0)
		return -EADDRNOTAVAIL;
	if (!addr->port)
		rc = choose_port(id);
	else if (!is_free(id))
		rc = -EADDRINUSE;
	if (rc == 0)
		id->state = RCM_BOUND;
	else
		id->bound = false;
	return rc;
}

struct rcm_id *rcm_listener(const struct rdma *r, uint16_t ps, const struct fverbs_cm_addr *at)
{
	struct rcm_id *id, *found = NULL;

	LIST_FOREACH(id, &r->cm->ids, entry) {
		if (id->state != RCM_LISTEN || id->ps != ps || id->src.port != at->port)
			continue;
		if (!id->any && rcm_same_addr(&id->src, at))
			return id;
		if (id->any && (id->src.family == at->family || id->src.family == AF_INET6))
			found = id;
	}
	return found;
}
