// SPDX-License-Identifier: BSD-2-Clause
/* Commands about channels, completion queues, shared receive queues and XRC domains. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "ulp/rdma/objects.h"

static void answer_handle(struct rdma_call *call, uint32_t handle)
{
	struct fverbs_handle *answer = rdma_call_answer(call, sizeof(*answer));

	answer->handle = handle;
}

static int create_channel(struct rdma_call *call)
{
	const struct rdma_host *h = &call->r->host;
	struct rdma_channel *ch;
	uint32_t handle;
	int rc;

	if (call->fd < 0 || !h->is_socket(h->arg, call->fd))
		return rdma_call_fail(call, -EBADF, "a channel comes with an end of a Unix stream pair");
	ch = calloc(1, sizeof(*ch));
	if (!ch)
		return rdma_call_fail(call, -ENOMEM, "out of memory");
	ch->ctx = call->ctx;
	ch->owing_tail = &ch->owing;
	rc = rdma_call_handle(call, RDMA_KIND_CHANNEL, ch, RDMA_MAX_CHANNELS, &handle);
	if (rc < 0) {
		free(ch);
		return rc;
	}
	ch->fd = call->fd;
	call->fd = -1;
	answer_handle(call, handle);
	return 0;
}

static void drop_channel(struct rdma_ctx *ctx, uint32_t handle)
{
	const struct rdma_host *h = &ctx->r->host;
	struct rdma_channel *ch = rdma_handle_get(ctx, RDMA_KIND_CHANNEL, handle);

	h->close(h->arg, ctx->owner.uid, ch->fd);
	free(ch);
	rdma_handle_free(ctx, handle);
}

static int destroy_channel(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	struct rdma_channel *ch = rdma_call_object(call, RDMA_KIND_CHANNEL, req->handle);

	if (!ch)
		return -EINVAL;
	if (ch->uses)
		return rdma_call_busy(call, RDMA_KIND_CHANNEL, ch->uses);
	drop_channel(call->ctx, req->handle);
	return 0;
}

static int open_ring(struct rdma_call *call, const struct fverbs_place *place, uint32_t fixed,
		     uint32_t max, struct rdma_ring *out)
{
	return rdma_ring_open(call->ctx, place, fixed, max, out, call->err, sizeof(call->err));
}

static int open_cq_ring(struct rdma_call *call, const struct fverbs_place *place,
			struct rdma_ring *out)
{
	if (place->stride != sizeof(struct fverbs_cqe))
		return rdma_call_fail(call, -EINVAL, "completions have %zu bytes, not %u",
				      sizeof(struct fverbs_cqe), place->stride);
	return open_ring(call, place, sizeof(struct fverbs_cqe), FVERBS_CQE_MAX, out);
}

/* A completion queue as |req| says, without handle. */
static struct rdma_cq *make_cq(struct rdma_call *call, const struct fverbs_create_cq *req, int *rc)
{
	struct rdma_channel *ch = NULL;
	struct rdma_cq *cq;

	*rc = -EINVAL;
	if (!rdma_device(call->r, req->device) || req->flags > 1) {
		rdma_call_fail(call, -EINVAL, "completion queue: device %u, flags %#x", req->device,
			       req->flags);
		return NULL;
	}
	if (req->channel_plus_1) {
		ch = rdma_call_object(call, RDMA_KIND_CHANNEL, req->channel_plus_1 - 1);
		if (!ch)
			return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	*rc = cq ? open_cq_ring(call, &req->place, &cq->ring)
		 : rdma_call_fail(call, -ENOMEM, "out of memory");
	if (*rc < 0) {
		free(cq);
		return NULL;
	}
	cq->ctx = call->ctx;
	cq->channel = ch;
	cq->cookie = req->cookie;
	cq->ignore_overrun = req->flags & 1;
	if (ch)
		ch->uses++;
	return cq;
}

static void keep_stats(struct rdma_cq_stats *sum, const struct rdma_cq_stats *s)
{
	RDMA_CQ_STATS(STAT_ADD)
}

static void free_cq(struct rdma_cq *cq)
{
	rdma_cq_forget(cq);
	if (cq->channel)
		cq->channel->uses--;
	rdma_ring_close(&cq->ring);
	keep_stats(&cq->ctx->r->past.cq, &cq->stats);
	free(cq);
}

static int create_cq(struct rdma_call *call)
{
	int rc;
	struct rdma_cq *cq = make_cq(call, call->req, &rc);

	if (!cq)
		return rc;
	rc = rdma_call_handle(call, RDMA_KIND_CQ, cq, RDMA_MAX_CQS, &cq->handle);
	if (rc < 0)
		free_cq(cq);
	else
		answer_handle(call, cq->handle);
	return rc;
}

static int resize_cq(struct rdma_call *call)
{
	const struct fverbs_resize_cq *req = call->req;
	struct rdma_cq *cq = rdma_call_object(call, RDMA_KIND_CQ, req->cq);
	struct rdma_ring ring;
	int rc;

	if (!cq)
		return -EINVAL;
	rc = open_cq_ring(call, &req->place, &ring);
	if (rc < 0)
		return rc;
	rc = rdma_cq_move(cq, &ring);
	if (rc == 0)
		return 0;
	rdma_ring_close(&ring);
	return rdma_call_fail(call, rc, "the completions that are unread do not fit %u entries",
			      req->place.entries);
}

static int destroy_cq(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	struct rdma_cq *cq = rdma_call_object(call, RDMA_KIND_CQ, req->handle);
	struct fverbs_events *answer;

	if (!cq)
		return -EINVAL;
	if (cq->uses)
		return rdma_call_busy(call, RDMA_KIND_CQ, cq->uses);
	answer = rdma_call_answer(call, sizeof(*answer));
	*answer = cq->events;
	rdma_handle_free(call->ctx, req->handle);
	free_cq(cq);
	return 0;
}

/* What an SRQ of XRC has beside: fills |srq|. */
static int take_xrc(struct rdma_call *call, const struct fverbs_create_srq *req,
		    struct rdma_srq *srq)
{
	if (req->type == IBV_SRQT_BASIC)
		return 0;
	if (req->type != IBV_SRQT_XRC)
		return rdma_call_fail(call, -EOPNOTSUPP,
				      "shared receive queues of type %u do not exist here", req->type);
	srq->xrcd = rdma_call_object(call, RDMA_KIND_XRCD, req->xrcd);
	srq->cq = srq->xrcd ? rdma_call_object(call, RDMA_KIND_CQ, req->cq) : NULL;
	if (!srq->cq)
		return -EINVAL;
	if (srq->xrcd->device == srq->pd->device)
		return 0;
	return rdma_call_fail(call, -EINVAL, "protection domain and XRC domain are of different devices");
}

/* Check |req| and fill |srq|; its ring is opened last. */
static int fill_srq(struct rdma_call *call, const struct fverbs_create_srq *req,
		    struct rdma_srq *srq)
{
	int rc;

	srq->ctx = call->ctx;
	srq->pd = rdma_call_object(call, RDMA_KIND_PD, req->pd);
	if (!srq->pd)
		return -EINVAL;
	rc = take_xrc(call, req, srq);
	if (rc < 0)
		return rc;
	if (req->max_wr > req->place.entries || req->max_sge > FVERBS_SGE_MAX ||
	    req->limit > req->max_wr || req->reserved)
		return rdma_call_fail(call, -EINVAL,
				      "shared receive queue: %u requests of %u elements, limit %u, in "
				      "%u entries",
				      req->max_wr, req->max_sge, req->limit, req->place.entries);
	srq->cookie = req->cookie;
	srq->max_wr = req->max_wr;
	srq->max_sge = req->max_sge;
	srq->limit = req->limit;
	return open_ring(call, &req->place, sizeof(struct fverbs_recv_wqe), FVERBS_WR_MAX,
			 &srq->ring);
}

static int number_srq(struct rdma_call *call, struct rdma_srq *srq)
{
	int rc = rdma_call_handle(call, RDMA_KIND_SRQ, srq, RDMA_MAX_SRQS, &srq->handle);

	if (rc < 0)
		return rc;
	rc = rdma_srq_number(call->r, srq);
	if (rc == 0)
		return 0;
	rdma_handle_free(call->ctx, srq->handle);
	return rdma_call_fail(call, rc, "out of numbers for shared receive queues");
}

static int create_srq(struct rdma_call *call)
{
	struct rdma_srq *srq = calloc(1, sizeof(*srq));
	struct fverbs_handle_num *answer;
	int rc;

	if (!srq)
		return rdma_call_fail(call, -ENOMEM, "out of memory");
	rc = fill_srq(call, call->req, srq);
	if (rc == 0)
		rc = number_srq(call, srq);
	if (rc < 0) {
		rdma_ring_close(&srq->ring);
		free(srq);
		return rc;
	}
	srq->pd->uses++;
	if (srq->cq)
		srq->cq->uses++;
	if (srq->xrcd)
		srq->xrcd->uses++;
	answer = rdma_call_answer(call, sizeof(*answer));
	answer->handle = srq->handle;
	answer->num = srq->num;
	return 0;
}

static int modify_srq(struct rdma_call *call)
{
	const struct fverbs_modify_srq *req = call->req;
	struct rdma_srq *srq = rdma_call_object(call, RDMA_KIND_SRQ, req->srq);
	uint32_t max_wr = srq ? srq->max_wr : 0;
	struct rdma_ring ring = {};

	if (!srq)
		return -EINVAL;
	if (req->mask & ~(uint32_t)(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return rdma_call_fail(call, -EINVAL, "attributes %#x of a shared receive queue",
				      req->mask);
	if (req->mask & IBV_SRQ_MAX_WR)
		max_wr = req->attr.max_wr;
	if ((req->mask & IBV_SRQ_LIMIT) && req->attr.limit > max_wr)
		return rdma_call_fail(call, -EINVAL, "a limit of %u for %u requests",
				      req->attr.limit, max_wr);
	if (req->mask & IBV_SRQ_MAX_WR) {
		int rc = open_ring(call, &req->place, sizeof(struct fverbs_recv_wqe), FVERBS_WR_MAX,
				   &ring);

		if (rc < 0)
			return rc;
		if (max_wr > ring.entries || rdma_srq_move(srq, &ring) < 0) {
			rdma_ring_close(&ring);
			return rdma_call_fail(call, -EINVAL, "what waits does not fit %u requests",
					      max_wr);
		}
		srq->max_wr = max_wr;
	}
	if (req->mask & IBV_SRQ_LIMIT)
		rdma_srq_arm(srq, req->attr.limit);
	return 0;
}

static int query_srq(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	const struct rdma_srq *srq = rdma_call_object(call, RDMA_KIND_SRQ, req->handle);
	struct fverbs_srq_attr *answer;

	if (!srq)
		return -EINVAL;
	answer = rdma_call_answer(call, sizeof(*answer));
	*answer = (struct fverbs_srq_attr){ .max_wr = srq->max_wr,
					    .max_sge = srq->max_sge,
					    .limit = srq->limit };
	return 0;
}

static void drop_srq(struct rdma_ctx *ctx, uint32_t handle)
{
	struct rdma_srq *srq = rdma_handle_get(ctx, RDMA_KIND_SRQ, handle);

	rdma_async_forget(ctx, &srq->async);
	ctx->r->srqs[srq->num] = NULL;
	if (srq->xrcd)
		rdma_qps_srq_gone(ctx->r, srq);
	rdma_handle_free(ctx, handle);
	rdma_ring_close(&srq->ring);
	srq->pd->uses--;
	if (srq->cq)
		srq->cq->uses--;
	if (srq->xrcd)
		rdma_xrcd_put(srq->xrcd, &srq->xrcd->uses);
	free(srq);
}

static int destroy_srq(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	struct rdma_srq *srq = rdma_call_object(call, RDMA_KIND_SRQ, req->handle);
	struct fverbs_events *answer;

	if (!srq)
		return -EINVAL;
	if (srq->uses)
		return rdma_call_busy(call, RDMA_KIND_SRQ, srq->uses);
	answer = rdma_call_answer(call, sizeof(*answer));
	answer->async = srq->async;
	drop_srq(call->ctx, req->handle);
	return 0;
}

void rdma_xrcd_put(struct rdma_xrcd *x, uint32_t *count)
{
	--*count;
	if (x->handles || x->uses)
		return;
	*x->pprev = x->next;
	if (x->next)
		x->next->pprev = x->pprev;
	free(x);
}

static struct rdma_xrcd *named_xrcd(const struct rdma *r, uint32_t device,
				    const struct rdma_file_id *file)
{
	struct rdma_xrcd *x = r->xrcds;

	while (x && (!x->named || x->device != device || x->file.device != file->device ||
		     x->file.inode != file->inode))
		x = x->next;
	return x;
}

static struct rdma_xrcd *new_xrcd(struct rdma *r, uint32_t device, const struct rdma_file_id *file)
{
	struct rdma_xrcd *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->device = device;
	x->named = file;
	if (file)
		x->file = *file;
	x->next = r->xrcds;
	x->pprev = &r->xrcds;
	if (x->next)
		x->next->pprev = &x->next;
	r->xrcds = x;
	return x;
}

/* Another layer of the group that has the domain which |file| names: such lists change in calls only. */
static const struct rdma *elsewhere(const struct rdma *r, uint32_t device, const struct rdma_file_id *file)
{
	for (uint32_t i = 0; i < r->group->n; i++)
		if (r->group->all[i] != r && named_xrcd(r->group->all[i], device, file))
			return r->group->all[i];
	return NULL;
}

/* The domain that |file| names, or, if that is NULL, a nameless one, as |req| says. */
static struct rdma_xrcd *obtain_xrcd(struct rdma_call *call, const struct fverbs_open_xrcd *req,
				     const struct rdma_file_id *file, int *rc)
{
	struct rdma_xrcd *x = file ? named_xrcd(call->r, req->device, file) : NULL;
	const struct rdma *other = file ? elsewhere(call->r, req->device, file) : NULL;

	*rc = 0;
	if (other)
		*rc = rdma_call_fail(call, -EXDEV, "the XRC domain of the file is served by thread %u of the "
				     "agent, this process by thread %u: run it with FALCON_VERBS_THREAD=%u",
				     other->member, call->r->member, other->member);
	else if (x && (req->oflags & O_EXCL))
		*rc = rdma_call_fail(call, -EEXIST, "the file names an XRC domain already");
	else if (!x && !(req->oflags & O_CREAT))
		*rc = rdma_call_fail(call, -ENOENT, "the file names no XRC domain");
	else if (!x && !(x = new_xrcd(call->r, req->device, file)))
		*rc = rdma_call_fail(call, -ENOMEM, "out of memory");
	return *rc < 0 ? NULL : x;
}

static int open_xrcd(struct rdma_call *call)
{
	const struct fverbs_open_xrcd *req = call->req;
	const struct rdma_host *h = &call->r->host;
	struct rdma_file_id id;
	struct rdma_xrcd *x;
	uint32_t handle;
	int rc;

	if (!rdma_device(call->r, req->device) || req->has_fd != (call->fd >= 0) || req->reserved ||
	    req->oflags & ~(uint32_t)(O_CREAT | O_EXCL))
		return rdma_call_fail(call, -EINVAL, "XRC domain: device %u, flags %#x, %sfile",
				      req->device, req->oflags, call->fd >= 0 ? "" : "no ");
	if (req->has_fd && h->file_id(h->arg, call->fd, &id) < 0)
		return rdma_call_fail(call, -EBADF, "the descriptor is of no file");
	x = obtain_xrcd(call, req, req->has_fd ? &id : NULL, &rc);
	if (!x)
		return rc;
	x->handles++;
	rc = rdma_call_handle(call, RDMA_KIND_XRCD, x, RDMA_MAX_XRCDS, &handle);
	if (rc < 0)
		rdma_xrcd_put(x, &x->handles);
	else
		answer_handle(call, handle);
	return rc;
}

static void drop_xrcd(struct rdma_ctx *ctx, uint32_t handle)
{
	struct rdma_xrcd *x = rdma_handle_get(ctx, RDMA_KIND_XRCD, handle);

	rdma_handle_free(ctx, handle);
	rdma_xrcd_put(x, &x->handles);
}

static int close_xrcd(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	struct rdma_xrcd *x = rdma_call_object(call, RDMA_KIND_XRCD, req->handle);

	if (!x)
		return -EINVAL;
	if (x->handles == 1 && x->uses)
		return rdma_call_busy(call, RDMA_KIND_XRCD, x->uses);
	drop_xrcd(call->ctx, req->handle);
	return 0;
}

static void drop_cq(struct rdma_ctx *ctx, uint32_t handle)
{
	struct rdma_cq *cq = rdma_handle_get(ctx, RDMA_KIND_CQ, handle);

	rdma_handle_free(ctx, handle);
	free_cq(cq);
}

void rdma_queue_drop(struct rdma_ctx *ctx, enum rdma_kind kind, uint32_t handle)
{
	if (kind == RDMA_KIND_SRQ)
		drop_srq(ctx, handle);
	else if (kind == RDMA_KIND_CQ)
		drop_cq(ctx, handle);
	else if (kind == RDMA_KIND_CHANNEL)
		drop_channel(ctx, handle);
	else if (kind == RDMA_KIND_XRCD)
		drop_xrcd(ctx, handle);
}

const struct rdma_command_def rdma_queue_commands[] = {
	{ FVERBS_CREATE_CHANNEL, 0, true, create_channel },
	{ FVERBS_DESTROY_CHANNEL, sizeof(struct fverbs_handle), false, destroy_channel },
	{ FVERBS_CREATE_CQ, sizeof(struct fverbs_create_cq), false, create_cq },
	{ FVERBS_RESIZE_CQ, sizeof(struct fverbs_resize_cq), false, resize_cq },
	{ FVERBS_DESTROY_CQ, sizeof(struct fverbs_handle), false, destroy_cq },
	{ FVERBS_CREATE_SRQ, sizeof(struct fverbs_create_srq), false, create_srq },
	{ FVERBS_MODIFY_SRQ, sizeof(struct fverbs_modify_srq), false, modify_srq },
	{ FVERBS_QUERY_SRQ, sizeof(struct fverbs_handle), false, query_srq },
	{ FVERBS_DESTROY_SRQ, sizeof(struct fverbs_handle), false, destroy_srq },
	{ FVERBS_OPEN_XRCD, sizeof(struct fverbs_open_xrcd), true, open_xrcd },
	{ FVERBS_CLOSE_XRCD, sizeof(struct fverbs_handle), false, close_xrcd },
};
const unsigned int rdma_queue_ncommands =
	sizeof(rdma_queue_commands) / sizeof(rdma_queue_commands[0]);
