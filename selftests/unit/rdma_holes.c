// SPDX-License-Identifier: BSD-2-Clause
/* Weakly ordered queue pairs: the last packet of a SEND is placed before one in the middle. */
#include "rdma_pair.h"

#include <ulp/rdma/qp.h>

enum { PART = 100 };	/* bytes of each packet */

static const uint8_t parts[] = { FALCON_RDMA_SEND_FIRST, FALCON_RDMA_SEND_MIDDLE,
				 FALCON_RDMA_SEND_LAST };

/* Packet |sn| of a's queue pair, that part of its first message; |ce|: its sender has given up. */
static void push_part(uint32_t sn, uint32_t offset, bool ce, uint8_t *bytes)
{
	struct falcon_rdma_hdr h = { .opcode = parts[sn - 1], .dest_qp = bqp.num, .sn = sn,
				     .rmsn = 1, .offset = offset, .ce = ce };
	struct fcore_conn *c = rdma_link_core(rdma_qp_find(env.host[0].r, aqp.num)->link);
	struct fcore_txn t = { .proto = FALCON_PROTO_RDMA, .ulp_hdr = bytes, .payload = bytes + 64,
			       .len = PART };

	t.ulp_hdr_len = falcon_rdma_pack(&h, bytes);
	assert_int_equal(fcore_push(c, &t, env.now), 0);
	env_steps(20);
}

/* The first and the last are here, for receive request 1 of |len| bytes; 2 is behind it. */
static void open_with_hole(uint32_t errors, uint32_t len, uint8_t (*bytes)[64 + PART])
{
	struct fverbs_sge to;
	struct fverbs_cqe c;

	pair_open(&(struct env_qp_opts){ .ordering = FVERBS_WEAKLY_ORDERED, .errors = errors });
	to = sge_of(&b, &bmr, 0, len);
	env_post_recv(&bqp, 1, &to, 1);
	env_post_recv(&bqp, 2, &to, 1);
	env_steps(20);
	push_part(1, 0, false, bytes[0]);
	push_part(3, 2 * PART, false, bytes[2]);
	assert_false(env_poll(&bcq, &c));
	assert_int_equal(env_rq_used(&bqp), 2);
}

static void ends_once(uint64_t wr_id, uint8_t status)
{
	struct fverbs_cqe c = env_wait(&bcq);

	assert_int_equal(c.wr_id, wr_id);
	assert_int_equal(c.status, status);
}

static void queue_pair_fails_with_a_hole_in_a_message(void **state)
{
	uint8_t bytes[3][64 + PART] = {};
	struct fverbs_cqe c;

	(void)state;
	open_with_hole(0, 3 * PART, bytes);
	env_modify(&bqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_ERR });
	ends_once(1, IBV_WC_WR_FLUSH_ERR);
	ends_once(2, IBV_WC_WR_FLUSH_ERR);
	env_steps(50);
	assert_false(env_poll(&bcq, &c));
	assert_int_equal(env_rq_used(&bqp), 0);
	pair_close();
}

/* What fills the hole is wrong: the message ends with that, and with nothing else. */
static void packet_for_the_hole_fails(void **state)
{
	uint8_t bytes[3][64 + PART] = {};
	struct fverbs_cqe c;

	(void)state;
	open_with_hole(0, 3 * PART, bytes);
	push_part(2, 2 * PART + 1, false, bytes[1]);
	ends_once(1, IBV_WC_LOC_LEN_ERR);
	ends_once(2, IBV_WC_WR_FLUSH_ERR);
	env_steps(50);
	assert_false(env_poll(&bcq, &c));
	pair_close();
	open_with_hole(FVERBS_COMPLETE_IN_ERROR, 3 * PART, bytes);
	push_part(2, PART, true, bytes[1]);
	ends_once(1, IBV_WC_REM_ABORT_ERR);
	env_steps(50);
	assert_false(env_poll(&bcq, &c));
	assert_int_equal(env_rq_used(&bqp), 1);
	assert_int_equal(env_state(&bqp), IBV_QPS_RTS);
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue_pair_fails_with_a_hole_in_a_message),
		cmocka_unit_test(packet_for_the_hole_fails),
	};

	return unit_run(tests);
}
