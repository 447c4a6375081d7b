// SPDX-License-Identifier: BSD-2-Clause
/*
 * The SPI check against the pseudocode of Falcon 9.2.2.3, over all combinations of a few SPIs of
 * both master keys, generations and the two global switches.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "env.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define GLOBAL_GEN 7

struct spi_case {
	uint32_t cur, prev, gen, spi;
	bool allow_prev, pcid_match, pcid_same;
};

static struct env env;

static bool msb(uint32_t spi)
{
	return spi & 0x80000000;
}

/* The pseudocode, name by name, without its PCID part. */
static bool spec_spi_matches(const struct spi_case *k)
{
	uint32_t prev_gen = GLOBAL_GEN - 1;
	bool cur_gen_matches = k->allow_prev ? k->gen == GLOBAL_GEN || k->gen == prev_gen
					     : k->gen == GLOBAL_GEN;
	bool prev_is_spi = k->prev == k->spi && k->prev != 0;
	bool cur_matches = k->cur == k->spi && cur_gen_matches;
	bool prev_same_gen = msb(k->cur) == msb(k->prev) && prev_is_spi && cur_gen_matches;
	bool prev_prev_gen = msb(k->cur) != msb(k->prev) && k->allow_prev && prev_is_spi &&
			     k->gen - 1 == prev_gen;

	return k->cur != 0 && (cur_matches || prev_same_gen || prev_prev_gen);
}

static enum falcon_verdict spec_verdict(const struct spi_case *k)
{
	if (!spec_spi_matches(k))
		return FALCON_V_drop_spi;
	return k->pcid_match && !k->pcid_same ? FALCON_V_drop_pcid : FALCON_V_rx_data;
}

static void run_case(const struct spi_case *k)
{
	struct falcon_conn *c = &env.conns[0];
	struct falcon_counters before, after;
	uint8_t falcon[64], frame[PACKET_MAX];
	struct packet_shape s;
	struct env_result r;
	struct falcon_hdr h;
	size_t len;
	int v;

	env_reset(&env);
	c->id.cur_spi = k->cur;
	c->id.prev_spi = k->prev;
	c->id.cur_spi_gen = k->gen;
	env.config->allow_prev_spi_gen = k->allow_prev;
	env.config->pcid_match = k->pcid_match;
	env_shape(&env, 0, 1000000, &s);
	s.spi = k->spi;
	s.vc = true;
	s.cookie = c->id.pcid + !k->pcid_same;
	env_push(&env, 0, ENV_PSN, &h);
	len = packet_build(&s, falcon, packet_reliable(&h, 0, falcon), frame);
	env_counters(&env, &before);
	assert_int_equal(env_run(&env, frame, len, 0, &r), 0);
	env_counters(&env, &after);
	v = env_verdict(&before, &after);
	if (v != (int)spec_verdict(k))
		fail_msg("%s, want %s: current %#x, previous %#x, generation %u, packet %#x, "
			 "allow previous %d, PCID match %d, same %d",
			 env_verdict_name(v), env_verdict_name(spec_verdict(k)), k->cur, k->prev,
			 k->gen, k->spi, k->allow_prev, k->pcid_match, k->pcid_same);
}

static void spi_check__all_combinations(void **state)
{
	static const uint32_t spis[] = { 0, 0x11, 0x12, 0x80000011, 0x80000012 };
	size_t n = ARRAY_SIZE(spis);

	(void)state;
	/* One index counts through everything: SPIs thrice, generation 6..8, three switches. */
	for (size_t i = 0; i < n * n * n * 3 * 8; i++) {
		struct spi_case k = {
			.cur = spis[i % n],
			.prev = spis[i / n % n],
			.spi = spis[i / n / n % n],
			.gen = GLOBAL_GEN - 1 + i / n / n / n % 3,
			.allow_prev = i / n / n / n / 3 & 1,
			.pcid_match = i / n / n / n / 3 & 2,
			.pcid_same = i / n / n / n / 3 & 4,
		};

		run_case(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spi_check__all_combinations),
	};

	return env_main(&env, "spi", tests, ARRAY_SIZE(tests), NULL);
}
