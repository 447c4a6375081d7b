// SPDX-License-Identifier: BSD-2-Clause
/* The fake agent's commands. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_priv.h"

struct fake_object *fake_object(uint32_t handle, enum fake_kind kind)
{
	struct fake_object *o = handle < FAKE_OBJECTS ? &fake.objects[handle] : NULL;

	return o && o->kind == kind ? o : NULL;
}

static uint32_t new_object(struct fake_ctx *ctx, enum fake_kind kind)
{
	for (uint32_t i = 1; i < FAKE_OBJECTS; i++) {
		if (fake.objects[i].kind)
			continue;
		fake.objects[i] = (struct fake_object){ .kind = kind, .ctx = ctx, .fd = -1 };
		return i;
	}
	return 0;
}

static void ring_open(struct fake_ctx *ctx, const struct fverbs_place *place, struct fake_ring *out)
{
	*out = (struct fake_ring){ .entries = place->entries, .stride = place->stride };
	if (place->entries)
		out->base = ctx->areas[place->area].base + place->offset;
}

static uint32_t add_area(struct fake_ctx *ctx, int fd)
{
	struct stat st;

	for (uint32_t i = 0; i < FAKE_AREAS; i++) {
		if (ctx->areas[i].base)
			continue;
		if (fstat(fd, &st))
			return 0;
		ctx->areas[i].size = (uint64_t)st.st_size;
		ctx->areas[i].base = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
					  MAP_SHARED, fd, 0);
		return i;
	}
	return 0;
}

/* As offload memory is: made here, and of more bytes than were asked for. */
static int new_area(struct fake_ctx *ctx, const struct fverbs_new_area *req,
		    struct fverbs_new_area_answer *answer)
{
	uint64_t size = (req->size + 0xffff) & ~0xffffULL;
	int fd = memfd_create("fake", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return -ENOMEM;
	answer->number = add_area(ctx, fd);
	answer->size = size;
	__atomic_add_fetch(&fake.memories, 1, __ATOMIC_RELAXED);
	if (fake.fault == FAKE_FAULT_NO_FD)
		close(fd);
	else
		fake.answer_fd = fd;
	return sizeof(*answer);
}

static void del_area(struct fake_ctx *ctx, uint32_t i)
{
	if (ctx->areas[i].base)
		munmap(ctx->areas[i].base, ctx->areas[i].size);
	ctx->areas[i].base = NULL;
}

void fake_ctx_end(struct fake_ctx *ctx)
{
	for (uint32_t i = 1; i < FAKE_OBJECTS; i++) {
		struct fake_object *o = &fake.objects[i];

		if (o->kind && o->ctx == ctx) {
			if (o->fd >= 0)
				close(o->fd);
			o->kind = FAKE_NONE;
		}
	}
	for (uint32_t i = 0; i < FAKE_AREAS; i++)
		del_area(ctx, i);
	close(ctx->cmd);
	close(ctx->bell);
	close(ctx->async);
	ctx->used = false;
}

static struct fverbs_device the_device(void)
{
	return (struct fverbs_device){
		.name = "falcon0", .netdev = "fake0", .mac = { 2, 0, 0, 0, 0, 1 },
		.port_state = IBV_PORT_ACTIVE, .active_mtu = IBV_MTU_1024, .ifindex = 7,
		.max_msg = 1024, .guid = 0x0123456789abcdef, .speed_mbps = 10000, .max_qp = 100,
		.max_cq = 100, .max_mr = 100, .max_mw = 100, .max_pd = 100, .max_srq = 100,
		.max_ah = 100, .max_xrcd = 100, .max_qp_wr = 1024, .max_srq_wr = 1024,
		.max_cqe = 4096, .max_sge = 16, .max_inline = 512, .max_rd_atomic = 16, .ngids = 3,
		.gids = {
			{ .raw = { [10] = 0xff, 0xff, 192, 0, 2, 1 }, .ifindex = 7 },
			{ .raw = { 0 } },
			{ .raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 }, .ifindex = 7 },
		},
	};
}

/* Move what an old ring holds to a new one of entries of the same size. */
static void move_ring(struct fake_ring *old, struct fake_ring *to, uint32_t head, uint32_t tail)
{
	struct falcon_ring_idx *idx = (struct falcon_ring_idx *)to->base;
	uint32_t n = 0;

	for (uint32_t i = head; i != tail; i++, n++)
		memcpy(to->base + 192 + (size_t)(n & (to->entries - 1)) * to->stride,
		       old->base + 192 + (size_t)(i & (old->entries - 1)) * old->stride, to->stride);
	falcon_store(&idx->tail, n);
}

static int make_cq(struct fake_ctx *ctx, const struct fverbs_create_cq *req,
		   struct fverbs_handle *answer)
{
	struct fake_object *cq;

	answer->handle = new_object(ctx, FAKE_CQ);
	cq = &fake.objects[answer->handle];
	ring_open(ctx, &req->place, &cq->ring);
	cq->cookie = req->cookie;
	cq->channel_plus_1 = req->channel_plus_1;
	return sizeof(*answer);
}

static int resize_cq(struct fake_ctx *ctx, const struct fverbs_resize_cq *req)
{
	struct fake_object *cq = fake_object(req->cq, FAKE_CQ);
	struct fake_ring ring;

	if (!cq)
		return -EINVAL;
	ring_open(ctx, &req->place, &ring);
	move_ring(&cq->ring, &ring, ((struct falcon_ring_idx *)cq->ring.base)->head, cq->ring.pos);
	ring.pos = ((struct falcon_ring_idx *)ring.base)->tail;
	((struct fverbs_cq_shm *)ring.base)->armed =
		falcon_load(&((struct fverbs_cq_shm *)cq->ring.base)->armed);
	cq->ring = ring;
	return 0;
}

static int make_srq(struct fake_ctx *ctx, const struct fverbs_create_srq *req,
		    struct fverbs_handle_num *answer)
{
	struct fake_object *srq;

	answer->handle = answer->num = new_object(ctx, FAKE_SRQ);
	srq = &fake.objects[answer->handle];
	ring_open(ctx, &req->place, &srq->ring);
	srq->cookie = req->cookie;
	srq->limit = req->limit;
	return sizeof(*answer);
}

static int modify_srq(struct fake_ctx *ctx, const struct fverbs_modify_srq *req)
{
	struct fake_object *srq = fake_object(req->srq, FAKE_SRQ);
	struct fake_ring ring;

	if (!srq)
		return -EINVAL;
	if (req->mask & IBV_SRQ_LIMIT)
		srq->limit = req->attr.limit;
	if (!(req->mask & IBV_SRQ_MAX_WR))
		return 0;
	ring_open(ctx, &req->place, &ring);
	move_ring(&srq->ring, &ring, srq->ring.pos,
		  ((struct falcon_ring_idx *)srq->ring.base)->tail);
	srq->ring = ring;
	return 0;
}

static int query_srq(const struct fverbs_handle *req, struct fverbs_srq_attr *answer)
{
	const struct fake_object *srq = fake_object(req->handle, FAKE_SRQ);

	if (!srq)
		return -EINVAL;
	*answer = (struct fverbs_srq_attr){
		.max_wr = srq->ring.entries, .max_sge = 1, .limit = srq->limit,
	};
	return sizeof(*answer);
}

static int make_qp(struct fake_ctx *ctx, const struct fverbs_create_qp *req,
		   struct fverbs_handle_num *answer)
{
	struct fake_object *qp;

	answer->handle = answer->num = new_object(ctx, FAKE_QP);
	qp = &fake.objects[answer->handle];
	qp->qp = *req;
	qp->cookie = req->cookie;
	ring_open(ctx, &req->sq, &qp->ring);
	ring_open(ctx, &req->rq, &qp->rq);
	fake.ordering = req->ordering;
	fake.errors = req->errors;
	return sizeof(*answer);
}

static int modify_qp(const struct fverbs_modify_qp *req)
{
	struct fake_object *qp = fake_object(req->qp, FAKE_QP);

	if (!qp)
		return -EINVAL;
	if (req->mask & IBV_QP_STATE)
		qp->attr.qp_state = req->attr.qp_state;
	if (req->mask & IBV_QP_DEST_QPN)
		qp->attr.dest_qp_num = req->attr.dest_qp_num;
	if (req->mask & IBV_QP_AV)
		qp->attr.ah = req->attr.ah;
	if (qp->attr.qp_state == IBV_QPS_ERR)
		fake_flush(qp);
	return 0;
}

static int query_qp(const struct fverbs_handle *req, struct fverbs_qp_attr *answer)
{
	const struct fake_object *qp = fake_object(req->handle, FAKE_QP);

	if (!qp)
		return -EINVAL;
	*answer = qp->attr;
	return sizeof(*answer);
}

static int make_mr(struct fake_ctx *ctx, const struct fverbs_reg_mr *req, struct fverbs_mr *answer)
{
	answer->handle = new_object(ctx, FAKE_MR);
	answer->lkey = answer->rkey = answer->handle << 8;
	fake.objects[answer->handle].mr = *req;
	return sizeof(*answer);
}

static int remake_mr(const struct fverbs_rereg_mr *req, struct fverbs_mr *answer)
{
	struct fake_object *mr = fake_object(req->mr, FAKE_MR);

	if (!mr)
		return -EINVAL;
	mr->mr = req->to;
	answer->handle = req->mr;
	answer->lkey = answer->rkey = req->mr << 8;
	return sizeof(*answer);
}

static int make_other(struct fake_ctx *ctx, struct fverbs_handle *answer)
{
	answer->handle = new_object(ctx, FAKE_OTHER);
	return sizeof(*answer);
}

static int destroy(const struct fverbs_handle *req)
{
	struct fake_object *o = req->handle < FAKE_OBJECTS ? &fake.objects[req->handle] : NULL;

	if (!o || !o->kind)
		return -EINVAL;
	if (o->fd >= 0)
		close(o->fd);
	o->kind = FAKE_NONE;
	return 0;
}

/* Bytes of the answer at |out|, or a negative errno. */
static int serve(struct fake_ctx *ctx, uint16_t op, const void *req, int fd, void *out)
{
	struct fverbs_handle *handle = out;

	switch (op) {
	case FVERBS_HELLO:
		*(struct fverbs_hello_answer *)out = (struct fverbs_hello_answer){
			.version = FVERBS_ABI_VERSION, .devices = 1,
		};
		return sizeof(struct fverbs_hello_answer);
	case FVERBS_QUERY_DEVICE:
		*(struct fverbs_device *)out = the_device();
		return sizeof(struct fverbs_device);
	case FVERBS_ADD_AREA:
		handle->handle = add_area(ctx, fd);
		return sizeof(*handle);
	case FVERBS_NEW_AREA:
		return new_area(ctx, req, out);
	case FVERBS_DEL_AREA:
		del_area(ctx, ((const struct fverbs_handle *)req)->handle);
		return 0;
	case FVERBS_REG_MR:
		return make_mr(ctx, req, out);
	case FVERBS_REREG_MR:
		return remake_mr(req, out);
	case FVERBS_CREATE_CHANNEL:
		handle->handle = new_object(ctx, FAKE_CHANNEL);
		fake.objects[handle->handle].fd = dup(fd);
		return sizeof(*handle);
	case FVERBS_CREATE_CQ:
		return make_cq(ctx, req, out);
	case FVERBS_RESIZE_CQ:
		return resize_cq(ctx, req);
	case FVERBS_CREATE_SRQ:
		return make_srq(ctx, req, out);
	case FVERBS_MODIFY_SRQ:
		return modify_srq(ctx, req);
	case FVERBS_QUERY_SRQ:
		return query_srq(req, out);
	case FVERBS_CREATE_QP:
		return make_qp(ctx, req, out);
	case FVERBS_MODIFY_QP:
		return modify_qp(req);
	case FVERBS_QUERY_QP:
		return query_qp(req, out);
	case FVERBS_ALLOC_MW:
		((struct fverbs_mr *)out)->handle = new_object(ctx, FAKE_OTHER);
		((struct fverbs_mr *)out)->rkey = ((struct fverbs_mr *)out)->handle << 8;
		return sizeof(struct fverbs_mr);
	case FVERBS_ALLOC_PD:
	case FVERBS_OPEN_XRCD:
	case FVERBS_CREATE_AH:
		return make_other(ctx, out);
	default:
		return destroy(req);
	}
}

size_t fake_command(struct fake_ctx *ctx, const void *msg, size_t len, int fd, void *out)
{
	const struct fverbs_cmd *cmd = msg;
	struct fverbs_reply *reply = out;
	int n;

	if (len < sizeof(*cmd))
		return 0;
	__atomic_add_fetch(&fake.commands, 1, __ATOMIC_RELAXED);
	memset(out, 0, FVERBS_MSG_MAX);
	reply->tag = cmd->tag;
	if (fake.fault && (!fake.fault_op || fake.fault_op == cmd->op)) {
		switch (fake.fault) {
		case FAKE_FAULT_REFUSE:
			reply->error = ENOSPC;
			memcpy(reply + 1, "there is no room", 16);
			return sizeof(*reply) + 16;
		case FAKE_FAULT_TAG:
			reply->tag++;
			break;
		case FAKE_FAULT_NEGATIVE:
			reply->error = -7;
			return sizeof(*reply);
		case FAKE_FAULT_SHORT:
			return sizeof(*reply) - 1;
		case FAKE_FAULT_NO_FD:
			break;
		default:
			return 0;
		}
	}
	n = serve(ctx, cmd->op, cmd + 1, fd, reply + 1);
	if (n < 0) {
		reply->error = -n;
		n = 0;
	}
	return sizeof(*reply) + (size_t)n;
}
