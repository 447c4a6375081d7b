// SPDX-License-Identifier: BSD-2-Clause
/* The initiator's table of Falcon 11, row by row: completion code, and what is given back when. */
#include "core_held.h"

enum { RTO = 1000000, SLACK = 2000 };

static void expect_done(uint32_t event, uint64_t cookie, int code, int ulp_code)
{
	env_expect(event, (struct env_event){ .what = ENV_DONE, .cookie = cookie, .code = code,
					      .ulp_code = ulp_code });
}

/* The peer NACKs the first PSN of the window that |req| tells. */
static void nack(bool req, uint8_t code, uint8_t ulp_code)
{
	assert_int_equal(env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = ENV_DATA,
						      .rrbpsn = ENV_REQ,
						      .nack_psn = req ? ENV_REQ : ENV_DATA,
						      .nack_req_window = req, .nack_code = code,
						      .ulp_code = ulp_code }),
			 FALCON_V_rx_nack);
}

static void s11_initiator_pull_or_push_transaction_timeout(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	p.rto_ns = 100 * p.txn_timeout_ns;
	env_open_with(&p, &cfg);
	held_submit(env.c, true, 300);
	held_submit(env.c, false, 300);
	env_run();
	env_pass(p.txn_timeout_ns - SLACK);
	EXPECT_HELD(2, 4, 2, 3);
	env_pass(2 * SLACK);
	expect_done(0, 0, kCmplLocalTO, 0);
	expect_done(1, 0, kCmplLocalTO, 0);
	EXPECT_HELD(0);
	env_close();
}

/* Time in which the initiator itself has not run is not counted, as often as there is such. */
static void initiator_was_away(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	p.rto_ns = 100 * p.txn_timeout_ns;
	env_open_with(&p, &cfg);
	held_submit(env.c, true, 300);
	env_run();
	for (int i = 0; i < 2; i++) {
		fcore_was_away(env.core, 2 * p.txn_timeout_ns);
		env_pass(2 * p.txn_timeout_ns);
	}
	held_submit(env.c, false, 300);
	env_run();
	env_pass(p.txn_timeout_ns - SLACK);
	EXPECT_HELD(2, 4, 2, 3);
	env_pass(2 * SLACK);
	expect_done(0, 0, kCmplLocalTO, 0);
	expect_done(1, 0, kCmplLocalTO, 0);
	EXPECT_HELD(0);
	env_close();
}

/* Footnote 1: the packet delivery sublayer says so, when the attempts are used up. */
static void s11_initiator_timeout_pull_request_exceeds_max_retransmit_attempts(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	p.txn_timeout_ns = 1000ULL * RTO;
	env_open_with(&p, &cfg);
	held_submit(env.c, true, 300);
	env_run();
	for (uint32_t i = 0; i < p.max_retx; i++)
		env_pass((RTO << i) + SLACK);
	EXPECT_HELD(1, 1, 1, 3);
	env_pass((RTO << p.max_retx) + SLACK);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	assert_int_equal(env.sent[0].hdr.resync_code, FALCON_RESYNC_RETX_ERROR);
	EXPECT_HELD(0, 0, 1, 3);
	env_ack_all(0, 1);
	expect_done(0, 0, kCmplLocalTO, 0);
	EXPECT_HELD(0);
	env_close();
}

/* Footnote 1: acknowledged, and never answered. */
static void s11_initiator_timeout_pull_request_already_acknowledged(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	env_open_with(&p, &cfg);
	held_submit(env.c, true, 300);
	env_run();
	env_ack_all(0, 1);
	EXPECT_HELD(0, 0, 1, 3);
	assert_int_equal(env_pass(p.txn_timeout_ns + SLACK), 0);
	expect_done(0, 0, kCmplLocalTO, 0);
	EXPECT_HELD(0);
	env_close();
}

static const struct fcore_xlr_rule any_initiator = { .where = FCORE_XLR_INITIATOR };

/* No resources; on an ordered connection in its turn, and as a Resync to the target. */
static void s11_initiator_match_local_xlr_drop_filter(void **state)
{
	(void)state;
	held_open(true);
	env_push(1);
	env_run();
	assert_int_equal(fcore_xlr_add(env.core, &(struct fcore_xlr_rule){
			.where = FCORE_XLR_INITIATOR, .fields = FCORE_XLR_TYPE,
			.type = FALCON_PULL_REQUEST }), 0);
	env_pull(2, 300);
	env_push(3);
	EXPECT_HELD(2, 2, 2, 0);
	assert_int_equal(env.nevents, 0);
	assert_int_equal(env_run(), 2);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	assert_int_equal(env.sent[0].hdr.resync_code, FALCON_RESYNC_LOCAL_XLR);
	assert_int_equal(env.sent[0].hdr.resync_type, FALCON_PULL_REQUEST);
	assert_int_equal(env.sent[0].hdr.psn, ENV_REQ);
	assert_int_equal(env.sent[0].hdr.rsn, ENV_RSN + 1);
	assert_int_equal(env.sent[1].hdr.rsn, ENV_RSN + 2);
	env_ack_all(1, 0);
	expect_done(0, 1, kCmplAck, 0);
	expect_done(1, 2, kCmplLocalXlr, 0);
	env_ack_all(2, 1);
	expect_done(2, 3, kCmplAck, 0);
	assert_int_equal(env.c->init_base, env.c->init_next);
	env_close();
}

/* Unordered: nothing waits for it, so nothing is sent. */
static void s11_initiator_match_local_xlr_drop_filter_unordered(void **state)
{
	(void)state;
	held_open(false);
	fcore_xlr_add(env.core, &any_initiator);
	env_push(1);
	expect_done(0, 1, kCmplLocalXlr, 0);
	EXPECT_HELD(0);
	assert_int_equal(env_run(), 0);
	assert_int_equal(env.c->init_next, ENV_RSN);
	env_close();
}

/* A rule that comes later ends what is under way: queued, on the wire, waiting for data. */
static void s11_initiator_local_xlr_ends_what_is_under_way(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		held_open(ordered);
		env_pull(0, 300);
		env_push(1);
		env_run();
		env_ack_all(0, 1);
		env_pull(2, 300);
		fcore_xlr_add(env.core, &any_initiator);
		assert_int_equal(env.nevents, 3);
		for (uint32_t i = 0; i < 3; i++)
			expect_done(i, i, kCmplLocalXlr, 0);
		EXPECT_HELD(0);
		assert_int_equal(env_run(), 2);
		for (uint32_t i = 0; i < 2; i++) {
			assert_int_equal(env.sent[i].type, FALCON_RESYNC);
			assert_int_equal(env.sent[i].hdr.resync_code, FALCON_RESYNC_LOCAL_XLR);
		}
		env_receive_data(0, 0, 300);
		env_ack_all(1, 2);
		assert_int_equal(env.nevents, 3);
		assert_int_equal(env.c->init_base, env.c->init_next);
		env_close();
	}
}

static void s11_initiator_pull_data_packet_size_larger_than_requested(void **state)
{
	(void)state;
	held_open(true);
	held_submit(env.c, true, 300);
	env_run();
	env_ack_all(0, 1);
	env_receive_data(0, 0, 301);
	expect_done(0, 0, kCmplOpErr, 0);
	EXPECT_HELD(0);
	assert_int_equal(env.frames, 0);
	env_close();
}

/* Footnote 2; and nothing at all is how a pull ends in error (8.5.3.5). */
static void s11_initiator_pull_data_smaller_than_requested_is_normal(void **state)
{
	(void)state;
	for (uint32_t len = 0; len < 300; len += 100) {
		held_open(true);
		held_submit(env.c, true, 300);
		env_run();
		env_ack_all(0, 1);
		env_receive_data(0, 0, len);
		env_expect(0, (struct env_event){ .what = ENV_PULL_DATA, .len = len });
		expect_done(1, 0, kCmplAck, 0);
		EXPECT_HELD(0);
		env_close();
	}
}

/* What a NACK that drops the packet makes of the transaction; |req|: a pull. */
static void dropped(bool req, uint8_t code, int resync, int completion)
{
	held_open(true);
	if (req)
		env_pull(7, 300);
	else
		env_push(7);
	env_run();
	env_pass(RTO + SLACK);
	assert_int_equal(fc_ctx(req ? &env.c->req : &env.c->data, req ? ENV_REQ : ENV_DATA)->retx, 1);
	nack(req, code, 0x42);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	assert_int_equal(env.sent[0].hdr.psn, req ? ENV_REQ : ENV_DATA);
	assert_int_equal(env.sent[0].hdr.resync_code, resync);
	assert_int_equal(fc_ctx(req ? &env.c->req : &env.c->data, req ? ENV_REQ : ENV_DATA)->retx, 0);
	EXPECT_HELD(0, 0, 1, req ? 3 : 0);
	assert_int_equal(env.nevents, 0);
	env_ack_all(!req, req);
	expect_done(0, 7, completion, 0x42);
	EXPECT_HELD(0);
	env_close();
}

static void s11_initiator_remote_xlr_drop(void **state)
{
	(void)state;
	dropped(false, FALCON_NACK_XLR_DROP, FALCON_RESYNC_REMOTE_XLR, kCmplRemoteErr);
	dropped(true, FALCON_NACK_XLR_DROP, FALCON_RESYNC_REMOTE_XLR, kCmplRemoteErr);
}

static void s11_initiator_remote_ulp_nack_cie_for_push_transactions(void **state)
{
	(void)state;
	dropped(false, FALCON_NACK_CIE, FALCON_RESYNC_TARGET_CIE, kCmplTargetNackCIE);
}

static void s11_initiator_remote_ulp_nack_nre_for_push_transactions(void **state)
{
	(void)state;
	dropped(false, FALCON_NACK_NRE, FALCON_RESYNC_TARGET_NRE, kCmplTargetNackNRE);
}

static void s11_initiator_remote_ulp_nack_cid_for_push_transactions(void **state)
{
	(void)state;
	dropped(false, FALCON_NACK_INVALID_CID, FALCON_RESYNC_TARGET_CID, kCmplTargetNackCID);
}

/* Per NIC, per host, per function and per connection, with nobody to be told Xoff. */
static void s11_initiator_exceeding_initiator_resource_pool_limit(void **state)
{
	(void)state;
	for (int level = 0; level < FCORE_LEVELS; level++) {
		struct fcore_config cfg = held_config();
		struct fcore_params p = env_params(true);

		p.no_flow_control = true;
		cfg.total[FCORE_REQ_PKT_TX] = level == FCORE_LEVEL_NIC ? 1 : 100;
		env_open_with(&p, &cfg);
		if (level != FCORE_LEVEL_NIC)
			held_limit((enum fcore_level)level, FCORE_REQ_PKT_TX, 1);
		env_push(1);
		env_pull(2, 100);
		expect_done(0, 2, kCmplLocalRsrc, 0);
		EXPECT_HELD(1, 1, 1, 0);
		assert_int_equal(env_run(), 1);
		env_ack_all(1, 0);
		expect_done(1, 1, kCmplAck, 0);
		env_close();
	}
}

/* Sender's table, too: Tx packet and buffer resources are reclaimed, queued or on the wire. */
static void s11_initiator_connection_not_alive(void **state)
{
	struct fcore_params p = env_params(true);
	struct fcore_config cfg = held_config();

	(void)state;
	p.fcwnd = 1;
	env_open_with(&p, &cfg);
	env_push(0);
	env_push(1);
	env_pull(2, 300);
	env_run();
	assert_int_equal(env.c->init_send, ENV_RSN + 1);
	EXPECT_HELD(3, 3, 3, 3);
	fcore_conn_close(env.c, kCmplDeadConn);
	env.c = NULL;
	for (uint32_t i = 0; i < 3; i++)
		expect_done(i, i, kCmplDeadConn, 0);
	env_expect_pools_full();
	env_close();
}

/* After the fatal interrupt nothing can be submitted. */
static void s11_initiator_connection_not_alive_refuses(void **state)
{
	struct fcore_params p = env_params(true);
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW };

	(void)state;
	p.max_retx = 1;
	env_open(&p);
	env_push(0);
	env_run();
	for (int i = 0; i < 20 && !env.fatals; i++)
		env_pass(100 * RTO);
	assert_int_equal(env.fatals, 1);
	assert_int_equal(fcore_push(env.c, &t, env.now), -ENOTCONN);
	assert_int_equal(fcore_pull(env.c, &t, env.now), -ENOTCONN);
	env_close();
}

/* Sender's table: what never left the scheduler; its RSN follows as a Resync, which holds nothing. */
static void s11_pending_packet_timeout_in_connection_scheduler(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	p.rto_ns = 100 * p.txn_timeout_ns;
	p.fcwnd = 1;
	env_open_with(&p, &cfg);
	env_push(0);
	env_push(1);
	env_run();
	EXPECT_HELD(2, 2, 2, 0);
	env_pass(p.txn_timeout_ns + SLACK);
	EXPECT_HELD(0);
	env_ack_all(1, 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	EXPECT_HELD(0);
	env_ack_all(2, 0);
	assert_int_equal(env.c->init_base, env.c->init_next);
	env_close();
}

static void s11_completion_codes_have_their_values(void **state)
{
	(void)state;
	assert_int_equal(kCmplAck, 0x0);
	assert_int_equal(kCmplTargetNackCIE, 0x1);
	assert_int_equal(kCmplTargetNackNRE, 0x3);
	assert_int_equal(kCmplTargetNackCID, 0x4);
	assert_int_equal(kCmplLocalTO, 0x8);
	assert_int_equal(kCmplOpErr, 0x9);
	assert_int_equal(kCmplDeadConn, 0xa);
	assert_int_equal(kCmplLocalRsrc, 0xb);
	assert_int_equal(kUlpCmplCdtErr, 0xc);
	assert_int_equal(kCmplRemoteErr, 0xd);
	assert_int_equal(kCmplLocalXlr, 0xf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s11_initiator_pull_or_push_transaction_timeout),
		cmocka_unit_test(initiator_was_away),
		cmocka_unit_test(
			s11_initiator_timeout_pull_request_exceeds_max_retransmit_attempts),
		cmocka_unit_test(s11_initiator_timeout_pull_request_already_acknowledged),
		cmocka_unit_test(s11_initiator_match_local_xlr_drop_filter),
		cmocka_unit_test(s11_initiator_match_local_xlr_drop_filter_unordered),
		cmocka_unit_test(s11_initiator_local_xlr_ends_what_is_under_way),
		cmocka_unit_test(s11_initiator_pull_data_packet_size_larger_than_requested),
		cmocka_unit_test(s11_initiator_pull_data_smaller_than_requested_is_normal),
		cmocka_unit_test(s11_initiator_remote_xlr_drop),
		cmocka_unit_test(s11_initiator_remote_ulp_nack_cie_for_push_transactions),
		cmocka_unit_test(s11_initiator_remote_ulp_nack_nre_for_push_transactions),
		cmocka_unit_test(s11_initiator_remote_ulp_nack_cid_for_push_transactions),
		cmocka_unit_test(s11_initiator_exceeding_initiator_resource_pool_limit),
		cmocka_unit_test(s11_initiator_connection_not_alive),
		cmocka_unit_test(s11_initiator_connection_not_alive_refuses),
		cmocka_unit_test(s11_pending_packet_timeout_in_connection_scheduler),
		cmocka_unit_test(s11_completion_codes_have_their_values),
	};

	return unit_run(tests);
}
