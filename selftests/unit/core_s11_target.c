// SPDX-License-Identifier: BSD-2-Clause
/*
 * The target's table of Falcon 11, row by row, and what it stands on: RNR (6.6.3, 6.6.4, 8.5.3.4), complete
 * in error (6.6.5, 8.5.3.5). Its limits are in core_admission.c.
 */
#include "core_held.h"
#include "core_target_env.h"

enum { US = 1000, SLACK = 2000 };

/* Dropped with nothing reserved, an xLR drop NACK, and the PSN open for the Resync. */
static void s11_target_match_local_xlr_drop_filter(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		held_open(ordered);
		assert_int_equal(fcore_xlr_add(env.core, &(struct fcore_xlr_rule){
				.where = FCORE_XLR_TARGET, .fields = FCORE_XLR_TYPE,
				.type = FALCON_PUSH_DATA }), 0);
		held_receive(false, 0, 0, 300);
		EXPECT_HELD(0);
		assert_int_equal(env.nevents + (uint32_t)env.frames, 0);
		expect_nack(0, FALCON_NACK_XLR_DROP, 0);
		held_receive(false, 0, 0, 300);	/* the NACK was lost */
		expect_nack(1, FALCON_NACK_XLR_DROP, 0);
		held_receive(true, 0, 1, 300);
		assert_int_equal(delivered(), ordered ? 0 : 1);
		env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA, ENV_PEER_RSN);
		assert_int_equal(delivered(), 1);
		assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
		env_close();
	}
}

static void s11_target_match_local_xlr_drop_filter_pull(void **state)
{
	(void)state;
	held_open(true);
	fcore_xlr_add(env.core, &(struct fcore_xlr_rule){ .where = FCORE_XLR_TARGET });
	held_receive(true, 0, 0, 300);
	EXPECT_HELD(0);
	assert_int_equal(env.sent[0].ack.nack_code, FALCON_NACK_XLR_DROP);
	assert_int_equal(env.sent[0].ack.nack_req_window, 1);
	assert_int_equal(env.shared.rx_acked.req_base, ENV_PEER_REQ);
	env_close();
}

/* Every field of a rule decides; deleted, it decides nothing. */
static void xlr_rules(void **state)
{
	static const struct fcore_xlr_rule match[] = {
		{ .where = FCORE_XLR_TARGET },
		{ .where = FCORE_XLR_TARGET, .fields = FCORE_XLR_CID, .cid = ENV_CID },
		{ .where = FCORE_XLR_TARGET, .fields = FCORE_XLR_PROTO, .proto = FALCON_PROTO_RAW },
		{ .where = FCORE_XLR_TARGET, .fields = FCORE_XLR_FUNCTION, .function = 0 },
		{ .where = FCORE_XLR_TARGET, .fields = FCORE_XLR_TYPE, .type = FALCON_PUSH_DATA },
	};
	static const struct fcore_xlr_rule other[] = {
		{ .where = FCORE_XLR_INITIATOR },
		{ .where = FCORE_XLR_TARGET, .fields = FCORE_XLR_CID, .cid = ENV_CID + 1 },
		{ .where = FCORE_XLR_TARGET, .fields = FCORE_XLR_PROTO, .proto = FALCON_PROTO_RDMA },
		{ .where = FCORE_XLR_TARGET, .fields = FCORE_XLR_FUNCTION, .function = 1 },
		{ .where = FCORE_XLR_TARGET, .fields = FCORE_XLR_TYPE, .type = FALCON_PULL_REQUEST },
	};
	struct fcore_xlr_rule rule = { .where = FCORE_XLR_WHERES };
	uint64_t hits;

	(void)state;
	held_open(true);
	assert_int_equal(fcore_xlr_add(env.core, &rule), -EINVAL);
	rule = (struct fcore_xlr_rule){ .fields = FCORE_XLR_TYPE, .type = FALCON_PULL_DATA };
	assert_int_equal(fcore_xlr_add(env.core, &rule), -EINVAL);
	for (uint32_t i = 0; i < ARRAY_SIZE(other); i++)
		assert_int_equal(fcore_xlr_add(env.core, &other[i]), i);
	held_receive(false, 0, 0, 10);
	assert_int_equal(delivered(), 0);
	assert_int_equal(env.nevents, 1);
	for (uint32_t i = 0; i < ARRAY_SIZE(match); i++) {
		int n = fcore_xlr_add(env.core, &match[i]);

		assert_int_equal(n, ARRAY_SIZE(other));
		held_receive(false, 1, 1, 10);
		assert_int_equal(env.nevents, 1);
		assert_int_equal(fcore_xlr_get(env.core, (uint32_t)n, &rule, &hits), 0);
		assert_int_equal(hits, 1);
		assert_memory_equal(&rule, &match[i], sizeof(rule));
		assert_int_equal(fcore_xlr_del(env.core, (uint32_t)n), 0);
	}
	assert_int_equal(fcore_xlr_del(env.core, ARRAY_SIZE(other)), -ENOENT);
	assert_int_equal(fcore_xlr_del(env.core, UINT32_MAX), -ENOENT);
	assert_int_equal(fcore_xlr_get(env.core, FCORE_XLR_RULES, &rule, &hits), -ENOENT);
	while (fcore_xlr_add(env.core, &other[1]) >= 0)
		;
	assert_int_equal(fcore_xlr_add(env.core, &other[1]), -ENOSPC);
	assert_int_equal(fcore_xlr_get(env.core, FCORE_XLR_RULES - 1, &rule, &hits), 0);
	held_receive(false, 1, 1, 10);
	assert_int_equal(env.nevents, 2);
	env_close();
}

/* 6.6.5 with |code|: NACK lost, the same again; the Resync moves the window. */
static void error_for_push(enum fcore_push_outcome outcome, uint8_t code)
{
	held_open(true);
	held_receive(false, 0, 0, 300);
	held_receive(false, 1, 1, 300);
	done(0, outcome, 0, 0x55);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 3);
	env_run();
	expect_nack(0, code, 0);
	held_receive(false, 0, 0, 300);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 3);
	env_run();
	expect_nack(0, code, 0);
	assert_int_equal(env.sent[0].ack.ulp_code, 0x55);
	assert_int_equal(delivered(), 1);
	done(1, FCORE_PUSH_ACK, 0, 0);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA);
	assert_int_equal(env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA, ENV_PEER_RSN),
			 FALCON_V_rx_resync);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 2);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_BACK);
	EXPECT_HELD(0);
	env_close();
}

static void s11_target_ulp_nack_cie_for_push(void **state)
{
	(void)state;
	error_for_push(FCORE_PUSH_CIE, FALCON_NACK_CIE);
}

static void s11_target_ulp_nack_nre_for_push(void **state)
{
	(void)state;
	error_for_push(FCORE_PUSH_NRE, FALCON_NACK_NRE);
}

static void s11_target_ulp_nack_cid_for_push(void **state)
{
	(void)state;
	error_for_push(FCORE_PUSH_INVALID_CID, FALCON_NACK_INVALID_CID);
}

static void s11_target_ulp_nack_rnr_for_push_resend_after_rnr_timeout(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		held_open(ordered);
		held_receive(false, 0, 0, 300);
		done(0, FCORE_PUSH_RNR, 6, 0);	/* 80 us */
		env_run();
		expect_nack(0, FALCON_NACK_RNR, 0);
		assert_int_equal(env.sent[0].ack.rnr, 6);
		EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 3);
		env_pass(80 * US - SLACK);
		assert_int_equal(env.nevents, 1);
		env_pass(2 * SLACK);
		assert_int_equal(env.nevents, 2);
		/* While the upper layer has it, a repetition is a duplicate. */
		assert_int_equal(env_receive_push(0, 0, false), FALCON_V_dup_acked);
		done(0, FCORE_PUSH_ACK, 0, 0);
		assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
		assert_int_equal(fc_rx_ahead(env.c), 0);
		EXPECT_HELD(0);
		env_close();
	}
}

/* 6.6.3: the NACK is lost, so the push comes again; it is delivered, and NACKed, again. */
static void s11_target_ulp_nack_rnr_for_push_upon_a_retransmitted_push_data_packet(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		held_open(ordered);
		held_receive(false, 0, 0, 300);
		for (uint32_t i = 1; i < 4; i++) {
			done(0, FCORE_PUSH_RNR, 31, 0);
			env_run();
			assert_int_equal(nacks_sent(), 1);
			expect_nack(0, FALCON_NACK_RNR, 0);
			assert_int_equal(env.nevents, i);
			held_receive(false, 0, 0, 300);
			assert_int_equal(env.nevents, i + 1);
			EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 3);
		}
		done(0, FCORE_PUSH_ACK, 0, 0);
		assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
		EXPECT_HELD(0);
		/* Nothing is left of the timeouts. */
		env_pass(1000000ULL * US);
		assert_int_equal(env.nevents, 4);
		env_close();
	}
}

/* The initiator gave up while the upper layer had it: an answer other than ACK tells nobody. */
static void s11_target_nacks_after_the_resync_are_none(void **state)
{
	struct falcon_hdr resync = { .type = FALCON_RESYNC, .resync_type = FALCON_PUSH_DATA,
				     .resync_code = FALCON_RESYNC_TXN_TIMEOUT,
				     .psn = ENV_PEER_DATA, .rsn = ENV_PEER_RSN };

	(void)state;
	for (int o = FCORE_PUSH_RNR; o <= FCORE_PUSH_INVALID_CID; o++) {
		held_open(true);
		held_receive(false, 0, 0, 300);
		assert_int_equal(env_receive(resync, 0), FALCON_V_rx_resync_dup);
		assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
		done(0, (enum fcore_push_outcome)o, 1, 0);
		EXPECT_HELD(0);
		env_pass(100 * US);
		assert_int_equal(nacks_sent(), 0);
		assert_int_equal(env.nevents, 1);
		assert_int_equal(fc_rx_ahead(env.c), 0);
		held_receive(false, 1, 1, 0);
		assert_int_equal(delivered(), 1);
		env_close();
	}
}

/* The ULP takes it when its turn comes, and a repetition that was under way is over. */
static void s11_target_rnr_repetition_crosses_redelivery(void **state)
{
	struct falcon_hdr again = { .type = FALCON_PUSH_DATA, .psn = ENV_PEER_DATA,
				    .rsn = ENV_PEER_RSN, .request_len = 0, .cid = ENV_CID };

	(void)state;
	held_open(true);
	held_receive(false, 0, 0, 0);
	done(0, FCORE_PUSH_RNR, 1, 0);
	assert_int_equal(falcon_rx_window(&env.shared, &again), FALCON_V_rx_data);
	env_pass(10 * US + SLACK);
	assert_int_equal(env.nevents, 2);
	env.frames++;
	fcore_receive(env.c, &(struct fcore_rx){ .hdr = again, .frame = calloc(1, 1),
						 .now = env.now });
	assert_int_equal(env.nevents, 2);
	done(0, FCORE_PUSH_ACK, 0, 0);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
	assert_int_equal(fc_rx_ahead(env.c), 0);
	env_close();
}

/* The peer gave up: the Resync ends it, and what waited for it is delivered. */
static void s11_target_rnr_ends_with_a_resync(void **state)
{
	(void)state;
	held_open(true);
	held_receive(false, 0, 0, 300);
	done(0, FCORE_PUSH_RNR, 31, 0);
	held_receive(true, 0, 1, 300);
	assert_int_equal(env.nevents, 1);
	assert_int_equal(env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA, ENV_PEER_RSN),
			 FALCON_V_rx_resync);
	assert_int_equal(delivered(), 1);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 1);
	env_run();
	assert_int_equal(nacks_sent(), 0);
	env_close();
}

/* All behind an RNRed request are RNRed, until it is accepted; none overtakes it. */
static void s8_5_3_4_subsequent_transactions_are_rnr_nacked_until_it_is_accepted(void **state)
{
	(void)state;
	held_open(true);
	held_receive(false, 0, 1, 10);
	held_receive(true, 0, 0, 10);
	env_respond(env.c, ENV_PEER_RSN, NULL, 0, 1);
	done(1, FCORE_PUSH_RNR, 6, 0);
	held_receive(false, 1, 2, 10);
	held_receive(true, 1, 3, 10);
	held_receive(false, 2, 5, 10);
	env_run();
	assert_int_equal(nacks_sent(), 3);
	for (uint32_t i = 0; i < 3; i++) {
		expect_nack(i, FALCON_NACK_RNR, i);
		assert_int_equal(env.sent[i].ack.rnr, 6);
	}
	assert_int_equal(delivered(), 1);
	env_pass(80 * US + SLACK);
	assert_int_equal(delivered(), 1123);
	done(1, FCORE_PUSH_RNR, 1, 0);	/* again, with those behind it */
	done(2, FCORE_PUSH_RNR, 1, 0);
	fcore_pull_rnr(env.c, ENV_PEER_RSN + 3, 1, env.now);
	held_receive(false, 3, 4, 10);
	env_run();
	assert_int_equal(nacks_sent(), 3);
	env.answer = true;
	env_pass(10 * US + SLACK);
	assert_int_equal(delivered(), 112312345);
	assert_int_equal(nacks_sent(), 0);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 4);
	env_close();
}

/* A repetition of one behind it does not overtake it, either. */
static void s8_5_3_4_repetition_behind_is_rnr_nacked_again(void **state)
{
	(void)state;
	held_open(true);
	held_receive(false, 0, 0, 10);
	held_receive(false, 1, 1, 10);
	done(0, FCORE_PUSH_RNR, 31, 0);
	done(1, FCORE_PUSH_RNR, 31, 0);
	env_run();
	assert_int_equal(nacks_sent(), 2);
	held_receive(false, 1, 1, 10);
	env_run();
	assert_int_equal(nacks_sent(), 1);
	expect_nack(0, FALCON_NACK_RNR, 1);
	assert_int_equal(delivered(), 1);
	env.answer = true;
	held_receive(false, 0, 0, 10);
	assert_int_equal(delivered(), 10);
	held_receive(false, 1, 1, 10);
	assert_int_equal(delivered(), 101);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 2);
	env_close();
}

/* Nothing to tell the initiator with: it learns from an answer without data. */
static void s11_target_ulp_nack_cie_or_nre_for_pull_is_a_zero_length_response(void **state)
{
	(void)state;
	held_open(true);
	held_receive(true, 0, 0, 300);
	env_respond(env.c, ENV_PEER_RSN, NULL, 0, 5);
	env_run();
	assert_int_equal(env.sent[0].type, FALCON_PULL_DATA);
	assert_int_equal(env.sent[0].len, 0);
	assert_int_equal(env.sent[0].hdr.rsn, ENV_PEER_RSN);
	assert_int_equal(nacks_sent(), 0);
	EXPECT_HELD(0, 0, 0, 0, 1, 0, 0, 0);
	env_ack_all(1, 0);
	env_expect(1, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = 5 });
	EXPECT_HELD(0);
	env_close();
}

static void s11_target_ulp_nack_cid_for_pull(void **state)
{
	(void)state;
	held_open(true);
	held_receive(true, 0, 0, 300);
	held_receive(true, 1, 1, 300);
	fcore_pull_invalid_cid(env.c, ENV_PEER_RSN);
	fcore_pull_invalid_cid(env.c, ENV_PEER_RSN);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 1);
	assert_int_equal(env.frames, 1);
	env_run();
	assert_int_equal(nacks_sent(), 0);
	assert_int_equal(delivered(), 1);
	/* An answer that comes too late is given back. */
	env_respond(env.c, ENV_PEER_RSN, NULL, 0, 5);
	env_expect(2, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = 5 });
	env_close();
}

/* 6.6.4: handled here; the request is acknowledged already. */
static void s11_target_ulp_nack_rnr_for_pull(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		held_open(ordered);
		held_receive(true, 0, 0, 300);
		assert_int_equal(env.shared.rx_acked.req_base, ENV_PEER_REQ + 1);
		fcore_pull_rnr(env.c, ENV_PEER_RSN, 6, env.now);
		EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 1);
		env_pass(80 * US - SLACK);
		assert_int_equal(env.nevents, 1);
		assert_int_equal(nacks_sent(), 0);
		env_pass(2 * SLACK);
		assert_int_equal(env.nevents, 2);
		env_respond(env.c, ENV_PEER_RSN, "x", 1, 5);
		assert_int_equal(fc_ttxn(env.c, ENV_PEER_RSN)->state, PullDataUlpRx);
		env_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s11_target_match_local_xlr_drop_filter),
		cmocka_unit_test(s11_target_match_local_xlr_drop_filter_pull),
		cmocka_unit_test(xlr_rules),
		cmocka_unit_test(s11_target_ulp_nack_cie_for_push),
		cmocka_unit_test(s11_target_ulp_nack_nre_for_push),
		cmocka_unit_test(s11_target_ulp_nack_cid_for_push),
		cmocka_unit_test(s11_target_ulp_nack_rnr_for_push_resend_after_rnr_timeout),
		cmocka_unit_test(
			s11_target_ulp_nack_rnr_for_push_upon_a_retransmitted_push_data_packet),
		cmocka_unit_test(s11_target_nacks_after_the_resync_are_none),
		cmocka_unit_test(s11_target_rnr_repetition_crosses_redelivery),
		cmocka_unit_test(s11_target_rnr_ends_with_a_resync),
		cmocka_unit_test(
			s8_5_3_4_subsequent_transactions_are_rnr_nacked_until_it_is_accepted),
		cmocka_unit_test(s8_5_3_4_repetition_behind_is_rnr_nacked_again),
		cmocka_unit_test(s11_target_ulp_nack_cie_or_nre_for_pull_is_a_zero_length_response),
		cmocka_unit_test(s11_target_ulp_nack_cid_for_pull),
		cmocka_unit_test(s11_target_ulp_nack_rnr_for_pull),
	};

	return unit_run(tests);
}
