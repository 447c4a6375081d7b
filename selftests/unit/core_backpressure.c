// SPDX-License-Identifier: BSD-2-Clause
/* What waits for resources, or is told to: responses behind ULP Data, Xoff and Xon, no flow control. */
#include "core_held.h"

/* Backpressure on requests never holds up responses (CR rule 2). */
static void s8_2_1_2_responses_do_not_wait_for_requests(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	for (int r = 0; r < FCORE_DATA_PKT_TX; r++)
		cfg.total[r] = 1;
	p.fcwnd = 4;
	env_open_with(&p, &cfg);
	held_submit(env.c, false, 0);
	assert_int_equal(held_submit(env.c, false, 0), -EAGAIN);
	assert_int_equal(held_submit(env.c, true, 10), -EAGAIN);
	held_receive(true, 0, 0, 100);
	env_respond(env.c, ENV_PEER_RSN, "x", 1, 1);
	env_run();
	assert_int_equal(env.nsent, 2);
	assert_int_equal(env.sent[0].type + env.sent[1].type, FALCON_PUSH_DATA + FALCON_PULL_DATA);
	env_close();
}

/* What comes in and what goes out do not share (CR rule 1). */
static void s8_2_1_2_incoming_and_outgoing_are_independent(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	for (int r = 0; r < FCORE_RESOURCES; r++)
		cfg.total[r] = 1;
	env_open_with(&p, &cfg);
	assert_int_equal(held_submit(env.c, true, 1000), 0);
	held_receive(false, 0, 0, 1000);
	assert_int_equal(env.event[0].what, ENV_PUSH);
	env_run();
	assert_int_equal(env.sent[0].type, FALCON_PULL_REQUEST);
	env_receive_data(1, 0, 1000);
	assert_int_equal(env.event[2].what, ENV_DONE);
	EXPECT_HELD(1, 1, 0, 0, 0, 0, 1, 8);
	env_close();
}

/* Where ULP Data is used up, responses wait in their order; none is lost or refused. */
static void s8_2_2_responses_wait_for_ulp_data(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	cfg.total[FCORE_DATA_PKT_TX] = 2;
	cfg.alpha = 100 * FCORE_ALPHA_ONE;
	env_open_with(&p, &cfg);
	for (uint32_t i = 0; i < 5; i++) {
		held_receive(true, i, i, 100);
		env_respond(env.c, ENV_PEER_RSN + i, "x", 1, i);
	}
	EXPECT_HELD(0, 0, 0, 0, 2, 2, 0, 0);
	for (uint32_t acked = 0, sent = 2; sent <= 5; sent++) {
		uint32_t first = env.nevents;

		env_run();
		assert_int_equal(env.c->data.next, ENV_DATA + sent);
		env_ack_all(++acked, 0);
		assert_int_equal(env.event[first].what, ENV_RESPONSE_DONE);
		assert_int_equal(env.event[first].cookie, acked - 1);
	}
	env_close();
	assert_int_equal(env.event[env.nevents - 1].what, ENV_RESPONSE_DONE);
}

/* The same between connections: round robin, and closing loses nobody's turn. */
static void s8_2_2_connections_wait_for_ulp_data_in_turn(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);
	struct fcore_conn *c2;
	uint8_t frame = 0;

	(void)state;
	cfg.total[FCORE_DATA_PKT_TX] = 1;
	env_open_with(&p, &cfg);
	c2 = held_open_second(0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		held_receive(true, i, i, 100);
		env_respond(env.c, ENV_PEER_RSN + i, "x", 1, i);
	}
	env.frames++;
	fcore_receive(c2, &(struct fcore_rx){ .hdr = { .type = FALCON_PULL_REQUEST,
						       .psn = ENV_PEER_REQ, .rsn = ENV_PEER_RSN },
					      .frame = memcpy(malloc(1), &frame, 1),
					      .now = env.now });
	env_respond(c2, ENV_PEER_RSN, "x", 1, 9);
	env_run();
	assert_int_equal(c2->data.next, ENV_DATA);
	env_ack_all(1, 0);
	env_run();
	assert_int_equal(env.c->data.next, ENV_DATA + 2);
	env_ack_all(2, 0);
	env_run();
	assert_int_equal(c2->data.next, ENV_DATA + 1);
	fcore_conn_close(c2, kCmplDeadConn);
	assert_int_equal(env.event[env.nevents - 1].cookie, 9);
	env_close();
}

/* -EAGAIN, then on_xon() once, when what was refused would fit. */
static void s8_2_3_xoff_then_xon(void **state)
{
	struct fcore_credits k;

	(void)state;
	held_open(true);
	held_limit(FCORE_LEVEL_CONN, FCORE_REQ_BUF_TX, 8);
	held_submit(env.c, false, 300);
	held_submit(env.c, false, 300);
	fcore_credits(env.c, &k);
	assert_false(k.xoff);
	assert_int_equal(k.credit[FCORE_REQ_BUF_TX], 2);
	assert_int_equal(held_submit(env.c, false, 600), -EAGAIN);
	fcore_credits(env.c, &k);
	assert_true(k.xoff);
	env_run();
	env_ack_all(0, 0);
	assert_int_equal(env.xons, 0);
	env_ack_all(1, 0);
	assert_int_equal(env.xons, 1);	/* 5 cells of 8 */
	fcore_credits(env.c, &k);
	assert_false(k.xoff);
	assert_int_equal(k.credit[FCORE_REQ_BUF_TX], 5);
	assert_int_equal(held_submit(env.c, false, 600), 0);
	env_run();
	env_ack_all(3, 0);
	assert_int_equal(env.xons, 1);
	env_close();
}

/* M:N: the transaction ends in error, and the next may go on. */
static void s8_2_3_no_flow_control_completes_in_error(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .cookie = 77 };

	(void)state;
	p.no_flow_control = true;
	env_open_with(&p, &cfg);
	held_limit(FCORE_LEVEL_CONN, FCORE_REQ_PKT_RX, 1);
	env_push(1);
	assert_int_equal(fcore_push(env.c, &t, env.now), 0);
	assert_int_equal(env.nevents, 1);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .cookie = 77, .code = kCmplLocalRsrc });
	assert_int_equal(env_run(), 1);
	env_ack_all(1, 0);
	assert_int_equal(env.xons, 0);
	env_expect(1, (struct env_event){ .what = ENV_DONE, .cookie = 1 });
	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
	assert_int_equal(env.nevents, 2);
	assert_int_equal(fcore_conn_stats(env.c)->push_submitted, 2);
	assert_int_equal(fcore_conn_stats(env.c)->completed_in_error, 1);
	env_close();
}

/* The upper layer may close the connection from within that completion. */
static void no_flow_control_closed_in_completion(void **state)
{
	struct fcore_params p = env_params(true);
	struct fcore_config cfg = held_config();

	(void)state;
	p.no_flow_control = true;
	env_open_with(&p, &cfg);
	for (uint32_t i = 0; i < FCORE_MAX_TXNS; i++)
		env_push(i);
	env.close_on_event = true;
	env_push(999);
	assert_null(env.c);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s8_2_1_2_responses_do_not_wait_for_requests),
		cmocka_unit_test(s8_2_1_2_incoming_and_outgoing_are_independent),
		cmocka_unit_test(s8_2_2_responses_wait_for_ulp_data),
		cmocka_unit_test(s8_2_2_connections_wait_for_ulp_data_in_turn),
		cmocka_unit_test(s8_2_3_xoff_then_xon),
		cmocka_unit_test(s8_2_3_no_flow_control_completes_in_error),
		cmocka_unit_test(no_flow_control_closed_in_completion),
	};

	return unit_run(tests);
}
