// SPDX-License-Identifier: BSD-2-Clause
/* The target: reordering, delivery, RNR, Resync, bounds, lost claims (Falcon 8.5, 9.2). */
#include "core_target_env.h"

static void open_ordered(bool ordered, bool answer)
{
	struct fcore_params p = env_params(ordered);

	env_open(&p);
	env.answer = answer;
}

static uint8_t state_of(uint32_t r)
{
	return fc_ttxn(env.c, ENV_PEER_RSN + r)->state;
}

static void push_states(void **state)
{
	(void)state;
	open_ordered(true, false);
	env_receive_push(1, 2, false);
	assert_int_equal(state_of(2), PushDataRx);
	env_receive_push(0, 1, false);
	env_receive_pull(0, 0, false);
	assert_int_equal(state_of(2), PushReqUlpTx);
	assert_int_equal(delivered(), 12);
	assert_int_equal(env.shared.rx_acked.req_base, ENV_PEER_REQ + 1);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA);
	done(2, FCORE_PUSH_ACK, 0, 0);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA);
	done(1, FCORE_PUSH_ACK, 0, 0);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 2);
	assert_int_equal(state_of(1), FC_TARGET_FREE);
	assert_int_equal(env.frames, 1);	/* the pull request's */
	env_close();
}

static void pull_states(void **state)
{
	(void)state;
	open_ordered(true, false);
	env_receive_pull(1, 1, false);
	assert_int_equal(state_of(1), PullReqRx);
	env_receive_pull(0, 0, false);
	assert_int_equal(state_of(0), PullReqUlpTx);
	env_respond(env.c, ENV_PEER_RSN + 1, "abc", 3, 11);
	assert_int_equal(state_of(1), PullDataUlpRx);
	env_run();
	assert_int_equal(state_of(1), PullDataTx);
	assert_int_equal(env.sent[0].len, 3);
	env_ack_all(1, 0);
	assert_int_equal(state_of(1), PullDataAckd);
	env_expect(2, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = 11 });
	/* An answer to what was not asked is given back. */
	env_respond(env.c, ENV_PEER_RSN + 1, "abc", 3, 12);
	env_expect(3, (struct env_event){ .what = ENV_RESPONSE_DONE, .cookie = 12 });
	env_close();
}

/* Unordered: delivered as they come. */
static void unordered(void **state)
{
	(void)state;
	open_ordered(false, true);
	env_receive_push(1, 2, false);
	env_receive_push(0, 1, false);
	env_receive_pull(0, 9, false);
	assert_int_equal(delivered(), 219);
	env_close();
}

/* 6.6.3: the frame is held, the peer told, and the push delivered again after the timeout. */
static void push_rnr(void **state)
{
	(void)state;
	open_ordered(true, false);
	env_receive_push(0, 1, false);
	env_receive_push(1, 2, false);
	env_receive_pull(0, 0, false);
	assert_int_equal(delivered(), 12);
	done(1, FCORE_PUSH_RNR, 6, 0);		/* 80 us */
	done(2, FCORE_PUSH_RNR, 1, 0);		/* 10 us: not before the first, though */
	assert_int_equal(state_of(1), PushDataRx);
	env_run();
	assert_int_equal(env.nsent, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(env.sent[i].type, FALCON_NACK);
		assert_int_equal(env.sent[i].ack.nack_code, FALCON_NACK_RNR);
		assert_int_equal(env.sent[i].ack.nack_psn, ENV_PEER_DATA + (uint32_t)i);
		assert_int_equal(env.sent[i].ack.nack_req_window, 0);
		assert_int_equal(env.sent[i].ack.rnr, i ? 1 : 6);
	}
	env_receive_push(2, 3, false);
	env_pass(70000);
	assert_int_equal(delivered(), 12);
	env.answer = true;
	env_pass(12000);
	assert_int_equal(delivered(), 12123);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 3);
	env_close();
}

/* 6.6.4: a pull is held here; the peer hears nothing of it. */
static void pull_rnr(void **state)
{
	(void)state;
	open_ordered(true, false);
	env_receive_pull(0, 0, false);
	env_receive_push(0, 1, false);
	done(1, FCORE_PUSH_ACK, 0, 0);
	fcore_pull_rnr(env.c, ENV_PEER_RSN, 2, env.now);
	assert_int_equal(state_of(0), PullReqRx);
	env_receive_push(1, 2, false);
	env_pass(22000);
	assert_int_equal(delivered(), 102);	/* 0, 1, again 0, then 2 */
	for (uint32_t i = 0; i < env.nsent; i++)
		assert_int_not_equal(env.sent[i].type, FALCON_NACK);
	env_close();
}

/* Unordered: each waits its own time and nobody waits for it. */
static void rnr_unordered(void **state)
{
	(void)state;
	open_ordered(false, false);
	env_receive_push(0, 1, false);
	env_receive_push(1, 2, false);
	done(1, FCORE_PUSH_RNR, 6, 0);
	done(2, FCORE_PUSH_RNR, 2, 0);
	env_receive_push(2, 3, false);
	assert_int_equal(delivered(), 123);
	env_pass(22000);
	assert_int_equal(delivered(), 1232);
	env_pass(62000);
	assert_int_equal(delivered(), 12321);
	env_close();
}

/* A voided RSN is skipped: the peer has completed it in error (9.2.5). */
static void resync_skips(void **state)
{
	(void)state;
	open_ordered(true, true);
	env_receive_push(1, 1, false);
	env_receive_pull(0, 3, false);
	env_receive_resync(FALCON_PULL_REQUEST, ENV_PEER_REQ + 1, ENV_PEER_RSN + 2);
	assert_int_equal(delivered(), 0);
	env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA, ENV_PEER_RSN);
	assert_int_equal(delivered(), 13);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 2);
	assert_int_equal(env.shared.rx_acked.req_base, ENV_PEER_REQ + 2);
	env_run();
	assert_int_equal(env.sent[env.nsent - 1].type, FALCON_BACK);
	/* The packet itself, late: a duplicate for the window. */
	assert_int_equal(env_receive_push(0, 0, false), FALCON_V_old_acked);
	assert_int_equal(env.frames, 0);
	env_close();
}

/* RSNs that are over, or of a peer with its own ideas, are acknowledged and thrown away. */
static void stale_rsn(void **state)
{
	(void)state;
	open_ordered(true, true);
	env_receive_push(0, 0, false);
	env_receive_push(1, 0, false);
	env_receive_pull(0, 0, false);
	env_receive_push(2, 5, false);
	env_receive_push(3, 5, false);
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 3);
	assert_int_equal(env.nevents, 1);
	assert_int_equal(env.frames, 1);
	env_close();
}

/* Beyond the ring: a resource NACK, and the claim is open for the retransmission (8.5.3). */
static void out_of_slots(void **state)
{
	(void)state;
	open_ordered(true, true);
	env.nsent = 0;
	assert_int_equal(env_receive_push(0, FCORE_MAX_TXNS, false), FALCON_V_rx_data);
	assert_int_equal(env.frames, 0);
	assert_int_equal(env.nsent, 1);
	assert_int_equal(env.sent[0].type, FALCON_NACK);
	assert_int_equal(env.sent[0].ack.nack_code, FALCON_NACK_RESOURCE);
	assert_int_equal(env.sent[0].ack.nack_psn, ENV_PEER_DATA);
	assert_int_equal(env_receive_pull(0, FCORE_MAX_TXNS, false), FALCON_V_rx_request);
	assert_int_equal(env.sent[1].ack.nack_req_window, 1);
	assert_int_equal(env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA + 1,
					    ENV_PEER_RSN + FCORE_MAX_TXNS), FALCON_V_rx_resync);
	assert_int_equal(env.nsent, 3);
	env_receive_push(1, 0, false);
	assert_int_equal(env_receive_push(0, FCORE_MAX_TXNS, false), FALCON_V_rx_data);
	assert_int_equal(env.nsent, 3);
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 3);
	assert_int_equal(fc_rx_ahead(env.c), 2);
	env_close();
}

/* A slot whose transaction the ULP has not answered is not free for the next round. */
static void slot_taken(void **state)
{
	(void)state;
	open_ordered(false, false);
	env_receive_push(0, 3, false);
	env_receive_push(1, 3 + FCORE_MAX_TXNS, false);
	assert_int_equal(delivered(), 3);
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 1);
	done(3, FCORE_PUSH_ACK, 0, 0);
	assert_int_equal(env_receive_push(1, 3 + FCORE_MAX_TXNS, false), FALCON_V_rx_data);
	assert_int_equal(env.nevents, 2);
	env_close();
}

/* A claim whose frame never came is opened again; what arrived stays claimed. */
static void lost_claims(void **state)
{
	struct falcon_hdr lost = { .type = FALCON_PUSH_DATA, .psn = ENV_PEER_DATA };
	struct falcon_hdr lost_req = { .type = FALCON_PULL_REQUEST, .psn = ENV_PEER_REQ + 2 };

	(void)state;
	open_ordered(true, false);
	env_receive_push(1, 1, false);
	env_receive_push(2, 2, false);
	assert_int_equal(falcon_rx_window(&env.shared, &lost), FALCON_V_rx_data);
	assert_int_equal(falcon_rx_window(&env.shared, &lost_req), FALCON_V_rx_request);
	assert_int_equal(falcon_rx_window(&env.shared, &lost), FALCON_V_dup_acked);
	fcore_release_claims(env.c);
	assert_int_equal(fcore_conn_stats(env.c)->claims_released, 2);
	assert_int_equal(env_receive_push(1, 1, false), FALCON_V_dup_acked);
	assert_int_equal(env_receive_push(0, 0, false), FALCON_V_rx_data);
	assert_int_equal(delivered(), 12);
	fcore_release_claims(env.c);
	assert_int_equal(fcore_conn_stats(env.c)->claims_released, 2);
	env_close();
}

/* RSNs wrap like everything else. */
static void wrap_around(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.rx_rsn = UINT32_MAX - 1;
	p.rx_data_psn = UINT32_MAX - 1;
	env_open(&p);
	env.answer = true;
	for (uint32_t i = 4; i-- > 0;)
		env_receive((struct falcon_hdr){ .type = FALCON_PUSH_DATA,
						 .psn = UINT32_MAX - 1 + i,
						 .rsn = UINT32_MAX - 1 + i }, 0);
	assert_int_equal(env.nevents, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(env.event[i].rsn, UINT32_MAX - 1 + i);
	assert_int_equal(env.shared.rx_acked.data_base, 2);
	env_close();
}

/* The ULP may close the connection from within a delivery, also from the timer's. */
static void closed_in_delivery(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		open_ordered(ordered, false);
		env_receive_push(1, 1, false);
		env.close_on_event = true;
		env_receive_push(0, 0, false);
		assert_null(env.c);
		env_close();

		open_ordered(ordered, false);
		env_receive_push(0, 0, false);
		done(0, FCORE_PUSH_RNR, 1, 0);
		env.close_on_event = true;
		env_pass(20000);
		assert_null(env.c);
		env_close();
	}
}

/* The slot of a whole ring before is still in use: the Resync needs none. */
static void resync_needs_no_slot(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	env_receive_pull(0, 0, false);		/* at the ULP */
	env_receive_resync(FALCON_PULL_REQUEST, ENV_PEER_REQ + 1, ENV_PEER_RSN + FCORE_MAX_TXNS);
	assert_int_equal(env.shared.rx_acked.req_base, ENV_PEER_REQ + 2);
	for (uint32_t i = 1; i < FCORE_MAX_TXNS; i++)
		env_receive_resync(FALCON_PULL_REQUEST, ENV_PEER_REQ + 1 + i, ENV_PEER_RSN + i);
	assert_int_equal(env.c->tgt_next, ENV_PEER_RSN + FCORE_MAX_TXNS + 1);
	env_receive_pull(FCORE_MAX_TXNS + 1, FCORE_MAX_TXNS + 1, false);
	assert_int_equal(env.nevents, 2);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resync_needs_no_slot),
		cmocka_unit_test(push_states),
		cmocka_unit_test(pull_states),
		cmocka_unit_test(unordered),
		cmocka_unit_test(push_rnr),
		cmocka_unit_test(pull_rnr),
		cmocka_unit_test(rnr_unordered),
		cmocka_unit_test(resync_skips),
		cmocka_unit_test(stale_rsn),
		cmocka_unit_test(out_of_slots),
		cmocka_unit_test(slot_taken),
		cmocka_unit_test(lost_claims),
		cmocka_unit_test(wrap_around),
		cmocka_unit_test(closed_in_delivery),
	};

	return unit_run(tests);
}
