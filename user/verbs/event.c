// SPDX-License-Identifier: BSD-2-Clause
/* Completion channels and asynchronous events. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs/fv.h"

FV_EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct fverbs_handle answer;
	struct fv_channel *ch;
	int pair[2], rc;

	if (!ctx)
		FV_FORWARD(ibv_create_comp_channel, NULL, context);
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		free(ch);
		return NULL;
	}
	rc = fv_call(&ctx->agent, FVERBS_CREATE_CHANNEL, NULL, 0, pair[1], &answer, sizeof(answer));
	close(pair[1]);
	if (rc) {
		close(pair[0]);
		free(ch);
		errno = rc;
		return NULL;
	}
	ch->channel.context = context;
	ch->channel.fd = pair[0];
	ch->handle = answer.handle;
	ch->local = -1;
	pthread_mutex_lock(&ctx->lock);
	ch->next = ctx->channels;
	ctx->channels = ch;
	pthread_mutex_unlock(&ctx->lock);
	return &ch->channel;
}

FV_EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct fv_ctx *ctx = fv_ctx_of(channel->context);
	struct fv_channel *ch = FV_CAST(struct fv_channel, channel, channel);
	int rc;

	if (!ctx)
		FV_FORWARD(ibv_destroy_comp_channel, ENOSYS, channel);
	if (__atomic_load_n(&channel->refcnt, __ATOMIC_ACQUIRE))
		return fv_fail(EBUSY, "there are completion queues with this channel");
	rc = fv_call_destroy(&ctx->agent, FVERBS_DESTROY_CHANNEL, ch->handle);
	if (rc)
		return rc;
	pthread_mutex_lock(&ctx->lock);
	for (struct fv_channel **p = &ctx->channels; *p; p = &(*p)->next) {
		if (*p == ch) {
			*p = ch->next;
			break;
		}
	}
	pthread_mutex_unlock(&ctx->lock);
	close(channel->fd);
	if (ch->local >= 0)
		close(ch->local);
	free(ch);
	return 0;
}

/*
 * Read the next event from |fd|, of which the agent writes all or nothing. 0; or -1 with errno as of
 * read(). At the end, which the agent's death is, the socket is replaced by one of our own.
 */
static int read_event(struct fv_agent *agent, int fd, void *event, size_t len)
{
	for (;;) {
		bool settled = falcon_load(&agent->settled);
		ssize_t n;

		if (fv_forked(agent)) {
			fv_agent_usable(agent);
			return -1;
		}
		/* As read(): O_NONBLOCK of the descriptor says whether to wait. */
		n = read(fd, event, len);
		if (n == (ssize_t)len)
			return 0;
		if (n < 0)
			return -1;
		/* Ours does not end, nor does the agent stop in the middle, unless memory is short. */
		if (n || settled) {
			errno = EIO;
			return -1;
		}
		fv_agent_dead(agent);
		while (!falcon_load(&agent->settled))
			sched_yield();
	}
}

FV_EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **out,
			       void **cq_context)
{
	struct fv_ctx *ctx = fv_ctx_of(channel->context);
	struct fverbs_completion_event event;
	struct fv_cq *cq;

	if (!ctx)
		FV_FORWARD(ibv_get_cq_event, -1, channel, out, cq_context);
	do {
		if (read_event(&ctx->agent, channel->fd, &event, sizeof(event)))
			return -1;
		pthread_mutex_lock(&ctx->lock);
		/* Events of queues that have been destroyed meanwhile are of no interest. */
		cq = fv_cookie_find(ctx, event.cookie, FV_KIND_CQ);
		if (cq)
			cq->comp_events++;
		pthread_mutex_unlock(&ctx->lock);
	} while (!cq);
	*out = &cq->cq;
	*cq_context = cq->cq.cq_context;
	return 0;
}

FV_EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	static void *seen;
	void (*real)(struct ibv_cq *, unsigned int);

	if (!fv_ctx_of(cq->context)) {
		real = (__typeof__(real))fv_real_once(&seen, "ibv_ack_cq_events");
		if (real)
			real(cq, n);
		return;
	}
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += n;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* What an event is about. */
enum about { ABOUT_UNKNOWN, ABOUT_CQ, ABOUT_QP, ABOUT_SRQ, ABOUT_WQ, ABOUT_PORT };

static enum about about(uint32_t type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return ABOUT_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return ABOUT_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return ABOUT_SRQ;
	case IBV_EVENT_WQ_FATAL:
		return ABOUT_WQ;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return ABOUT_PORT;
	default:
		return ABOUT_UNKNOWN;
	}
}

/* What |event| is about, to *|out|; false: something that is not there any more. */
static bool resolve(struct fv_ctx *ctx, const struct fverbs_async_event *event,
		    struct ibv_async_event *out)
{
	struct fv_qp *qp;
	struct fv_cq *cq;
	struct fv_srq *srq;

	out->event_type = event->type;
	switch (about(event->type)) {
	case ABOUT_CQ:
		cq = fv_cookie_find(ctx, event->cookie, FV_KIND_CQ);
		if (!cq)
			return false;
		cq->async_events++;
		out->element.cq = &cq->cq;
		return true;
	case ABOUT_QP:
		qp = fv_cookie_find(ctx, event->cookie, FV_KIND_QP);
		if (!qp)
			return false;
		qp->async_events++;
		out->element.qp = &qp->qp;
		return true;
	case ABOUT_SRQ:
		srq = fv_cookie_find(ctx, event->cookie, FV_KIND_SRQ);
		if (!srq)
			return false;
		srq->async_events++;
		out->element.srq = &srq->srq;
		return true;
	case ABOUT_PORT:
		out->element.port_num = (int)event->cookie;
		return event->device == ctx->device->index;
	default:
		return false;
	}
}

FV_EXPORT int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *out)
{
	struct fv_ctx *ctx = fv_ctx_of(context);
	struct fverbs_async_event event;
	bool found;

	if (!ctx)
		FV_FORWARD(ibv_get_async_event, -1, context, out);
	do {
		if (read_event(&ctx->agent, ctx->agent.async, &event, sizeof(event)))
			return -1;
		pthread_mutex_lock(&ctx->lock);
		found = resolve(ctx, &event, out);
		pthread_mutex_unlock(&ctx->lock);
	} while (!found);
	return 0;
}

static void acked(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *count)
{
	pthread_mutex_lock(mutex);
	++*count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

/* Which context an event came from cannot be seen for those of ports; they need no counting. */
FV_EXPORT void ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (about(event->event_type)) {
	case ABOUT_CQ: {
		struct ibv_cq *cq = event->element.cq;

		acked(&cq->mutex, &cq->cond, &cq->async_events_completed);
		return;
	}
	case ABOUT_QP: {
		struct ibv_qp *qp = event->element.qp;

		acked(&qp->mutex, &qp->cond, &qp->events_completed);
		return;
	}
	case ABOUT_SRQ: {
		struct ibv_srq *srq = event->element.srq;

		acked(&srq->mutex, &srq->cond, &srq->events_completed);
		return;
	}
	case ABOUT_WQ: {
		struct ibv_wq *wq = event->element.wq;

		acked(&wq->mutex, &wq->cond, &wq->events_completed);
		return;
	}
	default:
		return;
	}
}
