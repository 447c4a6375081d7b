// SPDX-License-Identifier: BSD-2-Clause
/* Pull Data that XDP sends in the core's place: numbers, timers, and what is to be sent again. */
#include "core_env.h"

#include <falcon/receive/pull.h>

enum {
	ENTRIES = 2,
	FIRST = 40,		/* the core's first entry of falcon_responses */
	RTO = 1000000,		/* ns: env_params() */
};

static struct falcon_responses entries[ENTRIES];

static void open_with(const struct fcore_params *p)
{
	struct fcore_config cfg;

	memset(entries, 0, sizeof(entries));
	fcore_config_default(&cfg, 2);
	cfg.responses = entries;
	cfg.first_response = FIRST;
	cfg.responses_count = ENTRIES;
	env_open_with(p, &cfg);
	env.exec_answer = FCORE_EXEC_GIVE;
	env.exec_access = FALCON_REGION_READ;
	fcore_exec_offer(env.c);
	fcore_exec_run(env.core);
}

static void open_lent(void)
{
	const struct fcore_params p = env_params(true);

	open_with(&p);
	assert_int_equal(env.shared.exec.responses, FIRST + 1);
}

/* XDP answers the peer's |n|-th Pull Request, its |r|-th request. */
static void xdp_answers_request(uint32_t n, uint32_t r)
{
	const struct falcon_pull p = { .opcode = FALCON_RDMA_READ_REQUEST, .length = 8 };
	const struct falcon_hdr request = { .type = FALCON_PULL_REQUEST, .psn = ENV_PEER_REQ + n };
	struct falcon_exec *e = &env.shared.exec;
	uint32_t rsn = ENV_PEER_RSN + r;
	struct falcon_hdr h;

	assert_true(falcon_exec_take(e, rsn));
	assert_true(falcon_exec_window_open(&env.shared, 0));
	assert_int_equal(falcon_rx_window(&env.shared, &request), FALCON_V_rx_request);
	falcon_rx_acknowledge(&env.shared, true, request.psn);
	falcon_response_hdr(&env.shared, rsn, &h);
	falcon_exec_tell(&env.shared, 0, env.now, &h);
	falcon_exec_answered(&env.shared, &entries[e->responses - FIRST - 1], &p, rsn, 0, env.now);
	falcon_exec_free(e, rsn, rsn + 1);
	/* Nothing for the owner to wait for, if XDP has all that is on the wire. */
	if (falcon_exec_watch_sent(&env.shared))
		assert_int_equal(fcore_acked(env.c, env.now), !falcon_exec_quiet(&env.shared));
}

static void xdp_answers(uint32_t n)
{
	xdp_answers_request(n, n);
}

/* The peer's BACK of |data| packets: the core hears of it, unless it wants quiet. */
static void xdp_is_acked(uint32_t data)
{
	const struct falcon_ack a = { .type = FALCON_BACK, .rdbpsn = ENV_DATA + data, .rrbpsn = ENV_REQ };

	assert_int_equal(falcon_rx_ack(&env.shared, 0, &a, env.now), FALCON_V_ack_consumed);
	if (!falcon_exec_quiet(&env.shared))
		fcore_acked(env.c, env.now);
}

static void expect_sent(uint32_t i, uint8_t type, uint32_t psn, bool again)
{
	assert_true(i < env.nsent);
	assert_int_equal(env.sent[i].type, type);
	assert_int_equal(env.sent[i].hdr.psn, ENV_DATA + psn);
	assert_int_equal(env.sent[i].again, again);
}

static void acknowledged_in_time(void **state)
{
	(void)state;
	open_lent();
	assert_true(falcon_exec_quiet(&env.shared));
	for (uint32_t n = 0; n < 300; n++) {
		xdp_answers(n);
		assert_int_equal(env.shared.tx_acked.watched, 1);
		xdp_is_acked(n + 1);
	}
	assert_int_equal(env.shared.cc.data_next, ENV_DATA + 300);
	/* The timer finds nothing on the wire, and then runs no more. */
	assert_int_equal(env_pass(RTO + 100000), 0);
	assert_int_equal(env.shared.tx_acked.watched, 0);
	assert_int_equal(fcore_next_deadline(env.core, env.now), FCORE_NEVER);
	assert_int_equal(env.exec_taken + env.exec_responses + env.nevents, 0);
	/* The core goes on behind it. */
	env_push(1);
	assert_int_equal(env_run(), 1);
	expect_sent(0, FALCON_PUSH_DATA, 300, false);
	assert_int_equal(env.exec.pulls, 300);
	assert_int_equal(fcore_conn_stats(env.c)->pull_received, 300);
	assert_int_equal(fcore_conn_stats(env.c)->push_received, 0);
	assert_int_equal(fcore_conn_stats(env.c)->tx_packets, 301);
	xdp_is_acked(301);
	assert_int_equal(env.event[env.nevents - 1].what, ENV_DONE);
	env_close();
}

/* It begins anew once all was acknowledged. */
static void watched_again(void **state)
{
	(void)state;
	open_lent();
	xdp_answers(0);
	xdp_is_acked(1);
	env_pass(RTO + 100000);
	xdp_answers(1);
	assert_int_equal(env.shared.tx_acked.watched, 1);
	assert_int_equal(env_pass(RTO + 100000), 1);
	expect_sent(0, FALCON_PULL_DATA, 1, true);
	env_ack_all(2, 0);
	env_close();
}

static void lost(void **state)
{
	(void)state;
	open_lent();
	xdp_answers(0);
	xdp_answers(1);
	xdp_answers(2);
	xdp_is_acked(1);
	assert_int_equal(env_pass(RTO / 2), 0);
	assert_int_equal(env_pass(RTO / 2 + 100000), 2);
	expect_sent(0, FALCON_PULL_DATA, 1, true);
	expect_sent(1, FALCON_PULL_DATA, 2, true);
	assert_int_equal(env.sent[0].hdr.rsn, ENV_PEER_RSN + 1);
	assert_int_equal(env.sent[0].len, FCORE_MAX_RESP_HDR + 8);
	/* Of what was acknowledged nothing was asked for. */
	assert_int_equal(env.exec_responses, 2);
	assert_int_equal(env.exec_taken, 1);
	env_ack_all(3, 0);
	env_expect(0, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = ENV_PEER_RSN + 1 });
	env_expect(1, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = ENV_PEER_RSN + 2 });
	assert_int_equal(env.nevents, 2);
	env_close();
}

/* The timeout of each packet is its own, not that of the first. */
static void not_before_its_time(void **state)
{
	(void)state;
	open_lent();
	xdp_answers(0);
	env.now += RTO / 2;
	xdp_answers(1);
	xdp_is_acked(1);
	assert_int_equal(env_pass(RTO / 2 + 100000), 0);
	assert_int_equal(env.exec_taken, 0);
	assert_int_equal(env_pass(RTO / 2), 1);
	expect_sent(0, FALCON_PULL_DATA, 1, true);
	env_ack_all(2, 0);
	env_close();
}

/* An EACK tells of a loss: it is the core's, at once. */
static void found_lost(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.ooo_threshold = 2;
	open_with(&p);
	for (uint32_t n = 0; n < 5; n++)
		xdp_answers(n);
	env.now += 50000;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_ack = { 0x1e }, .data_rx = { 0x1e } });
	assert_int_equal(env_run(), 1);
	expect_sent(0, FALCON_PULL_DATA, 0, true);
	assert_int_equal(env.exec_responses, 5);
	assert_int_equal(env.nevents, 4);
	env_ack_all(5, 0);
	assert_int_equal(env.nevents, 5);
	env_close();
}

/* The core knew of an EACK before it adopts: what that acknowledged is not sent again. */
static void told_before(void **state)
{
	const struct falcon_ack a = { .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				      .data_ack = { 0x2 }, .data_rx = { 0x2 } };

	(void)state;
	open_lent();
	xdp_answers(0);
	xdp_answers(1);
	assert_int_equal(falcon_rx_ack(&env.shared, 0, &a, env.now), FALCON_V_ack_consumed);
	/* A request for the agent comes before it has looked at the ACK. */
	env.answer = true;
	env_receive_push(0, 2, false);
	assert_int_equal(env.exec_taken, 1);
	fcore_acked(env.c, env.now);
	assert_int_equal(env.nevents, 2);
	env_expect(1, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = ENV_PEER_RSN + 1 });
	env_pass(RTO + 100000);
	assert_int_equal(env.sent[env.nsent - 1].hdr.psn, ENV_DATA);
	env_ack_all(1, 0);
	env_close();
}

/* ---- with packets of the core's own ---- */

/* Behind what XDP has sent, which the core watches over from then on. */
static void core_sends_too(void **state)
{
	(void)state;
	open_lent();
	xdp_answers(0);
	xdp_answers(1);
	env_push(7);
	assert_int_equal(env_run(), 1);
	expect_sent(0, FALCON_PUSH_DATA, 2, false);
	assert_int_equal(env.exec_taken, 1);
	/* Then XDP goes on, behind the core. */
	fcore_exec_run(env.core);
	assert_int_equal(env.shared.exec.responses, FIRST + 1);
	assert_false(falcon_exec_quiet(&env.shared));
	xdp_answers(2);
	assert_int_equal(env.shared.cc.data_next, ENV_DATA + 4);
	/* Of the core's packets it hears; then it is quiet again. */
	xdp_is_acked(3);
	assert_int_equal(env.nevents, 3);
	env_expect(2, (struct env_event){ .what = ENV_DONE, .cookie = 7 });
	assert_true(falcon_exec_quiet(&env.shared));
	assert_int_equal(env_pass(RTO + 100000), 1);
	expect_sent(0, FALCON_PULL_DATA, 3, true);
	env_ack_all(4, 0);
	env_close();
}

/* Requests of our own do not take the numbers of the data window; but their ACKs are to be heard. */
static void core_pulls_too(void **state)
{
	(void)state;
	open_lent();
	env_pull(3, 100);
	assert_int_equal(env_run(), 1);
	assert_false(falcon_exec_quiet(&env.shared));
	assert_int_equal(env.exec_taken, 0);
	xdp_answers(0);
	env_ack_all(1, 1);
	assert_true(falcon_exec_quiet(&env.shared));
	assert_int_equal(env_receive_data(0, 0, 100), FALCON_V_rx_data);
	assert_int_equal(env.event[env.nevents - 1].what, ENV_DONE);
	assert_int_equal(env.exec_taken, 0);
	env_close();
}

/* What waits for the window has its number before what XDP would send. */
static void not_lent_while_some_wait(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.fcwnd = 1;
	open_with(&p);
	env_push(1);
	env_push(2);
	assert_int_equal(env_run(), 1);
	fcore_exec_run(env.core);
	assert_int_equal(env.shared.exec.owner, falcon_exec_word(FALCON_EXEC_FREE, ENV_PEER_RSN));
	assert_int_equal(env.shared.exec.responses, 0);
	assert_false(falcon_exec_quiet(&env.shared));
	env_ack_all(1, 0);
	assert_int_equal(env_run(), 1);
	expect_sent(0, FALCON_PUSH_DATA, 1, false);
	env_ack_all(2, 0);
	env_close();
}

/* A full window of XDP's: the core's packet waits for it, and goes first once there is room. */
static void window_full(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.fcwnd = 2;
	open_with(&p);
	xdp_answers(0);
	xdp_answers(1);
	assert_false(falcon_exec_window_open(&env.shared, 0));
	env_push(1);
	assert_int_equal(env_run(), 0);
	fcore_exec_run(env.core);
	assert_int_equal(env.shared.exec.responses, 0);
	env_ack_all(1, 0);
	assert_int_equal(env_run(), 1);
	expect_sent(0, FALCON_PUSH_DATA, 2, false);
	env_ack_all(3, 0);
	env_close();
}

/* A request for the agent takes them back; given again, XDP's packets are still watched over. */
static void taken_and_given_again(void **state)
{
	(void)state;
	open_lent();
	xdp_answers(0);
	env.answer = true;
	env_receive_push(0, 1, false);
	assert_int_equal(env.exec_taken, 1);
	fcore_exec_run(env.core);
	assert_int_equal(env.shared.exec.responses, FIRST + 1);
	xdp_answers_request(1, 2);
	xdp_is_acked(1);
	assert_int_equal(env_pass(RTO + 100000), 1);
	expect_sent(0, FALCON_PULL_DATA, 1, true);
	env_ack_all(2, 0);
	env_close();
}

/* ---- who may ---- */

static void not_what_xdp_could_not_pace(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.flows = 2;
	open_with(&p);
	assert_int_equal(env.shared.cc.xdp_window, 0);
	env_close();
	p.flows = 1;
	p.data_window = 20;
	open_with(&p);
	assert_int_equal(env.shared.cc.xdp_window, 20);
	env_close();
}

static void as_many_as_there_are_entries(void **state)
{
	struct fcore_params p = env_params(true);
	struct falcon_conn other = { .id.cid = 1 }, third = { .id.cid = 2 };
	struct fcore_config cfg;
	struct fcore_conn *b, *c;

	(void)state;
	fcore_config_default(&cfg, 3);
	cfg.responses = entries;
	cfg.first_response = FIRST;
	cfg.responses_count = ENTRIES;
	env_open_with(&p, &cfg);
	env.exec_answer = FCORE_EXEC_GIVE;
	env.exec_access = FALCON_REGION_ATOMIC;
	b = fcore_conn_open(env.core, 1, &other, &p, env.now);
	c = fcore_conn_open(env.core, 2, &third, &p, env.now);
	fcore_exec_offer(env.c);
	fcore_exec_offer(b);
	fcore_exec_offer(c);
	fcore_exec_run(env.core);
	assert_int_equal(env.shared.exec.responses, FIRST + 1);
	assert_int_equal(other.exec.responses, FIRST + 2);
	assert_int_equal(third.exec.responses, 0);
	assert_int_equal(third.exec.owner, falcon_exec_word(FALCON_EXEC_FREE, ENV_PEER_RSN));
	/* One that goes leaves its entry to others. */
	fcore_conn_close(b, kCmplDeadConn);
	fcore_exec_recall(c);
	fcore_exec_run(env.core);
	assert_int_equal(third.exec.responses, FIRST + 2);
	fcore_conn_close(c, kCmplDeadConn);
	env_close();
}

static void not_without_the_right(void **state)
{
	const struct fcore_params p = env_params(true);

	(void)state;
	open_with(&p);
	env.exec_access = FALCON_REGION_WRITE;
	fcore_exec_recall(env.c);
	fcore_exec_run(env.core);
	assert_int_equal(env.shared.exec.responses, 0);
	env_close();
}

static void closed_with_some_on_the_wire(void **state)
{
	(void)state;
	open_lent();
	xdp_answers(0);
	env_push(1);
	env_run();
	xdp_is_acked(0);
	fcore_exec_run(env.core);
	xdp_answers(1);
	env_close();
	/* What the core had adopted it gives back; of the rest nobody had asked. */
	assert_int_equal(env.exec_responses, 1);
	env_expect(1, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = ENV_PEER_RSN });
}

static void closed_from_within(void **state)
{
	const struct falcon_ack a = { .type = FALCON_BACK, .rdbpsn = ENV_DATA + 1, .rrbpsn = ENV_REQ };

	(void)state;
	open_lent();
	env.answer = true;
	env_receive_pull(0, 0, false);
	env_run();
	fcore_exec_run(env.core);
	xdp_answers(1);
	env_push(2);
	/* That the core's response was acknowledged it finds when it takes the number of the push. */
	assert_int_equal(falcon_rx_ack(&env.shared, 0, &a, env.now), FALCON_V_ack_consumed);
	env.close_on_event = true;
	assert_int_equal(env_run(), 0);
	assert_null(env.c);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledged_in_time),
		cmocka_unit_test(watched_again),
		cmocka_unit_test(lost),
		cmocka_unit_test(not_before_its_time),
		cmocka_unit_test(found_lost),
		cmocka_unit_test(told_before),
		cmocka_unit_test(core_sends_too),
		cmocka_unit_test(core_pulls_too),
		cmocka_unit_test(not_lent_while_some_wait),
		cmocka_unit_test(window_full),
		cmocka_unit_test(taken_and_given_again),
		cmocka_unit_test(not_what_xdp_could_not_pace),
		cmocka_unit_test(as_many_as_there_are_entries),
		cmocka_unit_test(not_without_the_right),
		cmocka_unit_test(closed_with_some_on_the_wire),
		cmocka_unit_test(closed_from_within),
	};

	return unit_run(tests);
}
