// SPDX-License-Identifier: BSD-2-Clause
/* What the rate update engine is told of packets that were lost (Falcon 10.6.2.1). */
#include "core_env.h"

enum { RTO = 1000000, SLACK = 2000, LATER = 50000 };

static void send_pushes(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		env_push(i);
	assert_int_equal(env_run(), n);
}

/* An EACK that reports these as received, of our data window. */
static void eack_received(uint32_t rx, uint8_t own)
{
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_rx = { rx }, .own = own });
}

/* The first packet, and no other, is sent again, and the engine is told so. */
static void expect_loss(uint32_t count, enum falcon_retx_reason reason)
{
	env.retx_events = 0;
	assert_int_equal(env_run(), 1);
	assert_true(env.sent[0].again);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
	assert_int_equal(env.retx_events, 1);
	assert_int_equal(falcon_ev_get(&env.last_rue, event_type), kRueEventTypeRetx);
	assert_int_equal(falcon_ev_get(&env.last_rue, retransmit_count), count);
	assert_int_equal(falcon_ev_get(&env.last_rue, retransmit_reason), reason);
}

/* 9.1.1: the Retransmit Counter is of the packet's timeouts; in an event it ends where its bits do. */
static void the_count_is_of_timeouts(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.max_retx = 20;
	env_open(&p);
	send_pushes(8);
	env.now += LATER;
	eack_received(0xfe, 0);
	expect_loss(0, kRetxReasonEarly);
	env.now += LATER;
	eack_received(0xfe, FALCON_OWN_DATA);
	expect_loss(0, kRetxReasonEarly);
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_rx = { 0xfe }, .data_ack = { 0xfe } });
	for (uint32_t i = 1; i < 10; i++) {
		env.now += (RTO << 6) + SLACK;
		expect_loss(i < 7 ? i : 7, kRetxReasonRto);
		if (i != 3)
			continue;
		env.now += LATER;
		eack_received(0xfe, FALCON_OWN_DATA);
		expect_loss(3, kRetxReasonEarly);
	}
	env_close();
}

/* Each is an event, by whatever heuristic it was found. */
static void early_losses_are_events(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	p.early_retx = FCORE_EARLY_RACK;
	env_open(&p);
	for (uint32_t i = 1; i <= 2; i++) {
		/* Sent later than the first one's latest transmission, they arrive before it. */
		send_pushes(4);
		env.now += LATER;
		eack_received(i == 1 ? 0xe : 0xfe, 0);
		env.now += LATER;
		expect_loss(0, kRetxReasonEarly);
	}
	env_close();
}

/* A packet that the peer's upper layer was not ready for was not lost: its timeouts count anew. */
static void timeouts_before_rnr_are_forgotten(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	send_pushes(1);
	env.now += RTO + SLACK;
	expect_loss(1, kRetxReasonRto);
	env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .nack_code = FALCON_NACK_RNR, .nack_psn = ENV_DATA, .rnr = 1 });
	env.now += RTO + SLACK;
	expect_loss(1, kRetxReasonRto);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_count_is_of_timeouts),
		cmocka_unit_test(early_losses_are_events),
		cmocka_unit_test(timeouts_before_rnr_are_forgotten),
	};

	return unit_run(tests);
}
