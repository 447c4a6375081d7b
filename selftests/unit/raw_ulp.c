// SPDX-License-Identifier: BSD-2-Clause
/* The raw layer at work: operations of every kind and size, refusals, backpressure. */
#include "unit.h"

#include <string.h>

#include "loop/pair.h"

static void assert_status(struct falcon_cqe cqe, uint8_t status, uint8_t ulp_code, uint32_t len)
{
	assert_int_equal(cqe.status, status);
	assert_int_equal(cqe.ulp_code, ulp_code);
	assert_int_equal(cqe.len, len);
}

static void fill(uint8_t *p, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = (uint8_t)unit_random(&seed);
}

static const uint32_t sizes[] = {
	1, PAIR_SEGMENT - 1, PAIR_SEGMENT, PAIR_SEGMENT + 1, 10 * PAIR_SEGMENT,
	300 * PAIR_SEGMENT + 7,
};

static void put__any_size(void **state)
{
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(p->near.app.arena + 5, sizes[i], i + 1);
		assert_status(pair_do(p, FALCON_RAW_PUT, 5, 99, sizes[i]), kCmplAck, 0, sizes[i]);
		assert_memory_equal(p->near.app.arena + 5, p->far.app.arena + 99, sizes[i]);
	}
	assert_int_equal(p->far.app.arena[98], 0);
}

static void put__empty_reaches_the_service(void **state)
{
	assert_status(pair_do(*state, FALCON_RAW_PUT, 0, 0, 0), kCmplAck, 0, 0);
	assert_status(pair_do(*state, FALCON_RAW_PUT, 0, PAIR_ARENA + 1, 0), kCmplTargetNackCIE,
		      FALCON_RAW_NO_ACCESS, 0);
}

static void get__any_size(void **state)
{
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		fill(p->far.app.arena + 31, sizes[i], i + 100);
		assert_status(pair_do(p, FALCON_RAW_GET, 8, 31, sizes[i]), kCmplAck, 0, sizes[i]);
		assert_memory_equal(p->near.app.arena + 8, p->far.app.arena + 31, sizes[i]);
	}
}

static void get__nothing(void **state)
{
	assert_status(pair_do(*state, FALCON_RAW_GET, 0, 0, 0), kCmplAck, 0, 0);
}

static void unordered__any_size(void **state)
{
	struct pair *p = *state;

	p->near.conns[0].unordered = true;
	put__any_size(state);
	get__any_size(state);
}

static void send__carries_everything(void **state)
{
	struct pair *p = *state;
	const struct falcon_msg *m;

	memcpy(p->near.app.arena, "hello", 5);
	assert_status(pair_do(p, FALCON_RAW_SEND, 0, 0x123456789abcdef0, 5), kCmplAck, 0, 5);
	m = app_message(&p->far.app);
	assert_non_null(m);
	assert_int_equal(m->conn, 0);
	assert_int_equal(m->src_service, client_service(p->near.client));
	assert_int_equal(m->len, 5);
	assert_true(m->tag == 0x123456789abcdef0);
	assert_memory_equal(m->payload, "hello", 5);
	app_message_done(&p->far.app);
	assert_null(app_message(&p->far.app));
}

static void send__longest(void **state)
{
	assert_status(pair_do(*state, FALCON_RAW_SEND, 0, 0, PAIR_SEGMENT), kCmplAck, 0,
		      PAIR_SEGMENT);
	assert_status(pair_do(*state, FALCON_RAW_SEND, 0, 0, PAIR_SEGMENT + 1), kCmplOpErr, 0, 0);
}

/* A full ring holds the rest back, and nothing is lost or swapped when there is room again. */
static void send__full_ring_waits(void **state)
{
	struct pair *p = *state;
	const uint32_t n = FALCON_RQ_ENTRIES + 20;
	const struct falcon_msg *m;
	struct falcon_cqe cqe;
	uint32_t done = 0, seen = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct falcon_sqe sqe = pair_sqe(FALCON_RAW_SEND, 0, i, 8);

		app_submit(&p->near.app, &sqe);
	}
	pair_run(p);
	while (app_complete(&p->near.app, &cqe))
		done++;
	assert_int_equal(done, FALCON_RQ_ENTRIES);
	for (; (m = app_message(&p->far.app)); app_message_done(&p->far.app), pair_run(p))
		assert_int_equal(m->tag, seen++);
	assert_int_equal(seen, n);
	while (app_complete(&p->near.app, &cqe))
		done++;
	assert_int_equal(done, n);
	assert_true(client_stats(p->far.client)->ring_full > 0);
}

/* An application that never takes its messages must not hold the connection for ever. */
static void send__stuck_service_is_an_error(void **state)
{
	struct pair *p = *state;
	struct falcon_cqe cqe;

	for (uint32_t i = 0; i < FALCON_RQ_ENTRIES; i++)
		assert_status(pair_do(p, FALCON_RAW_SEND, 0, i, 8), kCmplAck, 0, 8);
	app_submit(&p->near.app, &(struct falcon_sqe){ .op = FALCON_RAW_SEND,
						       .dst_service = PAIR_SERVICE, .len = 8 });
	pair_run(p);
	assert_false(app_complete(&p->near.app, &cqe));
	p->now += 6000000000ULL;
	pair_run(p);
	assert_true(app_complete(&p->near.app, &cqe));
	assert_status(cqe, kCmplTargetNackCIE, FALCON_RAW_STUCK, 0);
	app_message_done(&p->far.app);
	assert_status(pair_do(p, FALCON_RAW_SEND, 0, 0, 8), kCmplAck, 0, 8);
}

static void refused__no_such_service(void **state)
{
	static const struct {
		uint8_t op, code;
	} cases[] = {
		{ FALCON_RAW_PUT, FALCON_RAW_NO_SERVICE },
		{ FALCON_RAW_SEND, FALCON_RAW_NO_SERVICE },
		{ FALCON_RAW_GET, FALCON_RAW_SHORT },
	};
	struct pair *p = *state;

	raw_detach(p->far.ulp, p->far.client);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_status(pair_do(p, cases[i].op, 0, 0, 8), kCmplTargetNackCIE, cases[i].code,
			      0);
}

/* Attach one more application at the far end that opened only part of its arena. */
static void attach_limited(struct pair *p, struct app *app, uint16_t service, bool write, bool read)
{
	struct client *cl;

	app_make(app, 8192, true);
	app->shm->remote_offset = 1000;
	app->shm->remote_len = 3000;
	app->shm->remote_write = write;
	app->shm->remote_read = read;
	assert_int_equal(pair_attach(&p->far, app, service, &cl), 0);
}

static struct falcon_cqe do_at(struct pair *p, uint16_t service, uint8_t op, uint64_t remote,
			       uint32_t len)
{
	struct falcon_sqe sqe = pair_sqe(op, 0, remote, len);
	struct falcon_cqe cqe;

	sqe.dst_service = service;
	app_submit(&p->near.app, &sqe);
	pair_run(p);
	assert_true(app_complete(&p->near.app, &cqe));
	return cqe;
}

static void refused__outside_of_what_is_open(void **state)
{
	static const struct {
		uint64_t remote;
		uint32_t len;
		bool good;
	} cases[] = {
		{ 1000, 1, true },	 { 3999, 1, true },	{ 1000, 3000, true },
		{ 999, 1, false },	 { 4000, 1, false },	{ 3999, 2, false },
		{ UINT64_MAX, 1, false }, { UINT64_MAX - 7, 8, false }, { 0, 900, false },
	};
	struct pair *p = *state;
	struct app app;

	attach_limited(p, &app, 9, true, true);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct falcon_cqe put = do_at(p, 9, FALCON_RAW_PUT, cases[i].remote, cases[i].len);
		struct falcon_cqe get = do_at(p, 9, FALCON_RAW_GET, cases[i].remote, cases[i].len);

		assert_int_equal(put.status, cases[i].good ? kCmplAck : kCmplTargetNackCIE);
		assert_int_equal(put.ulp_code, cases[i].good ? 0 : FALCON_RAW_NO_ACCESS);
		assert_int_equal(get.status, cases[i].good ? kCmplAck : kCmplTargetNackCIE);
		assert_int_equal(get.ulp_code, cases[i].good ? 0 : FALCON_RAW_SHORT);
	}
	app_drop(&app);
}

static void refused__direction_not_open(void **state)
{
	struct app ro, wo;

	attach_limited(*state, &ro, 10, false, true);
	attach_limited(*state, &wo, 11, true, false);
	assert_status(do_at(*state, 10, FALCON_RAW_PUT, 1000, 4), kCmplTargetNackCIE,
		      FALCON_RAW_NO_ACCESS, 0);
	assert_status(do_at(*state, 10, FALCON_RAW_GET, 1000, 4), kCmplAck, 0, 4);
	assert_status(do_at(*state, 11, FALCON_RAW_GET, 1000, 4), kCmplTargetNackCIE,
		      FALCON_RAW_SHORT, 0);
	assert_status(do_at(*state, 11, FALCON_RAW_PUT, 1000, 4), kCmplAck, 0, 4);
	app_drop(&ro);
	app_drop(&wo);
}

/* Segments that fit are moved, and counted; the first that does not is the operation's error. */
static void refused__half_way(void **state)
{
	struct app app;

	attach_limited(*state, &app, 9, true, true);
	assert_status(do_at(*state, 9, FALCON_RAW_PUT, 2000, 5000), kCmplTargetNackCIE,
		      FALCON_RAW_NO_ACCESS, 2000);
	app_drop(&app);
}

static void refused__garbage_from_the_peer(void **state)
{
	struct pair *p = *state;
	struct fcore_conn *c = &p->far.conns[0];
	struct falcon_raw_hdr hdr = { .dst_service = falcon_hton16(PAIR_SERVICE) };

	for (uint32_t len = 0; len < sizeof(hdr); len++) {
		raw_on_push(p->far.ulp, c, 0, &hdr, len, p->now);
		assert_int_equal(c->outcome, FCORE_PUSH_CIE);
		assert_int_equal(c->ulp_code, FALCON_RAW_MALFORMED);
		raw_on_pull(p->far.ulp, c, 0, &hdr, len, 100, p->now);
		assert_int_equal(c->response_len, 0);
	}
	for (unsigned int op = 0; op < 256; op++) {
		hdr.op = (uint8_t)op;
		raw_on_push(p->far.ulp, c, 0, &hdr, sizeof(hdr), p->now);
		assert_int_equal(c->outcome == FCORE_PUSH_ACK,
				 op == FALCON_RAW_PUT || op == FALCON_RAW_SEND);
		raw_on_pull(p->far.ulp, c, 0, &hdr, sizeof(hdr), 100, p->now);
		assert_int_equal(c->response_len, op == FALCON_RAW_GET ? 100 : 0);
		raw_on_response_done(p->far.ulp, c, c->response_cookie);
	}
}

static void refused__garbage_from_the_application(void **state)
{
	struct pair *p = *state;
	const struct {
		struct falcon_sqe sqe;
		uint8_t status;
	} cases[] = {
		{ { .op = 0 }, kCmplOpErr },
		{ { .op = 4 }, kCmplOpErr },
		{ { .op = 255 }, kCmplOpErr },
		{ { .op = FALCON_RAW_PUT, .local = PAIR_ARENA, .len = 1 }, kCmplOpErr },
		{ { .op = FALCON_RAW_PUT, .local = UINT64_MAX, .len = 2 }, kCmplOpErr },
		{ { .op = FALCON_RAW_GET, .local = 1, .len = PAIR_ARENA }, kCmplOpErr },
		{ { .op = FALCON_RAW_GET, .len = UINT32_MAX }, kCmplOpErr },
		{ { .op = FALCON_RAW_PUT, .conn = PAIR_CONNS, .len = 1 }, kCmplDeadConn },
		{ { .op = FALCON_RAW_PUT, .conn = UINT32_MAX, .len = 1 }, kCmplDeadConn },
	};
	struct falcon_cqe cqe;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		app_submit(&p->near.app, &cases[i].sqe);
		pair_run(p);
		assert_true(app_complete(&p->near.app, &cqe));
		assert_status(cqe, cases[i].status, 0, 0);
	}
	assert_int_equal(p->near.broken, 0);
}

/* A connection of one user is none to others, but for root. */
static void refused__connection_of_another_user(void **state)
{
	struct pair *p = *state;

	raw_conn_own(p->near.ulp, 0, 1001);
	client_set_user(p->near.client, 1002);
	assert_status(pair_do(p, FALCON_RAW_PUT, 0, 0, 9), kCmplDeadConn, 0, 0);
	client_set_user(p->near.client, 1001);
	assert_status(pair_do(p, FALCON_RAW_PUT, 0, 0, 9), kCmplAck, 0, 9);
	client_set_user(p->near.client, 0);
	assert_status(pair_do(p, FALCON_RAW_PUT, 0, 0, 9), kCmplAck, 0, 9);
	raw_conn_own(p->near.ulp, 0, -1);
	client_set_user(p->near.client, 1002);
	assert_status(pair_do(p, FALCON_RAW_PUT, 0, 0, 9), kCmplAck, 0, 9);
}

/* The core takes few transactions at a time; on_xon() moves the rest along. */
static void backpressure__narrow_core(void **state)
{
	struct pair *p = *state;

	p->near.conns[0].limit = 3;
	put__any_size(state);
	get__any_size(state);
}

/* A filter, or the lack of resources without flow control, ends transactions before they are submitted. */
static void refused__before_submission_returns(void **state)
{
	static const uint8_t ops[] = { FALCON_RAW_PUT, FALCON_RAW_GET };
	struct pair *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		p->near.conns[0].ends_at_once = kCmplLocalRsrc;
		assert_status(pair_do(p, ops[i], 0, 0, 300 * PAIR_SEGMENT), kCmplLocalRsrc, 0, 0);
		assert_status(pair_do(p, ops[i], 0, 0, 1), kCmplLocalRsrc, 0, 0);
		p->near.conns[0].ends_at_once = kCmplAck;
		assert_status(pair_do(p, ops[i], 0, 0, 300 * PAIR_SEGMENT), kCmplAck, 0, 300 * PAIR_SEGMENT);
	}
}

static void backpressure__other_connection_goes_on(void **state)
{
	struct pair *p = *state;
	struct falcon_sqe sqe = pair_sqe(FALCON_RAW_PUT, 0, 0, PAIR_ARENA);
	struct falcon_cqe cqe;

	p->near.conns[0].stalled = true;
	app_submit(&p->near.app, &sqe);
	sqe.conn = 1;
	sqe.cookie = 2;
	app_submit(&p->near.app, &sqe);
	pair_run(p);
	assert_true(app_complete(&p->near.app, &cqe));
	assert_int_equal(cqe.cookie, 2);
	assert_false(app_complete(&p->near.app, &cqe));
	p->near.conns[0].stalled = false;
	pair_run(p);
	assert_true(app_complete(&p->near.app, &cqe));
	assert_status(cqe, kCmplAck, 0, PAIR_ARENA);
}

/* An application that does not read completions is not given more than the ring holds. */
static void completions__never_overflow(void **state)
{
	struct pair *p = *state;
	const uint32_t n = FALCON_CQ_ENTRIES + 500;
	uint32_t submitted = 0, done = 0;
	struct falcon_cqe cqe;

	while (submitted < n) {
		struct falcon_sqe sqe = pair_sqe(FALCON_RAW_PUT, 0, 0, 8);

		if (p->near.app.rings->sq.tail - p->near.app.rings->sq.head == FALCON_SQ_ENTRIES)
			break;
		sqe.cookie = submitted++;
		app_submit(&p->near.app, &sqe);
		pair_step(p);
	}
	pair_run(p);
	assert_int_equal(p->near.app.rings->cq.tail, FALCON_CQ_ENTRIES);
	for (; app_complete(&p->near.app, &cqe); pair_run(p))
		assert_int_equal(cqe.cookie, done++);
	assert_int_equal(done, submitted);
	assert_true(done > FALCON_CQ_ENTRIES);
}

/* As many operations as there can be, and more in the ring: those wait. */
static void operations__all_in_use(void **state)
{
	struct falcon_sqe sqe = pair_sqe(FALCON_RAW_PUT, 0, 0, 8);
	const uint32_t n = FALCON_CQ_ENTRIES + 1;
	struct pair *p = *state;
	struct falcon_cqe cqe;
	uint32_t done = 0;

	p->near.conns[0].stalled = true;
	for (uint32_t i = 0; i < n; i++) {
		app_submit(&p->near.app, &sqe);
		pair_step(p);
	}
	assert_int_equal(client_stats(p->near.client)->outstanding, FALCON_CQ_ENTRIES);
	p->near.conns[0].stalled = false;
	for (pair_run(p); app_complete(&p->near.app, &cqe); pair_run(p))
		done++;
	assert_int_equal(done, n);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		T(put__any_size), T(put__empty_reaches_the_service), T(get__any_size),
		T(get__nothing), T(unordered__any_size), T(send__carries_everything),
		T(send__longest), T(send__full_ring_waits), T(send__stuck_service_is_an_error),
		T(refused__no_such_service), T(refused__outside_of_what_is_open),
		T(refused__direction_not_open), T(refused__half_way),
		T(refused__garbage_from_the_peer), T(refused__garbage_from_the_application),
		T(refused__connection_of_another_user), T(refused__before_submission_returns),
		T(backpressure__narrow_core), T(backpressure__other_connection_goes_on),
		T(completions__never_overflow), T(operations__all_in_use),
	};

	return unit_run(tests);
}
