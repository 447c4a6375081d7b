// SPDX-License-Identifier: BSD-2-Clause
/* Opening and closing a device, and what becomes of it when the agent goes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/fv.h"

enum {
	MR_BUCKETS = 1024,
	COMP_VECTORS = 1,
};

static void fill_ops(struct verbs_context *v)
{
	v->query_port = fv_query_port;
	v->advise_mr = fv_advise_mr;
	v->reg_dm_mr = fv_reg_dm_mr;
	v->alloc_dm = fv_alloc_dm;
	v->free_dm = fv_free_dm;
	v->alloc_parent_domain = fv_alloc_parent_domain;
	v->dealloc_td = fv_dealloc_td;
	v->alloc_td = fv_alloc_td;
	v->modify_cq = fv_modify_cq;
	v->query_rt_values = fv_query_rt_values;
	v->create_cq_ex = fv_create_cq_ex;
	v->query_device_ex = fv_query_device_ex;
	v->open_qp = fv_open_qp;
	v->create_qp_ex = fv_create_qp_ex;
	v->get_srq_num = fv_get_srq_num;
	v->create_srq_ex = fv_create_srq_ex;
	v->open_xrcd = fv_open_xrcd;
	v->close_xrcd = fv_close_xrcd;
	v->sz = sizeof(*v);
	v->context.ops.alloc_mw = fv_alloc_mw;
	v->context.ops.bind_mw = fv_bind_mw;
	v->context.ops.dealloc_mw = fv_dealloc_mw;
	v->context.ops.poll_cq = fv_poll_cq;
	v->context.ops.req_notify_cq = fv_req_notify_cq;
	v->context.ops.post_srq_recv = fv_post_srq_recv;
	v->context.ops.post_send = fv_post_send;
	v->context.ops.post_recv = fv_post_recv;
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

/*
 * Put a socket of our own under descriptor |fd|, at whose end the application waits for events: those
 * that the agent's end brings about come through it, and then it is silent, not at its end.
 */
static int take_over(int fd)
{
	int pair[2], flags = fcntl(fd, F_GETFL);

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	if (flags >= 0)
		fcntl(pair[0], F_SETFL, flags);
	if (dup3(pair[0], fd, O_CLOEXEC) < 0) {
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	close(pair[0]);
	return pair[1];
}

static void send_local(int fd, const void *event, size_t len)
{
	/* If it does not fit, there are events enough to wake whoever waits. */
	if (fd >= 0 && send(fd, event, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return;
}

void fv_wake_waiter(struct fv_cq *cq)
{
	const struct fverbs_completion_event event = { .cookie = cq->cookie };
	struct fv_channel *ch = FV_CAST(struct fv_channel, channel, cq->cq.channel);
	uint32_t armed;

	/* Before lost() has come so far it is not for us to wake anybody: it will. */
	if (!cq->cq.channel || !cq->cookie || ch->local < 0)
		return;
	pthread_mutex_lock(&cq->cq.mutex);
	armed = __atomic_exchange_n(&cq->shm->armed, FVERBS_ARMED_NO, __ATOMIC_ACQ_REL);
	pthread_mutex_unlock(&cq->cq.mutex);
	if (armed)
		send_local(ch->local, &event, sizeof(event));
}

void fv_wake_late(struct fv_cq *cq)
{
	struct fv_ctx *ctx = FV_CAST(struct fv_ctx, v.context, cq->cq.context);

	pthread_mutex_lock(&ctx->lock);
	fv_wake_waiter(cq);
	pthread_mutex_unlock(&ctx->lock);
}

/* What the agent's end has to do with event channels and |async|. */
static void lost(struct fv_agent *agent)
{
	struct fv_ctx *ctx = FV_CAST(struct fv_ctx, agent, agent);
	const struct fverbs_async_event fatal = {
		.type = IBV_EVENT_DEVICE_FATAL, .device = ctx->device->index,
	};

	pthread_mutex_lock(&ctx->lock);
	for (struct fv_channel *ch = ctx->channels; ch; ch = ch->next)
		ch->local = take_over(ch->channel.fd);
	agent->async_local = take_over(agent->async);
	send_local(agent->async_local, &fatal, sizeof(fatal));
	for (uint32_t i = 0; i < ctx->table_size; i++) {
		if (ctx->table[i].object && ctx->table[i].kind == FV_KIND_CQ)
			fv_wake_waiter(ctx->table[i].object);
	}
	pthread_mutex_unlock(&ctx->lock);
}

FV_EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct fv_ctx *ctx;
	int rc;

	if (!fv_device_mine(device))
		FV_FORWARD(ibv_open_device, NULL, device);
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return NULL;
	ctx->mrs = calloc(MR_BUCKETS, sizeof(struct fv_mr *));
	rc = ctx->mrs ? fv_agent_open(&ctx->agent, lost) : ENOMEM;
	if (rc) {
		free(ctx->mrs);
		free(ctx);
		errno = rc;
		return NULL;
	}
	ctx->device = FV_CAST(struct fv_device, dev, device);
	__atomic_add_fetch(&ctx->device->refs, 1, __ATOMIC_RELAXED);
	pthread_mutex_init(&ctx->lock, NULL);
	ctx->copy_max = fv_env_number(FV_ENV_COPY);
	ctx->poll = (uint8_t)fv_env_choice(FV_ENV_POLL);
	ctx->memory = (uint8_t)fv_env_choice(FV_ENV_MEMORY);
	fill_ops(&ctx->v);
	ctx->v.context.device = device;
	ctx->v.context.cmd_fd = ctx->agent.cmd;
	ctx->v.context.async_fd = ctx->agent.async;
	ctx->v.context.num_comp_vectors = COMP_VECTORS;
	pthread_mutex_init(&ctx->v.context.mutex, NULL);
	return &ctx->v.context;
}

FV_EXPORT struct ibv_context *ibv_import_device(int cmd_fd)
{
	struct stat st;

	/* A socket is one of ours, and its user the context that has it; real ones are devices. */
	if (!fstat(cmd_fd, &st) && S_ISSOCK(st.st_mode)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	FV_FORWARD(ibv_import_device, NULL, cmd_fd);
}

FV_EXPORT int ibv_close_device(struct ibv_context *context)
{
	struct fv_ctx *ctx = fv_ctx_of(context);

	if (!ctx)
		FV_FORWARD(ibv_close_device, -1, context);
	/* What the application has not destroyed goes with it, as when it exits. */
	fv_mr_leave(ctx);
	fv_agent_close(&ctx->agent);
	fv_device_put(ctx->device);
	pthread_mutex_destroy(&ctx->lock);
	pthread_mutex_destroy(&ctx->v.context.mutex);
	free(ctx->table);
	free(ctx->mrs);
	free(ctx);
	return 0;
}
