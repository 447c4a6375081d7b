// SPDX-License-Identifier: BSD-2-Clause
/* Algorithms from shared objects: finding, refusing, and the example doing what it says. */
#include <stdlib.h>
#include <string.h>

#include "rue/rue.h"
#include "rue_env_abi.h"

static void refused(const char *name, const char *why)
{
	char err[512] = "";

	assert_null(rue_load(name, err, sizeof(err)));
	if (!strstr(err, why))
		fail_msg("\"%s\" does not say \"%s\"", err, why);
}

static void load__built_in_ones_by_name(void **state)
{
	char err[256];

	(void)state;
	assert_ptr_equal(rue_load("swift", err, sizeof(err)), &rue_swift);
	assert_ptr_equal(rue_load("fixed", err, sizeof(err)), &rue_fixed);
}

static void load__says_what_is_wrong(void **state)
{
	(void)state;
	refused("cubic", "no algorithm \"cubic\"");
	refused("", "no algorithm");
	refused("/nonexistent/cubic.so", "cannot open shared object");
	refused(built("falcon.bpf.o"), "falcon.bpf.o");
	refused(built("libfalcon.so"), "exports no falcon_rue_algorithm");
	refused(built("selftests/unit/rue_other_abi.so"), "another version");
}

static const struct rue_algorithm *aimd(void)
{
	char err[512] = "";
	const struct rue_algorithm *a = rue_load(built("rue/aimd.so"), err, sizeof(err));

	if (!a)
		fail_msg("%s", err);
	assert_string_equal(a->name, "aimd");
	return a;
}

static void example__says_what_is_wrong(void **state)
{
	static const char *const bad[][2] = {
		{ "increase=0", NULL }, { "percent=100", NULL }, { "percent=x", NULL },
		{ "nonsense=1", NULL }, { "increase", NULL },
	};
	const struct rue_algorithm *a = aimd();
	char err[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		err[0] = 0;
		assert_null(a->create(8, bad[i], err, sizeof(err)));
		assert_non_null(strstr(err, bad[i][0]));
	}
}

/* An ACK of one packet, a round trip of 100 units, to a flow with |window| packets. */
static struct falcon_rue_event ack(uint32_t window, uint32_t marker)
{
	struct falcon_rue_event e = { { 0 } };

	falcon_ev_put(&e, connection_id, 0x123456);
	falcon_ev_put(&e, base_delay_target, 3);
	falcon_ev_put(&e, t1, 1000);
	falcon_ev_put(&e, t4, 1100);
	falcon_ev_put(&e, fcwnd_integer, window);
	falcon_ev_put(&e, ncwnd, 77);
	falcon_ev_put(&e, retransmit_timeout, 8000);
	falcon_ev_put(&e, num_packets_acked, 1);
	falcon_ev_put(&e, rtt_state, 100);
	falcon_ev_put(&e, fabric_window_time_marker, marker);
	return e;
}

static double run(const struct rue_algorithm *a, void *engine, const struct falcon_rue_event *e,
		  uint32_t now, struct falcon_rue_result *r)
{
	memset(r, 0, sizeof(*r));
	a->process(engine, e, now, r);
	assert_int_equal(falcon_res_get(r, connection_id), 0x123456);
	assert_int_equal(falcon_res_get(r, base_delay_target), 3);
	assert_int_equal(falcon_res_get(r, ncwnd), 77);
	assert_int_equal(falcon_res_get(r, retransmit_timeout), 8000);
	return (double)falcon_res_get(r, fcwnd) + (double)falcon_res_get(r, fcwnd_fraction) / 1024;
}

static void example__grows_and_is_cut_once_a_round_trip(void **state)
{
	static const char *const params[] = { "percent=75", "increase=2", NULL };
	const struct rue_algorithm *a = aimd();
	char err[256];
	void *engine = a->create(8, params, err, sizeof(err));
	struct falcon_rue_event e = ack(8, 0), lossy = ack(8, 1000);
	struct falcon_rue_result r;

	(void)state;
	assert_non_null(engine);
	assert_true(run(a, engine, &e, 1100, &r) == 8.25);
	falcon_ev_put(&lossy, eack_drop, 1);
	assert_true(run(a, engine, &lossy, 1099, &r) == 8);
	assert_true(run(a, engine, &lossy, 1100, &r) == 6);
	assert_int_equal(falcon_res_get(&r, fabric_window_time_marker), 1100);
	falcon_ev_put(&e, ecn_accumulated, 5);
	assert_true(run(a, engine, &e, 1200, &r) == 6);
	assert_true(run(a, engine, &e, 1200, &r) == 8.25);
	a->reset(engine, 3);
	assert_true(run(a, engine, &e, 1200, &r) == 6);
	e = ack(1, 0);
	falcon_ev_put(&e, event_type, kRueEventTypeRetx);
	assert_true(run(a, engine, &e, 1200, &r) == 1);
	a->destroy(engine);
}

static void swift__profiles_and_reset_by_the_abi(void **state)
{
	static const char *const slow[] = { "fabric_additive_increment=0.5", NULL };
	static const char *const wrong[] = { "retransmit_limit=0", NULL };
	char err[256] = "";
	void *engine = rue_swift.create(8, NULL, err, sizeof(err));
	struct falcon_rue_event e = ack(8, 0);
	struct falcon_rue_result r = { { 0 } };

	(void)state;
	assert_int_equal(rue_swift.set_profile(engine, 1, slow, err, sizeof(err)), 0);
	assert_true(rue_swift.set_profile(engine, 2, wrong, err, sizeof(err)) < 0);
	assert_non_null(strstr(err, "retransmit_limit"));
	assert_true(rue_swift.set_profile(engine, FALCON_RUE_PROFILES, slow, err, sizeof(err)) < 0);
	rue_swift.process(engine, &e, 1100, &r);
	assert_int_equal(falcon_res_get(&r, fcwnd_fraction), 128);
	e = ack(8, 0);
	falcon_ev_put(&e, base_delay_target, 1 << FALCON_RUE_INDEX_BITS);
	memset(&r, 0, sizeof(r));
	rue_swift.process(engine, &e, 1100, &r);
	assert_int_equal(falcon_res_get(&r, fcwnd_fraction), 64);
	rue_swift.reset(engine, 3);
	rue_swift.destroy(engine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(load__built_in_ones_by_name),
		cmocka_unit_test(load__says_what_is_wrong),
		cmocka_unit_test(example__says_what_is_wrong),
		cmocka_unit_test(example__grows_and_is_cut_once_a_round_trip),
		cmocka_unit_test(swift__profiles_and_reset_by_the_abi),
	};

	return unit_run(tests);
}
