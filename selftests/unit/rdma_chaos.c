// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random sequences of all operations over several queue pairs of all modes, on a wire that loses,
 * repeats and reorders, with receivers that are not ready, against a model of both memories.
 *
 * Each queue pair has a region of its own at each end, and each operation of it slots of its own in
 * them, until it has completed. So the model can be checked after each completion, whatever the order;
 * on ordered queue pairs, that is checked, too.
 *
 *	RDMA_CHAOS_OPS=1000000 build/selftests/unit/rdma_chaos.t	as many operations a run
 */
#include "rdma_env.h"

#include <stdlib.h>
#include <string.h>

#include <ulp/rdma/qp.h>

enum {
	QPS = 5,
	DEPTH = 16,			/* operations of a queue pair under way */
	SLOT = 12288,			/* bytes of memory of an operation, at each end */
	REGION = DEPTH * SLOT,
	MEMORY = QPS * REGION,
	MAX_LEN = 9000,
	COUNTER = SLOT - 64,		/* offset of a slot's word for atomics */
};

/* An operation under way. */
struct work {
	bool used, sent, received;
	uint8_t opcode;
	uint32_t len, imm;
	uint32_t serial;
	uint64_t number;		/* atomics: what was there */
	uint64_t result;
};

struct pair {
	struct env_qp qp[2];		/* the first one requests */
	struct env_cq cq[2];
	uint32_t ordering;
	struct work work[DEPTH];
	uint32_t posted, received;	/* operations; receive requests posted */
	uint32_t next_done;		/* serial that is to complete next, if in order */
	uint32_t recv_owed;		/* receive requests that are still to be posted */
	uint32_t recv_slot[DEPTH * 4], recv_head, recv_tail;	/* slots of SENDs, in order */
};

static struct env_app app[2];
static struct env_mr mr[2];
static struct pair pairs[QPS];
static uint64_t rnd;
static unsigned int completed;

static uint32_t pick(uint32_t n)
{
	return (uint32_t)(unit_random(&rnd) % n);
}

static uint8_t *slot(int side, uint32_t p, uint32_t i)
{
	return app[side].memory + p * REGION + i * SLOT;
}

static uint32_t random_len(const struct pair *q, uint8_t opcode)
{
	bool one = q->ordering == FVERBS_UNORDERED &&
		   (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
		    opcode == IBV_WR_RDMA_WRITE_WITH_IMM);
	uint32_t max = one ? ENV_MAX_LEN - FALCON_RDMA_MAX_HDR : MAX_LEN;

	switch (pick(4)) {
	case 0: return pick(16);
	case 1: return pick(one ? max : 2100);
	default: return pick(max + 1);
	}
}

static void scribble(uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)unit_random(&rnd);
}

/* Up to 5 elements, some of them empty, that make up [at, at + len). */
static uint32_t cut(struct fverbs_sge *sge, uint8_t *at, uint32_t len, uint32_t lkey)
{
	uint32_t n = 1 + pick(5);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t part = i + 1 == n ? len : pick(len + 1);

		sge[i] = (struct fverbs_sge){ (uintptr_t)at, part, lkey };
		at += part;
		len -= part;
	}
	return n;
}

/* A receive request for the oldest SEND or WRITE with immediate that has none. */
static void post_recv(struct pair *q)
{
	uint32_t p = (uint32_t)(q - pairs), i = q->recv_slot[q->recv_head++ % (DEPTH * 4)];
	struct fverbs_sge sge[5];
	uint32_t n = cut(sge, slot(1, p, i), q->work[i].len + pick(100), mr[1].lkey);

	env_post_recv(&q->qp[1], i, sge, n);
}

static const uint8_t opcodes[] = {
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static bool takes_receive(uint8_t opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_atomic(uint8_t opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void start_atomic(struct work *w, struct fverbs_send_wqe *wqe, uint8_t *far)
{
	uint64_t v;

	memcpy(&v, far + COUNTER, sizeof(v));
	w->number = v;
	wqe->remote_addr = (uintptr_t)far + COUNTER;
	wqe->compare_add = w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP && pick(2) ? v : pick(1000);
	wqe->swap = unit_random(&rnd);
	if (w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		w->result = v + wqe->compare_add;
	else
		w->result = wqe->compare_add == v ? wqe->swap : v;
}

static void start(struct pair *q, uint32_t i)
{
	uint32_t p = (uint32_t)(q - pairs);
	struct work *w = &q->work[i];
	uint8_t *near = slot(0, p, i), *far = slot(1, p, i);
	struct fverbs_send_wqe wqe = { .wr_id = i, .flags = IBV_SEND_SIGNALED,
				       .rkey = mr[1].rkey, .remote_addr = (uintptr_t)far };
	union {
		struct fverbs_sge sge[5];
		uint8_t bytes[FVERBS_INLINE_MAX];
	} data;

	*w = (struct work){ .used = true, .serial = q->posted++ };
	w->opcode = wqe.opcode = opcodes[pick(ARRAY_SIZE(opcodes))];
	w->len = is_atomic(w->opcode) ? 8 : random_len(q, w->opcode);
	w->imm = wqe.imm = (uint32_t)unit_random(&rnd);
	w->received = !takes_receive(w->opcode);
	scribble(w->opcode == IBV_WR_RDMA_READ ? far : near, w->len);
	if (is_atomic(w->opcode))
		start_atomic(w, &wqe, far);
	if (pick(8) == 0)
		wqe.flags |= IBV_SEND_FENCE;
	if (!is_atomic(w->opcode) && w->opcode != IBV_WR_RDMA_READ && w->len <= sizeof(data.bytes) &&
	    pick(3) == 0) {
		wqe.flags |= IBV_SEND_INLINE;
		wqe.inline_len = w->len;
		memcpy(data.bytes, near, w->len);
	} else {
		wqe.num_sge = is_atomic(w->opcode) ? 1 : (uint8_t)cut(data.sge, near, w->len,
								     mr[0].lkey);
		if (is_atomic(w->opcode))
			data.sge[0] = (struct fverbs_sge){ (uintptr_t)near, 8, mr[0].lkey };
	}
	if (takes_receive(w->opcode))
		q->recv_slot[q->recv_tail++ % (DEPTH * 4)] = i;
	env_post_send(&q->qp[0], &wqe, &data);
}

/* Both ends have said that it is over: both memories are as the model has them. */
static void finish(struct pair *q, struct work *w)
{
	uint32_t p = (uint32_t)(q - pairs), i = (uint32_t)(w - q->work);
	uint8_t *near = slot(0, p, i), *far = slot(1, p, i);

	if (is_atomic(w->opcode)) {
		assert_memory_equal(near, &w->number, 8);
		assert_memory_equal(far + COUNTER, &w->result, 8);
	} else {
		assert_memory_equal(near, far, w->len);
	}
	w->used = false;
	completed++;
}

static void take_sent(struct pair *q, const struct fverbs_cqe *c)
{
	struct work *w = &q->work[c->wr_id];

	if (c->status != IBV_WC_SUCCESS)
		fail_msg("opcode %u of %u bytes: status %u vendor %u", w->opcode, w->len, c->status,
			 c->vendor_err);
	assert_true(w->used && !w->sent);
	if (q->ordering != FVERBS_UNORDERED)
		assert_int_equal(w->serial, q->next_done++);
	w->sent = true;
	if (w->received)
		finish(q, w);
}

/* Unordered receivers take requests as the sender has numbered the messages, so slots agree. */
static void take_received(struct pair *q, const struct fverbs_cqe *c)
{
	struct work *w = &q->work[c->wr_id];

	assert_int_equal(c->status, IBV_WC_SUCCESS);
	assert_true(w->used && !w->received);
	assert_int_equal(c->opcode, w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ?
					    IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	assert_int_equal(c->byte_len, w->len);
	if (w->opcode != IBV_WR_SEND)
		assert_int_equal(c->imm, w->imm);
	w->received = true;
	if (w->sent)
		finish(q, w);
}

static void poll(struct pair *q)
{
	struct fverbs_cqe c;

	while (env_poll(&q->cq[0], &c))
		take_sent(q, &c);
	while (env_poll(&q->cq[1], &c))
		take_received(q, &c);
}

static void open_pairs(void)
{
	static const struct env_qp_opts opts[QPS] = {
		{ .ordering = FVERBS_STRONGLY_ORDERED },
		{ .ordering = FVERBS_STRONGLY_ORDERED, .errors = FVERBS_COMPLETE_IN_ERROR },
		{ .ordering = FVERBS_WEAKLY_ORDERED },
		{ .ordering = FVERBS_WEAKLY_ORDERED, .errors = FVERBS_COMPLETE_IN_ERROR },
		{ .ordering = FVERBS_UNORDERED, .errors = FVERBS_COMPLETE_IN_ERROR },
	};

	memset(pairs, 0, sizeof(pairs));
	for (int i = 0; i < QPS; i++) {
		struct pair *q = &pairs[i];

		q->ordering = opts[i].ordering;
		for (int s = 0; s < 2; s++) {
			env_cq_open(&app[s], &q->cq[s], 64);
			env_qp_open(&app[s], &q->cq[s], &opts[i], &q->qp[s]);
		}
		env_connect(&q->qp[0], &q->qp[1]);
	}
}

static void round_of(struct pair *q, unsigned int *left)
{
	uint32_t i = pick(DEPTH);

	/* Requests are taken out of the queue in order, even where they complete out of it. */
	if (*left && !q->work[i].used && env_sq_used(&q->qp[0]) < 64 && pick(3)) {
		start(q, i);
		--*left;
	}
	/* Late: the sender finds nobody ready. */
	while (q->recv_head != q->recv_tail && pick(5) == 0)
		post_recv(q);
	poll(q);
}

/* So few elements and buffers that queue pairs wait for one another's. */
static void starve(struct rdma_qps *q)
{
	q->txns.max = 12;
	for (int i = 0; i < POOL_CLASSES; i++)
		q->pool.slab[i].max = 4;
}

static void chaos(uint64_t seed, const struct env_faults *faults, unsigned int ops, bool small)
{
	uint32_t all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		       IBV_ACCESS_REMOTE_ATOMIC;
	unsigned int left = ops, idle = 0, before;

	rnd = seed * 0x9e3779b97f4a7c15ULL + 7;
	completed = 0;
	env_open(seed);
	for (int s = 0; s < 2; s++) {
		env_app_open(&app[s], &env.host[s], MEMORY);
		mr[s] = env_reg(&app[s], 0, MEMORY, all);
	}
	for (int s = 0; s < 2 && small; s++)
		starve(env.host[s].r->qps);
	open_pairs();
	env.faults = *faults;
	while (completed < ops) {
		before = completed;
		for (int i = 0; i < QPS; i++)
			round_of(&pairs[i], &left);
		env_step();
		idle = completed == before ? idle + 1 : 0;
		if (idle > 500000)
			fail_msg("seed %llu: nothing completes", (unsigned long long)seed);
	}
	for (int s = 0; s < 2; s++)
		env_app_close(&app[s]);
	env_close();
}

static unsigned int operations(void)
{
	const char *s = getenv("RDMA_CHAOS_OPS");

	return s ? (unsigned int)atol(s) : 3000;
}

static void on_a_good_wire(void **state)
{
	(void)state;
	chaos(1, &(struct env_faults){ 0 }, operations(), false);
}

static void with_reordering(void **state)
{
	(void)state;
	chaos(2, &(struct env_faults){ .reorder = 20, .jitter = 3000 }, operations(), false);
}

static void with_loss(void **state)
{
	(void)state;
	chaos(3, &(struct env_faults){ .loss = 2, .dup = 1, .reorder = 5, .refuse = 5 },
	      operations(), false);
}

static void with_small_pools(void **state)
{
	(void)state;
	chaos(4, &(struct env_faults){ .loss = 1, .reorder = 5 }, operations(), true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_a_good_wire),
		cmocka_unit_test(with_reordering),
		cmocka_unit_test(with_loss),
		cmocka_unit_test(with_small_pools),
	};

	return unit_run(tests);
}
