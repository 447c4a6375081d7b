// SPDX-License-Identifier: BSD-2-Clause
/* RDMA connection management between two hosts: connections that end, and requests taken back. */
#include "rdma_cm_pair.h"

/* A peer takes its request back, and makes it again: there is no answer that could be repeated. */
static void withdrawn(void **state)
{
	struct rcm_msg rej = { .type = RCM_REJ, .ps = RDMA_PS_TCP };
	struct ulp_note req, note;

	(void)state;
	listen_at(&b, "0.0.0.0", 7471, false);
	rej.src_id = dial(&a, A, B, 7471, false);
	a.r.now = b.r.now = 2000;
	rdma_cm_run(&a.r);
	req = note = a.out[a.head % NOTES];
	settle(2000);
	rej.dst_id = expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	note.len = rcm_pack(&rej, note.data);
	a.out[a.tail++ % NOTES] = note;
	a.out[a.tail++ % NOTES] = req;
	assert_true(deliver(&a));
	assert_true(deliver(&a));
	b.r.now = 3000;
	rdma_cm_run(&b.r);
	assert_int_equal(b.head, b.tail);
}

static const uint64_t MS = 1000000;

/* The peer disconnects while our requests are not acknowledged. */
static void disconnected_early(uint32_t *at_b)
{
	uint32_t x;

	join(&x, at_b);
	b.qpn = 22;
	b.drain = RDMA_DRAIN_SENDING;
	assert_int_equal(ask_id(&a, FVERBS_CM_DISCONNECT, x), 0);
	settle(5 * MS);
	/* Who disconnects does not wait for it. */
	expect(&a, RDMA_CM_EVENT_DISCONNECTED, 200, 0);
	expect_none(&b);
	assert_in_range(rdma_cm_deadline(&b.r), 5 * MS + 1, 6 * MS);
}

static void disconnected_before_the_last_ack(void **state)
{
	uint32_t y;

	(void)state;
	disconnected_early(&y);
	settle(6 * MS);
	expect_none(&b);
	b.drain = RDMA_DRAIN_UNPOLLED;
	settle(7 * MS);
	expect_none(&b);
	b.drain = RDMA_DRAIN_DONE;
	settle(8 * MS);
	assert_int_equal(expect(&b, RDMA_CM_EVENT_DISCONNECTED, 5, 0), y);
	settle(100 * SECOND);
	expect_none(&b);
}

static void disconnected_and_never_acknowledged(void **state)
{
	uint32_t y;

	(void)state;
	disconnected_early(&y);
	settle(1004 * MS);
	expect_none(&b);
	settle(1005 * MS);
	assert_int_equal(expect(&b, RDMA_CM_EVENT_DISCONNECTED, 5, 0), y);
	assert_int_equal(rdma_cm_deadline(&b.r), UINT64_MAX);
}

static void disconnected_and_never_polled(void **state)
{
	uint32_t y;

	(void)state;
	disconnected_early(&y);
	settle(1000 * MS);
	b.drain = RDMA_DRAIN_UNPOLLED;
	settle(1001 * MS);
	settle(1100 * MS);
	expect_none(&b);
	settle(1101 * MS);
	assert_int_equal(expect(&b, RDMA_CM_EVENT_DISCONNECTED, 5, 0), y);
}

/* Who disconnects, too, or resets or destroys the queue pair, waits for nothing. */
static void disconnected_by_both(void **state)
{
	uint32_t y;

	(void)state;
	disconnected_early(&y);
	assert_int_equal(ask_id(&b, FVERBS_CM_DISCONNECT, y), 0);
	settle(5 * MS + 1);
	assert_int_equal(expect(&b, RDMA_CM_EVENT_DISCONNECTED, 5, 0), y);
	settle(100 * SECOND);
	expect_none(&b);
}

static void disconnected_without_a_queue_pair(void **state)
{
	uint32_t y;

	(void)state;
	disconnected_early(&y);
	b.qpn = 0;
	settle(6 * MS);
	assert_int_equal(expect(&b, RDMA_CM_EVENT_DISCONNECTED, 5, 0), y);
}

static void destroyed_while_disconnected(void **state)
{
	uint32_t y;

	(void)state;
	disconnected_early(&y);
	assert_int_equal(ask_id(&b, FVERBS_CM_DESTROY_ID, y), 0);
	settle(100 * SECOND);
	expect_none(&a);
	expect_none(&b);
}

/* Its maker takes request |x| back, and the listener hears of it. */
static void take_back(uint32_t x)
{
	assert_int_equal(ask_id(&a, FVERBS_CM_DESTROY_ID, x), 0);
	settle(a.r.now + 1000);
}

static void withdrawn_by_its_maker(void **state)
{
	struct fverbs_cm_req q = { .what = FVERBS_CM_LISTEN, .id = make_id(&b, 100, false), .value = 1 };
	uint32_t x, y;

	(void)state;
	assert_int_equal(bind_to(&b, q.id, B, 80), 0);
	assert_int_equal(ask(&b, &q), 0);
	/* Before the request was fetched: it is as if there had been none. The backlog is 1. */
	for (int i = 0; i < 3; i++) {
		x = dial(&a, A, B, 80, false);
		settle(a.r.now + 1000);
		take_back(x);
	}
	expect_none(&b);
	assert_int_equal(b.charged[RDMA_CHARGE_CM_IDS], 1);
	/* Before it was accepted: that fails. Until then the id is not known by a cookie. */
	x = dial(&a, A, B, 80, false);
	settle(a.r.now + 1000);
	y = expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	take_back(x);
	expect_none(&b);
	assert_int_equal(with_param(&b, FVERBS_CM_ACCEPT, y, 22, ""), -EINVAL);
	assert_int_equal(ask_id(&b, FVERBS_CM_DESTROY_ID, y), 0);
	/* While the answer is on its way. */
	x = dial(&a, A, B, 80, false);
	settle(a.r.now + 1000);
	y = expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	assert_int_equal(with_param(&b, FVERBS_CM_ACCEPT, y, 22, ""), 0);
	take_back(x);
	assert_int_equal(expect(&b, RDMA_CM_EVENT_REJECTED, 5, RCM_REJ_CONSUMER), y);
	settle(100 * SECOND);
	expect_none(&b);
}

/* What takes the request back is lost: the answer finds nobody. */
static void answer_to_nobody(void **state)
{
	uint32_t x, y;

	(void)state;
	listen_at(&b, B, 80, false);
	x = dial(&a, A, B, 80, false);
	settle(2000);
	y = expect(&b, RDMA_CM_EVENT_CONNECT_REQUEST, 100, 0);
	assert_int_equal(ask_id(&a, FVERBS_CM_DESTROY_ID, x), 0);
	rdma_cm_run(&a.r);
	a.head = a.tail;
	assert_int_equal(with_param(&b, FVERBS_CM_ACCEPT, y, 22, ""), 0);
	settle(3000);
	assert_int_equal(expect(&b, RDMA_CM_EVENT_REJECTED, 5, RCM_REJ_INVALID_ID), y);
	settle(100 * SECOND);
	expect_none(&b);
}

/* A REJ without a number ends nothing but requests of its sender. */
static void withdrawal_of_nothing(void **state)
{
	struct ulp_note note = { .family = AF_INET };
	struct rcm_msg rej = { .type = RCM_REJ, .ps = RDMA_PS_TCP, .dst_port = 7471 };
	uint32_t x, y;

	(void)state;
	join(&x, &y);
	inet_pton(AF_INET, A, note.local.b);
	inet_pton(AF_INET, B, note.remote.b);
	dial(&b, B, A, 9, false);
	for (uint32_t port = 0; port <= UINT16_MAX; port++) {
		rej.src_port = (uint16_t)port;
		note.len = rcm_pack(&rej, note.data);
		a.out[a.tail++ % NOTES] = note;
		assert_true(deliver(&a));
	}
	rej.src_id = x;
	rej.src_port = 1;
	note.len = rcm_pack(&rej, note.data);
	a.out[a.tail++ % NOTES] = note;
	assert_true(deliver(&a));
	expect_none(&b);
	assert_int_equal(ask_id(&b, FVERBS_CM_DISCONNECT, y), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(disconnected_before_the_last_ack, setup, teardown),
		cmocka_unit_test_setup_teardown(disconnected_and_never_acknowledged, setup, teardown),
		cmocka_unit_test_setup_teardown(disconnected_and_never_polled, setup, teardown),
		cmocka_unit_test_setup_teardown(disconnected_by_both, setup, teardown),
		cmocka_unit_test_setup_teardown(disconnected_without_a_queue_pair, setup, teardown),
		cmocka_unit_test_setup_teardown(destroyed_while_disconnected, setup, teardown),
		cmocka_unit_test_setup_teardown(withdrawn, setup, teardown),
		cmocka_unit_test_setup_teardown(withdrawn_by_its_maker, setup, teardown),
		cmocka_unit_test_setup_teardown(answer_to_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(withdrawal_of_nothing, setup, teardown),
	};

	return unit_run(tests);
}
