// SPDX-License-Identifier: BSD-2-Clause
/* Shared receive queues, and XRC. */
#include "rdma_pair.h"

#include <fcntl.h>

struct srq {
	struct env_ring ring;
	uint32_t handle, num;
};

static struct srq srq_open(struct env_app *app, uint32_t xrcd, struct env_cq *cq)
{
	struct srq s = { .ring = env_ring(app, 64, 576) };
	struct fverbs_create_srq req = { .place = s.ring.place, .pd = app->pd, .max_wr = 64,
					 .max_sge = 4, .type = cq ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
					 .xrcd = xrcd, .cq = cq ? cq->handle : 0 };
	struct fverbs_handle_num h;

	assert_int_equal(env_cmd(app, FVERBS_CREATE_SRQ, &req, sizeof(req), &h, sizeof(h)), 0);
	s.handle = h.handle;
	s.num = h.num;
	return s;
}

static void srq_post(struct srq *s, uint64_t wr_id, const struct fverbs_sge *sge)
{
	struct env_qp as_qp = { .app = &b, .rq = s->ring };

	env_post_recv(&as_qp, wr_id, sge, 1);
	s->ring.pos = as_qp.rq.pos;
}

static void srq_serves_both(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_SEND, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED };
	struct env_qp a2, b2;
	struct env_qp_opts o = { 0 };
	struct fverbs_sge sge, to;
	struct srq s;

	(void)state;
	pair_open(&o);
	s = srq_open(&b, 0, NULL);
	o.srq_plus_1 = s.handle + 1;
	env_qp_open(&b, &bcq, &o, &b2);
	env_qp_open(&a, &acq, &(struct env_qp_opts){ 0 }, &a2);
	env_connect(&a2, &b2);
	sge = sge_of(&a, &amr, 0, 3000);
	to = sge_of(&b, &bmr, HALF, 3000);
	srq_post(&s, 31, &to);
	env_post_send(&a2, &w, &sge);
	done(&acq, 1, IBV_WC_SEND);
	assert_int_equal(done(&bcq, 31, IBV_WC_RECV).qp_num, b2.num);
	assert_memory_equal(b.memory + HALF, a.memory, 3000);
	env_modify(&b2, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_ERR });
	assert_true(env_has_event(&b, IBV_EVENT_QP_LAST_WQE_REACHED));
	pair_close();
}

static struct env_qp ini, tgt;
static struct srq srqs[2];		/* of |tgt|'s XRC domain, with the same completion queue */

static void xrc_open(void)
{
	const struct fverbs_open_xrcd open = { .oflags = O_CREAT };
	struct fverbs_handle x;

	pair_open(&(struct env_qp_opts){ 0 });
	assert_int_equal(env_cmd(&b, FVERBS_OPEN_XRCD, &open, sizeof(open), &x, sizeof(x)), 0);
	for (int i = 0; i < 2; i++)
		srqs[i] = srq_open(&b, x.handle, &bcq);
	env_qp_open(&b, &bcq, &(struct env_qp_opts){ .type = IBV_QPT_XRC_RECV,
						     .xrcd_plus_1 = x.handle + 1 }, &tgt);
	env_qp_open(&a, &acq, &(struct env_qp_opts){ .type = IBV_QPT_XRC_SEND }, &ini);
	env_connect(&ini, &tgt);
}

/* One receiving queue pair, two shared receive queues: the request names which (RDMA 8.3.9). */
static void xrc(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_SEND, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED };
	struct fverbs_sge sge, to;

	(void)state;
	xrc_open();
	sge = sge_of(&a, &amr, 0, 2000);
	for (int i = 0; i < 2; i++) {
		to = sge_of(&b, &bmr, HALF, 2000);
		srq_post(&srqs[i], 50 + (uint64_t)i, &to);
		w.xrc_srqn = srqs[i].num;
		env_post_send(&ini, &w, &sge);
		done(&acq, 1, IBV_WC_SEND);
		assert_int_equal(done(&bcq, 50 + (uint64_t)i, IBV_WC_RECV).qp_num, tgt.num);
	}
	w.opcode = IBV_WR_RDMA_WRITE;
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	env_post_send(&ini, &w, &sge);
	done(&acq, 1, IBV_WC_RDMA_WRITE);
	assert_memory_equal(b.memory, a.memory, 2000);
	w.opcode = IBV_WR_SEND;
	w.xrc_srqn = 0xffff;
	env_post_send(&ini, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_REM_INV_REQ_ERR);
	pair_close();
}

/* A shared receive queue goes; what another one gave, for the same completion queue, is completed. */
static void xrc_without_one_of_two_queues(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_SEND, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED };
	struct fverbs_sge sge, to;

	(void)state;
	xrc_open();
	sge = sge_of(&a, &amr, 0, 100);
	for (int i = 0; i < 2; i++) {
		to = sge_of(&b, &bmr, HALF + 100 * (uint32_t)i, 100);
		srq_post(&srqs[i], 50 + (uint64_t)i, &to);
		w.xrc_srqn = srqs[i].num;
		env_post_send(&ini, &w, &sge);
	}
	/* Both have been received, and wait to be placed. */
	b.host->still = true;
	env_steps(100);
	assert_int_equal(env_cmd(&b, FVERBS_DESTROY_SRQ, &(struct fverbs_handle){ .handle = srqs[1].handle },
				 sizeof(struct fverbs_handle), NULL, 0), 0);
	b.host->still = false;
	done(&bcq, 50, IBV_WC_RECV);
	done(&acq, 1, IBV_WC_SEND);
	assert_memory_equal(b.memory + HALF, a.memory, 100);
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(srq_serves_both),
		cmocka_unit_test(xrc),
		cmocka_unit_test(xrc_without_one_of_two_queues),
	};

	return unit_run(tests);
}
