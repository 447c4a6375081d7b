// SPDX-License-Identifier: BSD-2-Clause
/* The engines of an agent: which one an event goes to, profiles, forgetting, tracing. */
#include <stdlib.h>
#include <string.h>

#include "rue/host.h"
#include "rue/params.h"
#include "rue_env_abi.h"

static struct rue_config profiles[2];
static struct rue_host *host;
static char err[512];

static int setup(void **state)
{
	(void)state;
	strcpy(profiles[0].name, "first");
	strcpy(profiles[1].name, "second");
	swift_params_default(&profiles[0].params);
	swift_params_default(&profiles[1].params);
	profiles[1].params.fabric_additive_increment_factor = 0.5;
	host = rue_host_create(64, profiles, 2, false);
	return host ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	rue_host_destroy(host);
	return 0;
}

static int engine(const char *name)
{
	return rue_host_engine(host, name, NULL, err, sizeof(err));
}

/* One acknowledged packet, a round trip far below the target, a window of 8. */
static struct falcon_rue_event ack(uint32_t engine, uint32_t profile, uint32_t index)
{
	struct falcon_rue_event e = { { 0 } };

	falcon_ev_put(&e, connection_id, index);
	falcon_ev_put(&e, event_queue_select, engine);
	falcon_ev_put(&e, base_delay_target, profile << FALCON_RUE_INDEX_BITS | index);
	falcon_ev_put(&e, t4, 50);
	falcon_ev_put(&e, fcwnd_integer, 8);
	falcon_ev_put(&e, ncwnd, 64);
	falcon_ev_put(&e, num_packets_acked, 1);
	return e;
}

/* The window after |e|, in 1/1024 packets. */
static uint64_t window(const struct falcon_rue_event *e)
{
	struct falcon_rue_result r;

	memset(&r, 0xff, sizeof(r));
	rue_host_process(host, e, 1, 1000, &r);
	return falcon_res_get(&r, fcwnd) * 1024 + falcon_res_get(&r, fcwnd_fraction);
}

static void host__event_goes_to_the_engine_it_names(void **state)
{
	int swift = engine("swift"), fixed = engine("fixed"), aimd = engine(built("rue/aimd.so"));
	struct falcon_rue_event e;

	(void)state;
	assert_true(swift >= 0 && fixed >= 0 && aimd >= 0);
	assert_true(swift != fixed && fixed != aimd && aimd != swift);
	assert_int_equal(engine("swift"), swift);
	assert_string_equal(rue_host_name(host, (uint32_t)fixed), "fixed");
	assert_string_equal(rue_host_name(host, 99), "");
	assert_true(rue_host_has_profiles(host, (uint32_t)swift));
	assert_false(rue_host_has_profiles(host, (uint32_t)aimd));
	e = ack((uint32_t)swift, 0, 1);
	assert_int_equal(window(&e), 8 * 1024 + 128);
	e = ack((uint32_t)fixed, 0, 1);
	assert_int_equal(window(&e), 8 * 1024);
	e = ack((uint32_t)aimd, 0, 1);
	assert_int_equal(window(&e), 8 * 1024 + 128);
	/* Nobody there: as it is. */
	e = ack(3, 0, 1);
	assert_int_equal(window(&e), 8 * 1024);
}

static void host__says_what_is_wrong(void **state)
{
	static const char *const bad[] = { "percent=0", NULL };
	char name[RUE_ALGORITHM_NAME + 1];

	(void)state;
	assert_true(engine("cubic") < 0);
	assert_true(rue_host_engine(host, built("rue/aimd.so"), bad, err, sizeof(err)) < 0);
	assert_non_null(strstr(err, "percent=0"));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	assert_true(engine(name) < 0);
	assert_true(engine("swift") >= 0 && engine("fixed") >= 0);
	assert_true(engine(built("rue/aimd.so")) >= 0);
	assert_true(engine(built("./rue/aimd.so")) >= 0);
	assert_true(engine(built("././rue/aimd.so")) < 0);
	assert_non_null(strstr(err, "run already"));
}

static void host__profiles_by_name(void **state)
{
	int swift = engine("swift");
	struct falcon_rue_event e = ack((uint32_t)swift, 1, 1);

	(void)state;
	assert_int_equal(rue_host_profile(host, "second", err, sizeof(err)), 1);
	assert_true(rue_host_profile(host, "third", err, sizeof(err)) < 0);
	assert_non_null(strstr(err, "first second"));
	assert_string_equal(rue_host_profile_at(host, 1)->name, "second");
	assert_null(rue_host_profile_at(host, 2));
	assert_int_equal(window(&e), 8 * 1024 + 64);
}

static void host__new_flow_starts_with_nothing(void **state)
{
	int swift = engine("swift");
	struct falcon_rue_event e = ack((uint32_t)swift, 0, 5);
	struct swift_state s;

	(void)state;
	/* A full buffer: the window for requests is cut, and a fraction of it stays in the engine. */
	falcon_ev_put(&e, rx_buffer_level, 31);
	falcon_ev_put(&e, ncwnd, 3);
	window(&e);
	s = rue_host_swift_state(host, 5);
	assert_int_not_equal(s.ncwnd_fraction, 0);
	rue_host_reset(host, 5);
	s = rue_host_swift_state(host, 5);
	assert_int_equal(s.ncwnd_fraction, 0);
}

static void host__trace_replays(void **state)
{
	enum { ROOM = 6 };
	uint32_t swift = (uint32_t)engine("swift"), fixed = (uint32_t)engine("fixed");
	struct rue_trace *t = calloc(1, rue_trace_bytes(ROOM));
	struct falcon_rue_event e[3] = { ack(swift, 1, 7), ack(fixed, 0, 7), ack(swift, 0, 8) };
	struct falcon_rue_result r[3];
	struct swift *again = swift_create(64, SWIFT_STATE_BYTES);

	(void)state;
	rue_host_trace(host, t, ROOM, -1);
	assert_string_equal(t->profile[1].name, "second");
	for (uint32_t i = 0; i < 4; i++)
		rue_host_process(host, e, 3, 100 + i, r);
	assert_int_equal(t->n, ROOM);
	for (uint32_t i = 0; i < ROOM; i++) {
		const struct rue_trace_record *rec = &t->record[i];
		struct falcon_rue_result out = { { 0 } };

		assert_int_equal(rec->profile, i % 2 ? 0 : 1);
		assert_int_equal(rec->now, 100 + i / 2);
		swift_set_profile(again, 0, &t->profile[rec->profile].params, err, sizeof(err));
		swift_set_profile(again, 1, &t->profile[rec->profile].params, err, sizeof(err));
		*swift_state(again, i % 2 ? 8 : 7) = rec->before;
		rue_swift.process(again, &rec->event, rec->now, &out);
		assert_memory_equal(&out, &rec->result, sizeof(out));
		assert_memory_equal(swift_state(again, i % 2 ? 8 : 7), &rec->after,
				    sizeof(rec->after));
	}
	rue_host_trace(host, t, ROOM, 8);
	rue_host_process(host, e, 3, 200, r);
	assert_int_equal(falcon_ev_get(&t->record[0].event, connection_id), 8);
	rue_host_trace(host, NULL, 0, -1);
	rue_host_process(host, e, 3, 200, r);
	assert_int_equal(t->n, 1);
	swift_destroy(again);
	free(t);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(host__event_goes_to_the_engine_it_names),
		TEST(host__says_what_is_wrong),
		TEST(host__profiles_by_name),
		TEST(host__new_flow_starts_with_nothing),
		TEST(host__trace_replays),
	};

	return unit_run(tests);
}
