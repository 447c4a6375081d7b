// SPDX-License-Identifier: BSD-2-Clause
/* Commands about queue pairs and address handles. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "ulp/rdma/objects.h"

/* A queue pair, and the handles that name it: several only of those that receive for XRC. */
struct rdma_qp_object {
	struct rdma_qp *qp;
	struct rdma_ctx *ctx;		/* that created it, and with which it ends */
	struct rdma_qp_object *next, **pprev;	/* of that context's */
	struct rdma_qp_handle *handles;
	uint32_t slot;			/* FVERBS_SLOTS: none */
};

/* What a handle stands for. */
struct rdma_qp_handle {
	struct rdma_qp_object *object;	/* NULL: the queue pair has gone with its creator */
	struct rdma_qp_handle *next;	/* of the same queue pair */
	struct rdma_ctx *ctx;
	uint64_t cookie;		/* of this context's */
	uint32_t handle;
	bool opened;			/* one more, charged as an object; false: of who has made it */
};

void rdma_ctx_each_qp(const struct rdma_ctx *ctx, void (*fn)(struct rdma_qp *qp))
{
	for (const struct rdma_qp_object *o = ctx->qps; o; o = o->next)
		fn(o->qp);
}

struct rdma_qp *rdma_qp_of_handle(const struct rdma_ctx *ctx, uint32_t handle)
{
	const struct rdma_qp_handle *h = rdma_handle_get(ctx, RDMA_KIND_QP, handle);

	return h && h->object && h->object->ctx == ctx ? h->object->qp : NULL;
}

/* The queue pair that the command is about, or NULL with the reason in |call|. */
static struct rdma_qp *qp_of(struct rdma_call *call, uint32_t handle)
{
	const struct rdma_qp_handle *h = rdma_call_object(call, RDMA_KIND_QP, handle);

	if (h && !h->object)
		rdma_call_fail(call, -EINVAL, "queue pair %u has gone with the process that made it",
			       handle);
	return h && h->object ? h->object->qp : NULL;
}

static int open_ring(struct rdma_call *call, const struct fverbs_place *place, size_t fixed,
		     struct rdma_ring *out)
{
	if (!place->entries)
		return 0;
	return rdma_ring_open(call->ctx, place, (uint32_t)fixed, FVERBS_WR_MAX, out, call->err,
			      sizeof(call->err));
}

static void close_rings(struct rdma_qp_init *init)
{
	rdma_ring_close(&init->sq);
	rdma_ring_close(&init->rq);
}

/* One more, or one less, use of all that the queue pair is made of. */
static void use_parts(const struct rdma_qp_init *init, int by)
{
	if (init->pd)
		init->pd->uses += (uint32_t)by;
	if (init->send_cq)
		init->send_cq->uses += (uint32_t)by;
	if (init->recv_cq)
		init->recv_cq->uses += (uint32_t)by;
	if (init->srq)
		init->srq->uses += (uint32_t)by;
}

/* The objects that |req| names, as far as its type has them. 0 or -EINVAL. */
static int find_parts(struct rdma_call *call, const struct fverbs_create_qp *req,
		      struct rdma_qp_init *init)
{
	bool xrc_recv = req->type == IBV_QPT_XRC_RECV, xrc_send = req->type == IBV_QPT_XRC_SEND;

	if (xrc_recv) {
		init->xrcd = rdma_call_object(call, RDMA_KIND_XRCD, req->xrcd_plus_1 - 1);
		init->device = init->xrcd ? init->xrcd->device : 0;
		return init->xrcd ? 0 : -EINVAL;
	}
	init->pd = rdma_call_object(call, RDMA_KIND_PD, req->pd);
	init->send_cq = init->pd ? rdma_call_object(call, RDMA_KIND_CQ, req->send_cq) : NULL;
	if (!init->send_cq)
		return -EINVAL;
	init->device = init->pd->device;
	if (xrc_send)
		return 0;
	init->recv_cq = rdma_call_object(call, RDMA_KIND_CQ, req->recv_cq);
	if (!init->recv_cq)
		return -EINVAL;
	if (!req->srq_plus_1)
		return 0;
	init->srq = rdma_call_object(call, RDMA_KIND_SRQ, req->srq_plus_1 - 1);
	if (init->srq && init->srq->xrcd)
		init->srq = NULL;
	return init->srq ? 0 : rdma_call_fail(call, -EINVAL,
					      "there is no shared receive queue %u, or it is one of XRC",
					      req->srq_plus_1 - 1);
}

/* Everything of |init|; its rings are open on success. */
static int prepare(struct rdma_call *call, const struct fverbs_create_qp *req,
		   struct rdma_qp_init *init)
{
	bool queues = req->type != IBV_QPT_XRC_RECV;
	int rc;

	*init = (struct rdma_qp_init){ .ctx = call->ctx, .req = *req };
	if (req->reserved || req->ordering > FVERBS_UNORDERED ||
	    req->errors > FVERBS_COMPLETE_IN_ERROR || req->sq_sig_all > 1)
		return rdma_call_fail(call, -EINVAL, "queue pair: ordering %u, errors %u, signals %u",
				      req->ordering, req->errors, req->sq_sig_all);
	if (queues && (req->slot >= FVERBS_SLOTS || call->ctx->slots[req->slot]))
		return rdma_call_fail(call, -EINVAL, "slot %u is taken, or not below %u", req->slot,
				      FVERBS_SLOTS);
	rc = find_parts(call, req, init);
	if (rc == 0)
		rc = open_ring(call, &req->sq, sizeof(struct fverbs_send_wqe), &init->sq);
	if (rc == 0)
		rc = open_ring(call, &req->rq, sizeof(struct fverbs_recv_wqe), &init->rq);
	if (rc < 0)
		close_rings(init);
	return rc;
}

/* The queue pair itself, without handle. */
static struct rdma_qp_object *make_qp(struct rdma_call *call, const struct fverbs_create_qp *req,
				      int *rc)
{
	struct rdma_qp_object *o = calloc(1, sizeof(*o));
	struct rdma_qp_init init;

	*rc = o ? prepare(call, req, &init) : rdma_call_fail(call, -ENOMEM, "out of memory");
	if (*rc == 0) {
		*rc = rdma_qp_create(call->r, &init, &o->qp, call->err, sizeof(call->err));
		if (*rc < 0)
			close_rings(&init);
	}
	if (*rc < 0) {
		free(o);
		return NULL;
	}
	use_parts(&init, 1);
	if (init.xrcd)
		init.xrcd->uses++;
	if (req->type == IBV_QPT_UD)
		init.pd->loose = req->ordering != FVERBS_STRONGLY_ORDERED;
	o->ctx = call->ctx;
	o->next = o->ctx->qps;
	o->pprev = &o->ctx->qps;
	if (o->next)
		o->next->pprev = &o->next;
	o->ctx->qps = o;
	o->slot = req->type == IBV_QPT_XRC_RECV ? FVERBS_SLOTS : req->slot;
	if (o->slot < FVERBS_SLOTS)
		call->ctx->slots[o->slot] = o->qp;
	return o;
}

/* The queue pair goes; handles of other contexts remain, and stand for nothing. */
static void unmake_qp(struct rdma_qp_object *o)
{
	struct rdma_qp_init parts = *rdma_qp_parts(o->qp);
	struct rdma_ctx *ctx = o->ctx;

	for (struct rdma_qp_handle *h = o->handles; h; h = h->next) {
		h->object = NULL;
		if (h->ctx != ctx)
			rdma_async_event(h->ctx, h->cookie, IBV_EVENT_QP_FATAL, NULL);
	}
	if (o->slot < FVERBS_SLOTS)
		ctx->slots[o->slot] = NULL;
	*o->pprev = o->next;
	if (o->next)
		o->next->pprev = o->pprev;
	rdma_mws_qp_gone(o->qp);
	rdma_qp_destroy(o->qp);
	use_parts(&parts, -1);
	if (parts.xrcd)
		rdma_xrcd_put(parts.xrcd, &parts.xrcd->uses);
	rdma_ctx_uncharge(ctx, RDMA_CHARGE_QPS, 1);
	free(o);
}

/* A handle of |call|'s context for |o|, and the answer. */
static int name_qp(struct rdma_call *call, struct rdma_qp_object *o, uint64_t cookie, bool opened)
{
	struct rdma_qp_handle *h = calloc(1, sizeof(*h));
	struct fverbs_handle_num *answer;
	int rc;

	if (!h)
		return rdma_call_fail(call, -ENOMEM, "out of memory");
	rc = rdma_call_handle(call, RDMA_KIND_QP, h, RDMA_MAX_QPS, &h->handle);
	if (rc < 0) {
		free(h);
		return rc;
	}
	h->opened = opened;
	h->object = o;
	h->ctx = call->ctx;
	h->cookie = cookie;
	h->next = o->handles;
	o->handles = h;
	answer = rdma_call_answer(call, sizeof(*answer));
	answer->handle = h->handle;
	answer->num = rdma_qp_num(o->qp);
	return 0;
}

static int create_qp(struct rdma_call *call)
{
	const struct fverbs_create_qp *req = call->req;
	struct rdma_qp_object *o;
	int rc = rdma_call_charge(call, RDMA_CHARGE_QPS, 1);

	if (rc < 0)
		return rc;
	o = make_qp(call, req, &rc);
	if (!o) {
		rdma_ctx_uncharge(call->ctx, RDMA_CHARGE_QPS, 1);
		return rc;
	}
	rc = name_qp(call, o, req->cookie, false);
	if (rc < 0)
		unmake_qp(o);
	return rc;
}

/* The receiving queue pair |num| of domain |x|. */
static struct rdma_qp_object *find_xrc(struct rdma *r, const struct rdma_xrcd *x, uint32_t num)
{
	struct rdma_qp *qp = rdma_qp_find(r, num);
	const struct rdma_qp_init *parts = qp ? rdma_qp_parts(qp) : NULL;
	struct rdma_qp_object *o = parts && parts->xrcd == x ? parts->ctx->qps : NULL;

	while (o && o->qp != qp)
		o = o->next;
	return o;
}

static int open_qp(struct rdma_call *call)
{
	const struct fverbs_open_qp *req = call->req;
	struct rdma_xrcd *x = rdma_call_object(call, RDMA_KIND_XRCD, req->xrcd);
	struct rdma_qp_object *o;
	int rc;

	if (!x)
		return -EINVAL;
	o = find_xrc(call->r, x, req->qp_num);
	if (!o)
		return rdma_call_fail(call, -EINVAL,
				      "there is no queue pair %#x that receives for this XRC domain",
				      req->qp_num);
	rc = rdma_call_charge(call, RDMA_CHARGE_OBJECTS, 1);
	if (rc < 0)
		return rc;
	rc = name_qp(call, o, req->cookie, true);
	if (rc < 0)
		rdma_ctx_uncharge(call->ctx, RDMA_CHARGE_OBJECTS, 1);
	return rc;
}

static int modify_qp(struct rdma_call *call)
{
	const struct fverbs_modify_qp *req = call->req;
	struct rdma_qp *qp = qp_of(call, req->qp);

	if (!qp)
		return -EINVAL;
	return rdma_qp_modify(qp, req->mask, &req->attr, call->err, sizeof(call->err));
}

static int query_qp(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	const struct rdma_qp *qp = qp_of(call, req->handle);

	if (!qp)
		return -EINVAL;
	rdma_qp_query(qp, rdma_call_answer(call, sizeof(struct fverbs_qp_attr)));
	return 0;
}

static void unlink_handle(struct rdma_qp_handle *h)
{
	struct rdma_qp_handle **p = &h->object->handles;

	while (*p != h)
		p = &(*p)->next;
	*p = h->next;
}

/* The queue pair goes with its last handle. */
static void drop_qp(struct rdma_ctx *ctx, uint32_t handle)
{
	struct rdma_qp_handle *h = rdma_handle_get(ctx, RDMA_KIND_QP, handle);

	if (h->object) {
		unlink_handle(h);
		if (!h->object->handles)
			unmake_qp(h->object);
	}
	if (h->opened)
		rdma_ctx_uncharge(ctx, RDMA_CHARGE_OBJECTS, 1);
	rdma_handle_free(ctx, handle);
	free(h);
}

void rdma_qps_drop(struct rdma_ctx *ctx)
{
	while (ctx->qps)
		unmake_qp(ctx->qps);
}

static int destroy_qp(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;
	const struct rdma_qp_handle *h = rdma_call_object(call, RDMA_KIND_QP, req->handle);
	struct fverbs_events *answer;

	if (!h)
		return -EINVAL;
	answer = rdma_call_answer(call, sizeof(*answer));
	if (h->object && h->object->ctx == call->ctx)
		answer->async = rdma_qp_events(h->object->qp);
	drop_qp(call->ctx, req->handle);
	return 0;
}

static struct rdma_link *ah_link(struct rdma_ah *ah, uint32_t member, bool ordered, char *err,
				 size_t errlen)
{
	struct rdma_link **link = &ah->links[ordered][member];

	if (!*link)
		*link = rdma_link_datagram(ah->ctx, ah->pd->device, &ah->attr, member, ordered, err,
					   errlen);
	return *link;
}

/*
 * An address handle is not told which queue pairs will use it, and with which of the peer's. So the
 * connection that those of its domain take, as far as is known, to the peer's first layer is made with it;
 * another one when it is needed.
 */
static int create_ah(struct rdma_call *call)
{
	const struct fverbs_create_ah *req = call->req;
	struct rdma_pd *pd = rdma_call_object(call, RDMA_KIND_PD, req->pd);
	struct fverbs_handle *answer;
	struct rdma_ah *ah;
	uint32_t handle;
	int rc;

	if (!pd)
		return -EINVAL;
	ah = calloc(1, sizeof(*ah));
	rc = ah ? rdma_call_handle(call, RDMA_KIND_AH, ah, RDMA_MAX_AHS, &handle)
		: rdma_call_fail(call, -ENOMEM, "out of memory");
	if (rc < 0) {
		free(ah);
		return rc;
	}
	ah->ctx = call->ctx;
	ah->pd = pd;
	ah->attr = req->attr;
	if (!ah_link(ah, 0, !pd->loose, call->err, sizeof(call->err))) {
		rc = -errno;
		rdma_handle_free(call->ctx, handle);
		free(ah);
		return rc;
	}
	pd->uses++;
	answer = rdma_call_answer(call, sizeof(*answer));
	answer->handle = handle;
	return 0;
}

static void drop_ah(struct rdma_ctx *ctx, uint32_t handle)
{
	struct rdma_ah *ah = rdma_handle_get(ctx, RDMA_KIND_AH, handle);

	for (int ordered = 0; ordered < 2; ordered++)
		for (int member = 0; member < RDMA_GROUP_MAX; member++)
			if (ah->links[ordered][member])
				rdma_link_put_datagram(ah->links[ordered][member], ctx);
	ah->pd->uses--;
	rdma_handle_free(ctx, handle);
	free(ah);
}

static int destroy_ah(struct rdma_call *call)
{
	const struct fverbs_handle *req = call->req;

	if (!rdma_call_object(call, RDMA_KIND_AH, req->handle))
		return -EINVAL;
	drop_ah(call->ctx, req->handle);
	return 0;
}

struct rdma_ah *rdma_ah_find(struct rdma_ctx *ctx, uint32_t handle)
{
	return rdma_handle_get(ctx, RDMA_KIND_AH, handle);
}

struct rdma_pd *rdma_ah_pd(const struct rdma_ah *ah)
{
	return ah->pd;
}

struct rdma_link *rdma_ah_link(struct rdma_ah *ah, uint32_t qpn, bool ordered)
{
	char err[128];

	return ah_link(ah, rdma_qpn_member(qpn), ordered, err, sizeof(err));
}

void rdma_qp_drop(struct rdma_ctx *ctx, enum rdma_kind kind, uint32_t handle)
{
	if (kind == RDMA_KIND_QP)
		drop_qp(ctx, handle);
	else if (kind == RDMA_KIND_AH)
		drop_ah(ctx, handle);
}

const struct rdma_command_def rdma_qp_commands[] = {
	{ FVERBS_CREATE_QP, sizeof(struct fverbs_create_qp), false, create_qp },
	{ FVERBS_OPEN_QP, sizeof(struct fverbs_open_qp), false, open_qp },
	{ FVERBS_MODIFY_QP, sizeof(struct fverbs_modify_qp), false, modify_qp },
	{ FVERBS_QUERY_QP, sizeof(struct fverbs_handle), false, query_qp },
	{ FVERBS_DESTROY_QP, sizeof(struct fverbs_handle), false, destroy_qp },
	{ FVERBS_CREATE_AH, sizeof(struct fverbs_create_ah), false, create_ah },
	{ FVERBS_DESTROY_AH, sizeof(struct fverbs_handle), false, destroy_ah },
};
const unsigned int rdma_qp_ncommands = sizeof(rdma_qp_commands) / sizeof(rdma_qp_commands[0]);
