// SPDX-License-Identifier: BSD-2-Clause
/* Ids of the connection manager, their ports and devices, and the channels on which events wait. */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ulp/rdma/cm.h"

bool rcm_same_addr(const struct fverbs_cm_addr *a, const struct fverbs_cm_addr *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, a->family == AF_INET ? 4 : 16);
}

/* ---- ids ---- */

/* A place and its number. False: there is none. */
static bool give_number(struct rdma_cm *cm, struct rcm_id *id)
{
	uint32_t n = 1;

	while (n < RCM_IDS && cm->by_place[cm->last_place = cm->last_place % (RCM_IDS - 1) + 1])
		n++;
	if (n == RCM_IDS)
		return false;
	id->number = (uint32_t)++cm->generation[cm->last_place] << 16 | cm->last_place;
	id->number = (id->number & ((1U << RDMA_CM_ID_BITS) - 1)) | id->r->member << RDMA_CM_ID_BITS;
	cm->by_place[cm->last_place] = id;
	return true;
}

int rcm_id_new(struct rcm_channel *ch, uint16_t ps, uint8_t qp_type, struct rcm_id **out, char *err,
	       size_t errlen)
{
	struct rcm_id *id;
	int rc = rdma_ctx_charge(ch->ctx, RDMA_CHARGE_CM_IDS, 1, err, errlen);

	if (rc < 0)
		return rc;
	rc = -ENOMEM;
	id = calloc(1, sizeof(*id));
	if (id) {
		rc = -ENOSPC;
		id->r = ch->ctx->r;
	}
	if (!id || !give_number(id->r->cm, id)) {
		snprintf(err, errlen, "%s", id ? "there are too many rdma_cm ids" : "out of memory");
		rdma_ctx_uncharge(ch->ctx, RDMA_CHARGE_CM_IDS, 1);
		free(id);
		return rc;
	}
	id->channel = ch;
	id->ps = ps;
	id->qp_type = qp_type;
	id->datagram = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	id->timeout = RCM_TIMEOUT;
	id->at = UINT64_MAX;
	TAILQ_INIT(&id->events);
	LIST_INSERT_HEAD(&ch->ids, id, in_channel);
	*out = id;
	return 0;
}

struct rcm_id *rcm_id_find(const struct rdma *r, uint32_t number)
{
	struct rcm_id *id = r->cm->by_place[number % RCM_IDS];

	return id && id->number == number ? id : NULL;
}

void rcm_set_time(struct rcm_id *id, uint64_t at)
{
	if (id->at == UINT64_MAX && at != UINT64_MAX)
		LIST_INSERT_HEAD(&id->r->cm->timed, id, in_timed);
	else if (id->at != UINT64_MAX && at == UINT64_MAX)
		LIST_REMOVE(id, in_timed);
	id->at = at;
	rcm_later(id->r, at);
}

void rcm_ask(struct rcm_id *id, struct rcm_id *listener)
{
	id->listener = listener;
	listener->children++;
	LIST_INSERT_HEAD(&listener->requests, id, in_listener);
}

void rcm_answered(struct rcm_id *id)
{
	if (!id->listener)
		return;
	id->listener->children--;
	LIST_REMOVE(id, in_listener);
	id->listener = NULL;
}

bool rcm_is_unfetched(const struct rcm_id *id)
{
	return id->request;
}

static void take_event(struct rcm_event *e)
{
	TAILQ_REMOVE(&e->of->channel->events, e, entry);
	TAILQ_REMOVE(&e->of->events, e, in_id);
	e->of->unfetched--;
	if (e->child)
		e->child->request = NULL;
}

/* Events that |id| has caused, and with them requests that nobody has fetched. */
static void drop_events(struct rcm_id *id)
{
	struct rcm_event *e;

	while ((e = TAILQ_FIRST(&id->events))) {
		take_event(e);
		if (e->child)
			rcm_id_free(e->child);
		free(e);
	}
	e = id->request;
	if (e) {
		take_event(e);
		free(e);
	}
}

void rcm_id_free(struct rcm_id *id)
{
	struct rdma_cm *cm = id->r->cm;
	struct rcm_id *other;

	rcm_leave(id);
	drop_events(id);
	rcm_answered(id);
	while ((other = LIST_FIRST(&id->requests)))
		rcm_answered(other);
	rcm_set_time(id, UINT64_MAX);
	if (id->listed)
		LIST_REMOVE(id, in_port);
	cm->by_place[id->number % RCM_IDS] = NULL;
	LIST_REMOVE(id, in_channel);
	rdma_ctx_uncharge(id->channel->ctx, RDMA_CHARGE_CM_IDS, 1);
	free(id);
}

/* ---- channels ---- */

int rcm_channel_new(struct rdma_ctx *ctx, int fd, struct rcm_channel **out, char *err, size_t errlen)
{
	struct rdma *r = ctx->r;
	struct rcm_channel *ch;
	int rc = rdma_ctx_charge(ctx, RDMA_CHARGE_CHANNELS, 1, err, errlen);

	if (rc < 0)
		return rc;
	if (ctx->ncm_channels == RCM_CHANNELS_MAX) {
		snprintf(err, errlen, "no more than %u event channels an application", RCM_CHANNELS_MAX);
		rc = -ENOSPC;
	} else if (!(ch = calloc(1, sizeof(*ch)))) {
		snprintf(err, errlen, "out of memory");
		rc = -ENOMEM;
	}
	if (rc < 0) {
		rdma_ctx_uncharge(ctx, RDMA_CHARGE_CHANNELS, 1);
		return rc;
	}
	ch->ctx = ctx;
	ch->fd = fd;
	ch->number = ++r->cm->last_channel;
	TAILQ_INIT(&ch->events);
	LIST_INSERT_HEAD(&ctx->cm_channels, ch, entry);
	ctx->ncm_channels++;
	*out = ch;
	return 0;
}

void rcm_channel_free(struct rcm_channel *ch)
{
	struct rdma *r = ch->ctx->r;
	struct rcm_id *id;

	while ((id = LIST_FIRST(&ch->ids)))
		rcm_id_free(id);
	LIST_REMOVE(ch, entry);
	ch->ctx->ncm_channels--;
	rdma_ctx_uncharge(ch->ctx, RDMA_CHARGE_CHANNELS, 1);
	if (ch->owed)
		LIST_REMOVE(ch, in_owing);
	r->host.close(r->host.arg, ch->ctx->owner.uid, ch->fd);
	free(ch);
}

struct rcm_channel *rcm_channel_find(const struct rdma_ctx *ctx, uint32_t number)
{
	struct rcm_channel *ch;

	LIST_FOREACH(ch, &ctx->cm_channels, entry)
		if (ch->number == number)
			return ch;
	return NULL;
}

/* What |ch| is owed, as far as its socket has room. */
static bool pay(struct rdma *r, struct rcm_channel *ch)
{
	static const char byte;

	while (ch->owed && r->host.send(r->host.arg, ch->fd, &byte, 1) != -EAGAIN)
		if (!--ch->owed)
			LIST_REMOVE(ch, in_owing);
	return !ch->owed;
}

bool rcm_settle(struct rdma *r)
{
	struct rcm_channel *ch, *next;
	bool all = true;

	for (ch = LIST_FIRST(&r->cm->owing); ch; ch = next) {
		next = LIST_NEXT(ch, in_owing);
		all &= pay(r, ch);
	}
	return all;
}

static void append(struct rcm_channel *ch, struct rcm_event *e)
{
	struct rdma *r = ch->ctx->r;

	TAILQ_INSERT_TAIL(&ch->events, e, entry);
	if (!ch->owed++)
		LIST_INSERT_HEAD(&r->cm->owing, ch, in_owing);
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
	TAILQ_INSERT_TAIL(&id->events, e, in_id);
	id->unfetched++;
	if (child)
		child->request = e;
	append(id->channel, e);
}

bool rcm_event_take(struct rcm_channel *ch, struct fverbs_cm_event *out)
{
	struct rcm_event *e = TAILQ_FIRST(&ch->events);

	if (!e)
		return false;
	take_event(e);
	*out = e->event;
	/* The id may have got its cookie since. */
	out->cookie = e->of->cookie;
	e->of->reported++;
	free(e);
	return true;
}

static void set_channel(struct rcm_id *id, struct rcm_channel *to)
{
	LIST_REMOVE(id, in_channel);
	LIST_INSERT_HEAD(&to->ids, id, in_channel);
	id->channel = to;
}

void rcm_migrate(struct rcm_id *id, struct rcm_channel *to)
{
	struct rcm_channel *from = id->channel;
	struct rcm_event *e;

	if (from == to)
		return;
	set_channel(id, to);
	TAILQ_FOREACH(e, &id->events, in_id) {
		TAILQ_REMOVE(&from->events, e, entry);
		if (e->child)
			set_channel(e->child, to);
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
		LIST_FOREACH(other, &g->all[i]->cm->by_port[id->src.port], in_port)
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
	if (rc < 0) {
		id->bound = false;
		return rc;
	}
	id->state = RCM_BOUND;
	rcm_list_port(id);
	return 0;
}

void rcm_list_port(struct rcm_id *id)
{
	LIST_INSERT_HEAD(&id->r->cm->by_port[id->src.port], id, in_port);
	id->listed = true;
}

struct rcm_id *rcm_listener(const struct rdma *r, uint16_t ps, const struct fverbs_cm_addr *at)
{
	struct rcm_id *id, *found = NULL;

	LIST_FOREACH(id, &r->cm->by_port[at->port], in_port) {
		if (id->state != RCM_LISTEN || id->ps != ps)
			continue;
		if (!id->any && rcm_same_addr(&id->src, at))
			return id;
		if (id->any && (id->src.family == at->family || id->src.family == AF_INET6))
			found = id;
	}
	return found;
}
