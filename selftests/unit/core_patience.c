// SPDX-License-Identifier: BSD-2-Clause
/* A target that waits a moment before it says RNR; an initiator that waits as long as it is told. */
#include "core_target_env.h"

enum { US = 1000, PATIENCE = 10000 * US, RNR_CODE = 6, RNR_TIMEOUT = 80 * US, SLACK = 2 * US };

/* The latest NACK, and when the ULP has refused a delivery. */
static struct {
	struct falcon_ack nack;
	uint64_t at[ENV_EVENTS];
	uint32_t n;
} refused;

static void open_patient(bool ordered)
{
	struct fcore_params p = env_params(ordered);

	p.rnr_patience_ns = PATIENCE;
	refused.n = 0;
	env_open(&p);
}

/* Refuse what is delivered now. */
static void refuse(uint32_t r)
{
	refused.at[refused.n++ % ENV_EVENTS] = env.now;
	done(r, FCORE_PUSH_RNR, RNR_CODE, 0);
}

/* A connection to which the first push has come, and has been refused. */
static void open_refused(bool ordered)
{
	open_patient(ordered);
	env_receive_push(0, 0, false);
	refuse(0);
}

/* The ULP refuses what is delivered within |ns|. Returns how many deliveries there were. */
static uint32_t refuse_for(uint64_t ns)
{
	uint32_t first = refused.n;

	for (uint64_t end = env.now + ns; env.now < end;) {
		env.nevents = 0;
		env_pass(US);
		for (uint32_t i = 0; i < env.nevents; i++)
			refuse(env.event[i].rsn - ENV_PEER_RSN);
		env_run();
		if (env.nsent && env.sent[0].type == FALCON_NACK)
			refused.nack = env.sent[0].ack;
	}
	return refused.n - first;
}

/* The peer hears of nothing but the arrival; the push and what waits behind it are taken in order. */
static void ready_in_time(void **state)
{
	(void)state;
	open_patient(true);
	env_receive_push(0, 1, false);
	env_receive_push(1, 2, false);
	env_receive_pull(0, 0, false);
	done(1, FCORE_PUSH_RNR, RNR_CODE, 0);
	done(2, FCORE_PUSH_RNR, RNR_CODE, 0);
	env_receive_push(2, 3, false);
	assert_true(refuse_for(PATIENCE / 2) > 2);
	env.answer = true;
	env.nevents = 0;
	env_pass(FC_PATIENCE_MAX);
	assert_int_equal(delivered(), 123);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 3);
	assert_int_equal(fcore_conn_stats(env.c)->rnr_nacks_sent, 0);
	env_close();
}

/* Attempts: after the shortest interval, then whenever the wait has doubled, then at the longest. */
static void intervals_grow(void **state)
{
	(void)state;
	open_refused(false);
	assert_in_range(refuse_for(PATIENCE - SLACK), 10, 20);
	for (uint32_t i = 1; i < refused.n; i++) {
		uint64_t waited = refused.at[i - 1] - refused.at[0], gap = waited;

		if (waited < FC_PATIENCE_MIN)
			gap = FC_PATIENCE_MIN;
		if (waited > FC_PATIENCE_MAX)
			gap = FC_PATIENCE_MAX;
		assert_in_range(refused.at[i] - refused.at[i - 1], gap, gap + SLACK);
	}
	env_close();
}

/* Then it is as if there had been none: a NACK each time, and the PSN is open for a repetition. */
static void patience_ends(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		open_refused(ordered);
		refuse_for(PATIENCE - SLACK);
		assert_int_equal(fcore_conn_stats(env.c)->rnr_nacks_sent, 0);
		assert_int_equal(env_receive_push(0, 0, false), FALCON_V_dup_acked);
		assert_int_equal(refuse_for(2 * SLACK), 1);
		assert_int_equal(refused.nack.nack_code, FALCON_NACK_RNR);
		assert_int_equal(refused.nack.nack_psn, ENV_PEER_DATA);
		assert_int_equal(refused.nack.rnr, RNR_CODE);
		assert_int_equal(refuse_for(RNR_TIMEOUT - 2 * SLACK), 0);
		assert_int_equal(refuse_for(3 * SLACK), 1);
		assert_int_equal(fcore_conn_stats(env.c)->rnr_nacks_sent, 2);
		env.answer = true;
		assert_int_equal(env_receive_push(0, 0, false), FALCON_V_rx_data);
		assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
		env_close();
	}
}

/* The next push begins with all of the patience; and what follows one that is RNRed is RNRed (8.5.3.4). */
static void every_push_has_its_own(void **state)
{
	(void)state;
	open_refused(true);
	refuse_for(PATIENCE + SLACK);
	env_receive_push(1, 1, false);
	env_run();
	assert_int_equal(fcore_conn_stats(env.c)->rnr_nacks_sent, 2);
	env.answer = true;
	assert_int_equal(env_receive_push(0, 0, false), FALCON_V_rx_data);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 2);
	env.answer = false;
	env_receive_push(2, 2, false);
	done(2, FCORE_PUSH_RNR, RNR_CODE, 0);
	env_receive_push(3, 3, false);
	refuse_for(PATIENCE - SLACK);
	assert_int_equal(fcore_conn_stats(env.c)->rnr_nacks_sent, 2);
	env_close();
}

/* A NACK that is still owed to what follows is not sent when what it follows has become patient. */
static void owed_nack_is_forgotten(void **state)
{
	(void)state;
	open_refused(true);
	refuse_for(PATIENCE + SLACK);
	env_receive_push(1, 1, false);
	env_receive_push(2, 2, false);
	env_receive_push(0, 0, false);
	done(0, FCORE_PUSH_ACK, 0, 0);
	done(1, FCORE_PUSH_RNR, RNR_CODE, 0);
	done(2, FCORE_PUSH_RNR, RNR_CODE, 0);
	env_run();
	assert_int_equal(nacks_sent(), 0);
	env_close();
}

/* Unordered: the pushes after one that is held do not wait for it. */
static void others_go_on(void **state)
{
	(void)state;
	open_refused(false);
	env.answer = true;
	env_receive_push(1, 1, false);
	assert_int_equal(env.nevents, 2);
	env_pass(FC_PATIENCE_MIN + SLACK);
	assert_int_equal(env.nevents, 3);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 2);
	env_close();
}

/* The peer gives up meanwhile: it is answered, and the frame goes back with the next attempt. */
static void resync_meanwhile(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		open_refused(ordered);
		env_receive_resync(FALCON_PUSH_DATA, ENV_PEER_DATA, ENV_PEER_RSN);
		assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
		assert_int_equal(refuse_for(FC_PATIENCE_MIN + SLACK), 1);
		assert_int_equal(env.frames, 0);
		env.answer = true;
		env.nevents = 0;
		env_receive_push(1, 1, false);
		assert_int_equal(env.nevents, 1);
		env_close();
	}
}

/* Frames and cells that wait come from the Net Req pools, and go back when the connection ends. */
static void held_as_received(void **state)
{
	(void)state;
	open_patient(true);
	for (uint32_t i = 0; i < 20; i++) {
		env_receive_push(i, i, false);
		done(i, FCORE_PUSH_RNR, RNR_CODE, 0);
	}
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_CONN, ENV_CID)->used[FCORE_NET_PKT_RX],
			 20);
	env_close();
}

/* The peer RNRs our |n|-th push. */
static void rnr(uint32_t n)
{
	env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = env.c->data.base, .rrbpsn = ENV_REQ,
				     .nack_psn = ENV_DATA + n, .nack_code = FALCON_NACK_RNR,
				     .rnr = RNR_CODE });
}

/* As long as the target says RNR, and the ULP is content with that, the transaction does not time out. */
static void timeout_begins_anew(void **state)
{
	(void)state;
	for (int content = 0; content < 2; content++) {
		for (int ordered = 0; ordered < 2; ordered++) {
			struct fcore_params p = env_params(ordered);

			p.rto_ns = 10 * p.txn_timeout_ns;
			env_open(&p);
			env.rnr_for_ever = content;
			env_push(0);
			env_pull(1, 10);
			env_run();
			for (int i = 0; i < 2; i++) {
				env.now += p.txn_timeout_ns / 4 * 3;
				rnr(0);
				env_run();
			}
			/* Unordered, the pull has a timeout of its own. */
			assert_int_equal(env.nevents, !content ? 2 : ordered ? 0 : 1);
			env_pass(p.txn_timeout_ns + SLACK);
			assert_int_equal(env.nevents, 2);
			assert_int_equal(env.event[0].code, kCmplLocalTO);
			env_close();
		}
	}
}

/* Ordered: what is RNRed because it follows another (8.5.3.4) has not been tried, and that does not count. */
static void only_the_oldest_counts(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		struct fcore_params p = env_params(ordered);

		env_open(&p);
		env_push(10);
		env_push(11);
		env_run();
		rnr(0);
		assert_int_equal(env.rnr_cookie, 10);
		rnr(1);
		assert_int_equal(env.rnr_cookie, ordered ? 10 : 11);
		env_ack_all(1, 0);
		env.rnr_times = 0;
		env_pass(2 * p.rto_ns);
		rnr(1);
		assert_int_equal(env.rnr_cookie, 11);
		assert_int_equal(env.rnr_times, ordered ? 1 : 2);
		env_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ready_in_time),
		cmocka_unit_test(intervals_grow),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(every_push_has_its_own),
		cmocka_unit_test(owed_nack_is_forgotten),
		cmocka_unit_test(others_go_on),
		cmocka_unit_test(resync_meanwhile),
		cmocka_unit_test(held_as_received),
		cmocka_unit_test(timeout_begins_anew),
		cmocka_unit_test(only_the_oldest_counts),
	};

	return unit_run(tests);
}
