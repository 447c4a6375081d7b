/* SPDX-License-Identifier: BSD-2-Clause */
/* A device of the fake agent's, and two queue pairs that are connected. */
#ifndef FALCON_SELFTESTS_VERBS_ENV_H
#define FALCON_SELFTESTS_VERBS_ENV_H

#include "../unit.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

enum { ENV_DEPTH = 16, ENV_BYTES = 4096 };

struct env {
	char path[UNIT_PATH + 28];
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;		/* of both queue pairs, with |channel| */
	struct ibv_qp *a, *b;
	struct ibv_mr *mr;
	uint8_t *mem;			/* ENV_BYTES of |mr| */
};

static inline struct ibv_context *env_open(void)
{
	struct ibv_device **list;
	struct ibv_context *ctx;
	int n;

	list = ibv_get_device_list(&n);
	assert_non_null(list);
	assert_int_equal(n, 1);
	assert_string_equal(ibv_get_device_name(list[0]), "falcon0");
	ctx = ibv_open_device(list[0]);
	assert_non_null(ctx);
	ibv_free_device_list(list);
	return ctx;
}

static inline struct ibv_qp *env_qp(struct env *e, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = e, .send_cq = e->cq, .recv_cq = e->cq, .srq = srq, .qp_type = type,
		.cap = {
			.max_send_wr = ENV_DEPTH, .max_recv_wr = ENV_DEPTH, .max_send_sge = 2,
			.max_recv_sge = 2, .max_inline_data = 64,
		},
	};
	struct ibv_qp *qp = ibv_create_qp(e->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_send_wr, ENV_DEPTH);
	return qp;
}

static inline void env_connect(struct ibv_qp *qp, uint32_t dest)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		struct ibv_qp_attr attr = { .qp_state = states[i], .dest_qp_num = dest };
		int mask = IBV_QP_STATE | (states[i] == IBV_QPS_RTR ? IBV_QP_DEST_QPN : 0);

		assert_int_equal(ibv_modify_qp(qp, &attr, mask), 0);
		assert_int_equal(qp->state, states[i]);
	}
}

static inline int env_setup(void **state)
{
	struct env *e = calloc(1, sizeof(*e));

	snprintf(e->path, sizeof(e->path), "%s/verbs.%d.sock", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
		 (int)getpid());
	setenv("FALCON_SOCKET", e->path, 1);
	fake_start(e->path);
	e->ctx = env_open();
	e->pd = ibv_alloc_pd(e->ctx);
	assert_non_null(e->pd);
	e->channel = ibv_create_comp_channel(e->ctx);
	assert_non_null(e->channel);
	e->cq = ibv_create_cq(e->ctx, 64, e, e->channel, 0);
	assert_non_null(e->cq);
	e->a = env_qp(e, IBV_QPT_RC, NULL);
	e->b = env_qp(e, IBV_QPT_RC, NULL);
	env_connect(e->a, e->b->qp_num);
	env_connect(e->b, e->a->qp_num);
	e->mem = calloc(1, ENV_BYTES);
	e->mr = ibv_reg_mr(e->pd, e->mem, ENV_BYTES,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(e->mr);
	*state = e;
	return 0;
}

/* Take everything down; the objects must let themselves be destroyed, agent or no agent. */
static inline void env_close(struct env *e)
{
	assert_int_equal(ibv_destroy_qp(e->a), 0);
	assert_int_equal(ibv_destroy_qp(e->b), 0);
	assert_int_equal(ibv_destroy_cq(e->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(e->channel), 0);
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	assert_int_equal(ibv_dealloc_pd(e->pd), 0);
	assert_int_equal(ibv_close_device(e->ctx), 0);
}

/* As env_teardown(), when the agent has been stopped. */
static inline int env_teardown_dead(void **state)
{
	struct env *e = *state;

	env_close(e);
	unlink(e->path);
	free(e->mem);
	free(e);
	return 0;
}

static inline int env_teardown(void **state)
{
	struct env *e = *state;

	env_close(e);
	fake_stop();
	unlink(e->path);
	free(e->mem);
	free(e);
	return 0;
}

/* The next completion, which there will be. */
static inline struct ibv_wc env_next(struct ibv_cq *cq)
{
	struct ibv_wc wc = { 0 };
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n);
	assert_int_equal(n, 1);
	return wc;
}

static inline struct ibv_sge env_sge(const struct env *e, size_t offset, uint32_t len)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)e->mem + offset, .length = len, .lkey = e->mr->lkey,
	};
}

/* Post one request with the element |sge|. */
static inline int env_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	struct ibv_send_wr *bad = NULL;
	int rc;

	wr->sg_list = sge;
	wr->num_sge = sge ? 1 : 0;
	rc = ibv_post_send(qp, wr, &bad);
	assert_ptr_equal(bad, rc ? wr : NULL);
	return rc;
}

static inline int env_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_sge *sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = sge ? 1 : 0 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

#endif /* FALCON_SELFTESTS_VERBS_ENV_H */
