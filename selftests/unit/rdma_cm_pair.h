/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosts, each with a connection manager and an application, and a connection between them. */
#ifndef FALCON_SELFTESTS_RDMA_CM_PAIR_H
#define FALCON_SELFTESTS_RDMA_CM_PAIR_H

#include "rdma_cm_env.h"

#define A "10.0.0.1"
#define B "10.0.0.2"
static const uint64_t SECOND = 1000000000;

static inline int setup(void **state)
{
	(void)state;
	side_open(&a, &b, A);
	side_open(&b, &a, B);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	rdma_cm_ctx_gone(&a.ctx);
	rdma_cm_ctx_gone(&b.ctx);
	rdma_cm_close(&a.r);
	rdma_cm_close(&b.r);
	assert_int_equal(a.closed, 1);
	assert_int_equal(a.charged[RDMA_CHARGE_CM_IDS] + b.charged[RDMA_CHARGE_CM_IDS], 0);
	return 0;
}

/* Connected: the ids of the two ends. */
static inline void join(uint32_t *at_a, uint32_t *at_b)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_TIMEOUT, .value = 32 };

	q.id = listen_at(&b, "0.0.0.0", 7471, false);
	assert_int_equal(ask(&b, &q), -EINVAL);
	q.value = 21;
	assert_int_equal(ask(&b, &q), 0);
	*at_a = dial(&a, A, B, 7471, false);
	settle(2000);
	*at_b = expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	assert_int_equal(b.event.param.private_data_len, 5);
	assert_memory_equal(b.event.param.private_data, "hello", 5);
	assert_int_equal(b.event.param.qp_num, 11);
	/* What one end starts the other must have room for. */
	assert_int_equal(b.event.param.responder_resources, 9);
	assert_int_equal(b.event.param.initiator_depth, 3);
	assert_int_equal(with_param(&b, FVERBS_CM_ACCEPT, *at_b, 22, "welcome"), 0);
	settle(3000);
	assert_int_equal(expect(&a, RDMA_CM_EVENT_CONNECT_RESPONSE, 200, 0), *at_a);
	assert_int_equal(a.event.param.qp_num, 22);
	assert_memory_equal(a.event.param.private_data, "welcome", 7);
	expect_none(&b);
	assert_int_equal(ask_id(&a, FVERBS_CM_ACCEPT, *at_a), 0);
	settle(4000);
	assert_int_equal(expect(&b, RDMA_CM_EVENT_ESTABLISHED, 5, 0), *at_b);
}

#endif /* FALCON_SELFTESTS_RDMA_CM_PAIR_H */
