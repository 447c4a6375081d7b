// SPDX-License-Identifier: BSD-2-Clause
/*
 * Errors: each wrong access has its status at both ends and moves no byte; what the queue pairs do
 * then, in both error modes; flushes, retries, and packets of malicious peers.
 */
#include "rdma_pair.h"

#include <string.h>

static uint8_t before_a[MEMORY], before_b[MEMORY];

static void remember(void)
{
	memcpy(before_a, a.memory, MEMORY);
	memcpy(before_b, b.memory, MEMORY);
}

static void nothing_moved(void)
{
	assert_memory_equal(before_a, a.memory, MEMORY);
	assert_memory_equal(before_b, b.memory, MEMORY);
}

/* A request of |len| bytes for |addr| behind |rkey|. */
static struct fverbs_cqe request(uint8_t opcode, uint32_t len, uint32_t rkey, uint64_t addr)
{
	struct fverbs_send_wqe w = { .wr_id = 5, .opcode = opcode, .num_sge = 1, .rkey = rkey,
				     .remote_addr = addr };
	struct fverbs_sge sge = sge_of(&a, &amr, 0, len);

	env_post_send(&aqp, &w, &sge);
	return env_wait(&acq);
}

struct wrong {
	const char *what;
	uint8_t opcode;
	uint32_t len;
	uint32_t access;		/* of the region at the target */
	uint32_t rkey_xor;
	int64_t off;			/* into that region, of HALF bytes */
	uint8_t status;			/* at the requester */
	uint32_t event;			/* at the target */
};

#define ALL (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |          \
	     IBV_ACCESS_REMOTE_ATOMIC)

static const struct wrong wrongs[] = {
	{ "write: key", IBV_WR_RDMA_WRITE, 8, ALL, 0x100, 0, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "write: stale variant of key", IBV_WR_RDMA_WRITE, 8, ALL, 1, 0, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "write: below", IBV_WR_RDMA_WRITE, 8, ALL, 0, -1, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "write: one byte beyond", IBV_WR_RDMA_WRITE, 8, ALL, 0, HALF - 7, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "write: many packets, the last beyond", IBV_WR_RDMA_WRITE, 5000, ALL, 0, HALF - 4999,
	  IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR },
	{ "write: around the end of the address space", IBV_WR_RDMA_WRITE, 64, ALL, 0, INT64_MIN,
	  IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR },
	{ "write: to what may be read", IBV_WR_RDMA_WRITE, 8,
	  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, 0, 0, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "read: key", IBV_WR_RDMA_READ, 8, ALL, 0x100, 0, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "read: beyond", IBV_WR_RDMA_READ, 8, ALL, 0, HALF - 7, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "read: of what may be written", IBV_WR_RDMA_READ, 8,
	  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 0, 0, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
	{ "atomic: not opened for it", IBV_WR_ATOMIC_FETCH_AND_ADD, 8,
	  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE, 0, 0,
	  IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR },
	{ "atomic: not aligned", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, ALL, 0, 4, IBV_WC_REM_INV_REQ_ERR,
	  IBV_EVENT_QP_REQ_ERR },
	{ "atomic: beyond", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, ALL, 0, HALF, IBV_WC_REM_ACCESS_ERR,
	  IBV_EVENT_QP_ACCESS_ERR },
};

static void run_wrong(const struct wrong *w)
{
	struct fverbs_cqe c;
	struct env_mr mr;

	pair_open(&(struct env_qp_opts){ 0 });
	mr = env_reg(&b, HALF, HALF, w->access);
	remember();
	c = request(w->opcode, w->len, mr.rkey ^ w->rkey_xor,
		    (uintptr_t)b.memory + HALF + (uint64_t)w->off);
	if (c.status != w->status)
		fail_msg("%s: status %u", w->what, c.status);
	assert_int_equal(c.wr_id, 5);
	env_steps(200);
	nothing_moved();
	assert_int_equal(env_state(&aqp), IBV_QPS_ERR);
	assert_int_equal(env_state(&bqp), IBV_QPS_ERR);
	assert_true(env_has_event(&b, w->event));
	pair_close();
}

static void remote_access(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(wrongs); i++)
		run_wrong(&wrongs[i]);
}

/* RDMA 6.3: the operation fails, the queue pairs go on. */
static void s6_3_complete_in_error(void **state)
{
	static const uint32_t orderings[] = { FVERBS_STRONGLY_ORDERED, FVERBS_WEAKLY_ORDERED,
					      FVERBS_UNORDERED };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(orderings); i++) {
		struct env_qp_opts o = { .ordering = orderings[i],
					 .errors = FVERBS_COMPLETE_IN_ERROR, .sig_all = true };

		pair_open(&o);
		remember();
		assert_int_equal(request(IBV_WR_RDMA_WRITE, 5000, bmr.rkey ^ 1,
					 (uintptr_t)b.memory).status, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(request(IBV_WR_RDMA_READ, 3000, bmr.rkey ^ 1,
					 (uintptr_t)b.memory).status, IBV_WC_REM_ACCESS_ERR);
		assert_int_equal(request(IBV_WR_ATOMIC_CMP_AND_SWP, 8, bmr.rkey,
					 (uintptr_t)b.memory + MEMORY).status,
				 IBV_WC_REM_ACCESS_ERR);
		nothing_moved();
		assert_int_equal(request(IBV_WR_RDMA_WRITE, 5000, bmr.rkey,
					 (uintptr_t)b.memory + HALF).status, IBV_WC_SUCCESS);
		assert_memory_equal(b.memory + HALF, a.memory, 5000);
		assert_int_equal(env_state(&aqp), IBV_QPS_RTS);
		assert_int_equal(env_state(&bqp), IBV_QPS_RTS);
		pair_close();
	}
}

/* A receive request that is too short, or names what it may not: both ends hear of it. */
static void receive_errors(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_SEND, .num_sge = 1 };
		struct fverbs_sge sge, to;

		pair_open(&(struct env_qp_opts){ 0 });
		sge = sge_of(&a, &amr, 0, 100);
		to = sge_of(&b, &bmr, HALF, i ? 100 : 99);
		to.lkey ^= i ? 1 : 0;
		remember();
		env_post_recv(&bqp, 9, &to, 1);
		env_post_recv(&bqp, 10, &to, 1);
		env_post_send(&aqp, &w, &sge);
		assert_int_equal(env_wait(&acq).status,
				 i ? IBV_WC_REM_OP_ERR : IBV_WC_REM_INV_REQ_ERR);
		assert_int_equal(env_wait(&bcq).status, i ? IBV_WC_LOC_PROT_ERR : IBV_WC_LOC_LEN_ERR);
		/* The other request is flushed, and what is posted later. */
		assert_int_equal(env_wait(&bcq).status, IBV_WC_WR_FLUSH_ERR);
		env_post_recv(&bqp, 11, &to, 1);
		assert_int_equal(env_wait(&bcq).wr_id, 11);
		nothing_moved();
		pair_close();
	}
}

struct local {
	const char *what;
	struct fverbs_send_wqe wqe;
	uint32_t len, lkey_xor;
	uint8_t status;
};

static const struct local locals[] = {
	{ "key", { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 }, 8, 1, IBV_WC_LOC_PROT_ERR },
	{ "bounds", { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 }, MEMORY + 1, 0,
	  IBV_WC_LOC_PROT_ERR },
	{ "sink's key", { .opcode = IBV_WR_RDMA_READ, .num_sge = 1 }, 8, 1, IBV_WC_LOC_PROT_ERR },
	{ "atomic of 7 bytes", { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .num_sge = 1 }, 7, 0,
	  IBV_WC_LOC_LEN_ERR },
	{ "opcode", { .opcode = 200, .num_sge = 1 }, 8, 0, IBV_WC_LOC_QP_OP_ERR },
	{ "elements", { .opcode = IBV_WR_SEND, .num_sge = 255 }, 0, 0, IBV_WC_LOC_QP_OP_ERR },
	{ "inline data", { .opcode = IBV_WR_SEND, .flags = IBV_SEND_INLINE,
			   .inline_len = FVERBS_INLINE_MAX + 1 }, 0, 0, IBV_WC_LOC_QP_OP_ERR },
	{ "inline READ", { .opcode = IBV_WR_RDMA_READ, .flags = IBV_SEND_INLINE, .inline_len = 8 },
	  0, 0, IBV_WC_LOC_QP_OP_ERR },
	{ "bytes in all", { .opcode = IBV_WR_SEND, .num_sge = 1 }, 0x80000001, 0,
	  IBV_WC_LOC_LEN_ERR },
};

/* Requests before it end well, those behind it are flushed. */
static void local_errors(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(locals); i++) {
		struct fverbs_send_wqe good = { .wr_id = 1, .opcode = IBV_WR_RDMA_WRITE,
						.num_sge = 1, .flags = IBV_SEND_SIGNALED };
		uint8_t data[FVERBS_INLINE_MAX + 255 * 16] = { 0 };
		struct fverbs_sge sge;

		pair_open(&(struct env_qp_opts){ .entries = 16 });
		good.rkey = bmr.rkey;
		good.remote_addr = (uintptr_t)b.memory;
		sge = sge_of(&a, &amr, 0, 3000);
		env_post_send(&aqp, &good, &sge);
		sge = sge_of(&a, &amr, 0, locals[i].len);
		sge.lkey ^= locals[i].lkey_xor;
		memcpy(data, &sge, sizeof(sge));
		if (locals[i].wqe.num_sge == 255 || locals[i].wqe.inline_len) {
			struct fverbs_send_wqe w = locals[i].wqe;

			/* It would not fit into the entry: only its header lies. */
			w.num_sge = 0;
			w.flags = 0;
			env_post_send(&aqp, &w, data);
			memcpy(aqp.sq.base + 192 + aqp.sq.place.stride, &locals[i].wqe, sizeof(w));
		} else {
			env_post_send(&aqp, &locals[i].wqe, data);
		}
		good.wr_id = 3;
		good.flags = 0;
		env_post_send(&aqp, &good, &sge);
		assert_int_equal(env_wait(&acq).status, IBV_WC_SUCCESS);
		if (env_wait(&acq).status != locals[i].status)
			fail_msg("%s", locals[i].what);
		assert_int_equal(env_wait(&acq).status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(env_state(&aqp), IBV_QPS_ERR);
		assert_int_equal(env_state(&bqp), IBV_QPS_RTS);
		pair_close();
	}
}

/* Memory that goes away under way: the operation fails, nothing else is touched. */
static void process_memory_goes(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 };
	struct fverbs_sge sge;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	sge = sge_of(&a, &amr, 0, 5000);
	a.size = 2000;
	env_post_send(&aqp, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_LOC_PROT_ERR);
	pair_close();
	pair_open(&(struct env_qp_opts){ 0 });
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	sge = sge_of(&a, &amr, 0, 5000);
	b.dead = true;
	env_post_send(&aqp, &w, &sge);
	assert_int_equal(env_wait(&acq).status, IBV_WC_REM_OP_ERR);
	/* Why, the status does not tell. */
	assert_int_equal(rdma_qp_stats(rdma_qp_find(env.host[1].r, bqp.num))->copies_failed, 1);
	assert_int_equal(rdma_qp_stats(rdma_qp_find(env.host[1].r, bqp.num))->copy_error, -ESRCH);
	pair_close();
}

/* A pair of which |aqp| tries |retry| times more when |bqp|, whose timer is |timer|, is not ready. */
static void pair_open_rnr(uint8_t retry, uint8_t timer)
{
	struct fverbs_qp_attr rts = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				      .rnr_retry = retry, .max_rd_atomic = 1 };
	uint32_t mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

	pair_open(&(struct env_qp_opts){ 0 });
	env_modify(&aqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RESET });
	env_steps(20);
	env_to_init(&aqp, ALL);
	env_to_rtr(&aqp, &env.host[1], bqp.num);
	assert_int_equal(env_modify(&aqp, mask, &rts), 0);
	assert_int_equal(env_modify(&bqp, IBV_QP_MIN_RNR_TIMER,
				    &(struct fverbs_qp_attr){ .min_rnr_timer = timer }), 0);
}

static bool is_later(void *arg)
{
	return env.now >= *(uint64_t *)arg;
}

static void pass(uint64_t ns)
{
	uint64_t then = env.now + ns;

	assert_true(env_run(is_later, &then, 1000000));
}

/* Nobody posts a receive request: after the target's patience, n attempts more, and 0 are 0. */
static void rnr_retry(void **state)
{
	enum { TIMER = 22 };	/* 20.48 ms */
	struct fverbs_send_wqe w = { .wr_id = 4, .opcode = IBV_WR_SEND };
	struct fcore_params p;

	(void)state;
	fcore_params_default(&p);
	for (uint8_t n = 0; n < 7; n++) {
		uint64_t at = p.rnr_patience_ns + n * falcon_rnr_timeout_ns(TIMER), from;

		pair_open_rnr(n, TIMER);
		from = env.now;
		env_post_send(&aqp, &w, NULL);
		assert_int_equal(env_wait(&acq).status, IBV_WC_RNR_RETRY_EXC_ERR);
		assert_in_range(env.now - from, at, at + falcon_rnr_timeout_ns(TIMER) / 2);
		assert_int_equal(env_state(&aqp), IBV_QPS_ERR);
		pair_close();
	}
}

/* One that comes a moment late is in time, also where no retry was asked for. */
static void receive_comes_late(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED };
	struct fcore_params p;

	(void)state;
	fcore_params_default(&p);
	pair_open_rnr(0, 1);
	for (int i = 0; i < 3; i++) {
		env_post_send(&aqp, &w, NULL);
		env_post_send(&aqp, &w, NULL);
		pass(p.rnr_patience_ns * 9 / 10);
		env_post_recv(&bqp, 1, NULL, 0);
		env_post_recv(&bqp, 2, NULL, 0);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(env_wait(&acq).status, IBV_WC_SUCCESS);
			assert_int_equal(env_wait(&bcq).status, IBV_WC_SUCCESS);
		}
	}
	pair_close();
}

/* With 7 it goes on until there is one, longer than any transaction may take; so does what follows. */
static void rnr_for_ever(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED };
	struct fverbs_cqe c;
	struct fcore_params p;

	(void)state;
	fcore_params_default(&p);
	pair_open_rnr(7, 0);
	env_post_send(&aqp, &w, NULL);
	env_post_send(&aqp, &w, NULL);
	pass(3 * p.txn_timeout_ns);
	assert_false(env_poll(&acq, &c));
	env_post_recv(&bqp, 1, NULL, 0);
	env_post_recv(&bqp, 2, NULL, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(env_wait(&acq).status, IBV_WC_SUCCESS);
		assert_int_equal(env_wait(&bcq).status, IBV_WC_SUCCESS);
	}
	pair_close();
}

/* The peer's queue pair goes: what is under way ends, an idle one does not notice. */
static void peer_goes(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 3, .opcode = IBV_WR_SEND };

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	env_steps(20);
	env_qp_close(&bqp);
	env_steps(200);
	assert_int_equal(env_state(&aqp), IBV_QPS_RTS);
	env_post_send(&aqp, &w, NULL);
	env_post_send(&aqp, &w, NULL);
	assert_int_equal(env_wait(&acq).status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(env_wait(&acq).status, IBV_WC_WR_FLUSH_ERR);
	pair_close();
}

static bool is_past(void *arg)
{
	return env.now >= *(uint64_t *)arg;
}

/* Nobody is there: requests wait as long as retries would take, not counting what the shard did not run. */
static void peer_never_comes(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 3, .opcode = IBV_WR_SEND };
	uint64_t until, away = 10000000000;
	struct fverbs_cqe cqe;

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	env_modify(&aqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RESET });
	env_steps(20);
	env_to_init(&aqp, ALL);
	env.host[0].deaf = true;
	env_to_rtr(&aqp, &env.host[1], 0x123456);
	env_to_rts(&aqp);
	env_steps(20000);
	env_post_send(&aqp, &w, NULL);
	env_steps(20);
	rdma_ulp_ops.was_away(env.host[0].r, away);
	until = env.now + away;
	assert_true(env_run(is_past, &until, 10000000));
	assert_false(env_poll(&acq, &cqe));
	assert_int_equal(env_wait(&acq).status, IBV_WC_RETRY_EXC_ERR);
	pair_close();
}

/* Connect |aqp| and |bqp| anew, with |attr| for |aqp|. */
static void reconnect(const struct fverbs_qp_attr *attr)
{
	struct env_qp *both[] = { &aqp, &bqp };

	for (int i = 0; i < 2; i++)
		env_modify(both[i], IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RESET });
	env_steps(100);
	for (int i = 0; i < 2; i++) {
		env_to_init(both[i], ALL);
		env_to_rtr(both[i], &env.host[!i], both[!i]->num);
	}
	assert_int_equal(env_modify(&aqp, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC, attr), 0);
	env_to_rts(&bqp);
	env_steps(100);
}

/* The peer is silent for a second, thirteen times as long as max_retx attempts take here. */
static void peer_is_slow(void **state)
{
	static const struct {
		uint8_t timeout, retry_cnt, status;
	} cases[] = {
		{ 14, 7, IBV_WC_SUCCESS }, { 0, 0, IBV_WC_SUCCESS }, { 1, 7, IBV_WC_RETRY_EXC_ERR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fverbs_send_wqe w = { .wr_id = 3, .opcode = IBV_WR_SEND,
					     .flags = IBV_SEND_SIGNALED };
		uint64_t until;

		pair_open(&(struct env_qp_opts){ 0 });
		reconnect(&(struct fverbs_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = cases[i].timeout,
						    .retry_cnt = cases[i].retry_cnt, .rnr_retry = 7,
						    .max_rd_atomic = 8 });
		env_post_recv(&bqp, 1, NULL, 0);
		env.host[1].dark = true;
		env_post_send(&aqp, &w, NULL);
		until = env.now + 1000000000;
		assert_true(env_run(is_past, &until, 1000000));
		env.host[1].dark = false;
		assert_int_equal(env_wait(&acq).status, cases[i].status);
		pair_close();
	}
}

/* Everything under way ends with the queue pair, without a word, and the peer's requests end, too. */
static void destroyed_under_way(void **state)
{
	(void)state;
	for (int side = 0; side < 2; side++) {
		for (unsigned int steps = 0; steps < 60; steps++) {
			struct fverbs_send_wqe w = { .num_sge = 1 };
			struct fverbs_sge sge;

			pair_open(&(struct env_qp_opts){ 0 });
			w.rkey = bmr.rkey;
			w.remote_addr = (uintptr_t)b.memory + 64;
			sge = sge_of(&b, &bmr, 0, 20000);
			env_post_recv(&bqp, 1, &sge, 1);
			for (int i = 0; i < 12; i++) {
				w.opcode = i % 3 ? IBV_WR_RDMA_READ : IBV_WR_SEND;
				w.opcode = i % 3 == 2 ? IBV_WR_RDMA_WRITE : w.opcode;
				sge = sge_of(&a, &amr, 0, 20000);
				env_post_send(&aqp, &w, &sge);
			}
			env_steps(steps);
			env_qp_close(side ? &bqp : &aqp);
			env_steps(30);
			pair_close();
		}
	}
}

/* An application that spoils its ring loses that queue pair. */
static void spoiled_ring(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND };

	(void)state;
	pair_open(&(struct env_qp_opts){ 0 });
	aqp.sq.pos += 1000;
	env_post_send(&aqp, &w, NULL);
	env_steps(50);
	assert_int_equal(env_state(&aqp), IBV_QPS_ERR);
	assert_true(env_has_event(&a, IBV_EVENT_QP_FATAL));
	pair_close();
	pair_open(&(struct env_qp_opts){ 0 });
	bqp.rq.pos += 1000;
	env_post_recv(&bqp, 1, NULL, 0);
	env_post_send(&aqp, &w, NULL);
	assert_int_equal(env_wait(&acq).status, IBV_WC_REM_OP_ERR);
	assert_true(env_has_event(&b, IBV_EVENT_QP_FATAL));
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remote_access),
		cmocka_unit_test(s6_3_complete_in_error),
		cmocka_unit_test(receive_errors),
		cmocka_unit_test(local_errors),
		cmocka_unit_test(process_memory_goes),
		cmocka_unit_test(rnr_retry),
		cmocka_unit_test(receive_comes_late),
		cmocka_unit_test(rnr_for_ever),
		cmocka_unit_test(peer_goes),
		cmocka_unit_test(peer_never_comes), cmocka_unit_test(peer_is_slow),
		cmocka_unit_test(destroyed_under_way),
		cmocka_unit_test(spoiled_ring),
	};

	return unit_run(tests);
}
