// SPDX-License-Identifier: BSD-2-Clause
/* What transactions take of the upper layer's resources and give back: the tables of Falcon 8.2. */
#include "core_held.h"

/* Push 1, ceil(L/N), 1, 0; given back with the ACK and the completion. */
static void s8_2_3_push_data_takes_1_ceil_1_0(void **state)
{
	static const uint32_t lens[][2] = { { 0, 0 }, { 1, 1 }, { 128, 1 }, { 129, 2 }, { 1000, 8 } };

	(void)state;
	held_open(true);
	for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
		assert_int_equal(held_submit(env.c, false, lens[i][0]), 0);
		EXPECT_HELD(1, lens[i][1], 1, 0);
		env_run();
		EXPECT_HELD(1, lens[i][1], 1, 0);
		env_ack_all(i + 1, 0);
		EXPECT_HELD(0);
	}
	env_close();
}

/* L is the Request Length, which counts the upper layer's header. */
static void s8_2_3_request_length_counts_the_ulp_header(void **state)
{
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .ulp_hdr = "12345678", .ulp_hdr_len = 8,
			       .payload = NULL, .len = 121 };

	(void)state;
	held_open(true);
	t.payload = t.ulp_hdr;
	assert_int_equal(fcore_push(env.c, &t, env.now), 0);
	EXPECT_HELD(1, 2, 1, 0);
	env_close();
}

/* Pull 1, 1, 1, ceil(L/N): what the data will need is there from the beginning (8.2.2). */
static void s8_2_3_pull_request_takes_1_1_1_ceil(void **state)
{
	(void)state;
	held_open(true);
	assert_int_equal(held_submit(env.c, true, 300), 0);
	EXPECT_HELD(1, 1, 1, 3);
	env_run();
	env_ack_all(0, 1);
	EXPECT_HELD(0, 0, 1, 3);
	env_receive_data(0, 0, 300);
	EXPECT_HELD(0);
	env_close();
}

/* Rx is held until the completion's turn has come. */
static void s8_2_2_rx_is_held_until_completion_to_ulp(void **state)
{
	(void)state;
	held_open(true);
	held_submit(env.c, false, 10);
	held_submit(env.c, true, 300);
	env_run();
	env_ack_all(0, 1);
	env_receive_data(0, 1, 200);
	EXPECT_HELD(1, 1, 2, 3);
	env_ack_all(1, 1);
	EXPECT_HELD(0);
	env_close();
}

/* Data that overtakes the request's ACK leaves the request its Tx resources. */
static void s8_2_2_tx_is_held_until_acknowledged(void **state)
{
	(void)state;
	held_open(true);
	held_submit(env.c, true, 300);
	env_run();
	env_receive_data(0, 0, 300);
	EXPECT_HELD(1, 1, 0, 0);
	env_ack_all(0, 1);
	EXPECT_HELD(0);
	env_close();
}

/* Pull response 0, 0, 0, 0, 1, ceil(L/N), of its own length. */
static void s8_2_3_pull_response_takes_1_ceil(void **state)
{
	(void)state;
	held_open(true);
	held_receive(true, 0, 0, 500);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 1);
	env_respond(env.c, ENV_PEER_RSN, "x", 257, 1);
	EXPECT_HELD(0, 0, 0, 0, 1, 3, 0, 0);
	env_run();
	EXPECT_HELD(0, 0, 0, 0, 1, 3, 0, 0);
	env_ack_all(1, 0);
	EXPECT_HELD(0);
	env_close();
}

/* L is the length of all that is sent, the upper layer's header in front of it among it. */
static void s8_2_3_pull_response_counts_header(void **state)
{
	uint8_t hdr[FCORE_MAX_RESP_HDR] = { 1 };
	const struct fcore_response r = { .ulp_hdr = hdr, .ulp_hdr_len = sizeof(hdr),
					  .payload = "x", .len = 257 - sizeof(hdr), .cookie = 1 };

	(void)state;
	held_open(true);
	held_receive(true, 0, 0, 500);
	fcore_pull_respond(env.c, ENV_PEER_RSN, &r, env.now);
	EXPECT_HELD(0, 0, 0, 0, 1, 3, 0, 0);
	env_run();
	env_ack_all(1, 0);
	EXPECT_HELD(0);
	env_close();
}

/* A response that was never sent gives back all that it took. */
static void s8_2_3_pull_response_gives_header_back(void **state)
{
	uint8_t hdr[FCORE_MAX_RESP_HDR] = { 1 };
	const struct fcore_response r = { .ulp_hdr = hdr, .ulp_hdr_len = sizeof(hdr), .cookie = 1 };

	(void)state;
	held_open(true);
	held_receive(true, 0, 0, 500);
	fcore_pull_respond(env.c, ENV_PEER_RSN, &r, env.now);
	EXPECT_HELD(0, 0, 0, 0, 1, 1, 0, 0);
	env_close();
}

/* Network push 1, ceil(L/N); pull 1, 1; until the upper layer has answered. */
static void s8_2_4_push_takes_1_ceil_pull_1_1(void **state)
{
	(void)state;
	held_open(true);
	held_receive(false, 0, 1, 300);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 3);
	held_receive(true, 0, 0, 1000);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 2, 4);
	fcore_push_done(env.c, ENV_PEER_RSN + 1, FCORE_PUSH_ACK, 0, 0, env.now);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 1);
	env_respond(env.c, ENV_PEER_RSN, NULL, 0, 1);
	EXPECT_HELD(0, 0, 0, 0, 1, 0, 0, 0);
	env_close();
}

/* RNR keeps them, errors give them back at once (11). */
static void s8_2_4_rnr_keeps_errors_give_back(void **state)
{
	(void)state;
	held_open(true);
	held_receive(false, 0, 0, 300);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_RNR, 1, 0, env.now);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 3);
	env_pass(20000);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_CIE, 0, 0, env.now);
	EXPECT_HELD(0);
	env_close();
}

/* Timeouts and errors give Tx back when the packet becomes a Resync, Rx with the completion. */
static void s11_resync_takes_no_tx_resources(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	p.rto_ns = 10000000000ULL;
	env_open_with(&p, &cfg);
	held_submit(env.c, false, 300);
	held_submit(env.c, true, 300);
	env_run();
	env_pass(p.txn_timeout_ns + 2000);
	assert_int_equal(env.nevents, 2);
	EXPECT_HELD(0);
	env_ack_all(1, 1);
	EXPECT_HELD(0);
	env_close();
}

/* Retransmissions exhausted: Tx is reclaimed with the fatal interrupt. */
static void s11_fatal_reclaims_tx_resources(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	p.max_retx = 1;
	p.txn_timeout_ns = 1000000000000ULL;
	env_open_with(&p, &cfg);
	held_submit(env.c, false, 300);
	env_run();
	held_receive(true, 0, 0, 100);
	env_respond(env.c, ENV_PEER_RSN, "x", 1, 1);
	held_receive(false, 0, 1, 300);
	for (int i = 0; i < 100 && !env.fatals; i++) {
		held_submit(env.c, false, 300);
		env_pass(100000000);
	}
	assert_int_equal(env.fatals, 1);
	for (int r = 0; r < FCORE_RESOURCES; r++)
		if (r != FCORE_REQ_PKT_RX && r < FCORE_NET_PKT_RX)
			assert_int_equal(held()[r], 0);
	env_close();
}

/* Closing gives everything back, at whatever stage it is. */
static void close_gives_everything_back(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		held_open(ordered);
		for (uint32_t i = 0; i < 4; i++)
			held_submit(env.c, i & 1, 300);
		env_run();
		for (uint32_t i = 0; i < 4; i++)
			held_submit(env.c, i & 1, 300);
		env_receive_data(0, 1, 300);
		env_receive_data(1, 3, 300);
		for (uint32_t i = 0; i < 4; i++)
			held_receive(false, 2 + i, 2 * i, 300);
		for (uint32_t i = 0; i < 3; i++)
			held_receive(true, i, 2 * i + 1, 300);
		env_respond(env.c, ENV_PEER_RSN + 1, "x", 1, 1);
		env_respond(env.c, ENV_PEER_RSN + 3, "x", 1, 2);
		env_run();
		env_respond(env.c, ENV_PEER_RSN + 5, "x", 1, 3);
		fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_CIE, 0, 0, env.now);
		fcore_push_done(env.c, ENV_PEER_RSN + 2, FCORE_PUSH_RNR, 1, 0, env.now);
		env_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s8_2_3_push_data_takes_1_ceil_1_0),
		cmocka_unit_test(s8_2_3_request_length_counts_the_ulp_header),
		cmocka_unit_test(s8_2_3_pull_request_takes_1_1_1_ceil),
		cmocka_unit_test(s8_2_2_rx_is_held_until_completion_to_ulp),
		cmocka_unit_test(s8_2_2_tx_is_held_until_acknowledged),
		cmocka_unit_test(s8_2_3_pull_response_takes_1_ceil),
		cmocka_unit_test(s8_2_3_pull_response_counts_header),
		cmocka_unit_test(s8_2_3_pull_response_gives_header_back),
		cmocka_unit_test(s8_2_4_push_takes_1_ceil_pull_1_1),
		cmocka_unit_test(s8_2_4_rnr_keeps_errors_give_back),
		cmocka_unit_test(s11_resync_takes_no_tx_resources),
		cmocka_unit_test(s11_fatal_reclaims_tx_resources),
		cmocka_unit_test(close_gives_everything_back),
	};

	return unit_run(tests);
}
