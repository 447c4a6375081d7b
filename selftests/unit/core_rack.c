// SPDX-License-Identifier: BSD-2-Clause
/* RACK and tail loss probes (paper 4.1, 4.3; RFC 8985). */
#include "core_env.h"

enum {
	RTO = 100000000,	/* far away */
	RTT = 40000,
	QUARTER = RTT / 4,
	SLACK = 2000,
};

static void open_rack(uint32_t flows)
{
	struct fcore_params p = env_params(false);

	p.early_retx = FCORE_EARLY_RACK;
	p.rto_ns = RTO;
	p.flows = flows;
	env_open(&p);
}

/* An ACK whose own round trip was RTT. */
static void ack(struct falcon_ack a)
{
	a.t1 = falcon_time_of_ns(env.now - RTT);
	if (!a.rdbpsn)
		a.rdbpsn = ENV_DATA;
	if (!a.rrbpsn)
		a.rrbpsn = ENV_REQ;
	assert_int_equal(env_ack(a), FALCON_V_ack_consumed);
}

static void received(uint32_t bits)
{
	ack((struct falcon_ack){ .type = FALCON_EACK, .data_rx = { bits } });
}

/* Send |n| pushes, one a microsecond. */
static void send_pushes(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		env_push(i);
		assert_int_equal(env_pass(1000), 1);
	}
}

/* The data PSNs that a run sends again, relative to the first. */
static uint32_t again(void)
{
	uint32_t mask = 0;

	env_run();
	for (uint32_t i = 0; i < env.nsent; i++) {
		assert_true(env.sent[i].again);
		assert_true(env.sent[i].hdr.ar);
		mask |= 1U << (env.sent[i].hdr.psn - ENV_DATA);
	}
	return mask;
}

/* One sent later has arrived, and the round trip and the reordering window have passed. */
static void overtaken_and_late(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(4);
	env.now += RTT;
	received(0x2);
	assert_int_equal(again(), 0);
	env.now += QUARTER + SLACK;
	assert_int_equal(again(), 0x1);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_rack, 1);
	assert_int_equal(falcon_ev_get(&env.last_rue, event_type), kRueEventTypeRetx);
	assert_int_equal(falcon_ev_get(&env.last_rue, retransmit_reason), kRetxReasonEarly);
	env_close();
}

/* What was sent after the latest that arrived is not judged (paper: "ignored"). */
static void sent_after_is_ignored(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(6);
	env.now += RTT;
	received(0x0a);
	env.now += 10 * RTT;
	env.c->probed = true;	/* no probe in this test */
	assert_int_equal(again(), 0x05);
	env_close();
}

/* RFC 8985, 6.2: three arrivals ahead, and nothing known to be reordered: no window is needed. */
static void three_ahead_need_no_window(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(4);
	env.now += RTT;
	received(0xe);
	assert_int_equal(again(), 0x1);
	env_close();
}

/* A packet that comes late, once, shows that the path reorders: from then on the window counts. */
static void reordering_is_learnt(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(2);
	env.now += RTT;
	received(0x2);
	env.now += 2000;
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 2 });
	assert_true(env.c->flow[0].rack.reordered);
	send_pushes(6);
	env.now += RTT;
	ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA + 2, .data_rx = { 0x3e } });
	assert_int_equal(again(), 0);
	env.now += QUARTER + SLACK;
	assert_int_equal(again(), 0x4);
	assert_int_equal(fcore_conn_stats(env.c)->rack_spurious, 0);
	env_close();
}

/* Retransmitted in vain: the acknowledgment comes sooner than any round trip takes. */
static void hasty_retransmission_widens_the_window(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(4);
	env.now += RTT;
	received(0xe);
	assert_int_equal(again(), 0x1);
	env.now += RTT / 2;
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 4 });
	assert_int_equal(fcore_conn_stats(env.c)->rack_spurious, 1);
	assert_true(env.c->flow[0].rack.reordered);
	assert_int_equal(env.c->flow[0].rack.quarters, 1);
	assert_int_equal(env.c->flow[0].rack.persist, 16);
	env_close();
}

/* A lost retransmission is found as any packet is: by order of transmission, not by PSN. */
static void lost_retransmission_is_found(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(4);
	env.now += RTT;
	received(0xe);
	assert_int_equal(again(), 0x1);
	env_push(4);
	env_run();
	env.now += RTT + SLACK;
	received(0x1e);		/* the new one has arrived, what was sent before it has not */
	assert_int_equal(again(), 0x1);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_rack, 2);
	env_close();
}

/* A retransmission that has arrived makes suspect what was sent before it, whatever its PSN. */
static void arrived_retransmission_is_evidence(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(5);
	env.now += RTT;
	received(0x0e);
	assert_int_equal(again(), 0x01);
	env.now += RTT + SLACK;
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 4 });
	assert_int_equal(again(), 0x10);
	env_close();
}

/* The request window, by its own bitmap. */
static void requests(void **state)
{
	(void)state;
	open_rack(1);
	for (uint32_t i = 0; i < 5; i++)
		env_pull(i, 10);
	env_run();
	env.now += RTT + SLACK;
	ack((struct falcon_ack){ .type = FALCON_EACK, .req = { 0x1c } });
	assert_int_equal(env_run(), 2);
	assert_int_equal(env.sent[0].hdr.psn, ENV_REQ);
	assert_int_equal(env.sent[1].hdr.psn, ENV_REQ + 1);
	env_close();
}

/* That data was received says nothing of requests: those count when the agent has seen them. */
static void received_data_does_not_judge_requests(void **state)
{
	(void)state;
	open_rack(1);
	env_pull(0, 10);
	env_push(1);
	env_run();
	env.now += RTT + SLACK;
	received(0x1);
	env.c->probed = true;
	env.now += RTT;
	assert_int_equal(env_run(), 0);
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 1 });
	env.now += RTT;
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].hdr.psn, ENV_REQ);
	env_close();
}

/* Nor that Pull Data were acknowledged: their initiator's XDP does that before its agent has seen them. */
static void acknowledged_pull_data_do_not_judge_requests(void **state)
{
	(void)state;
	open_rack(1);
	env_receive_pull(0, 0, false);
	env_pull(0, 10);
	env_run();
	env_respond(env.c, ENV_PEER_RSN, NULL, 0, 1);
	env_run();
	env.now += RTT + SLACK;
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 1 });
	env.c->probed = true;
	env.now += 5 * RTT;
	assert_int_equal(env_run(), 0);
	env_close();
}

/* A piggybacked base has no bitmaps: nothing is concluded from it until an ACK comes. */
static void piggyback_is_no_evidence(void **state)
{
	(void)state;
	open_rack(1);
	env_push(0);
	env_pull(1, 10);
	env_run();
	env.now += RTT;
	ack((struct falcon_ack){ 0 });
	falcon_piggyback(&env.shared, ENV_DATA, ENV_REQ + 1);
	fcore_acked(env.c, env.now);
	env.c->probed = true;	/* no probe in this test */
	env.now += 5 * RTT;
	assert_int_equal(env_run(), 0);
	ack((struct falcon_ack){ .type = FALCON_EACK, .rrbpsn = ENV_REQ + 1, .data_rx = { 0x1 } });
	assert_int_equal(env_run(), 0);
	env_close();
}

/* Nor if the core sees it together with an ACK that came before. */
static void piggyback_behind_an_ack(void **state)
{
	struct falcon_ack a = { .type = FALCON_BACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ };

	(void)state;
	open_rack(1);
	env_push(0);
	env_pull(1, 10);
	env_run();
	env.now += 2 * RTT;
	a.t1 = falcon_time_of_ns(env.now - RTT);
	assert_int_equal(falcon_rx_ack(&env.shared, env.flow, &a, env.now), FALCON_V_ack_consumed);
	falcon_piggyback(&env.shared, ENV_DATA, ENV_REQ + 1);
	fcore_acked(env.c, env.now);
	env.c->probed = true;	/* no probe in this test */
	assert_int_equal(env_pass(5 * RTT), 0);
	/* The next one counts. */
	ack((struct falcon_ack){ .rrbpsn = ENV_REQ + 1 });
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
	env_close();
}

/* Flows are judged each by itself: one that is slow is not one that loses. */
static void slow_flow_is_not_lossy(void **state)
{
	uint32_t on0 = 0;

	(void)state;
	open_rack(2);
	for (uint32_t i = 0; i < 8; i++)
		env_push(i);
	env_run();
	for (uint32_t i = 0; i < 8; i++)
		on0 |= (env.sent[i].flow == 0 ? 1U : 0U) << i;
	env.now += RTT + SLACK;
	received(on0);
	env.c->probed = true;
	env.now += 4 * RTT;
	assert_int_equal(again(), 0);
	/* One of the slow flow has come: those before it are late. */
	env.flow = 1;
	received(on0 | 0x80 | 0x40);
	assert_int_equal(again(), ~(on0 | 0xc0) & 0xff);
	env_close();
}

/* A fixed timeout in place of RTT and window: from the parameters, or from the RUE. */
static void fixed_rack_rto(void **state)
{
	struct fcore_params p = env_params(false);
	struct falcon_rue_result r = { 0 };

	(void)state;
	p.early_retx = FCORE_EARLY_RACK;
	p.rto_ns = RTO;
	p.rack_rto_ns = 3 * RTT;
	env_open(&p);
	send_pushes(4);
	env.c->probed = true;
	env.now += RTT;
	received(0xe);
	assert_int_equal(again(), 0);
	env.now += 2 * RTT;
	assert_int_equal(again(), 0x1);
	falcon_res_put(&r, fcwnd, 100);
	falcon_res_put(&r, ncwnd, 100);
	falcon_res_put(&r, rack_rto, falcon_time_of_ns(6 * RTT));
	fcore_rue_result(env.c, &r, env.now);
	env_push(4);
	env_run();
	env.now += 5 * RTT;
	received(0x1e);
	assert_int_equal(again(), 0);
	env.now += RTT + SLACK;
	assert_int_equal(again(), 0x1);
	env_close();
}

/* RACK leaves alone what the receiver has asked to be left alone (RNR), and what has arrived. */
static void rnr_is_not_lost(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(3);
	env.now += RTT;
	env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .nack_code = FALCON_NACK_RNR, .rnr = 20,
				     .nack_psn = ENV_DATA });
	received(0x6);
	env.now += 2 * RTT;
	env.c->probed = true;
	assert_int_equal(again(), 0);
	env_close();
}

/* 9.1.4 on OWN stays as it is. */
static void own_with_rack(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(3);
	env.now += RTT + SLACK;
	ack((struct falcon_ack){ .type = FALCON_EACK, .own = FALCON_OWN_DATA });
	assert_int_equal(again(), 0x7);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_own, 3);
	env_close();
}

/* A tail is lost: after two round trips of silence the lowest PSN goes out, with AR, once. */
static void tail_loss_probe(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	p.early_retx = FCORE_EARLY_RACK;
	p.rto_ns = RTO;
	env_open(&p);
	send_pushes(1);
	env.now += RTT;
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 1 });
	send_pushes(4);
	assert_int_equal(env_pass(2 * RTT), 0);
	env.now += p.ack_timeout_ns + SLACK;
	assert_int_equal(again(), 0x2);
	assert_int_equal(fcore_conn_stats(env.c)->tx_probes, 1);
	assert_int_equal(env.retx_events, 0);	/* no loss is known */
	assert_int_equal(env_pass(20 * RTT), 0);
	/* Its ACK: the others were lost, and RACK says so. */
	env.now += RTT;
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 2 });
	assert_int_equal(again(), 0x1c);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_rack, 3);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_rto, 0);
	env_close();
}

/*
 * A probe that was not needed: the ACK answers a packet that was sent before, as its T1 says, and so proves
 * nothing of those between the probed packet and the probe.
 */
static void probe_of_what_is_late(void **state)
{
	uint64_t probed;

	(void)state;
	open_rack(1);
	send_pushes(1);
	env.now += RTT / 8;
	env_ack((struct falcon_ack){ .t1 = falcon_time_of_ns(env.now - RTT / 8), .rdbpsn = ENV_DATA + 1,
				     .rrbpsn = ENV_REQ });
	send_pushes(4);
	while (env_pass(RTT) == 0)
		;
	assert_int_equal(fcore_conn_stats(env.c)->tx_probes, 1);
	probed = env.now;
	env.now += RTT / 2;
	env_ack((struct falcon_ack){ .t1 = falcon_time_of_ns(probed - RTT / 4), .rdbpsn = ENV_DATA + 2,
				     .rrbpsn = ENV_REQ });
	assert_int_equal(again(), 0);
	/* What is lost is found as ever. */
	ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA + 2, .data_rx = { 0x4 } });
	assert_int_equal(again(), 0x0c);
	env_close();
}

/* The probe is what has not arrived, if there is such a packet. */
static void probe_prefers_what_is_missing(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(3);
	env.now += RTT;
	received(0x3);
	env.now += 10 * RTT;
	assert_int_equal(again(), 0x4);
	env_close();
}

/* The older window's packet goes first. */
static void probe_of_either_window(void **state)
{
	(void)state;
	open_rack(1);
	env.c->flow[0].srtt = RTT;
	env_pull(0, 10);
	env_run();
	send_pushes(1);
	assert_int_equal(env_pass(10 * RTT), 1);
	assert_int_equal(env.sent[0].type, FALCON_PULL_REQUEST);
	env_close();
}

/* Silence beyond the RTO, with nothing asked yet: one probe, not the whole window. */
static void probe_before_timeout(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	p.early_retx = FCORE_EARLY_RACK;
	p.tlp_ns = 1000000000;
	env_open(&p);
	send_pushes(8);
	env.now += p.rto_ns + SLACK;
	assert_int_equal(again(), 0x01);
	assert_int_equal(fcore_conn_stats(env.c)->tx_probes, 1);
	/* No answer to that, either: now all are timed out. */
	env.now += p.rto_ns + SLACK;
	assert_int_equal(again(), 0xff);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_rto, 8);
	env_close();
}

/* The answer to the probe says that all is well: nothing was sent in vain. */
static void slow_host_costs_one_packet(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	p.early_retx = FCORE_EARLY_RACK;
	env_open(&p);
	env.c->flow[0].srtt = RTT;
	send_pushes(8);
	env.now += p.rto_ns + SLACK;
	assert_int_equal(again(), 0x01);
	env.now += p.rto_ns / 2;
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 8 });
	assert_int_equal(env_pass(10 * p.rto_ns), 0);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_rto, 0);
	env_close();
}

/* TLP timeout from the RUE. */
static void fixed_tlp_timeout(void **state)
{
	struct falcon_rue_result r = { 0 };

	(void)state;
	open_rack(1);
	falcon_res_put(&r, fcwnd, 100);
	falcon_res_put(&r, ncwnd, 100);
	falcon_res_put(&r, tlp_timeout, falcon_time_of_ns(7 * RTT));
	fcore_rue_result(env.c, &r, env.now);
	send_pushes(2);
	assert_int_equal(env_pass(6 * RTT), 0);
	assert_int_equal(env_pass(RTT + SLACK), 1);
	env_close();
}

/* Nothing on the wire, or OOO distance: no timer, no probe. */
static void no_probe_without_need(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	open_rack(1);
	send_pushes(2);
	env.now += RTT;
	ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 2 });
	env_pass(10 * RTT);
	env_pass(10 * RTO);
	assert_int_equal(fcore_next_deadline(env.core, env.now) > env.now + RTO, true);
	env_close();

	p.rto_ns = RTO;
	env_open(&p);
	send_pushes(2);
	assert_int_equal(env_pass(RTO / 2), 0);
	env_close();
}

/* A completion closes the connection while an ACK is taken in: nothing is armed any more. */
static void closed_amid_an_ack(void **state)
{
	(void)state;
	open_rack(1);
	send_pushes(4);
	env.now += RTT;
	env.close_on_event = true;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA + 1, .rrbpsn = ENV_REQ,
				     .data_rx = { 0x4 } });
	assert_null(env.c);
	assert_int_equal(fcore_next_deadline(env.core, env.now), FCORE_NEVER);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overtaken_and_late),
		cmocka_unit_test(sent_after_is_ignored),
		cmocka_unit_test(three_ahead_need_no_window),
		cmocka_unit_test(reordering_is_learnt),
		cmocka_unit_test(hasty_retransmission_widens_the_window),
		cmocka_unit_test(lost_retransmission_is_found),
		cmocka_unit_test(arrived_retransmission_is_evidence),
		cmocka_unit_test(requests),
		cmocka_unit_test(received_data_does_not_judge_requests),
		cmocka_unit_test(acknowledged_pull_data_do_not_judge_requests),
		cmocka_unit_test(piggyback_is_no_evidence),
		cmocka_unit_test(piggyback_behind_an_ack),
		cmocka_unit_test(slow_flow_is_not_lossy),
		cmocka_unit_test(fixed_rack_rto),
		cmocka_unit_test(rnr_is_not_lost),
		cmocka_unit_test(own_with_rack),
		cmocka_unit_test(tail_loss_probe),
		cmocka_unit_test(probe_of_what_is_late),
		cmocka_unit_test(probe_prefers_what_is_missing),
		cmocka_unit_test(probe_of_either_window),
		cmocka_unit_test(probe_before_timeout),
		cmocka_unit_test(slow_host_costs_one_packet),
		cmocka_unit_test(fixed_tlp_timeout),
		cmocka_unit_test(no_probe_without_need),
		cmocka_unit_test(closed_amid_an_ack),
	};

	return unit_run(tests);
}
