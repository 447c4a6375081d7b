/* SPDX-License-Identifier: BSD-2-Clause */
/* What the target has delivered and answered. */
#ifndef FALCON_SELFTESTS_CORE_TARGET_ENV_H
#define FALCON_SELFTESTS_CORE_TARGET_ENV_H

#include "core_env.h"

static inline void done(uint32_t r, enum fcore_push_outcome outcome, uint8_t rnr, uint8_t ulp_code)
{
	fcore_push_done(env.c, ENV_PEER_RSN + r, outcome, rnr, ulp_code, env.now);
}

/* The RSNs of all deliveries so far, in order, as decimal digits. */
static inline uint32_t delivered(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < env.nevents; i++)
		if (env.event[i].what == ENV_PUSH || env.event[i].what == ENV_PULL)
			n = n * 10 + env.event[i].rsn - ENV_PEER_RSN;
	return n;
}

/* The |i|-th packet sent is this NACK of the peer's |n|-th data PSN, and so on. */
static inline void expect_nack(uint32_t i, uint8_t code, uint32_t n)
{
	assert_true(i < env.nsent);
	assert_int_equal(env.sent[i].type, FALCON_NACK);
	assert_int_equal(env.sent[i].ack.nack_code, code);
	assert_int_equal(env.sent[i].ack.nack_psn, ENV_PEER_DATA + n);
	assert_int_equal(env.sent[i].ack.nack_req_window, 0);
}

static inline uint32_t nacks_sent(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < env.nsent; i++)
		n += env.sent[i].type == FALCON_NACK;
	return n;
}

#endif /* FALCON_SELFTESTS_CORE_TARGET_ENV_H */
