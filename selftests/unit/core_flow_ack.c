// SPDX-License-Identifier: BSD-2-Clause
/* What ACKs, NACKs and RUE events say of each flow, and what is measured on it (paper 4.3). */
#include "core_flows.h"

/* The ACK of a flow goes back on it, with its times; others' stay owed. */
static void acks_per_flow(void **state)
{
	(void)state;
	open_flows(1, 8);
	env.answer = true;
	env.shared.rx.flow[3].t1_t2 = 33ULL << 32 | 34;
	env.shared.rx.flow[9].t1_t2 = 99ULL << 32 | 100;
	env.flow = 3;
	env_receive_push(0, 0, true);
	env.flow = 9;
	env_receive_push(1, 1, false);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].flow, 3);
	assert_int_equal(env.sent[0].ack.t1, 33);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 2);
	assert_int_equal(env_pass(52000), 1);
	assert_int_equal(env.sent[0].flow, 9);
	assert_int_equal(env.sent[0].ack.t1, 99);
	assert_int_equal(env_pass(1000000), 0);
	env_close();
}

/* ACKs and NACKs go back the way that the flow's latest packet came, and so off a dead path with it. */
static void acks_take_the_peers_path(void **state)
{
	(void)state;
	open_flows(1, 8);
	env.answer = true;
	env.flow = 3;
	env.path = 0x1234;
	env_receive_push(0, 0, true);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].path, 0x1234);
	env.path = 0xfffe;
	env_receive_push(1, 1, true);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].path, 0xfffe);
	env.flow = 5;
	env.path = 7;
	env.answer = false;
	env_receive_push(2, 2, false);
	fcore_push_done(env.c, ENV_PEER_RSN + 2, FCORE_PUSH_CIE, 0, 7, env.now);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_NACK);
	assert_int_equal(env.sent[0].path, 7);
	env_close();
}

/* Counts are per flow, too. */
static void coalescing_per_flow(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	p.ack_count = 3;
	env_open(&p);
	env.answer = true;
	for (uint32_t i = 0; i < 4; i++) {
		env.flow = i & 1;
		env_receive_push(i, i, false);
	}
	assert_int_equal(env_run(), 0);
	env.flow = 1;
	env_receive_push(4, 4, false);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].flow, 1);
	env_close();
}

/* More ACKs are due than a turn has room for, and nothing else is: the next turns send the rest, now. */
static void acks_of_many_flows_are_not_stranded(void **state)
{
	enum { DUE = 16, BUDGET = 5 };
	uint32_t sent = 0, flows = 0;

	(void)state;
	open_flows(4, 8);
	env.answer = true;
	for (uint32_t i = 0; i < DUE; i++) {
		env.flow = i;
		env_receive_push(i, i, true);
	}
	for (uint32_t turn = 0; turn < DUE && sent < DUE; turn++) {
		env.nsent = 0;
		assert_int_equal(fcore_next_deadline(env.core, env.now), env.now);
		sent += fcore_run(env.core, env.now, BUDGET);
		for (uint32_t i = 0; i < env.nsent; i++)
			flows |= 1U << env.sent[i].flow;
	}
	assert_int_equal(sent, DUE);
	assert_int_equal(flows, (1U << DUE) - 1);
	env_close();
}

/* The same when data has taken most of the turn, and its window is full. */
static void acks_behind_data_are_not_stranded(void **state)
{
	enum { DUE = 16, WINDOW = 12 };
	uint32_t acks = 0;

	(void)state;
	open_flows(1, WINDOW);
	env.answer = true;
	for (uint32_t i = 0; i < 2 * WINDOW; i++)
		env_push(i);
	for (uint32_t i = 0; i < DUE; i++) {
		env.flow = i;
		env_receive_push(i, i, true);
	}
	env_run();
	for (uint32_t i = 0; i < env.nsent; i++)
		acks += falcon_type_is_ack(env.sent[i].type);
	assert_int_equal(acks, DUE);
	env_close();
}

/* A NACK reports the flow of the packet that it refuses. */
static void nacks_per_flow(void **state)
{
	(void)state;
	open_flows(1, 8);
	env.flow = 5;
	env_receive_push(0, 0, false);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_CIE, 0, 7, env.now);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_NACK);
	assert_int_equal(env.sent[0].flow, 5);
	env_close();
}

/* The event that the receive path made of an ACK of |flow|. */
static struct falcon_rue_event event_of(uint32_t flow)
{
	struct falcon_rue_event e = { 0 };
	struct falcon_ack a = { .type = FALCON_BACK };

	falcon_rue_event_ack(&env.shared, flow, &a, 1, 2, 999, &e);
	return e;
}

/* Each flow has its own state; ncwnd and its guard are the connection's. */
static void events_are_completed(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];
	struct falcon_rue_result r = { 0 };
	struct falcon_rue_event e;

	(void)state;
	open_flows(2, 16);
	fcore_rue_base(env.c, 0, 70);
	fcore_rue_base(env.c, 1, 71);
	falcon_res_put(&r, connection_id, falcon_rue_id(ENV_CID, 1));
	falcon_res_put(&r, fcwnd, 5);
	falcon_res_put(&r, fcwnd_fraction, 6);
	falcon_res_put(&r, ncwnd, 77);
	falcon_res_put(&r, retransmit_timeout, 8888);
	falcon_res_put(&r, fabric_window_time_marker, 1);
	falcon_res_put(&r, nic_window_time_marker, 2);
	falcon_res_put(&r, base_delay_target, 71);
	falcon_res_put(&r, delay_state, 3);
	falcon_res_put(&r, rtt_state, 4);
	falcon_res_put(&r, cc_opaque, 3);
	fcore_rue_result(env.c, &r, env.now);
	send_on(13, count);
	env_ack_all(13, 0);
	for (uint32_t flow = 0; flow < 2; flow++) {
		e = event_of(flow);
		assert_true(fcore_rue_event(env.core, &e));
		assert_int_equal(falcon_ev_get(&e, num_packets_acked), count[flow]);
		assert_int_equal(falcon_ev_get(&e, fcwnd_integer), flow ? 5 : 8);
		assert_int_equal(falcon_ev_get(&e, fcwnd_fraction), flow ? 6 : 0);
		assert_int_equal(falcon_ev_get(&e, ncwnd), 77);
		assert_int_equal(falcon_ev_get(&e, nic_window_time_marker), 2);
		assert_int_equal(falcon_ev_get(&e, retransmit_timeout),
				 flow ? 8888 : falcon_time_of_ns(RTO));
		assert_int_equal(falcon_ev_get(&e, fabric_window_time_marker), flow ? 1 : 0);
		assert_int_equal(falcon_ev_get(&e, base_delay_target), 70 + flow);
		assert_int_equal(falcon_ev_get(&e, delay_state), flow ? 3 : 0);
		assert_int_equal(falcon_ev_get(&e, rtt_state), flow ? 4 : 0);
		assert_int_equal(falcon_ev_get(&e, cc_opaque), flow ? 3 : 0);
		assert_int_equal(falcon_ev_get(&e, t3), 1);
		e = event_of(flow);
		assert_true(fcore_rue_event(env.core, &e));
		assert_int_equal(falcon_ev_get(&e, num_packets_acked), 0);
	}
	env_close();
}

/* Nothing to complete with one flow; nothing to be done for flows and connections not there. */
static void events_of_nobody(void **state)
{
	struct falcon_rue_event e, was;

	(void)state;
	open_flows(1, 16);
	e = was = event_of(0);
	assert_true(fcore_rue_event(env.core, &e));
	assert_memory_equal(&e, &was, sizeof(e));
	falcon_ev_set(&e, connection_id, falcon_rue_id(ENV_CID, 1));
	assert_false(fcore_rue_event(env.core, &e));
	env.shared.id.cid = ENV_CID + 1;
	e = event_of(0);
	assert_false(fcore_rue_event(env.core, &e));
	env.shared.id.cid = ENV_CID;
	result(1, 3, 0);
	assert_int_equal(env.c->fcwnd, 16);
	env_close();
}

/* A retransmission is an event of the flow that lost the packet. */
static void loss_is_told_of_its_flow(void **state)
{
	(void)state;
	open_flows(2, 16);
	result(1, 3, 0);
	env_push(0);
	env_run();
	assert_int_equal(env.sent[0].flow, 0);
	result(0, 1, 0);
	env_pass(RTO + SLACK);
	assert_int_equal(env.sent[0].flow, 1);
	assert_int_equal(falcon_ev_get(&env.last_rue, connection_id), ENV_CID);
	assert_int_equal(falcon_ev_get(&env.last_rue, fcwnd_integer), 1);
	env_pass(2 * RTO + SLACK);
	assert_int_equal(falcon_ev_get(&env.last_rue, connection_id), falcon_rue_id(ENV_CID, 1));
	assert_int_equal(falcon_ev_get(&env.last_rue, fcwnd_integer), 3);
	env_close();
}

/* Round-trip times are per flow, and so are retransmission timeouts. */
static void rtt_per_flow(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(2, 16);
	send_on(4, count);
	env.now += 100000;
	env.flow = 1;
	env_ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 2, .rrbpsn = ENV_REQ,
				     .t1 = falcon_time_of_ns(env.now - 100000) });
	assert_int_equal(flow_stats(0).rtt_ns, 0);
	assert_true(flow_stats(1).rtt_ns > 99000 && flow_stats(1).rtt_ns < 101000);
	assert_int_equal(fcore_conn_stats(env.c)->rtt_ns, flow_stats(1).rtt_ns);
	env_close();
}

/* An ACK that is sent long after the packet whose T1 it echoes once more tells of no round trip. */
static void an_echo_counts_once(void **state)
{
	struct falcon_ack a = { .rdbpsn = ENV_DATA + 1, .rrbpsn = ENV_REQ };
	uint32_t count[FALCON_MAX_FLOWS];
	uint64_t rtt;

	(void)state;
	open_flows(1, 16);
	send_on(4, count);
	env.now += 100000;
	a.t1 = falcon_time_of_ns(env.now - 100000);
	env_ack(a);
	rtt = flow_stats(0).rtt_ns;
	env.now += 1000 * RTO;
	env_ack(a);
	assert_int_equal(flow_stats(0).rtt_ns, rtt);
	env.now += 100000;
	a.t1 = falcon_time_of_ns(env.now - 50000);
	env_ack(a);
	assert_true(flow_stats(0).rtt_ns < rtt);
	env_close();
}

/*
 * A peer of another make has one path and hashes what it likes into flow label or port: its ACKs are for our
 * first flow, whatever they seem to name.
 */
static void acks_of_a_stranger_with_any_flow(void **state)
{
	struct falcon_rue_event e;

	(void)state;
	for (uint32_t flows = 1; flows <= 4; flows *= 4)
		for (env.flow = flows; env.flow < FALCON_MAX_FLOWS; env.flow++) {
			uint32_t count[FALCON_MAX_FLOWS], flow = env.flow;

			open_flows(flows, 16);
			env.flow = flow;
			send_on(4, count);
			env.now += 100000;
			env_ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 4, .rrbpsn = ENV_REQ,
						     .t1 = falcon_time_of_ns(env.now - 100000) });
			assert_true(flow_stats(0).rtt_ns > 99000 && flow_stats(0).rtt_ns < 101000);
			e = event_of(flow);
			assert_int_equal(falcon_ev_get(&e, connection_id), falcon_rue_id(ENV_CID, 0));
			assert_true(fcore_rue_event(env.core, &e));
			env_close();
		}
}

/* 10.6.2.1, eack_drop: packets are lost by the heuristic of 9.1.4, not merely out of order. */
static void events_tell_of_losses_by_distance(void **state)
{
	static const struct {
		uint32_t data_rx[4], req[2];
		uint64_t drop;
	} cases[] = {
		{ { 0 }, { 0 }, 0 },
		{ { 0xffffffff, 0xf }, { 0 }, 0 },		/* none is missing */
		{ { 0x2 }, { 0 }, 0 },				/* one ahead of what is missing */
		{ { 0x8 }, { 0 }, 0 },				/* three: the threshold itself */
		{ { 0x10 }, { 0 }, 1 },
		{ { 0xffffffff, 0xfffffff7, 0x7 }, { 0 }, 1 },	/* far from the base */
		{ { 0xffffffff, 0xbfffffff, 0x2 }, { 0 }, 0 },
		{ { 0xffffffff, 0xbfffffff, 0x4 }, { 0 }, 1 },
		{ { 0 }, { 0x8 }, 0 },
		{ { 0 }, { 0x10 }, 1 },
		{ { 0 }, { 0, 1 }, 1 },
	};
	struct fcore_params p = env_params(false);

	(void)state;
	p.ooo_threshold = 3;
	env_open(&p);
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct falcon_ack a = { .type = FALCON_EACK };
		struct falcon_rue_event e = { 0 };

		memcpy(a.data_rx, cases[i].data_rx, sizeof(a.data_rx));
		memcpy(a.req, cases[i].req, sizeof(a.req));
		falcon_rue_event_ack(&env.shared, 0, &a, 1, 2, 0, &e);
		if (falcon_ev_get(&e, eack_drop) != cases[i].drop)
			fail_msg("case %u", i);
		a.type = FALCON_BACK;
		e = (struct falcon_rue_event){ 0 };
		falcon_rue_event_ack(&env.shared, 0, &a, 1, 2, 0, &e);
		assert_int_equal(falcon_ev_get(&e, eack_drop), 0);
	}
	env_close();
}

/* What XDP could not answer goes on the flow of the packet, with that flow's times. */
static void owed_answers_go_on_their_flow(void **state)
{
	(void)state;
	open_flows(1, 8);
	env.shared.rx.flow[3].t1_t2 = 33ULL << 32 | 34;
	env.shared.rx.flow[9].t1_t2 = 99ULL << 32 | 100;
	env.shared.rx.answers_owed = 1U << 3 | 1U << 9;
	fcore_acked(env.c, env.now);
	assert_int_equal(env_run(), 2);
	assert_int_equal(env.sent[0].flow, 3);
	assert_int_equal(env.sent[0].ack.t1, 33);
	assert_int_equal(env.sent[1].flow, 9);
	assert_int_equal(env.sent[1].ack.t1, 99);
	fcore_acked(env.c, env.now);
	assert_int_equal(env_run(), 0);
	env_close();
}

/* Before its first sample a flow goes by another one's, if that is longer than its timeout. */
static void a_new_flow_goes_by_another(void **state)
{
	struct falcon_ack a = { .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				.data_rx = { 0xf0 } };
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(2, 16);
	send_on(8, count);
	assert_int_equal(count[0], 4);
	env.now += 2 * RTO;
	env.flow = 1;
	a.t1 = falcon_time_of_ns(env.now - 2 * RTO - SLACK);
	env_ack(a);
	assert_int_equal(env.c->data.npending, 0);
	env.now += 2 * SLACK;
	env_ack(a);
	assert_int_equal(env.c->data.npending, 4);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acks_per_flow),
		cmocka_unit_test(acks_take_the_peers_path),
		cmocka_unit_test(coalescing_per_flow),
		cmocka_unit_test(acks_of_many_flows_are_not_stranded),
		cmocka_unit_test(acks_behind_data_are_not_stranded),
		cmocka_unit_test(nacks_per_flow),
		cmocka_unit_test(events_are_completed),
		cmocka_unit_test(events_of_nobody),
		cmocka_unit_test(loss_is_told_of_its_flow),
		cmocka_unit_test(rtt_per_flow),
		cmocka_unit_test(an_echo_counts_once),
		cmocka_unit_test(acks_of_a_stranger_with_any_flow),
		cmocka_unit_test(events_tell_of_losses_by_distance),
		cmocka_unit_test(owed_answers_go_on_their_flow),
		cmocka_unit_test(a_new_flow_goes_by_another),
	};

	return unit_run(tests);
}
