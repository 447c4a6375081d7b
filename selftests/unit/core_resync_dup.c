// SPDX-License-Identifier: BSD-2-Clause
/*
 * A Resync for a PSN that was received before (Falcon 11): the initiator has given up on a push that
 * still waits at the target, so the PSN is acknowledged for it, whatever else is on its way.
 */
#include "core_env.h"

static void open_target(bool ordered)
{
	struct fcore_params p = env_params(ordered);

	env_open(&p);
}

static enum falcon_verdict resync(uint32_t n, uint32_t rsn)
{
	return env_receive((struct falcon_hdr){ .type = FALCON_RESYNC,
						.resync_type = FALCON_PUSH_DATA,
						.resync_code = FALCON_RESYNC_TXN_TIMEOUT,
						.psn = ENV_PEER_DATA + n,
						.rsn = ENV_PEER_RSN + rsn }, 0);
}

static void done(uint32_t rsn, enum fcore_push_outcome outcome)
{
	fcore_push_done(env.c, ENV_PEER_RSN + rsn, outcome, 0, 0, env.now);
}

static uint32_t base(void)
{
	return env.shared.rx_acked.data_base - ENV_PEER_DATA;
}

static void s11_receiver_duplicate_resync_acks_its_psn(void **state)
{
	(void)state;
	open_target(true);
	env_receive_push(0, 0, false);
	assert_int_equal(env.nevents, 1);
	assert_int_equal(base(), 0);
	assert_int_equal(resync(0, 0), FALCON_V_rx_resync_dup);
	assert_int_equal(base(), 1);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_BACK);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 1);
	/* Once acknowledged, XDP answers by itself. */
	assert_int_equal(resync(0, 0), FALCON_V_old_acked);
	/* The upper layer's answer comes late, and moves nothing. */
	assert_int_equal(env.frames, 1);
	done(0, FCORE_PUSH_ACK);
	assert_int_equal(env.frames, 0);
	assert_int_equal(base(), 1);
	assert_int_equal(fc_rx_ahead(env.c), 0);
	env_close();
}

/* Not the oldest: the bitmap says it. */
static void s11_receiver_duplicate_resync_in_the_window(void **state)
{
	(void)state;
	open_target(false);
	env_receive_push(0, 0, false);
	env_receive_push(5, 5, false);
	assert_int_equal(resync(5, 5), FALCON_V_rx_resync_dup);
	assert_int_equal(base(), 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_EACK);
	assert_int_equal(env.sent[0].ack.data_ack[0], 1 << 5);
	assert_int_equal(resync(5, 5), FALCON_V_dup_acked);
	done(5, FCORE_PUSH_ACK);
	done(0, FCORE_PUSH_ACK);
	assert_int_equal(base(), 1);
	assert_int_equal(fc_rx_ahead(env.c), 1);
	env_close();
}

/* An error reported after the Resync has nobody to go to, and holds no slot. */
static void error_after_resync(void **state)
{
	(void)state;
	open_target(true);
	env_receive_push(0, 0, false);
	resync(0, 0);
	env_run();
	done(0, FCORE_PUSH_CIE);
	assert_int_equal(env_run(), 0);
	assert_int_equal(env.frames, 0);
	assert_int_equal(base(), 1);
	env_receive_push(1, 1, true);
	done(1, FCORE_PUSH_ACK);
	assert_int_equal(base(), 2);
	env_close();
}

/* The push is claimed and waits in a socket while its Resync comes by another queue. */
static void resync_overtakes_the_claimed_push(void **state)
{
	struct falcon_hdr h = { .type = FALCON_PUSH_DATA, .psn = ENV_PEER_DATA,
				.rsn = ENV_PEER_RSN, .request_len = 7 };
	uint8_t *frame = calloc(1, 7);

	(void)state;
	open_target(true);
	assert_int_equal(falcon_rx_window(&env.shared, &h), FALCON_V_rx_data);
	assert_int_equal(resync(0, 0), FALCON_V_rx_resync_dup);
	assert_int_equal(base(), 1);
	env.frames++;
	fcore_receive(env.c, &(struct fcore_rx){ .hdr = h, .payload = frame, .len = 7,
						 .frame = frame, .now = env.now });
	assert_int_equal(env.nevents, 0);
	assert_int_equal(env.frames, 0);
	/* The next in order follows at once: the void RSN is not waited for. */
	env_receive_push(1, 1, false);
	assert_int_equal(env.nevents, 1);
	env_close();
}

/* A NACKed push's claim is open again by the time a duplicate Resync arrives: it is closed. */
static void resync_after_the_claim_was_released(void **state)
{
	struct falcon_hdr h = { .type = FALCON_RESYNC, .resync_type = FALCON_PUSH_DATA,
				.resync_code = FALCON_RESYNC_TARGET_CIE,
				.psn = ENV_PEER_DATA + 1, .rsn = ENV_PEER_RSN + 1 };
	uint8_t *frame = calloc(1, 1);

	(void)state;
	open_target(false);
	env_receive_push(1, 1, false);
	assert_int_equal(falcon_rx_window(&env.shared, &h), FALCON_V_rx_resync_dup);
	done(1, FCORE_PUSH_CIE);
	env.frames++;
	fcore_receive(env.c, &(struct fcore_rx){ .hdr = h, .payload = frame, .frame = frame,
						 .now = env.now });
	assert_true(falcon_ring_test(env.shared.rx.data_rx, FALCON_DATA_WORDS, h.psn));
	assert_int_equal(falcon_rx_window(&env.shared, &h), FALCON_V_dup_acked);
	env_close();
}

/* One that was held up until the window is far ahead changes nothing. */
static void resync_far_behind(void **state)
{
	struct falcon_hdr h = { .type = FALCON_RESYNC, .resync_type = FALCON_PUSH_DATA,
				.resync_code = FALCON_RESYNC_TXN_TIMEOUT,
				.psn = ENV_PEER_DATA, .rsn = ENV_PEER_RSN };
	const uint32_t n = 2 * 32 * FALCON_DATA_WORDS;
	uint8_t *frame = calloc(1, 1);

	(void)state;
	open_target(true);
	env.answer = true;
	for (uint32_t i = 0; i < n; i++) {
		env.nevents = 0;
		assert_int_equal(env_receive_push(i, i, false), FALCON_V_rx_data);
	}
	env.frames++;
	fcore_receive(env.c, &(struct fcore_rx){ .hdr = h, .payload = frame, .frame = frame,
						 .now = env.now });
	assert_int_equal(base(), n);
	assert_int_equal(fc_rx_ahead(env.c), 0);
	assert_int_equal(env_receive_push(n, n, false), FALCON_V_rx_data);
	assert_int_equal(base(), n + 1);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s11_receiver_duplicate_resync_acks_its_psn),
		cmocka_unit_test(s11_receiver_duplicate_resync_in_the_window),
		cmocka_unit_test(error_after_resync),
		cmocka_unit_test(resync_overtakes_the_claimed_push),
		cmocka_unit_test(resync_after_the_claim_was_released),
		cmocka_unit_test(resync_far_behind),
	};

	return unit_run(tests);
}
