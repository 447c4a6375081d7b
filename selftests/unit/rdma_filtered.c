// SPDX-License-Identifier: BSD-2-Clause
/* Transactions that a filter ends before their submission returns (Falcon 11): the queue pair ends. */
#include "rdma_pair.h"

#include <core/xlr.h>

static const uint32_t orderings[] = { FVERBS_STRONGLY_ORDERED, FVERBS_WEAKLY_ORDERED };
static const uint32_t errors[] = { 0, FVERBS_COMPLETE_IN_ERROR };

/* Messages of several packets; the filter comes after |steps|, and matches what |fields| say of |type|. */
static void requests(const struct env_qp_opts *o, uint8_t opcode, unsigned int steps, uint8_t type)
{
	const struct fcore_xlr_rule rule = { .where = FCORE_XLR_INITIATOR, .fields = FCORE_XLR_TYPE,
					     .type = type };
	struct fverbs_send_wqe w = { .opcode = opcode, .num_sge = 1 };
	struct fverbs_sge sge;
	uint64_t hits;
	struct fcore_xlr_rule got;
	int number;

	pair_open(o);
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	sge = sge_of(&a, &amr, HALF, HALF);
	for (w.wr_id = 0; w.wr_id < 4; w.wr_id++)
		env_post_send(&aqp, &w, &sge);
	env_steps(steps);
	number = fcore_xlr_add(env.host[0].core, &rule);
	assert_true(number >= 0);
	for (uint64_t id = 0; id < 4; id++) {
		struct fverbs_cqe c = env_wait(&acq);

		assert_int_equal(c.wr_id, id);
		assert_int_equal(c.status, id ? IBV_WC_WR_FLUSH_ERR : IBV_WC_GENERAL_ERR);
		assert_int_equal(c.vendor_err, id ? 0 : kCmplLocalXlr);
	}
	assert_int_equal(env_state(&aqp), IBV_QPS_ERR);
	assert_int_equal(fcore_xlr_get(env.host[0].core, (uint32_t)number, &got, &hits), 0);
	assert_true(hits > 0);
	assert_int_equal(fcore_xlr_del(env.host[0].core, (uint32_t)number), 0);
	pair_close();
}

static void every_mode(uint8_t opcode, uint8_t type)
{
	static const unsigned int steps[] = { 0, 5, 15 };

	for (unsigned int o = 0; o < ARRAY_SIZE(orderings); o++)
		for (unsigned int e = 0; e < ARRAY_SIZE(errors); e++)
			for (unsigned int s = 0; s < ARRAY_SIZE(steps); s++)
				requests(&(struct env_qp_opts){ .ordering = orderings[o], .sig_all = true,
								.errors = errors[e] },
					 opcode, steps[s], type);
}

static void filtered_writes(void **state)
{
	(void)state;
	every_mode(IBV_WR_RDMA_WRITE, FALCON_PUSH_DATA);
}

static void filtered_reads(void **state)
{
	(void)state;
	every_mode(IBV_WR_RDMA_READ, FALCON_PULL_REQUEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filtered_writes),
		cmocka_unit_test(filtered_reads),
	};

	return unit_run(tests);
}
