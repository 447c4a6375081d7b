// SPDX-License-Identifier: BSD-2-Clause
/* Multipath: which flow a packet takes, windows, pacing and paths of each (paper 4.3). */
#include "core_flows.h"

static void flows_are_bounded(void **state)
{
	static const struct {
		uint32_t asked, got;
	} cases[] = { { 0, 1 }, { 1, 1 }, { 4, 4 }, { 16, 16 }, { 17, 16 }, { UINT32_MAX, 16 } };
	struct fcore_flow_stats s;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		open_flows(cases[i].asked, 100);
		assert_int_equal(fcore_conn_flow(env.c, 0, &s), cases[i].got);
		assert_int_equal(fcore_conn_flow(env.c, 16, &s), cases[i].got);
		env_close();
	}
}

/* The initial window is the connection's, and equal flows take turns. */
static void equal_flows_take_turns(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(4, 32);
	send_on(40, count);
	assert_int_equal(env.nsent, 32);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(count[i], 8);
		assert_int_equal(flow_stats(i).fcwnd, 8 << FRACTION);
		assert_int_equal(flow_stats(i).outstanding, 8);
		assert_int_equal(flow_stats(i).sent, 8);
	}
	assert_int_not_equal(env.sent[0].flow, env.sent[1].flow);
	env_close();
}

/* Largest difference of window and unacknowledged packets: windows fill up alike. */
static void largest_open_window(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(3, 3);
	result(0, 10, 0);
	result(1, 4, 0);
	result(2, 7, 0);
	send_on(9, count);
	assert_int_equal(count[0], 6);	/* 4 open each */
	assert_int_equal(count[1], 0);
	assert_int_equal(count[2], 3);
	send_on(12, count);
	assert_int_equal(count[0] + count[1] + count[2], 12);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(count[i], 4);
	env_close();
}

/* The aggregate gates, capped by the receiver's windows. */
static void connection_window_is_the_sum(void **state)
{
	(void)state;
	open_flows(2, 20);
	result(0, 3, 0);
	result(1, 5, 0);
	assert_int_equal(env.c->fcwnd, 8);
	assert_int_equal(env.shared.cc.fcwnd, 8 << FRACTION);
	assert_int_equal(env.c->data.limit, 8);
	result(0, 300, 0);
	assert_int_equal(env.c->fcwnd, 305);
	assert_int_equal(env.c->data.limit, FALCON_DATA_WINDOW);
	assert_int_equal(env.c->req.limit, FALCON_REQ_WINDOW);
	env_close();
}

/* Fractions add up: two halves are one packet; however small the sum, one packet may go. */
static void fractions_add_up(void **state)
{
	struct falcon_rue_result r = { 0 };

	(void)state;
	open_flows(2, 20);
	falcon_res_put(&r, fcwnd_fraction, 1023);
	falcon_res_put(&r, ncwnd, 5);
	falcon_res_put(&r, connection_id, falcon_rue_id(ENV_CID, 1));
	fcore_rue_result(env.c, &r, env.now);
	result(0, 0, 0);
	assert_int_equal(env.c->fcwnd, 1);
	result(0, 1, 0);
	assert_int_equal(env.c->fcwnd, 1);
	result(0, 2, 0);
	assert_int_equal(env.c->fcwnd, 2);
	env_close();
}

/* What is acknowledged opens its flow's window again, wherever the ACK came from. */
static void acked_packets_leave_their_flow(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(2, 8);
	send_on(8, count);
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t before = flow_stats(env.sent[i].flow).outstanding;

		env.flow = 1;
		env_ack_all(i + 1, 0);
		assert_int_equal(flow_stats(env.sent[i].flow).outstanding, before - 1);
	}
	env_close();
}

/* An outage: what was lost on one flow goes out on the others (D6). */
static void retransmissions_choose_again(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS], again = 0;
	uint32_t lost;

	(void)state;
	open_flows(2, 8);
	send_on(8, count);
	lost = env.sent[0].flow;
	/* All of the other flow arrive. */
	for (uint32_t i = 0; i < 8; i += 2)
		assert_int_equal(env.sent[i].flow, lost);
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_ack = { 0xaa }, .data_rx = { 0xaa } });
	env_pass(RTO + SLACK);
	assert_int_equal(env.nsent, 4);
	for (uint32_t i = 0; i < 4; i++)
		again += env.sent[i].flow != lost;
	assert_true(again >= 2);
	assert_int_equal(flow_stats(0).outstanding + flow_stats(1).outstanding, 4);
	assert_int_equal(flow_stats(lost).lost, 4);
	env_ack_all(8, 0);
	assert_int_equal(flow_stats(0).outstanding + flow_stats(1).outstanding, 0);
	env_close();
}

/*
 * A path that swallows everything, and whose flow would have the most room for that very reason:
 * it gets one packet now and then, and everything again once that has been acknowledged.
 */
static void a_silent_flow_is_only_probed(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS], dead, probes = 0;

	(void)state;
	open_flows(2, 8);
	send_on(2, count);
	dead = env.sent[0].flow;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_ack = { 0x2 }, .data_rx = { 0x2 } });
	env.c->flow[dead].silent = 2;
	env.c->flow[dead].timeouts = 2;
	env.c->flow[dead].last_timeout = env.now;
	send_on(3, count);
	assert_int_equal(count[dead], 0);
	assert_int_equal(count[1 - dead], 3);
	env_ack_all(5, 0);
	assert_int_equal(env.c->flow[dead].silent, 0);
	env.c->flow[dead].silent = env.c->flow[dead].timeouts = 2;
	env.c->flow[dead].last_timeout = env.now;
	env.now += 4 * RTO;
	send_on(4, count);
	probes = sent_on(dead);
	assert_int_equal(probes, 1);
	env_ack_all(9, 0);
	send_on(4, count);
	assert_int_equal(sent_on(dead), 2);
	env_close();
}

/* Without another flow, a silent one carries what there is. */
static void all_flows_silent(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(2, 8);
	for (int i = 0; i < 2; i++) {
		env.c->flow[i].silent = env.c->flow[i].timeouts = 5;
		env.c->flow[i].last_timeout = env.now;
	}
	send_on(3, count);
	assert_int_equal(env.nsent, 3);
	env_ack_all(3, 0);
	/* Pacing is theirs all the same. */
	for (uint32_t i = 0; i < 2; i++) {
		result(i, 0, 100);
		env.c->flow[i].silent = env.c->flow[i].timeouts = 5;
		env.c->flow[i].last_timeout = env.c->flow[i].pace_from = env.now;
	}
	send_on(1, count);
	assert_int_equal(env.nsent, 0);
	assert_int_equal(env_pass(52500), 1);
	env_close();
}

/* Windows beyond what a connection may have on the wire: a small one has its part all the same. */
static void windows_share_the_connection(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(4, 128);
	for (uint32_t i = 0; i < 4; i++)
		result(i, i ? 300 : 100, 0);
	send_on(FALCON_DATA_WINDOW, count);
	assert_int_equal(env.nsent, FALCON_DATA_WINDOW);
	assert_in_range(count[0], 12, 14);	/* 128 * 100 / 1000 */
	assert_in_range(count[1], 37, 40);
	env_close();
}

/* A window that has collapsed can only grow again if its flow carries something. */
static void an_idle_flow_has_its_turn(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(2, 16);
	result(0, 1, 0);
	result(1, 8, 0);
	env.c->flow[0].pace_from = env.c->flow[1].pace_from = env.now;
	send_on(4, count);
	assert_int_equal(count[0], 0);
	env_ack_all(4, 0);
	env.now += 3 * RTO;
	env.c->flow[1].pace_from = env.now;
	send_on(4, count);
	assert_int_equal(count[0], 1);
	env_close();
}

/* A flow whose window is below one packet is paced; the other goes on. */
static void a_paced_flow_stands_back(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];

	(void)state;
	open_flows(2, 8);
	result(0, 0, 100);	/* 51.2 us */
	result(1, 4, 0);
	env.c->flow[0].pace_from = env.now;
	send_on(4, count);
	assert_int_equal(count[0], 0);
	assert_int_equal(count[1], 4);
	env_close();
}

static void all_flows_paced(void **state)
{
	(void)state;
	open_flows(2, 8);
	result(0, 0, 100);
	result(1, 0, 200);
	env.c->flow[0].pace_from = env.c->flow[1].pace_from = env.now;
	env_push(0);
	assert_int_equal(env_run(), 0);
	assert_true(fcore_next_deadline(env.core, env.now) <= env.now + 53000);
	assert_int_equal(env_pass(52500), 1);
	assert_int_equal(env.sent[0].flow, 0);
	env_close();
}

/* Every flow has a path of its own; a result may change it (PLB), for that flow alone. */
static void plb_changes_the_path(void **state)
{
	struct falcon_rue_result r = { 0 };
	uint16_t before[4];

	(void)state;
	open_flows(4, 8);
	for (uint32_t i = 0; i < 4; i++) {
		before[i] = flow_stats(i).path;
		for (uint32_t n = 0; n < i; n++)
			assert_int_not_equal(before[i], before[n]);
	}
	falcon_res_put(&r, connection_id, falcon_rue_id(ENV_CID, 2));
	falcon_res_put(&r, randomize_path, 1);
	falcon_res_put(&r, fcwnd, 8);
	fcore_rue_result(env.c, &r, env.now);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(flow_stats(i).path != before[i], i == 2);
	assert_int_equal(fcore_conn_stats(env.c)->repaths, 1);
	env_close();
}

/* Protective ReRoute: timeouts in a row change the path, an acknowledgment in between does not. */
static void repeated_timeouts_change_the_path(void **state)
{
	uint32_t count[FALCON_MAX_FLOWS];
	uint16_t path;

	(void)state;
	open_flows(1, 8);
	path = flow_stats(0).path;
	send_on(3, count);
	assert_int_equal(env.sent[0].path, path);
	env_pass(RTO + SLACK);		/* three packets, one timeout */
	assert_int_equal(env.nsent, 3);
	assert_int_equal(flow_stats(0).path, path);
	env_ack_all(1, 0);
	env_pass(2 * RTO + SLACK);
	assert_int_equal(flow_stats(0).path, path);
	env_pass(4 * RTO + SLACK);
	assert_int_not_equal(flow_stats(0).path, path);
	assert_int_equal(env.sent[0].path, flow_stats(0).path);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_are_bounded),
		cmocka_unit_test(equal_flows_take_turns),
		cmocka_unit_test(largest_open_window),
		cmocka_unit_test(connection_window_is_the_sum),
		cmocka_unit_test(fractions_add_up),
		cmocka_unit_test(acked_packets_leave_their_flow),
		cmocka_unit_test(retransmissions_choose_again),
		cmocka_unit_test(a_silent_flow_is_only_probed),
		cmocka_unit_test(all_flows_silent),
		cmocka_unit_test(windows_share_the_connection),
		cmocka_unit_test(an_idle_flow_has_its_turn),
		cmocka_unit_test(a_paced_flow_stands_back),
		cmocka_unit_test(all_flows_paced),
		cmocka_unit_test(plb_changes_the_path),
		cmocka_unit_test(repeated_timeouts_change_the_path),
	};

	return unit_run(tests);
}
