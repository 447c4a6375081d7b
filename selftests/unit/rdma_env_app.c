// SPDX-License-Identifier: BSD-2-Clause
/* Applications of rdma_env.h: commands, rings, and what a library does with them. */
#include "rdma_env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void env_app_open(struct env_app *app, struct env_host *host, size_t memory)
{
	env_app_open_as(app, host, memory, 1000);
}

void env_app_open_as(struct env_app *app, struct env_host *host, size_t memory, uint32_t uid)
{
	struct rdma_owner owner = { .proc = app, .uid = uid, .pid = 42 };
	struct fverbs_hello hello = { .version = FVERBS_ABI_VERSION };
	struct fverbs_ctx_shm *shm;
	struct fverbs_handle h = { 0 };
	char err[256];

	memset(app, 0, sizeof(*app));
	app->host = host;
	app->uid = uid;
	app->size = memory;
	app->memory = calloc(1, memory);
	app->shm = mmap(NULL, ENV_SHM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(app->shm != MAP_FAILED);
	shm = (struct fverbs_ctx_shm *)app->shm;
	shm->magic = FVERBS_SHM_MAGIC;
	shm->version = FVERBS_SHM_VERSION;
	app->shm_next = (sizeof(*shm) + 4095) & ~4095ULL;
	app->ctx = rdma_ctx_open(host->r, &owner, app->shm, ENV_SHM, env_fd_of(app), err,
				 sizeof(err));
	assert_non_null(app->ctx);
	assert_int_equal(env_cmd(app, FVERBS_HELLO, &hello, sizeof(hello), NULL, 0), 0);
	assert_int_equal(env_cmd(app, FVERBS_ALLOC_PD, &h, sizeof(h), &h, sizeof(h)), 0);
	app->pd = h.handle;
}

void env_app_close(struct env_app *app)
{
	if (app->ctx)
		rdma_ctx_close(app->ctx);
	app->ctx = NULL;
	free(app->memory);
	app->memory = NULL;
	app->size = 0;
}

int env_cmd(struct env_app *app, uint16_t op, const void *req, size_t len, void *out, size_t outlen)
{
	uint64_t msg[FVERBS_MSG_MAX / 8], reply[FVERBS_MSG_MAX / 8];
	struct fverbs_cmd cmd = { .op = op };
	struct fverbs_reply r;
	int n, fd;

	memcpy(msg, &cmd, sizeof(cmd));
	memcpy((uint8_t *)msg + sizeof(cmd), req, len);
	n = rdma_command(app->ctx, msg, sizeof(cmd) + len, -1, reply, &fd);
	assert_int_equal(fd, -1);
	assert_true(n >= (int)sizeof(r));
	memcpy(&r, reply, sizeof(r));
	if (!r.error && outlen) {
		assert_int_equal(n, sizeof(r) + outlen);
		memcpy(out, (uint8_t *)reply + sizeof(r), outlen);
	}
	return r.error;
}

struct env_mr env_reg(struct env_app *app, size_t off, size_t len, uint32_t access)
{
	struct fverbs_reg_mr req = { .pd = app->pd, .access = access,
				     .addr = (uintptr_t)app->memory + off, .length = len };
	struct fverbs_mr mr;

	req.iova = req.addr;
	assert_int_equal(env_cmd(app, FVERBS_REG_MR, &req, sizeof(req), &mr, sizeof(mr)), 0);
	return (struct env_mr){ mr.handle, mr.lkey, mr.rkey };
}

/* A queue in area 0: a header of 192 bytes, then the entries. */
struct env_ring env_ring(struct env_app *app, uint32_t entries, uint32_t stride)
{
	struct env_ring ring = { .place = { .entries = entries, .offset = app->shm_next,
					    .stride = stride } };

	ring.base = app->shm + app->shm_next;
	app->shm_next += (192 + (uint64_t)entries * stride + 63) & ~63ULL;
	assert_true(app->shm_next <= ENV_SHM);
	return ring;
}

static struct falcon_ring_idx *idx(const struct env_ring *ring)
{
	return (struct falcon_ring_idx *)ring->base;
}

static uint8_t *entry(const struct env_ring *ring, uint32_t pos)
{
	return ring->base + 192 + (size_t)(pos & (ring->place.entries - 1)) * ring->place.stride;
}

void env_cq_open(struct env_app *app, struct env_cq *cq, uint32_t entries)
{
	struct fverbs_create_cq req = { .cookie = 77 };
	struct fverbs_handle h;

	cq->app = app;
	cq->ring = env_ring(app, entries, sizeof(struct fverbs_cqe));
	req.place = cq->ring.place;
	assert_int_equal(env_cmd(app, FVERBS_CREATE_CQ, &req, sizeof(req), &h, sizeof(h)), 0);
	cq->handle = h.handle;
}

bool env_poll(struct env_cq *cq, struct fverbs_cqe *out)
{
	if (falcon_load(&idx(&cq->ring)->tail) == cq->ring.pos)
		return false;
	memcpy(out, entry(&cq->ring, cq->ring.pos), sizeof(*out));
	falcon_store(&idx(&cq->ring)->head, ++cq->ring.pos);
	return true;
}

struct fverbs_cqe env_wait(struct env_cq *cq)
{
	struct fverbs_cqe cqe;

	for (int i = 0; i < 200000; i++) {
		if (env_poll(cq, &cqe))
			return cqe;
		env_step();
	}
	fail_msg("no completion comes");
	return cqe;
}

int env_qp_try(struct env_app *app, struct env_cq *cq, const struct env_qp_opts *opts,
	       struct env_qp *qp)
{
	uint32_t entries = opts->entries ? opts->entries : 64;
	uint32_t sges = FVERBS_SGE_MAX * sizeof(struct fverbs_sge);
	struct fverbs_create_qp req = {
		.cookie = (uintptr_t)qp, .slot = app->slots++, .pd = app->pd,
		.send_cq = cq->handle, .recv_cq = cq->handle, .srq_plus_1 = opts->srq_plus_1,
		.xrcd_plus_1 = opts->xrcd_plus_1, .type = opts->type ? opts->type : IBV_QPT_RC,
		.max_send_wr = entries, .max_recv_wr = entries, .max_send_sge = FVERBS_SGE_MAX,
		.max_recv_sge = FVERBS_SGE_MAX, .max_inline = FVERBS_INLINE_MAX,
		.sq_sig_all = opts->sig_all, .ordering = opts->ordering, .errors = opts->errors,
	};
	struct fverbs_handle_num h;
	int rc;

	memset(qp, 0, sizeof(*qp));
	qp->app = app;
	qp->cq = cq;
	qp->slot = req.slot;
	qp->type = req.type;
	if (req.type != IBV_QPT_XRC_RECV) {
		qp->sq = env_ring(app, entries, FVERBS_STRIDE(sizeof(struct fverbs_send_wqe),
							      sges + FVERBS_INLINE_MAX));
		req.sq = qp->sq.place;
	}
	if (!opts->srq_plus_1 && (req.type == IBV_QPT_RC || req.type == IBV_QPT_UD)) {
		qp->rq = env_ring(app, entries, FVERBS_STRIDE(sizeof(struct fverbs_recv_wqe), sges));
		req.rq = qp->rq.place;
	}
	rc = env_cmd(app, FVERBS_CREATE_QP, &req, sizeof(req), &h, sizeof(h));
	if (!rc) {
		qp->handle = h.handle;
		qp->num = h.num;
	}
	return rc;
}

void env_qp_open(struct env_app *app, struct env_cq *cq, const struct env_qp_opts *opts,
		 struct env_qp *qp)
{
	assert_int_equal(env_qp_try(app, cq, opts, qp), 0);
}

void env_qp_close(struct env_qp *qp)
{
	struct fverbs_handle h = { .handle = qp->handle };
	struct fverbs_events e;

	assert_int_equal(env_cmd(qp->app, FVERBS_DESTROY_QP, &h, sizeof(h), &e, sizeof(e)), 0);
}

int env_modify(struct env_qp *qp, uint32_t mask, const struct fverbs_qp_attr *attr)
{
	struct fverbs_modify_qp req = { .qp = qp->handle, .mask = mask, .attr = *attr };

	return env_cmd(qp->app, FVERBS_MODIFY_QP, &req, sizeof(req), NULL, 0);
}

uint8_t env_state(const struct env_qp *qp)
{
	struct fverbs_handle h = { .handle = qp->handle };
	struct fverbs_qp_attr attr;

	assert_int_equal(env_cmd(qp->app, FVERBS_QUERY_QP, &h, sizeof(h), &attr, sizeof(attr)), 0);
	return attr.qp_state;
}

void env_to_init(struct env_qp *qp, uint32_t access)
{
	struct fverbs_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 0x1111,
				    .qp_access_flags = access };
	bool ud = qp->type == IBV_QPT_UD;

	assert_int_equal(env_modify(qp, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					(ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS), &a), 0);
}

void env_to_rtr(struct env_qp *qp, const struct env_host *to, uint32_t dest)
{
	struct fverbs_qp_attr a = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = dest, .min_rnr_timer = 1,
				    .max_dest_rd_atomic = 16, .ah = { .is_global = 1,
								      .port_num = 1 } };
	uint32_t mask = IBV_QP_STATE;

	a.ah.dgid[10] = a.ah.dgid[11] = 0xff;
	a.ah.dgid[12] = 10;
	a.ah.dgid[15] = (uint8_t)(to->index + 1);
	if (qp->type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	/* Both sides of XRC get what RC needs, as applications have it. */
	if (qp->type != IBV_QPT_UD)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	assert_int_equal(env_modify(qp, mask, &a), 0);
}

void env_to_rts(struct env_qp *qp)
{
	struct fverbs_qp_attr a = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				    .rnr_retry = 7, .max_rd_atomic = 8 };
	uint32_t mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (qp->type != IBV_QPT_UD)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	assert_int_equal(env_modify(qp, mask, &a), 0);
}

void env_connect(struct env_qp *a, struct env_qp *b)
{
	uint32_t all = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	env_to_init(a, all);
	env_to_init(b, all);
	env_to_rtr(a, b->app->host, b->num);
	env_to_rtr(b, a->app->host, a->num);
	env_to_rts(a);
	env_to_rts(b);
}

void env_post_send(struct env_qp *qp, const struct fverbs_send_wqe *wqe, const void *data)
{
	struct fverbs_ctx_shm *shm = (struct fverbs_ctx_shm *)qp->app->shm;
	uint8_t *at = entry(&qp->sq, qp->sq.pos);
	size_t len = wqe->flags & IBV_SEND_INLINE ? 0 : wqe->num_sge * sizeof(struct fverbs_sge);

	if (wqe->flags & (IBV_SEND_INLINE | FVERBS_SEND_COPIED))
		len += wqe->inline_len;
	memcpy(at, wqe, sizeof(*wqe));
	if (len)
		memcpy(at + sizeof(*wqe), data, len);
	falcon_store(&idx(&qp->sq)->tail, ++qp->sq.pos);
	falcon_fetch_or(&shm->rung[qp->slot / 64], 1ULL << (qp->slot % 64));
	falcon_fetch_or(&shm->summary[qp->slot / 4096], 1ULL << (qp->slot / 64 % 64));
}

void env_post_recv(struct env_qp *qp, uint64_t wr_id, const struct fverbs_sge *sge, uint32_t n)
{
	struct fverbs_ctx_shm *shm = (struct fverbs_ctx_shm *)qp->app->shm;
	struct fverbs_recv_wqe wqe = { .wr_id = wr_id, .num_sge = n };
	uint8_t *at = entry(&qp->rq, qp->rq.pos);

	memcpy(at, &wqe, sizeof(wqe));
	if (n)
		memcpy(at + sizeof(wqe), sge, n * sizeof(*sge));
	falcon_store(&idx(&qp->rq)->tail, ++qp->rq.pos);
	__sync_synchronize();
	if (!((struct fverbs_wq_shm *)qp->rq.base)->ring)
		return;
	falcon_fetch_or(&shm->rung[qp->slot / 64], 1ULL << (qp->slot % 64));
	falcon_fetch_or(&shm->summary[qp->slot / 4096], 1ULL << (qp->slot / 64 % 64));
}

uint32_t env_sq_used(const struct env_qp *qp)
{
	return qp->sq.pos - falcon_load(&idx(&qp->sq)->head);
}

uint32_t env_rq_used(const struct env_qp *qp)
{
	return qp->rq.pos - falcon_load(&idx(&qp->rq)->head);
}

bool env_has_event(const struct env_app *app, uint32_t type)
{
	for (unsigned int i = 0; i < app->nevents; i++)
		if (app->events[i].type == type)
			return true;
	return false;
}
