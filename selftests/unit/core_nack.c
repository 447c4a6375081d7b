// SPDX-License-Identifier: BSD-2-Clause
/* NACKs in both directions: RNR, complete in error and its relatives (Falcon 6.6, 9.2.4, 11). */
#include "core_env.h"

enum { RTO = 1000000, SLACK = 2000 };

static void open_ordered(bool ordered)
{
	struct fcore_params p = env_params(ordered);

	env_open(&p);
}

/* The peer NACKs our |n|-th data PSN. */
static enum falcon_verdict nack(uint32_t n, uint8_t code, uint8_t rnr, uint8_t ulp_code)
{
	return env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = ENV_DATA,
					    .rrbpsn = ENV_REQ, .nack_psn = ENV_DATA + n,
					    .nack_code = code, .rnr = rnr,
					    .ulp_code = ulp_code });
}

/* The timeout of the packet is max(RTO, RNR timeout); its attempts count anew. */
static void rnr_received(void **state)
{
	(void)state;
	open_ordered(true);
	env_push(0);
	env_run();
	assert_int_equal(env_pass(RTO + SLACK), 1);
	assert_int_equal(fc_ctx(&env.c->data, ENV_DATA)->retx, 1);
	nack(0, FALCON_NACK_RNR, 17, 0);	/* 3.84 ms */
	assert_int_equal(fc_ctx(&env.c->data, ENV_DATA)->retx, 0);
	assert_int_equal(env_pass(3800000), 0);
	assert_int_equal(env_pass(40000 + SLACK), 1);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
	nack(0, FALCON_NACK_RNR, 1, 0);		/* 10 us: less than the RTO */
	assert_int_equal(env_pass(RTO - SLACK), 0);
	assert_int_equal(env_pass(2 * SLACK), 1);
	assert_int_equal(fcore_conn_stats(env.c)->rnr_nacks_received, 2);
	env_close();
}

/* The upper layer hears how often; what comes before the timeout has passed is the same time. */
static void rnr_is_counted(void **state)
{
	(void)state;
	open_ordered(true);
	env_push(0);
	env_run();
	nack(0, FALCON_NACK_RNR, 17, 0);	/* 3.84 ms */
	assert_int_equal(env.rnr_times, 1);
	assert_int_equal(env_pass(1000000), 0);
	nack(0, FALCON_NACK_RNR, 17, 0);
	assert_int_equal(env.rnr_times, 1);
	assert_int_equal(env_pass(3800000), 0);
	nack(0, FALCON_NACK_RNR, 17, 0);	/* the target's own second attempt */
	assert_int_equal(env.rnr_times, 2);
	assert_int_equal(env_pass(3900000), 1);
	nack(0, FALCON_NACK_RNR, 17, 0);	/* of the repetition */
	assert_int_equal(env.rnr_times, 3);
	env_close();
}

/* A queued retransmission is called off. */
static void rnr_while_queued(void **state)
{
	(void)state;
	open_ordered(true);
	env_push(0);
	env_run();
	env.refuse = 1;
	assert_int_equal(env_pass(RTO + SLACK), 0);
	nack(0, FALCON_NACK_RNR, 17, 0);
	assert_int_equal(env_run(), 0);
	assert_int_equal(env.c->data.npending, 0);
	env_close();
}

/* An RNR that comes late finds the push ended in error: its Resync is not kept back. */
static void rnr_after_the_end(void **state)
{
	(void)state;
	open_ordered(false);
	env_push(0);
	env_run();
	nack(0, FALCON_NACK_CIE, 0, 1);
	nack(0, FALCON_NACK_RNR, 17, 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	env_ack_all(1, 0);
	env_close();
}

/* The target has opened the PSN for a repetition; the hole in its bitmap is no loss. */
static void rnr_is_no_loss(void **state)
{
	(void)state;
	open_ordered(true);
	for (uint32_t i = 0; i < 8; i++)
		env_push(i);
	env_run();
	env.now += 100000;
	nack(0, FALCON_NACK_RNR, 17, 0);
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_rx = { 0xfe } });
	assert_int_equal(env_run(), 0);
	env.now += 100000;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_rx = { 0xfe } });
	assert_int_equal(env_run(), 0);
	env_close();
}

/* The peer has no room for our |n|-th data PSN. */
static void refuse(uint32_t n)
{
	assert_int_equal(nack(n, FALCON_NACK_RESOURCE, 0, 0), FALCON_V_nack_consumed);
}

/* What a peer short of resources waits for goes at once, not when its timeout comes. */
static void refused_others_oldest_is_sent_again(void **state)
{
	(void)state;
	for (int pull = 0; pull < 2; pull++) {
		open_ordered(true);
		for (uint32_t i = 0; i < 4; i++)
			env_push(i);
		if (pull)
			env_pull(4, 100);
		env_run();
		env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA,
					     .rrbpsn = ENV_REQ, .data_rx = { 0x5 } });
		assert_int_equal(env_run(), 0);
		env.now += 50000;
		refuse(3);
		assert_int_equal(env_run(), 1 + (uint32_t)pull);
		assert_int_equal(env.sent[0].hdr.psn, ENV_DATA + 1);
		assert_true(env.sent[0].again);
		if (pull)
			assert_int_equal(env.sent[1].hdr.psn, ENV_REQ);
		refuse(3);		/* not before a round trip has passed */
		assert_int_equal(env_run(), 0);
		env_close();
	}
}

/* A peer that refuses each repetition is not sent one each round trip for as long as it does. */
static void refused_repetitions_back_off(void **state)
{
	uint32_t sent = 0;

	(void)state;
	open_ordered(true);
	env_push(0);
	env_pull(1, 100);
	env_run();
	for (int turn = 0; turn < 50; turn++) {
		env.now += 15000;
		refuse(0);		/* an RTT of 10 us, and an RTO of 1 ms */
		sent += env_run();
	}
	assert_in_range(sent, 2 * 3, 2 * (3 + 7));
	env_close();
}

/* Refused again and again, a packet is not given up, and not put off ever longer. */
static void refused_is_no_failed_attempt(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.txn_timeout_ns = 1000ULL * RTO;
	env_open(&p);
	env_push(0);
	env_run();
	for (uint32_t i = 0; i < 10 * p.max_retx; i++) {
		env.now += SLACK;
		refuse(0);
		env_run();
		assert_int_equal(env_pass(RTO << FC_REFUSED_BACKOFF), 1);
		assert_int_equal(env.sent[0].type, FALCON_PUSH_DATA);
	}
	assert_int_equal(fc_ctx(&env.c->data, ENV_DATA)->retx, FC_REFUSED_BACKOFF);
	assert_int_equal(env.nevents + env.fatals, 0);
	/* Silence counts as ever. */
	for (uint32_t i = 0; i < 2 * p.max_retx && env.nsent; i++)
		env_pass(100ULL * RTO);
	assert_int_equal(fcore_conn_stats(env.c)->tx_resyncs > 0, true);
	env_close();
}

/* On an ordered connection what follows, and has arrived, waits at the target with it. */
static void rnr_holds_followers(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		open_ordered(ordered);
		for (uint32_t i = 0; i < 4; i++)
			env_push(i);
		env_run();
		env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA,
					     .rrbpsn = ENV_REQ, .data_rx = { 0x7 } });
		nack(1, FALCON_NACK_RNR, 17, 0);
		assert_int_equal(env_pass(RTO + SLACK), ordered ? 2 : 3);
		assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
		assert_int_equal(env.sent[ordered ? 1 : 2].hdr.psn, ENV_DATA + 3);
		env_close();
	}
}

/* ... but not less long than its own NACK said. */
static void rnr_of_a_follower_lasts(void **state)
{
	(void)state;
	open_ordered(true);
	env_push(0);
	env_push(1);
	env_run();
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_rx = { 0x3 } });
	nack(1, FALCON_NACK_RNR, 17, 0);	/* 3.84 ms */
	nack(0, FALCON_NACK_RNR, 1, 0);		/* 10 us: less than the RTO */
	assert_int_equal(env_pass(RTO + SLACK), 1);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
	env_close();
}

/* 6.6.5: Resync at once with that PSN; completion with the code when it is acknowledged. */
static void errors_received(void **state)
{
	static const struct {
		uint8_t nack;
		int resync, completion;
	} cases[] = {
		{ FALCON_NACK_CIE, FALCON_RESYNC_TARGET_CIE, kCmplTargetNackCIE },
		{ FALCON_NACK_NRE, FALCON_RESYNC_TARGET_NRE, kCmplTargetNackNRE },
		{ FALCON_NACK_INVALID_CID, FALCON_RESYNC_TARGET_CID, kCmplTargetNackCID },
		{ FALCON_NACK_XLR_DROP, FALCON_RESYNC_REMOTE_XLR, kCmplRemoteErr },
	};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		open_ordered(true);
		env_push(0);
		env_push(1);
		env_run();
		assert_int_equal(nack(1, cases[i].nack, 0, 0x42), FALCON_V_rx_nack);
		assert_int_equal(env_run(), 1);
		assert_int_equal(env.sent[0].type, FALCON_RESYNC);
		assert_int_equal(env.sent[0].hdr.psn, ENV_DATA + 1);
		assert_int_equal(env.sent[0].hdr.rsn, ENV_RSN + 1);
		assert_int_equal(env.sent[0].hdr.resync_code, cases[i].resync);
		assert_int_equal(env.retx_events, 0);
		nack(1, cases[i].nack, 0, 0x43);	/* again: nothing new */
		assert_int_equal(env_run(), 0);
		assert_int_equal(env.nevents, 0);
		env_ack_all(2, 0);
		env_expect(0, (struct env_event){ .what = ENV_DONE });
		env_expect(1, (struct env_event){ .what = ENV_DONE, .cookie = 1,
						  .code = cases[i].completion,
						  .ulp_code = 0x42 });
		assert_int_equal(fcore_conn_stats(env.c)->completed_in_error, 1);
		env_close();
	}
}

/* The Resync is delivered reliably: lost, it is sent again. */
static void resync_is_reliable(void **state)
{
	(void)state;
	open_ordered(true);
	env_push(0);
	env_run();
	nack(0, FALCON_NACK_CIE, 0, 0);
	env_run();
	assert_int_equal(env_pass(RTO + SLACK), 1);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	assert_int_equal(env.sent[0].hdr.resync_code, FALCON_RESYNC_TARGET_CIE);
	assert_int_equal(fcore_conn_stats(env.c)->tx_resyncs, 2);
	env_close();
}

/* NACKs of what is not on the wire change nothing. */
static void bad_nacks(void **state)
{
	(void)state;
	open_ordered(true);
	env_push(0);
	env_push(1);
	env_run();
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_ack = { 2 }, .data_rx = { 2 } });
	nack(1, FALCON_NACK_CIE, 0, 0);
	nack(2, FALCON_NACK_CIE, 0, 0);
	nack(0xfffffff0, FALCON_NACK_CIE, 0, 0);
	env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .nack_psn = ENV_REQ, .nack_code = FALCON_NACK_CIE,
				     .nack_req_window = 1 });
	assert_int_equal(env_run(), 0);
	assert_int_equal(env.nevents, 0);
	env_close();
}

/* A failed pull ends with its Resync's ACK. */
static void pull_nacked(void **state)
{
	(void)state;
	open_ordered(true);
	env_pull(0, 10);
	env_run();
	env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .nack_psn = ENV_REQ, .nack_code = FALCON_NACK_INVALID_CID,
				     .nack_req_window = 1 });
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].hdr.resync_type, FALCON_PULL_REQUEST);
	env_ack_all(0, 1);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .code = kCmplTargetNackCID });
	env_close();
}

static void error_answers(void **state)
{
	static const struct {
		enum fcore_push_outcome outcome;
		uint8_t code;
	} cases[] = {
		{ FCORE_PUSH_CIE, FALCON_NACK_CIE },
		{ FCORE_PUSH_NRE, FALCON_NACK_NRE },
		{ FCORE_PUSH_INVALID_CID, FALCON_NACK_INVALID_CID },
	};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		open_ordered(true);
		env_receive_push(0, 0, false);
		fcore_push_done(env.c, ENV_PEER_RSN, cases[i].outcome, 9, 0x55, env.now);
		assert_int_equal(env.frames, 0);
		assert_int_equal(env_run(), 1);
		assert_int_equal(env.sent[0].ack.nack_code, cases[i].code);
		assert_int_equal(env.sent[0].ack.nack_psn, ENV_PEER_DATA);
		assert_int_equal(env.sent[0].ack.ulp_code, 0x55);
		assert_int_equal(env.sent[0].ack.rnr, 0);
		assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA);
		env_close();
	}
}

/* 6.6.5 in full: NACK lost, push repeated, the same NACK, Resync, window moves on. */
static void error_nack_lost(void **state)
{
	(void)state;
	open_ordered(true);
	env_receive_push(0, 0, false);
	env_receive_push(1, 1, false);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_CIE, 0, 7, env.now);
	fcore_push_done(env.c, ENV_PEER_RSN + 1, FCORE_PUSH_ACK, 0, 0, env.now);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env_receive_push(0, 0, false), FALCON_V_rx_data);
	assert_int_equal(env.nevents, 2);	/* not delivered again */
	env_run();
	assert_int_equal(env.sent[0].ack.nack_code, FALCON_NACK_CIE);
	assert_int_equal(env.sent[0].ack.ulp_code, 7);
	assert_int_equal(env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA, ENV_PEER_RSN),
			 FALCON_V_rx_resync);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 2);
	assert_int_equal(fc_ttxn(env.c, ENV_PEER_RSN)->state, FC_TARGET_FREE);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_BACK);
	assert_int_equal(fc_rx_ahead(env.c), 0);
	assert_int_equal(env.frames, 0);
	env_close();
}

/* A NACK that was refused stays owed; one that is outdated is not sent. */
static void refused_nack(void **state)
{
	(void)state;
	open_ordered(true);
	env_receive_push(0, 0, false);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_RNR, 1, 0, env.now);
	env.refuse = 1;
	assert_int_equal(env_run(), 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env_run(), 0);
	env.answer = true;
	env_pass(15000);			/* delivered again, and accepted */
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_RNR, 1, 0, env.now);
	env_pass(100000);
	for (uint32_t i = 0; i < env.nsent; i++)
		assert_int_not_equal(env.sent[i].type, FALCON_NACK);
	assert_int_equal(fcore_conn_stats(env.c)->tx_nacks, 1);
	env_close();
}

/* What the NACK would have said is no longer so when there is room for it. */
static void outdated_nack(void **state)
{
	(void)state;
	open_ordered(true);
	env_receive_push(0, 0, false);
	env_receive_push(1, 1, false);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_RNR, 1, 0, env.now);
	fcore_push_done(env.c, ENV_PEER_RSN + 1, FCORE_PUSH_CIE, 0, 0, env.now);
	env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA + 1, ENV_PEER_RSN + 1);
	env.answer = true;
	env.refuse = 2;
	env_run();
	env_pass(15000);
	env_pass(100000);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 2);
	assert_int_equal(fcore_conn_stats(env.c)->tx_nacks, 0);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rnr_received),
		cmocka_unit_test(rnr_is_counted),
		cmocka_unit_test(rnr_while_queued),
		cmocka_unit_test(rnr_after_the_end),
		cmocka_unit_test(refused_others_oldest_is_sent_again),
		cmocka_unit_test(refused_repetitions_back_off),
		cmocka_unit_test(refused_is_no_failed_attempt),
		cmocka_unit_test(rnr_is_no_loss),
		cmocka_unit_test(rnr_holds_followers),
		cmocka_unit_test(rnr_of_a_follower_lasts),
		cmocka_unit_test(errors_received),
		cmocka_unit_test(resync_is_reliable),
		cmocka_unit_test(bad_nacks),
		cmocka_unit_test(pull_nacked),
		cmocka_unit_test(error_answers),
		cmocka_unit_test(error_nack_lost),
		cmocka_unit_test(refused_nack),
		cmocka_unit_test(outdated_nack),
	};

	return unit_run(tests);
}
