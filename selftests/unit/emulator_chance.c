// SPDX-License-Identifier: BSD-2-Clause
/* falcon-wire's chances: as often as asked for, the same for the same seed, and independent. */
#include "emulator_env.h"

enum { MANY = 100000, US = 1000 };

/* |got| of MANY is within a tenth of |percent|, and more than five standard deviations wide. */
static void assert_share(uint64_t got, double percent)
{
	double want = MANY * percent / 100;

	assert_true((double)got > want * 0.9 && (double)got < want * 1.1);
}

/* Which packets of a volley arrived, as a hash over their numbers; with |when|, over times too. */
static uint64_t fate(uint64_t seed, const char *settings, bool when)
{
	struct wire_env *e = env_open(2, 1, seed, settings);
	uint64_t hash = 0;

	env_volley(e, 5000, ENV_MIN, US);
	for (uint32_t i = 0; i < e->outs; i++)
		hash += rng_mix(e->out[i].number + (when ? e->out[i].at << 16 : 0));
	env_close(e);
	return hash;
}

static void random_loss_loses_its_share(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, "loss=5");

	(void)state;
	env_volley(e, MANY, ENV_MIN, US);
	assert_share(env_stats(e)->lost, 5);
	assert_int_equal(e->outs + env_stats(e)->lost, MANY);
	env_close(e);
}

static void all_and_nothing_are_exact(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, "loss=100");

	(void)state;
	env_volley(e, 1000, ENV_MIN, US);
	assert_int_equal(env_stats(e)->lost, 1000);
	env_close(e);
	e = env_open(2, 1, 1, "dup=100 corrupt=100");
	env_volley(e, 1000, ENV_MIN, US);
	assert_int_equal(e->outs, 2000);
	assert_int_equal(env_stats(e)->duplicated, 1000);
	assert_int_equal(env_stats(e)->corrupted, 1000);
	env_close(e);
}

/* Rate of loss p / (p + r) of the time bad; bursts of 1 / r packets. */
static void gilbert_elliott_has_rate_and_bursts(void **state)
{
	struct wire_env *e = env_open(2, 1, 7, "loss-model=ge:1,25");
	uint64_t bursts = 0;

	(void)state;
	env_volley(e, MANY, ENV_MIN, US);
	assert_share(env_stats(e)->lost, 100.0 / 26);
	for (uint32_t i = 1; i < e->outs; i++)
		bursts += e->out[i].number != e->out[i - 1].number + 1;
	assert_true(env_stats(e)->lost > bursts * 3.6 && env_stats(e)->lost < bursts * 4.4);
	env_close(e);
}

/* With h and k: lost are 1-h of the packets in the bad state and 1-k of those in the good one. */
static void gilbert_elliott_has_four_parameters(void **state)
{
	struct wire_env *e = env_open(2, 1, 7, "loss-model=ge:10,30,50,96");

	(void)state;
	env_volley(e, MANY, ENV_MIN, US);
	assert_share(env_stats(e)->lost, 0.25 * 50 + 0.75 * 4);
	env_close(e);
}

static void same_seed_same_fate(void **state)
{
	static const char *const settings[] = {
		"loss=10",
		"loss-model=ge:2,20,10,99",
		"reorder=10 reorder-by=5us dup=10 jitter=3us delay=3us corrupt=5",
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(settings); i++) {
		assert_true(fate(3, settings[i], true) == fate(3, settings[i], true));
		assert_true(fate(3, settings[i], true) != fate(4, settings[i], true));
	}
}

/* Which packets are lost is the same whatever else happens to the others. */
static void chances_are_independent(void **state)
{
	(void)state;
	assert_true(fate(3, "loss=10", false) == fate(3, "loss=10 ecn=30%", false));
	assert_true(fate(3, "loss=10", false) ==
		    fate(3, "loss=10 delay=1ms jitter=1ms reorder=10", false));
}

static void links_have_chances_of_their_own(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, "loss=50");
	uint32_t there = 0;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t before = e->outs, first;

		env_send(e, 0, ENV_MIN, 5000, i);
		first = e->outs;
		env_send(e, 1, ENV_MIN, 5000, i);
		there += (first - before) != (e->outs - first);
	}
	assert_true(there > 10 && there < 54);
	env_close(e);
}

static void jitter_spreads_the_delay_evenly(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, "delay=10us jitter=4us");
	const struct histogram *h = &env_stats(e)->delay;

	(void)state;
	env_volley(e, MANY, ENV_MIN, 100 * US);
	assert_true(h->min >= 6 * US && h->min < 6 * US + 100);
	assert_true(h->max <= 14 * US && h->max > 14 * US - 100);
	assert_true(histogram_mean(h) > 9950 && histogram_mean(h) < 10050);
	env_close(e);
}

static void reordered_packets_overtake_or_lag(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, "delay=50us reorder=10");
	uint64_t late = 0;

	(void)state;
	env_volley(e, MANY, ENV_MIN, US);
	assert_share(env_stats(e)->reordered, 10);
	assert_int_equal(env_stats(e)->delay.min, 0);
	assert_int_equal(env_stats(e)->delay.max, 50 * US);
	env_close(e);
	e = env_open(2, 1, 1, "reorder=10 reorder-by=20us");
	env_volley(e, MANY, ENV_MIN, 100 * US);
	for (uint32_t i = 0; i < e->outs; i++)
		late += e->out[i].at != e->out[i].number * 100ULL * US;
	assert_int_equal(late, env_stats(e)->reordered);
	assert_int_equal(env_stats(e)->delay.max, 20 * US);
	env_close(e);
}

static void copies_are_not_made_without_room(void **state)
{
	struct wire_env *e = env_open(2, 1, 1, "dup=100 delay=1s");

	(void)state;
	for (uint32_t i = 0; i < ENV_FRAMES / 2 - 1; i++)
		env_send(e, 0, ENV_MIN, 5000, i);
	pool_take(&e->pool);
	env_send(e, 0, ENV_MIN, 5000, 0);
	assert_int_equal(env_stats(e)->no_buffer, 1);
	assert_int_equal(env_stats(e)->duplicated, ENV_FRAMES / 2 - 1);
	env_close(e);
}

/* Neighbour discovery and multicast are spared, unless all is to be impaired. */
static void what_is_no_flow_is_spared(void **state)
{
	(void)state;
	for (int all = 0; all < 2; all++) {
		struct wire_env *e = env_open(2, 1, 1, "loss=100");
		uint32_t frame = env_frame(e, ENV_MIN);

		e->w->all = all;
		env_packet(pool_data(&e->pool, frame), ENV_MIN, 5000, 0);
		pool_data(&e->pool, frame)[0] = 3;
		wire_input(e->w, 0, 0, frame, 0);
		assert_int_equal(e->outs, !all);
		env_close(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_loss_loses_its_share),
		cmocka_unit_test(all_and_nothing_are_exact),
		cmocka_unit_test(gilbert_elliott_has_rate_and_bursts),
		cmocka_unit_test(gilbert_elliott_has_four_parameters),
		cmocka_unit_test(same_seed_same_fate),
		cmocka_unit_test(chances_are_independent),
		cmocka_unit_test(links_have_chances_of_their_own),
		cmocka_unit_test(jitter_spreads_the_delay_evenly),
		cmocka_unit_test(reordered_packets_overtake_or_lag),
		cmocka_unit_test(copies_are_not_made_without_room),
		cmocka_unit_test(what_is_no_flow_is_spared),
	};

	return unit_run(tests);
}
