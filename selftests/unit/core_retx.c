// SPDX-License-Identifier: BSD-2-Clause
/* Retransmission: timeout, early by OOO distance and OWN, gates, Resync, fatal (9.1.2 - 9.1.8). */
#include "core_env.h"

enum { RTO = 1000000, SLACK = 2000 };

static void send_pushes(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		env_push(i);
	assert_int_equal(env_run(), n);
}

/* The PSNs that a run sends again, relative to the first. */
static uint64_t sent_again(void)
{
	uint64_t mask = 0;

	env_run();
	for (uint32_t i = 0; i < env.nsent; i++) {
		assert_true(env.sent[i].again);
		assert_true(env.sent[i].hdr.ar);
		mask |= 1ULL << (env.sent[i].hdr.psn - ENV_DATA);
	}
	return mask;
}

/* An EACK that reports these as received, of our data window. */
static void eack_received(uint32_t rx0, uint8_t own)
{
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_rx = { rx0 }, .own = own });
}

static void timeout_same_psn(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	send_pushes(2);
	assert_int_equal(env_pass(RTO - 10), 0);
	env.now += 10 + SLACK;
	assert_int_equal(sent_again(), 0x3);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_rto, 2);
	assert_int_equal(env.retx_events, 2);
	assert_int_equal(falcon_ev_get(&env.last_rue, event_type), kRueEventTypeRetx);
	assert_int_equal(falcon_ev_get(&env.last_rue, retransmit_reason), kRetxReasonRto);
	assert_int_equal(falcon_ev_get(&env.last_rue, retransmit_count), 1);
	assert_int_equal(falcon_ev_get(&env.last_rue, connection_id), ENV_CID);
	env_close();
}

/* A timeout shorter than the round trip that is being measured would repeat everything. */
static void timeout_not_within_round_trip(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	env.c->flow[0].srtt = 2 * RTO;
	send_pushes(1);
	env.now += 2 * RTO;
	assert_int_equal(sent_again(), 0);
	env.now += 2 * RTO + SLACK;
	assert_int_equal(sent_again(), 0x1);
	env_close();
}

/* Each packet has its own deadline, and each attempt doubles it. */
static void deadlines(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	send_pushes(1);
	env.now += RTO / 2;
	env_push(1);
	env_run();
	env.now += RTO / 2 + SLACK;
	assert_int_equal(sent_again(), 0x1);
	env.now += RTO / 2;
	assert_int_equal(sent_again(), 0x2);
	env.now += RTO;
	assert_int_equal(sent_again(), 0);
	env.now += RTO / 2 + SLACK;
	assert_int_equal(sent_again(), 0x1);
	env_close();
}

static void acked_is_not_sent_again(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	env_open(&p);
	send_pushes(4);
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA + 1,
				     .rrbpsn = ENV_REQ, .data_ack = { 0x2 },
				     .data_rx = { 0x2 } });
	assert_int_equal(env.nevents, 2);
	assert_int_equal(env.event[0].cookie, 0);
	assert_int_equal(env.event[1].cookie, 2);
	env.now += RTO + SLACK;
	assert_int_equal(sent_again(), 0xa);
	env_close();
}

/* A packet that is acknowledged while it waits for its retransmission is not sent. */
static void acked_while_queued(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	send_pushes(3);
	env.now += RTO + SLACK;
	env.refuse = 1;
	env_run();
	env_ack_all(2, 0);
	assert_int_equal(sent_again(), 0x4);
	assert_int_equal(env.c->data.npending, 0);
	env_close();
}

/* 9.1.4: zeros below the highest one by more than the threshold. */
static void ooo_distance(void **state)
{
	static const struct {
		uint32_t threshold, received;
		uint64_t lost;
	} cases[] = {
		{ 2, 0x0e, 0x01 },	/* 6.6.6: 300 lost, 301 to 303 received */
		{ 3, 0x0e, 0x00 },
		{ 3, 0x1e, 0x01 },
		{ 0, 0x02, 0x01 },
		{ 2, 0x80, 0x1f },
		{ 2, 0x00, 0x00 },
		{ 2, 0xff, 0x00 },
	};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fcore_params p = env_params(true);

		p.ooo_threshold = cases[i].threshold;
		env_open(&p);
		send_pushes(8);
		env.now += 50000;
		eack_received(cases[i].received, 0);
		assert_int_equal(sent_again(), cases[i].lost);
		assert_int_equal(fcore_conn_stats(env.c)->tx_retx_early,
				 __builtin_popcountll(cases[i].lost));
		env_close();
	}
}

/* Not again within a round trip; again after it. */
static void recency(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	send_pushes(8);
	env.now += 5000;
	eack_received(0xf0, 0);		/* the ACK's own RTT sample is 10 us */
	assert_int_equal(sent_again(), 0);
	env.now += 10000;
	eack_received(0xf0, 0);
	assert_int_equal(sent_again(), 0xf);
	assert_int_equal(falcon_ev_get(&env.last_rue, retransmit_reason), kRetxReasonEarly);
	env.now += 5000;
	eack_received(0xf0, 0);
	assert_int_equal(sent_again(), 0);
	env.now += 10000;
	eack_received(0xf0, 0);
	assert_int_equal(sent_again(), 0xf);
	env_close();
}

/* What is lost each time anew is sent less and less often, whatever else arrives: then timeouts take over. */
static void repetitions_back_off(void **state)
{
	struct fcore_params p = env_params(true);
	uint64_t last, wait = 0;
	uint32_t n = 0;

	(void)state;
	p.rto_ns = 100000000;
	env_open(&p);
	send_pushes(8);
	last = env.now;
	for (int turn = 0; turn < 1000; turn++) {
		env.now += 15000;
		eack_received(0xfe, 0);		/* an RTT of 10 us */
		if (!sent_again())
			continue;
		if (++n > 4)
			assert_true(env.now - last > wait + wait / 4);
		wait = env.now - last;
		last = env.now;
	}
	assert_in_range(n, 8, 14);
	env_close();
}

/* The request window has its own bitmap. */
static void request_window(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	for (uint32_t i = 0; i < 6; i++)
		env_pull(i, 10);
	env_run();
	env.now += 50000;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .req = { 0x28 } });
	assert_int_equal(env_run(), 3);
	assert_int_equal(env.sent[0].hdr.psn, ENV_REQ);
	assert_int_equal(env.sent[1].hdr.psn, ENV_REQ + 1);
	assert_int_equal(env.sent[2].hdr.psn, ENV_REQ + 2);
	env_close();
}

/* EACK-OWN: everything not received, also beyond what the bitmap covers. */
static void own(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.ooo_threshold = 100;
	env_open(&p);
	send_pushes(8);
	env.now += 50000;
	eack_received(0x16, FALCON_OWN_REQ);
	assert_int_equal(sent_again(), 0);
	eack_received(0x16, FALCON_OWN_DATA);
	assert_int_equal(sent_again(), 0xe9);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_own, 5);
	assert_int_equal(env.shared.tx_acked.own, 0);
	env_close();
}

/* 9.1.2 for retransmissions: DORRC below ncwnd, PSN within a window that has shrunk. */
static void gates(void **state)
{
	struct fcore_params p = env_params(true);
	struct falcon_rue_result r = { 0 };

	(void)state;
	env_open(&p);
	send_pushes(8);
	falcon_res_put(&r, fcwnd, 6);
	falcon_res_put(&r, ncwnd, 2);
	fcore_rue_result(env.c, &r, env.now);
	env.now += RTO + SLACK;
	assert_int_equal(sent_again(), 0x03);
	assert_int_equal(env.c->data.orrc, 2);
	env_ack_all(1, 0);
	assert_int_equal(sent_again(), 0x04);
	falcon_res_put(&r, ncwnd, 60);
	fcore_rue_result(env.c, &r, env.now);
	assert_int_equal(sent_again(), 0x78);
	env_ack_all(7, 0);
	assert_int_equal(env.c->data.orrc, 0);
	assert_int_equal(env.c->data.orc, 1);
	assert_int_equal(sent_again(), 0x80);
	env_ack_all(8, 0);
	assert_int_equal(env.c->data.orc + env.c->data.orrc, 0);
	env_close();
}

/* On an ordered connection in RSN order over both windows. */
static void rsn_order(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	for (uint32_t i = 0; i < 9; i++) {
		if (i % 3 == 1)
			env_pull(i, 10);
		else
			env_push(i);
	}
	env_run();
	env_pass(RTO + SLACK);
	assert_int_equal(env.nsent, 9);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(env.sent[i].hdr.rsn, ENV_RSN + i);
	env_close();
}

/* A push that ncwnd holds up holds up the requests after it, and not pull data. */
static void gated_push_keeps_order(void **state)
{
	struct fcore_params p = env_params(true);
	struct falcon_rue_result r = { 0 };

	(void)state;
	env_open(&p);
	env.answer = true;
	env_push(0);
	env_push(1);
	env_pull(2, 10);
	env_run();
	env_receive_pull(0, 0, false);
	env_run();
	falcon_res_put(&r, fcwnd, 100);
	falcon_res_put(&r, ncwnd, 1);
	fcore_rue_result(env.c, &r, env.now);
	env_pass(RTO + SLACK);
	assert_int_equal(env.nsent, 2);
	assert_int_equal(env.sent[0].hdr.rsn, ENV_RSN);
	assert_int_equal(env.sent[1].type, FALCON_PULL_DATA);
	env_close();
}

/* Attempts exhausted: Resync with the same PSN and RSN, then completion in error. */
static void resync(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	send_pushes(1);
	for (uint32_t i = 0; i < p.max_retx; i++) {
		env.now += (RTO << i) + SLACK;
		assert_int_equal(sent_again(), 0x1);
		assert_int_equal(env.sent[0].type, FALCON_PUSH_DATA);
	}
	assert_int_equal(env_pass((RTO << p.max_retx) + SLACK), 1);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
	assert_int_equal(env.sent[0].hdr.rsn, ENV_RSN);
	assert_int_equal(env.sent[0].hdr.resync_code, FALCON_RESYNC_RETX_ERROR);
	assert_int_equal(env.sent[0].hdr.resync_type, FALCON_PUSH_DATA);
	assert_int_equal(env.sent[0].len, 0);
	assert_int_equal(env.nevents, 0);
	env_ack_all(1, 0);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .code = kCmplLocalTO });
	assert_int_equal(env.fatals, 0);
	env_close();
}

/* A patient connection goes on for longer than max_retx attempts take, but not with a Resync. */
static void patient(void **state)
{
	struct fcore_params p = env_params(true);
	uint32_t attempts = p.max_retx + 2, resyncs = 0;
	uint64_t ns = 0;

	(void)state;
	env_open(&p);
	for (uint32_t i = 0; i < attempts; i++)
		ns += RTO << i;
	fcore_conn_be_patient(env.c, ns);
	send_pushes(1);
	for (uint32_t i = 0; i < attempts; i++) {
		env.now += (RTO << i) + SLACK;
		assert_int_equal(sent_again(), 0x1);
		assert_int_equal(env.sent[0].type, FALCON_PUSH_DATA);
	}
	for (uint32_t i = 0; i < 100 && !env.fatals; i++) {
		env_pass(RTO << FC_RTO_BACKOFF);
		for (uint32_t n = 0; n < env.nsent; n++)
			resyncs += env.sent[n].type == FALCON_RESYNC;
	}
	assert_int_equal(resyncs, 1 + p.max_retx);
	env_close();
}

static void fatal(void **state)
{
	struct fcore_params p = env_params(true);
	uint32_t resyncs = 0;

	(void)state;
	env_open(&p);
	send_pushes(2);
	for (uint32_t i = 0; i < 100 && !env.fatals; i++) {
		env_pass(RTO << FC_RTO_BACKOFF);
		for (uint32_t n = 0; n < env.nsent; n++)
			resyncs += env.sent[n].type == FALCON_RESYNC &&
				   env.sent[n].hdr.psn == ENV_DATA;
	}
	assert_int_equal(resyncs, 1 + p.max_retx);
	assert_int_equal(env.fatals, 1);
	assert_int_equal(env_pass(100 * RTO), 0);
	assert_int_equal(fcore_push(env.c, &(struct fcore_txn){ .proto = 7 }, env.now), -ENOTCONN);
	env_receive_push(0, 0, true);
	assert_int_equal(env_run(), 0);
	fcore_conn_close(env.c, kCmplDeadConn);
	env.c = NULL;
	env_expect(0, (struct env_event){ .what = ENV_DONE, .code = kCmplDeadConn });
	env_expect(1, (struct env_event){ .what = ENV_DONE, .cookie = 1, .code = kCmplDeadConn });
	env_close();
}

/* A slow upper layer at a peer that answers is no lost packet, however long it takes. */
static void held_by_peer(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.txn_timeout_ns = UINT64_MAX / 4;
	env_open(&p);
	send_pushes(1);
	for (int i = 0; i < 50; i++) {
		env_pass(RTO << FC_RTO_BACKOFF);
		for (uint32_t n = 0; n < env.nsent; n++)
			assert_int_equal(env.sent[n].type, FALCON_PUSH_DATA);
		eack_received(0x1, 0);
	}
	assert_int_equal(env.fatals, 0);
	env_ack_all(1, 0);
	env_expect(0, (struct env_event){ .what = ENV_DONE });
	env_close();
}

/* Reported as received once, but silent since: that peer is gone. */
static void held_by_silent_peer(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	send_pushes(1);
	env.now += 1000;
	eack_received(0x1, 0);
	for (int i = 0; i < 20; i++)
		env_pass(RTO << FC_RTO_BACKOFF);
	assert_int_equal(env.fatals, 1);
	env_close();
}

/* A peer that acknowledges everything else has not received this one: attempts count. */
static void lost_at_live_peer(void **state)
{
	struct fcore_params p = env_params(true);
	bool resync = false;

	(void)state;
	env_open(&p);
	send_pushes(2);
	for (uint32_t i = 0; i <= p.max_retx; i++) {
		env_pass((RTO << i) + SLACK);
		for (uint32_t n = 0; n < env.nsent; n++)
			resync |= env.sent[n].type == FALCON_RESYNC &&
				  env.sent[n].hdr.psn == ENV_DATA;
		eack_received(0x2, 0);
	}
	assert_true(resync);
	env_close();
}

/* A new RTO holds for packets that are on their way, too (10.6.2.2). */
static void shorter_rto(void **state)
{
	struct fcore_params p = env_params(true);
	struct falcon_rue_result r = { 0 };

	(void)state;
	env_open(&p);
	send_pushes(1);
	falcon_res_put(&r, fcwnd, 10);
	falcon_res_put(&r, ncwnd, 10);
	falcon_res_put(&r, retransmit_timeout, 1000);	/* 131 us */
	fcore_rue_result(env.c, &r, env.now);
	env.now += 135000;
	assert_int_equal(sent_again(), 0x1);
	assert_int_equal(env.shared.cc.rto, 1000);
	env_close();
}

/* Sequence numbers that wrap within the window. */
static void wrap_around(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.tx_data_psn = UINT32_MAX - 2;
	env_open(&p);
	send_pushes(8);
	env.now += 50000;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = UINT32_MAX - 1,
				     .rrbpsn = ENV_REQ, .data_ack = { 0x02 },
				     .data_rx = { 0x42 } });
	assert_int_equal(env_run(), 3);
	assert_int_equal(env.sent[0].hdr.psn, UINT32_MAX - 1);
	assert_int_equal(env.sent[1].hdr.psn, 0);
	assert_int_equal(env.sent[2].hdr.psn, 1);
	env_ack((struct falcon_ack){ .rdbpsn = 5, .rrbpsn = ENV_REQ });
	assert_int_equal(env.nevents, 8);
	assert_int_equal(env_pass(100 * RTO), 0);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeout_same_psn),
		cmocka_unit_test(timeout_not_within_round_trip),
		cmocka_unit_test(deadlines),
		cmocka_unit_test(acked_is_not_sent_again),
		cmocka_unit_test(acked_while_queued),
		cmocka_unit_test(ooo_distance),
		cmocka_unit_test(recency),
		cmocka_unit_test(repetitions_back_off),
		cmocka_unit_test(request_window),
		cmocka_unit_test(own),
		cmocka_unit_test(gates),
		cmocka_unit_test(rsn_order),
		cmocka_unit_test(gated_push_keeps_order),
		cmocka_unit_test(resync),
		cmocka_unit_test(patient),
		cmocka_unit_test(fatal),
		cmocka_unit_test(held_by_peer),
		cmocka_unit_test(held_by_silent_peer),
		cmocka_unit_test(lost_at_live_peer),
		cmocka_unit_test(shorter_rto),
		cmocka_unit_test(wrap_around),
	};

	return unit_run(tests);
}
