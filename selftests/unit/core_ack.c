// SPDX-License-Identifier: BSD-2-Clause
/* ACK generation: AR, coalescing by time and count, piggybacking, BACK or EACK (Falcon 9.1.6). */
#include "core_env.h"

/* The single packet that a run sends must be an ACK of |type|. */
static const struct falcon_ack *only_ack(uint8_t type)
{
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, type);
	return &env.sent[0].ack;
}

static void open_with(uint32_t count, bool answer)
{
	struct fcore_params p = env_params(true);

	p.ack_count = count;
	env_open(&p);
	env.answer = answer;
}

static void requested(void **state)
{
	(void)state;
	open_with(1000, true);
	env_receive_push(0, 0, true);
	assert_int_equal(only_ack(FALCON_BACK)->rdbpsn, ENV_PEER_DATA + 1);
	assert_int_equal(env_pass(10000000), 0);
	env_close();
}

/* The AR of push data is honoured when the ULP has acknowledged it, not before. */
static void requested_push_waits_for_ulp(void **state)
{
	(void)state;
	open_with(1000, false);
	env_receive_push(0, 0, true);
	assert_int_equal(env_run(), 0);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_ACK, 0, 0, env.now);
	assert_int_equal(only_ack(FALCON_BACK)->rdbpsn, ENV_PEER_DATA + 1);
	env_close();
}

/* The upper layer was not ready for push 0, and the peer has been told. */
static void refuse_first(uint8_t rnr)
{
	open_with(1000, false);
	env_receive_push(0, 0, false);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_RNR, rnr, 0, env.now);
	only_ack(FALCON_NACK);
	env_pass(60000);
}

/* What a push asked for when it came again counts, not what it asked for at first. */
static void requested_by_repetition(void **state)
{
	(void)state;
	refuse_first(17);	/* 3.84 ms */
	env_receive_push(0, 0, true);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_ACK, 0, 0, env.now);
	assert_int_equal(only_ack(FALCON_BACK)->rdbpsn, ENV_PEER_DATA + 1);
	env_close();
}

/* A push that has come again is reported as received, in time. */
static void repetition_starts_the_timer(void **state)
{
	(void)state;
	refuse_first(17);
	env_receive_push(0, 0, false);
	assert_int_equal(env_run(), 0);
	env.now += 52000;
	assert_int_equal(only_ack(FALCON_EACK)->data_rx[0], 1);
	env_close();
}

/* An ACK that the receive path has told meanwhile takes no turn from what is to be sent. */
static void told_by_the_receive_path(void **state)
{
	(void)state;
	open_with(1000, false);
	env_receive_pull(0, 0, true);
	falcon_ack_told(&env.shared, 0, env.shared.rx.flow[0].acked);
	env_push(0);
	env.nsent = 0;
	assert_int_equal(fcore_run(env.core, env.now, 1), 1);
	assert_int_equal(env.nsent, 1);
	assert_int_equal(env.sent[0].type, FALCON_PUSH_DATA);
	env_close();
}

/* A batch is answered once, with the state after all of it. */
static void once_a_batch(void **state)
{
	(void)state;
	open_with(1000, true);
	for (uint32_t n = 0; n < 20; n++)
		env_receive_push(n, n, true);
	assert_int_equal(only_ack(FALCON_BACK)->rdbpsn, ENV_PEER_DATA + 20);
	assert_int_equal(env_run(), 0);
	env_close();
}

/* XDP could not fit its answer into the refused frame: the core gives it, once. */
static void answer_owed_by_xdp(void **state)
{
	(void)state;
	open_with(1000, true);
	env.shared.rx.answers_owed = 1;
	fcore_acked(env.c, env.now);
	only_ack(FALCON_BACK);
	fcore_acked(env.c, env.now);
	assert_int_equal(env_run(), 0);
	env_close();
}

static void coalesced_by_time(void **state)
{
	(void)state;
	open_with(1000, true);
	env_receive_push(0, 0, false);
	assert_int_equal(env_run(), 0);
	assert_true(fcore_next_deadline(env.core, env.now) <= env.now + 52000);
	assert_int_equal(env_pass(40000), 0);
	env_receive_push(1, 1, false);
	env.now += 12000;	/* 50 us after the first */
	assert_int_equal(only_ack(FALCON_BACK)->rdbpsn, ENV_PEER_DATA + 2);
	assert_int_equal(env_pass(1000000), 0);
	env_close();
}

static void coalesced_by_count(void **state)
{
	(void)state;
	open_with(4, true);
	for (uint32_t n = 0; n < 3; n++)
		env_receive_push(n, n, false);
	assert_int_equal(env_run(), 0);
	env_receive_pull(0, 3, false);
	env.answer = false;
	env_run();
	assert_int_equal(env.nsent, 1);
	assert_int_equal(env.sent[0].type, FALCON_PULL_DATA);	/* took the ACK along */
	for (uint32_t n = 0; n < 4; n++)
		env_receive_pull(1 + n, 4 + n, false);
	assert_int_equal(only_ack(FALCON_BACK)->rrbpsn, ENV_PEER_REQ + 5);
	env_close();
}

/* The deadline counts from what is owed now, not from what was acknowledged meanwhile. */
static void timer_starts_anew(void **state)
{
	(void)state;
	open_with(1000, true);
	env_receive_push(0, 0, false);
	env.now += 30000;
	env_receive_push(1, 1, true);
	only_ack(FALCON_BACK);
	env.now += 10000;
	env_receive_push(2, 2, false);
	assert_int_equal(env_pass(15000), 0);	/* the first packet's timer fires in vain */
	assert_int_equal(env_pass(30000), 0);
	env.now += 10000;
	only_ack(FALCON_BACK);
	env_close();
}

static void piggybacked(void **state)
{
	(void)state;
	open_with(1000, true);
	env_receive_push(0, 0, false);
	env_push(0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].hdr.rdbpsn, ENV_PEER_DATA + 1);
	assert_int_equal(env_pass(1000000 - 10000), 0);
	env_close();
}

/* A piggybacked base is no answer to AR: that one wants the timestamps, too. */
static void piggyback_is_no_answer_to_ar(void **state)
{
	(void)state;
	open_with(1000, true);
	env_receive_push(0, 0, true);
	env_push(0);
	assert_int_equal(env_run(), 2);
	assert_int_equal(env.sent[0].type, FALCON_PUSH_DATA);
	assert_int_equal(env.sent[1].type, FALCON_BACK);
	env_close();
}

/* With something in the bitmaps a base does not say all: the ACK stays owed. */
static void piggyback_with_bitmaps(void **state)
{
	const struct falcon_ack *a;

	(void)state;
	open_with(1000, true);
	env_receive_push(1, 1, false);
	env_push(0);
	assert_int_equal(env_run(), 1);
	env.now += 52000;
	a = only_ack(FALCON_EACK);
	assert_int_equal(a->rdbpsn, ENV_PEER_DATA);
	assert_int_equal(a->data_rx[0], 0x2);
	assert_int_equal(a->data_ack[0], 0);
	env_close();
}

static void piggyback_with_own(void **state)
{
	(void)state;
	open_with(1000, true);
	env_receive_push(0, 0, false);
	assert_int_equal(env_receive_push(FALCON_DATA_WINDOW + 1, 500, false),
			 FALCON_V_oow_acked);
	env_push(0);
	assert_int_equal(env_run(), 1);
	env.now += 52000;
	assert_int_equal(only_ack(FALCON_EACK)->own, FALCON_OWN_DATA);
	assert_int_equal(env.shared.rx.own, 0);
	env_close();
}

/* Received but not acknowledged, in sequence, too: RACK needs an EACK then (9.1.6). */
static void back_or_eack(void **state)
{
	const struct falcon_ack *a;

	(void)state;
	open_with(1000, false);
	for (uint32_t n = 0; n < 3; n++)
		env_receive_push(n, n, false);
	env.now += 52000;
	a = only_ack(FALCON_EACK);
	assert_int_equal(a->data_rx[0], 0x7);
	assert_int_equal(a->data_ack[0], 0);
	fcore_push_done(env.c, ENV_PEER_RSN + 2, FCORE_PUSH_ACK, 0, 0, env.now);
	env.now += 52000;
	a = only_ack(FALCON_EACK);
	assert_int_equal(a->rdbpsn, ENV_PEER_DATA);
	assert_int_equal(a->data_ack[0], 0x4);
	assert_int_equal(a->data_rx[0], 0x7);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_ACK, 0, 0, env.now);
	fcore_push_done(env.c, ENV_PEER_RSN + 1, FCORE_PUSH_ACK, 0, 0, env.now);
	env.now += 52000;
	assert_int_equal(only_ack(FALCON_BACK)->rdbpsn, ENV_PEER_DATA + 3);
	env_close();
}

/* A refused ACK stays due, and the OWN bits with it. */
static void refused(void **state)
{
	(void)state;
	open_with(1000, true);
	env_receive_push(FALCON_DATA_WINDOW, 500, false);
	env_receive_push(0, 0, true);
	env.refuse = 1;
	assert_int_equal(env_run(), 0);
	assert_int_equal(env.shared.rx.own, FALCON_OWN_DATA);
	assert_int_equal(only_ack(FALCON_EACK)->own, FALCON_OWN_DATA);
	assert_int_equal(fcore_conn_stats(env.c)->tx_acks, 1);
	env_close();
}

/* The budget has room for the ACK even if data would fill it. */
static void not_starved_by_data(void **state)
{
	bool acked = false;

	(void)state;
	open_with(1000, true);
	for (uint32_t n = 0; n < 100; n++)
		env_push(n);
	env_receive_push(0, 0, true);
	env.nsent = 0;
	fcore_run(env.core, env.now, FC_QUANTUM);
	for (uint32_t n = 0; n < env.nsent; n++)
		acked |= env.sent[n].type == FALCON_BACK;
	assert_true(acked);
	assert_int_equal(env.nsent, FC_QUANTUM);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requested),
		cmocka_unit_test(requested_push_waits_for_ulp),
		cmocka_unit_test(requested_by_repetition),
		cmocka_unit_test(repetition_starts_the_timer),
		cmocka_unit_test(told_by_the_receive_path),
		cmocka_unit_test(once_a_batch),
		cmocka_unit_test(answer_owed_by_xdp),
		cmocka_unit_test(coalesced_by_time),
		cmocka_unit_test(coalesced_by_count),
		cmocka_unit_test(timer_starts_anew),
		cmocka_unit_test(piggybacked),
		cmocka_unit_test(piggyback_is_no_answer_to_ar),
		cmocka_unit_test(piggyback_with_bitmaps),
		cmocka_unit_test(piggyback_with_own),
		cmocka_unit_test(back_or_eack),
		cmocka_unit_test(refused),
		cmocka_unit_test(not_starved_by_data),
	};

	return unit_run(tests);
}
