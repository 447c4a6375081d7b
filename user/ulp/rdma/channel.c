// SPDX-License-Identifier: BSD-2-Clause
/*
 * Events that wake applications: of completion queues on their channels, and asynchronous ones. What
 * a socket has no room for waits here, in order, and is tried again until it is taken.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "ulp/rdma/objects.h"

static const uint64_t RETRY_NS = 1000 * 1000;	/* until the next try of a full socket */

static void retry_soon(struct rdma *r)
{
	if (r->retry_at == UINT64_MAX)
		r->retry_at = r->now + RETRY_NS;
}

/* False: there is no room. A socket that nobody reads any more takes everything. */
static bool send_event(struct rdma *r, int fd, const void *event, size_t len)
{
	return r->host.send(r->host.arg, fd, event, len) != -EAGAIN;
}

static bool send_completion(struct rdma_cq *cq)
{
	const struct fverbs_completion_event event = { .cookie = cq->cookie };

	if (!send_event(cq->ctx->r, cq->channel->fd, &event, sizeof(event)))
		return false;
	cq->channel->sent++;
	cq->events.completion++;
	return true;
}

void rdma_channel_notify(struct rdma_cq *cq)
{
	struct rdma_channel *ch = cq->channel;

	if (!ch)
		return;
	if (!ch->owing && send_completion(cq))
		return;
	if (cq->owed++ == 0) {
		cq->owing_next = NULL;
		*ch->owing_tail = cq;
		ch->owing_tail = &cq->owing_next;
	}
	retry_soon(ch->ctx->r);
}

/* Send what |ch| owes. False if it still owes something. */
static bool settle(struct rdma_channel *ch)
{
	struct rdma_cq *cq;

	while ((cq = ch->owing)) {
		for (; cq->owed; cq->owed--)
			if (!send_completion(cq))
				return false;
		ch->owing = cq->owing_next;
		if (!ch->owing)
			ch->owing_tail = &ch->owing;
	}
	return true;
}

void rdma_channel_forget(struct rdma_cq *cq)
{
	struct rdma_channel *ch = cq->channel;
	struct rdma_cq **p;

	if (!ch || !cq->owed)
		return;
	for (p = &ch->owing; *p != cq; p = &(*p)->owing_next)
		;
	*p = cq->owing_next;
	if (ch->owing_tail == &cq->owing_next)
		ch->owing_tail = p;
	cq->owed = 0;
}

static bool send_async(struct rdma_ctx *ctx, const struct fverbs_async_event *event,
		       uint32_t *counter)
{
	if (!send_event(ctx->r, ctx->async_fd, event, sizeof(*event)))
		return false;
	if (counter)
		++*counter;
	return true;
}

static void post_async(struct rdma_ctx *ctx, const struct fverbs_async_event *event,
		       uint32_t *counter)
{
	struct rdma_event *e;

	if (!ctx->events && send_async(ctx, event, counter))
		return;
	e = ctx->nevents < RDMA_MAX_ASYNC ? calloc(1, sizeof(*e)) : NULL;
	if (!e)
		return;
	*e = (struct rdma_event){ .event = *event, .counter = counter };
	*ctx->events_tail = e;
	ctx->events_tail = &e->next;
	ctx->nevents++;
	retry_soon(ctx->r);
}

void rdma_async_event(struct rdma_ctx *ctx, uint64_t cookie, uint32_t type, uint32_t *counter)
{
	const struct fverbs_async_event event = { .cookie = cookie, .type = type };

	post_async(ctx, &event, counter);
}

void rdma_async_device(struct rdma_ctx *ctx, uint32_t device, uint32_t type)
{
	const struct fverbs_async_event event = { .cookie = 1, .type = type, .device = device };

	post_async(ctx, &event, NULL);
}

/* Take the event at |p| off the list. */
static void remove_event(struct rdma_ctx *ctx, struct rdma_event **p)
{
	struct rdma_event *e = *p;

	*p = e->next;
	if (ctx->events_tail == &e->next)
		ctx->events_tail = p;
	ctx->nevents--;
	free(e);
}

void rdma_async_forget(struct rdma_ctx *ctx, const uint32_t *counter)
{
	struct rdma_event **p = &ctx->events;

	while (*p) {
		if ((*p)->counter == counter)
			remove_event(ctx, p);
		else
			p = &(*p)->next;
	}
}

void rdma_async_drop_all(struct rdma_ctx *ctx)
{
	while (ctx->events)
		remove_event(ctx, &ctx->events);
}

/* Send what waits in |ctx|. False if something still waits. */
static bool settle_ctx(struct rdma_ctx *ctx)
{
	bool all = true;

	while (ctx->events && send_async(ctx, &ctx->events->event, ctx->events->counter))
		remove_event(ctx, &ctx->events);
	if (!ctx->counts[RDMA_KIND_CHANNEL])
		return !ctx->events;
	for (uint32_t h = 1; h < ctx->handles_size; h++)
		if (ctx->handles[h].kind == RDMA_KIND_CHANNEL)
			all &= settle(ctx->handles[h].object);
	return all && !ctx->events;
}

void rdma_events_retry(struct rdma *r)
{
	bool all = true;

	if (r->now < r->retry_at)
		return;
	for (struct rdma_ctx *ctx = r->ctxs; ctx; ctx = ctx->next)
		all &= settle_ctx(ctx);
	r->retry_at = all ? UINT64_MAX : r->now + RETRY_NS;
}
