/* SPDX-License-Identifier: BSD-2-Clause */
/* Two queue pairs connected to each other, with all of their applications' memory opened. */
#ifndef FALCON_SELFTESTS_RDMA_PAIR_H
#define FALCON_SELFTESTS_RDMA_PAIR_H

#include "rdma_env.h"

enum { MEMORY = 1 << 20, HALF = MEMORY / 2 };

static struct env_app a, b;
static struct env_cq acq, bcq;
static struct env_qp aqp, bqp;
static struct env_mr amr, bmr;

static inline void pair_open(const struct env_qp_opts *opts)
{
	uint32_t all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		       IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

	env_open(1);
	env.foreign = opts->foreign;
	env_app_open(&a, &env.host[0], MEMORY);
	env_app_open(&b, &env.host[1], MEMORY);
	env_cq_open(&a, &acq, 256);
	env_cq_open(&b, &bcq, 256);
	env_qp_open(&a, &acq, opts, &aqp);
	env_qp_open(&b, &bcq, opts, &bqp);
	env_connect(&aqp, &bqp);
	amr = env_reg(&a, 0, MEMORY, all);
	bmr = env_reg(&b, 0, MEMORY, all);
	for (uint32_t i = 0; i < MEMORY; i++) {
		a.memory[i] = (uint8_t)(i * 7 + (i >> 8));
		b.memory[i] = (uint8_t)(i * 13 + (i >> 7) + 1);
	}
}

static inline void pair_close(void)
{
	env_app_close(&a);
	env_app_close(&b);
	env_close();
}

static inline struct fverbs_sge sge_of(struct env_app *app, struct env_mr *mr, uint32_t off, uint32_t len)
{
	return (struct fverbs_sge){ (uintptr_t)app->memory + off, len, mr->lkey };
}

static inline struct fverbs_cqe done(struct env_cq *cq, uint64_t wr_id, uint8_t opcode)
{
	struct fverbs_cqe c = env_wait(cq);

	assert_int_equal(c.status, IBV_WC_SUCCESS);
	assert_int_equal(c.wr_id, wr_id);
	assert_int_equal(c.opcode, opcode);
	return c;
}

#endif /* FALCON_SELFTESTS_RDMA_PAIR_H */
