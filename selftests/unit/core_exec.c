// SPDX-License-Identifier: BSD-2-Clause
/* Requests that XDP carries out in the core's place: when it has them, and how the core goes on after it. */
#include "core_env.h"

#include <falcon/receive/exec.h>

static void open_offered(void)
{
	struct fcore_params p = env_params(true);

	p.ack_count = 4;
	env_open(&p);
	env.answer = true;
	env.exec_answer = FCORE_EXEC_GIVE;
	fcore_exec_offer(env.c);
	fcore_exec_run(env.core);
}

static void expect_owner(enum falcon_exec_owner owner, uint32_t n)
{
	assert_int_equal(env.shared.exec.owner, falcon_exec_word(owner, ENV_PEER_RSN + n));
}

/* XDP carries out the peer's |n|-th request, a WRITE in one packet. Returns whether an ACK is due. */
static bool xdp_writes(uint32_t n, bool asked)
{
	const struct falcon_write w = { .len = 10, .first = true, .last = true };
	const struct falcon_hdr h = { .type = FALCON_PUSH_DATA, .psn = ENV_PEER_DATA + n };
	struct falcon_exec *e = &env.shared.exec;
	uint32_t rsn = ENV_PEER_RSN + n;
	bool due;

	assert_true(falcon_exec_take(e, rsn));
	assert_int_equal(falcon_rx_window(&env.shared, &h), FALCON_V_rx_data);
	falcon_exec_wrote(&env.shared, &w, h.psn);
	due = falcon_exec_owe(&env.shared, env.flow, asked, env.now);
	falcon_exec_free(e, rsn, rsn + 1);
	if (!due && falcon_exec_watch(&env.shared, env.flow))
		fcore_acked(env.c, env.now);
	return due;
}

/* XDP sends the ACK that is due. */
static void xdp_acks(void)
{
	struct falcon_ack a;

	falcon_ack_told(&env.shared, env.flow, falcon_ack_compose(&env.shared, env.flow, &a));
}

static void given_when_idle(void **state)
{
	(void)state;
	open_offered();
	expect_owner(FALCON_EXEC_FREE, 0);
	assert_int_equal(env.exec_asked, 1);
	/* It is not asked again for what it has given. */
	fcore_exec_run(env.core);
	assert_int_equal(env.exec_asked, 1);
	env_close();
	expect_owner(FALCON_EXEC_AGENT, 0);
	assert_int_equal(env.exec_taken, 1);
}

static void the_upper_layer_decides(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	fcore_exec_run(env.core);
	assert_int_equal(env.exec_asked, 0);
	env.exec_answer = FCORE_EXEC_LATER;
	fcore_exec_offer(env.c);
	fcore_exec_offer(env.c);
	fcore_exec_run(env.core);
	fcore_exec_run(env.core);
	assert_int_equal(env.exec_asked, 2);
	env.exec_answer = FCORE_EXEC_NEVER;
	fcore_exec_run(env.core);
	fcore_exec_run(env.core);
	assert_int_equal(env.exec_asked, 3);
	expect_owner(FALCON_EXEC_AGENT, -ENV_PEER_RSN);
	env.exec_answer = FCORE_EXEC_GIVE;
	fcore_exec_offer(env.c);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_FREE, 0);
	fcore_exec_withdraw(env.c);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_AGENT, 0);
	assert_int_equal(env.exec_asked, 4);
	env_close();
}

static void not_without_an_order(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	env_open(&p);
	env.exec_answer = FCORE_EXEC_GIVE;
	fcore_exec_offer(env.c);
	fcore_exec_run(env.core);
	assert_int_equal(env.exec_asked, 0);
	env_close();
}

/* The core goes on where XDP has stopped, and has what comes next delivered. */
static void goes_on_after_xdp(void **state)
{
	(void)state;
	open_offered();
	xdp_writes(0, false);
	xdp_writes(1, false);
	assert_int_equal(env.nevents, 0);
	assert_int_equal(env_receive_push(2, 2, false), FALCON_V_rx_data);
	expect_owner(FALCON_EXEC_AGENT, 2);
	assert_int_equal(env.exec_taken, 1);
	assert_int_equal(env.exec.packets, 2);
	assert_int_equal(env.exec.bytes, 20);
	assert_int_equal(env.exec.sn, 102);
	assert_int_equal(env.nevents, 1);
	assert_int_equal(env.event[0].rsn, ENV_PEER_RSN + 2);
	assert_int_equal(env.shared.rx_acked.next_rsn, ENV_PEER_RSN + 3);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 3);
	assert_int_equal(fcore_conn_stats(env.c)->push_received, 3);
	/* And XDP after the core. */
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_FREE, 3);
	assert_int_equal(env.shared.exec.packets, 0);
	xdp_writes(3, false);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 4);
	env_close();
	assert_int_equal(env.exec.packets, 1);
}

/* What comes early waits for what is missing; XDP must not go on behind it. */
static void not_past_a_gap(void **state)
{
	(void)state;
	open_offered();
	env_receive_push(1, 1, false);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_AGENT, 0);
	assert_int_equal(env.nevents, 0);
	env_receive_push(0, 0, false);
	assert_int_equal(env.nevents, 2);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_FREE, 2);
	env_close();
}

/* The packet that was missing gets to XDP before the agent has seen what came early. */
static void xdp_fills_the_gap(void **state)
{
	(void)state;
	open_offered();
	xdp_writes(0, false);
	env_receive_push(1, 1, false);
	assert_int_equal(env.event[0].rsn, ENV_PEER_RSN + 1);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_FREE, 2);
	env_close();
}

static void not_before_it_is_ready(void **state)
{
	(void)state;
	open_offered();
	env.answer = false;
	env_receive_push(0, 0, false);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_RNR, 1, 0, env.now);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_AGENT, 0);
	env.answer = true;
	env_pass(20000000);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_FREE, 1);
	env_close();
}

/* A Resync for a request that is still to come: the core skips it when its turn has come. */
static void not_before_a_void_is_skipped(void **state)
{
	(void)state;
	open_offered();
	assert_int_equal(env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA + 1, ENV_PEER_RSN + 1),
			 FALCON_V_rx_resync);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_AGENT, 0);
	env_receive_push(0, 0, false);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_FREE, 2);
	env_close();
}

static void pulls_are_the_agents(void **state)
{
	(void)state;
	open_offered();
	xdp_writes(0, false);
	env_receive_pull(0, 1, 100);
	expect_owner(FALCON_EXEC_AGENT, 1);
	assert_int_equal(env.event[0].what, ENV_PULL);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_FREE, 2);
	env_run();
	env_close();
}

/* Claims are released, since frames were lost; what XDP has carried out is no such claim. */
static void its_claims_stay(void **state)
{
	const struct falcon_hdr lost = { .type = FALCON_PUSH_DATA, .psn = ENV_PEER_DATA + 5 };

	(void)state;
	open_offered();
	xdp_writes(0, false);
	assert_int_equal(falcon_rx_window(&env.shared, &lost), FALCON_V_rx_data);
	env.shared.rx_acked.data_base = ENV_PEER_DATA;	/* as if it had not got past it yet */
	fcore_release_claims(env.c);
	expect_owner(FALCON_EXEC_AGENT, 1);
	assert_int_equal(fcore_conn_stats(env.c)->claims_released, 1);
	assert_true(falcon_ring_test(env.shared.rx.data_rx, FALCON_DATA_WORDS, ENV_PEER_DATA));
	env_close();
}

/* ---- ACKs ---- */

static void the_agent_watches(void **state)
{
	(void)state;
	open_offered();
	assert_false(xdp_writes(0, false));
	assert_int_equal(env_run(), 0);
	assert_int_equal(env_pass(52000), 1);
	assert_int_equal(env.sent[0].type, FALCON_BACK);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 1);
	assert_int_equal(env.shared.rx.acks_watched, 0);
	assert_int_equal(env_pass(1000000), 0);
	env_close();
}

static void asked_or_counted_is_due(void **state)
{
	(void)state;
	open_offered();
	assert_true(xdp_writes(0, true));
	xdp_acks();
	assert_false(xdp_writes(1, false));
	assert_false(xdp_writes(2, false));
	assert_false(xdp_writes(3, false));
	assert_true(xdp_writes(4, false));
	xdp_acks();
	/* Nothing is left for the agent. */
	assert_int_equal(env_pass(1000000), 0);
	assert_int_equal(env.shared.rx.acks_watched, 0);
	env_close();
}

/* An ACK by XDP puts the agent's off: it is for what came thereafter, and in time for that. */
static void xdp_acks_meanwhile(void **state)
{
	(void)state;
	open_offered();
	xdp_writes(0, false);
	env.now += 40000;
	xdp_writes(1, true);
	xdp_acks();
	xdp_writes(2, false);
	assert_int_equal(env_pass(12000), 0);
	assert_int_equal(env_pass(30000), 0);
	assert_int_equal(env_pass(10000), 1);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 3);
	env_close();
}

static int write_in_between(void)
{
	xdp_writes(1, false);
	return 0;
}

/* XDP acknowledges one more while the agent's ACK is on its way out: that has its own in time. */
static void xdp_writes_meanwhile(void **state)
{
	(void)state;
	open_offered();
	xdp_writes(0, false);
	env.on_transmit = write_in_between;
	assert_int_equal(env_pass(52000), 1);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 1);
	env.on_transmit = NULL;
	assert_int_equal(env_pass(52000), 1);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 2);
	env_close();
}

/* What XDP owes is due in time, though the agent, which has not heard of that yet, comes to owe, too. */
static void both_owe(void **state)
{
	(void)state;
	open_offered();
	xdp_writes(0, false);
	env.now += 30000;
	env_receive_push(1, 1, false);
	assert_int_equal(env_pass(22000), 1);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 2);
	env_close();
}

/* What could not be sent for want of room in the frame, the core sends at once. */
static void what_xdp_cannot_send(void **state)
{
	(void)state;
	open_offered();
	assert_true(xdp_writes(0, true));
	falcon_rx_owe_answer(&env.shared, env.flow);
	fcore_acked(env.c, env.now);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 1);
	env_close();
}

static void nothing_of_the_dead(void **state)
{
	(void)state;
	open_offered();
	env_push(1);
	env_run();
	for (int i = 0; i < 40 && !env.fatals; i++)
		env_pass(100000000);
	assert_int_equal(env.fatals, 1);
	expect_owner(FALCON_EXEC_AGENT, 0);
	fcore_exec_offer(env.c);
	fcore_exec_run(env.core);
	expect_owner(FALCON_EXEC_AGENT, 0);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_when_idle),
		cmocka_unit_test(the_upper_layer_decides),
		cmocka_unit_test(not_without_an_order),
		cmocka_unit_test(goes_on_after_xdp),
		cmocka_unit_test(not_past_a_gap),
		cmocka_unit_test(xdp_fills_the_gap),
		cmocka_unit_test(not_before_it_is_ready),
		cmocka_unit_test(not_before_a_void_is_skipped),
		cmocka_unit_test(pulls_are_the_agents),
		cmocka_unit_test(its_claims_stay),
		cmocka_unit_test(the_agent_watches),
		cmocka_unit_test(asked_or_counted_is_due),
		cmocka_unit_test(xdp_acks_meanwhile),
		cmocka_unit_test(xdp_writes_meanwhile),
		cmocka_unit_test(both_owe),
		cmocka_unit_test(what_xdp_cannot_send),
		cmocka_unit_test(nothing_of_the_dead),
	};

	return unit_run(tests);
}
