// SPDX-License-Identifier: BSD-2-Clause
/* Protective Load Balancing (Falcon 10.4), rule by rule. */
#include "rue_env.h"

enum { ONE = 1024, CALM = 100, CONGESTED = 400 };

static uint32_t congested(const struct rue_env *v)
{
	return swift_plb_get(v->state.plb, congested);
}

static uint32_t acked(const struct rue_env *v)
{
	return swift_plb_get(v->state.plb, acked);
}

static uint32_t attempts(const struct rue_env *v)
{
	return swift_plb_get(v->state.plb, attempts);
}

static void init(struct rue_env *v)
{
	rue_env_init(v);
	v->params.randomize_path = true;
	rue_env_params(v);
}

/* |n| packets acknowledged with a delay of |rtt|; the windows stay as they are. True: reroute. */
static bool ack(struct rue_env *v, uint32_t n, uint32_t rtt)
{
	v->acked = n;
	rue_env_rtt(v, rtt);
	rue_env_run(v);
	return rue_env_get(v, randomize_path);
}

/* Packets are counted until they are as many as the smaller window. */
static void rounds(void **state)
{
	struct rue_env v;

	(void)state;
	init(&v);
	assert_false(ack(&v, 20, CALM));
	assert_int_equal(acked(&v), 20);
	assert_int_equal(congested(&v), 0);
	assert_false(ack(&v, 11, CONGESTED));
	assert_int_equal(acked(&v), 31);
	assert_int_equal(congested(&v), 11);
	assert_false(ack(&v, 1, CALM));		/* 32: over, and 11 of 32 is calm */
	assert_int_equal(v.state.plb, 0);
	v.fcwnd = 256 * ONE;			/* now the NIC window is the smaller one */
	v.ncwnd = 10;
	v.state.ncwnd_fraction = 512;
	assert_false(ack(&v, 10, CONGESTED));
	assert_int_equal(acked(&v), 10);
	v.state.ncwnd_fraction = 512;
	assert_false(ack(&v, 1, CONGESTED));
	assert_int_equal(acked(&v), 0);
	assert_int_equal(attempts(&v), 1);
	rue_env_fini(&v);
}

/* The window that counts is the one before the event. */
static void old_window(void **state)
{
	struct rue_env v;

	(void)state;
	init(&v);
	v.fcwnd = ONE;
	assert_false(ack(&v, 1, CALM));		/* the window grows to 2 */
	assert_int_equal(rue_env_fcwnd(&v), 2 * ONE);
	assert_int_equal(acked(&v), 0);
	rue_env_fini(&v);
}

/* A round trip of which half is congested counts; less than half starts anew; five reroute. */
static void reroutes(void **state)
{
	struct rue_env v;

	(void)state;
	init(&v);
	for (int repeat = 0; repeat < 2; repeat++) {
		for (uint32_t i = 1; i < 5; i++) {
			assert_false(ack(&v, 16, CONGESTED));
			assert_false(ack(&v, 16, CALM));
			assert_int_equal(attempts(&v), i);
		}
		assert_false(ack(&v, 16, CONGESTED));
		assert_true(ack(&v, 16, CALM));
		assert_int_equal(v.state.plb, 0);
	}
	assert_false(ack(&v, 32, CONGESTED));
	assert_int_equal(attempts(&v), 1);
	assert_false(ack(&v, 17, CALM));
	assert_false(ack(&v, 15, CONGESTED));
	assert_int_equal(attempts(&v), 0);
	v.params.plb_attempt_threshold = 15;
	rue_env_params(&v);
	v.state.plb = 15u << SWIFT_PLB_attempts;	/* as full as it gets */
	assert_true(ack(&v, 32, CONGESTED));
	assert_int_equal(attempts(&v), 0);
	rue_env_fini(&v);
}

/* Congested is more than the target times the multiplier, in reals: of 219, 221.19. */
static void threshold(void **state)
{
	struct rue_env v;

	(void)state;
	init(&v);
	ack(&v, 1, 221);
	assert_int_equal(congested(&v), 0);
	ack(&v, 1, 222);
	assert_int_equal(congested(&v), 1);
	v.params.plb_target_rtt_multiplier = 1;	/* equal is not more */
	rue_env_params(&v);
	v.state.plb = 0;
	ack(&v, 1, 219);
	assert_int_equal(congested(&v), 0);
	ack(&v, 1, 220);
	assert_int_equal(congested(&v), 1);
	rue_env_fini(&v);
}

/* It is the code that decides, not the type: and retransmissions never count. */
static void what_counts(void **state)
{
	struct rue_env v;

	(void)state;
	init(&v);
	v.nack = 1;
	ack(&v, 5, CONGESTED);
	assert_int_equal(v.state.plb, 0);
	v.type = kRueEventTypeNack;
	ack(&v, 5, CONGESTED);
	assert_int_equal(v.state.plb, 0);
	v.nack = 0;
	ack(&v, 5, CONGESTED);
	assert_int_equal(acked(&v), 5);
	assert_int_equal(congested(&v), 5);
	v.type = kRueEventTypeRetx;
	ack(&v, 5, CONGESTED);
	assert_int_equal(acked(&v), 5);
	rue_env_fini(&v);
}

/*
 * The lower opaque bit asks for another path, with every type, if PLB is on; the upper one is
 * nothing.
 */
static void opaque(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	for (int on = 0; on < 2; on++) {
		v.params.randomize_path = on;
		rue_env_params(&v);
		for (v.type = kRueEventTypeAck; v.type <= kRueEventTypeRetx; v.type++)
			for (v.opaque = 0; v.opaque < 4; v.opaque++) {
				v.state.plb = 0;
				assert_int_equal(ack(&v, 1, CALM), on && v.opaque & 1);
				assert_int_equal(rue_env_get(&v, cc_opaque), v.opaque);
			}
	}
	rue_env_fini(&v);
}

/* Off: the state is not touched, whatever it is. */
static void off(void **state)
{
	struct rue_env v;

	(void)state;
	rue_env_init(&v);
	v.state.plb = 0xabcdef;
	assert_false(ack(&v, 32, CONGESTED));
	assert_int_equal(v.state.plb, 0xabcdef);
	rue_env_fini(&v);
}

/* The most packets that a round trip can hold, one short of the largest window. */
static void full_counts(void **state)
{
	struct rue_env v;

	(void)state;
	init(&v);
	v.params.max_fabric_congestion_window = v.params.max_nic_congestion_window = 1024;
	rue_env_params(&v);
	v.fcwnd = 1024 * ONE;
	v.ncwnd = 1024;
	assert_false(ack(&v, 1023, CONGESTED));
	assert_int_equal(acked(&v), 1023);
	assert_int_equal(congested(&v), 1023);
	assert_int_equal(attempts(&v), 0);
	assert_false(ack(&v, 1, CALM));
	assert_int_equal(acked(&v), 0);
	assert_int_equal(attempts(&v), 1);
	rue_env_fini(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds),      cmocka_unit_test(old_window),
		cmocka_unit_test(reroutes),    cmocka_unit_test(threshold),
		cmocka_unit_test(what_counts), cmocka_unit_test(opaque),
		cmocka_unit_test(off),	       cmocka_unit_test(full_counts),
	};

	return unit_run(tests);
}
