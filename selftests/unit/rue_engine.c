// SPDX-License-Identifier: BSD-2-Clause
/* The engines' interface: what is echoed, state and profiles, batches, and any event whatsoever. */
#include "rue_env.h"

static void find(void **state)
{
	(void)state;
	assert_ptr_equal(rue_find("swift"), &rue_swift);
	assert_ptr_equal(rue_find("fixed"), &rue_fixed);
	assert_null(rue_find("swif"));
	assert_null(rue_find(""));
}

static void create(void **state)
{
	static const char *const good[] = { "min_fcwnd=1", "randomize_path=on", NULL };
	static const char *const unknown[] = { "min_fcwmd=1", NULL };
	static const char *const contrary[] = { "min_fcwnd=300", NULL };
	char err[256] = "";
	void *engine;

	(void)state;
	engine = rue_swift.create(100, good, err, sizeof(err));
	assert_non_null(engine);
	rue_swift.destroy(engine);
	engine = rue_swift.create(1, NULL, err, sizeof(err));
	assert_non_null(engine);
	rue_swift.destroy(engine);
	rue_swift.destroy(NULL);
	assert_string_equal(err, "");
	assert_null(rue_swift.create(1, unknown, err, sizeof(err)));
	assert_non_null(strstr(err, "min_fcwmd"));
	assert_null(rue_swift.create(1, contrary, err, sizeof(err)));
	assert_non_null(strstr(err, "min_fabric_congestion_window"));
	assert_null(rue_swift.create(0, NULL, err, sizeof(err)));
	assert_null(rue_swift.create((1 << 21) + 1, NULL, err, sizeof(err)));
	assert_non_null(strstr(err, "2097153"));
	assert_null(swift_create(1, 4));
	assert_null(swift_create(1, 24));
	assert_null(swift_create(1, 8192));
}

/* An event with all fields at random. */
static struct falcon_rue_event any_event(uint64_t *seed)
{
	struct falcon_rue_event e;

	for (size_t i = 0; i < ARRAY_SIZE(e.w); i++)
		e.w[i] = unit_random(seed);
	return e;
}

static void assert_echoed(const struct falcon_rue_event *e, const struct falcon_rue_result *r)
{
	assert_int_equal(falcon_res_get(r, connection_id), falcon_ev_get(e, connection_id));
	assert_int_equal(falcon_res_get(r, event_queue_select),
			 falcon_ev_get(e, event_queue_select));
	assert_int_equal(falcon_res_get(r, delay_select), falcon_ev_get(e, delay_select));
	assert_int_equal(falcon_res_get(r, base_delay_target), falcon_ev_get(e, base_delay_target));
	assert_int_equal(falcon_res_get(r, cc_opaque), falcon_ev_get(e, cc_opaque));
}

/* The fixed engine hands back all that a result has in common with its event. */
static void fixed(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct falcon_rue_event e = any_event(&seed);
		struct falcon_rue_result r = { { 0 } };

		rue_fixed.process(NULL, &e, 0, &r);
		assert_echoed(&e, &r);
		assert_int_equal(falcon_res_get(&r, fcwnd), falcon_ev_get(&e, fcwnd_integer));
		assert_int_equal(falcon_res_get(&r, fcwnd_fraction),
				 falcon_ev_get(&e, fcwnd_fraction));
		assert_int_equal(falcon_res_get(&r, ncwnd), falcon_ev_get(&e, ncwnd));
		assert_int_equal(falcon_res_get(&r, inter_packet_gap),
				 falcon_ev_get(&e, inter_packet_gap));
		assert_int_equal(falcon_res_get(&r, randomize_path), 0);
	}
}

/* Random parameters, all within their ranges. */
static void any_params(struct swift_params *p, uint64_t *seed)
{
	const struct swift_param *table;
	char err[256], text[SWIFT_PARAM_TEXT];
	size_t n;

	table = swift_params_table(&n);
	do {
		swift_params_default(p);
		for (size_t i = 0; i < n; i++) {
			double share = (double)(unit_random(seed) % 1001) / 1000;
			double v = table[i].min + (table[i].max - table[i].min) * share * share;

			if (table[i].type == SWIFT_UINT)
				v = (uint32_t)v;
			if (table[i].type == SWIFT_BOOL)
				v = share < 0.5;
			if (unit_random(seed) & 1)
				swift_params_set(p, &table[i],
						 swift_params_format(&table[i], v, text), err,
						 sizeof(err));
		}
	} while (swift_params_check(p, err, sizeof(err)));
}

/* Behind the reference's fields are ours, 0 unless the profile has them, and beyond those nothing. */
static void check_tail(const struct rue_env *v)
{
	if (v->params.rack_timeout_scalar == 0)
		assert_int_equal(falcon_res_get(&v->r, rack_rto), 0);
	if (v->params.tlp_timeout_scalar == 0)
		assert_int_equal(falcon_res_get(&v->r, tlp_timeout), 0);
	if (v->params.alpha_window == 0)
		assert_int_equal(falcon_res_get(&v->r, alpha_scale), 0);
	if (v->params.acks_per_window == 0)
		assert_int_equal(falcon_res_get(&v->r, ar_percent), 0);
	for (uint32_t bit = FALCON_RES_ar_percent + FALCON_RES_ar_percent_WIDTH; bit < 512; bit++)
		assert_int_equal(falcon_bits_get(v->r.w, bit, 1), 0);
}

/* What is true of every result, whatever the event. The sanitizers watch the arithmetic. */
static void check_any(struct rue_env *v, const struct falcon_rue_event *e)
{
	uint32_t type = (uint32_t)falcon_ev_get(e, event_type);
	struct falcon_rue_result again = { { 0 } };
	struct swift_state *state, before;

	state = swift_state(v->engine, (uint32_t)falcon_ev_get(e, base_delay_target));
	before = *state;
	memset(&v->r, 0, sizeof(v->r));
	rue_swift.process(v->engine, e, v->now, &v->r);
	v->state = *state;
	*state = before;
	rue_swift.process(v->engine, e, v->now, &again);
	assert_memory_equal(&again, &v->r, sizeof(again));
	assert_memory_equal(state, &v->state, sizeof(*state));
	assert_echoed(e, &v->r);
	assert_true(v->state.ncwnd_fraction <= 1024);
	check_tail(v);
	if (type > kRueEventTypeRetx)
		return;
	assert_int_equal(falcon_res_get(&v->r, cc_metadata),
			 falcon_ev_get(e, cc_metadata) & 0x3fffff);
	assert_true(rue_env_fcwnd(v) <= v->params.max_fabric_congestion_window * 1024 + 0.5);
	assert_true(rue_env_fcwnd(v) >= v->params.min_fabric_congestion_window * 1024 - 0.5);
	assert_true(rue_env_get(v, inter_packet_gap) < 1u << v->params.ipg_bits);
	assert_true(rue_env_get(v, retransmit_timeout) >= v->params.min_retransmit_timeout);
	if (type == kRueEventTypeRetx)
		return;
	assert_true(rue_env_ncwnd(v) <= v->params.max_nic_congestion_window * 1024 + 0.5);
	assert_true(rue_env_ncwnd(v) >= v->params.min_nic_congestion_window * 1024 - 0.5);
}

static void any(void **state)
{
	struct rue_env v;
	uint64_t seed = 1;

	(void)state;
	rue_env_init(&v);
	for (int i = 0; i < 1000; i++) {
		any_params(&v.params, &seed);
		rue_env_params(&v);
		for (int k = 0; k < 100; k++) {
			struct falcon_rue_event e = any_event(&seed);

			v.now = (uint32_t)unit_random(&seed) & 0xffffff;
			check_any(&v, &e);
		}
	}
	rue_env_fini(&v);
}

/* Bits above the index choose the profile; one that was never set is profile 0. */
static void profiles(void **state)
{
	struct rue_env v;
	char err[256];

	(void)state;
	rue_env_init(&v);
	v.params.min_retransmit_timeout = 5000;
	assert_int_equal(swift_set_profile(v.engine, 3, &v.params, err, sizeof(err)), 0);
	for (uint32_t profile = 0; profile < 8; profile++) {
		v.base = profile << 21 | 5;
		rue_env_run(&v);
		assert_int_equal(rue_env_get(&v, retransmit_timeout), profile == 3 ? 5000 : 1907);
	}
	assert_true(swift_set_profile(v.engine, 8, &v.params, err, sizeof(err)) < 0);
	v.params.ipg_bits = 0;
	assert_true(swift_set_profile(v.engine, 3, &v.params, err, sizeof(err)) < 0);
	v.base = 3 << 21;
	rue_env_run(&v);
	assert_int_equal(rue_env_get(&v, retransmit_timeout), 5000);
	rue_env_fini(&v);
}

/* Each index has its own state, whatever the profile; the table's size wraps it. */
static void states(void **state)
{
	struct swift *s = swift_create(5, 64);

	(void)state;
	assert_non_null(s);
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(swift_state(s, i)->plb, 0);
		swift_state(s, i)->plb = i + 1;
		memset(swift_state(s, i) + 1, 0xff, 64 - sizeof(struct swift_state));
	}
	for (uint32_t i = 0; i < 8; i++) {
		assert_int_equal(swift_state(s, i)->plb, i + 1);
		assert_ptr_equal(swift_state(s, i), swift_state(s, 7 << 21 | i));
		assert_ptr_equal(swift_state(s, i), swift_state(s, i + 8));
	}
	swift_destroy(s);
}

/* A batch gives what its events give one by one, however far it looks ahead. */
static void batch(void **state)
{
	static const size_t aheads[] = { 0, 1, 7, 63, 64, 200 };
	struct falcon_rue_event e[64];
	struct falcon_rue_result one[64], r[64];
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < 64; i++)
		e[i] = any_event(&seed);
	for (size_t a = 0; a <= ARRAY_SIZE(aheads); a++) {
		struct swift *s = swift_create(8, 512);

		memset(r, 0xa5, sizeof(r));
		if (a == 0)
			for (size_t i = 0; i < 64; i++)
				rue_process_batch(&rue_swift, s, &e[i], 1, 1234, &one[i], 0);
		else
			rue_process_batch(&rue_swift, s, e, 64, 1234, r, aheads[a - 1]);
		if (a)
			assert_memory_equal(r, one, sizeof(r));
		swift_destroy(s);
	}
	rue_process_batch(&rue_fixed, NULL, e, 64, 1234, r, 8);
	assert_int_equal(falcon_res_get(&r[63], ncwnd), falcon_ev_get(&e[63], ncwnd));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find),	 cmocka_unit_test(create),   cmocka_unit_test(fixed),
		cmocka_unit_test(any),	 cmocka_unit_test(profiles), cmocka_unit_test(states),
		cmocka_unit_test(batch),
	};

	return unit_run(tests);
}
