// SPDX-License-Identifier: BSD-2-Clause
/* What XDP tells, it tells the shard whose connection it is, and no other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "env.h"

static struct env env;

static uint32_t shard_of(uint32_t cid)
{
	return env.conns[cid].id.shard;
}

/* The shards' entries of falcon_dirty, all but that of connection |cid|, say nothing. */
static void check_dirty(uint32_t cid)
{
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++) {
		assert_int_equal(env.dirty[i].word[0], i == shard_of(cid) ? 1ULL << cid : 0);
		assert_int_equal(env.dirty[i].summary[0], i == shard_of(cid));
	}
}

static void dirty__in_the_entry_of_its_shard(void **state)
{
	(void)state;
	env_reset(&env);
	for (uint32_t i = 0; i < 2 * FALCON_MAX_SHARDS; i++) {
		uint32_t cid = i % ENV_CONNS;

		env.conns[cid].id.shard = (uint8_t)(i % FALCON_MAX_SHARDS);
		env_dirty_clear(&env);
		env_ack(&env, cid);
		check_dirty(cid);
	}
}

/* Everything there is about connection |cid|: |events| and |wakes|, in its shard's rings. */
static void check_rings(uint32_t cid, int events, uint64_t wakes)
{
	env.wakes = 0;
	for (uint32_t i = 1; i < FALCON_MAX_SHARDS; i++)
		assert_int_equal(env_consume_shard(&env, i), i == shard_of(cid) ? events + (int)wakes : 0);
	assert_int_equal(env.wakes, wakes);
}

static void event__in_the_ring_of_its_shard(void **state)
{
	(void)state;
	env_reset(&env);
	for (uint32_t cid = 0; cid < ENV_CONNS; cid++) {
		env_ack(&env, cid);
		check_rings(cid, 1, 0);
		assert_int_equal(falcon_ev_get(&env.event, connection_id) & FALCON_RUE_CID_MASK, cid);
	}
}

static void wake__of_a_sleeping_shard_by_its_own(void **state)
{
	(void)state;
	env_reset(&env);
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++)
		env.config->shard[i].sleeping = i != shard_of(2);
	env_ack(&env, 2);
	check_rings(2, 1, 0);
	for (uint32_t i = 0; i < FALCON_MAX_SHARDS; i++)
		env.config->shard[i].sleeping = i == shard_of(2);
	env_dirty_clear(&env);
	env_ack(&env, 2);
	check_rings(2, 1, 1);
	/* Somebody is on the way. */
	env_ack(&env, 2);
	check_rings(2, 1, 0);
	env_ack(&env, 3);
	check_rings(3, 1, 0);
}

/* Beyond the thresholds, with neither P1 nor P2, there is no event. */
static void event__by_how_full_that_ring_is(void **state)
{
	(void)state;
	env_reset(&env);
	env.config->rue_p1_ns = UINT64_MAX;
	env.config->rue_p2_packets = 100;
	for (int i = 0; i < 3; i++)
		env.config->rue_threshold[i] = 1;
	env_ack(&env, 0);
	env_ack(&env, 0);
	env_ack(&env, 1);
	assert_int_equal(env.conns[0].cc_event.events, 1);
	assert_int_equal(env.conns[0].cc_event.suppressed, 1);
	assert_int_equal(env.conns[1].cc_event.events, 1);
	assert_int_equal(env.conns[1].cc_event.suppressed, 0);
	assert_int_equal(env_consume(&env), 2);
}

static void event__not_into_a_full_ring(void **state)
{
	const int fit = FALCON_RUE_RING_BYTES / (sizeof(struct falcon_rue_event) + 8);
	struct falcon_counters before, after;

	(void)state;
	env_reset(&env);
	for (int i = 0; i < 3; i++)
		env.config->rue_threshold[i] = UINT32_MAX;
	env_counters(&env, &before);
	for (int i = 0; i < fit + 9; i++) {
		env.conns[0].cc.data_next++;
		env_ack(&env, 0);
	}
	env_ack(&env, 1);
	env_counters(&env, &after);
	assert_in_range(env.conns[0].cc_event.suppressed, 9, 10);
	assert_int_equal(env.conns[0].cc_event.events + env.conns[0].cc_event.suppressed, fit + 9);
	assert_int_equal(after.rue_suppressed - before.rue_suppressed, env.conns[0].cc_event.suppressed);
	assert_int_equal(env.conns[1].cc_event.events, 1);
	assert_int_equal(env_consume(&env), (int)env.conns[0].cc_event.events + 1);
}

/* As with full rings: the state is kept, and counted what is not told. */
static void no_rings__state_is_kept(void **state)
{
	struct falcon_counters before, after;

	(void)state;
	env_reset(&env);
	env.conns[1].id.shard = 0;
	env.config->shard[0].sleeping = 1;
	env_counters(&env, &before);
	env_ack(&env, 1);
	env_counters(&env, &after);
	check_dirty(1);
	assert_int_equal(env.conns[1].cc_event.events, 0);
	assert_int_equal(env.conns[1].cc_event.suppressed, 1);
	assert_int_equal(after.rue_suppressed - before.rue_suppressed, 1);
	assert_int_equal(after.rue_events, before.rue_events);
	assert_int_equal(after.wakeups, before.wakeups);
	assert_int_equal(env_consume(&env), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dirty__in_the_entry_of_its_shard),
		cmocka_unit_test(event__in_the_ring_of_its_shard),
		cmocka_unit_test(wake__of_a_sleeping_shard_by_its_own),
		cmocka_unit_test(event__by_how_full_that_ring_is),
		cmocka_unit_test(event__not_into_a_full_ring),
		cmocka_unit_test(no_rings__state_is_kept),
	};

	return env_main(&env, "shards", tests, ARRAY_SIZE(tests), NULL);
}
