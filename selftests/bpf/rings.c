// SPDX-License-Identifier: BSD-2-Clause
/*
 * The agent's side of the maps (user/io) with the real object: pinned maps are found and their shapes
 * checked, and each shard hears by rings of its own. The bpffs they are pinned in is this process' alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "env.h"
#include "io/maps.h"

#define DIR "/sys/fs/bpf"

enum { SHARDS = 3 };

/* What a shard has heard. */
struct heard {
	uint32_t events, cid;
};

static struct env env;

static void on_event(void *arg, const struct falcon_rue_event *e)
{
	struct heard *h = arg;

	h->events++;
	h->cid = (uint32_t)falcon_ev_get(e, connection_id) & FALCON_RUE_CID_MASK;
}

/* Pin all maps in |dir|, but |other|, unless negative, in place of |name|. */
static int pin(const char *dir, const char *name, int other)
{
	char path[128];
	struct bpf_map *map;

	bpf_object__for_each_map(map, env.obj) {
		const char *is = bpf_map__name(map);
		int fd = other >= 0 && strcmp(is, name) == 0 ? other : bpf_map__fd(map);

		snprintf(path, sizeof(path), "%s/%s", dir, is);
		if (strncmp(is, "falcon_", 7) == 0 && bpf_obj_pin(fd, path))
			return -1;
	}
	return 0;
}

static int make_stage(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("bpf", DIR, "bpf", 0, NULL))
		return -1;
	return pin(DIR, NULL, -1);
}

/* As an agent with |n| shards, of which shard i tells |heard|[i]; connection i is shard i's. */
static void start(struct maps *m, uint32_t n, struct heard *heard)
{
	void *args[FALCON_MAX_SHARDS];
	char err[320] = "";

	env_reset(&env);
	for (uint32_t i = 0; i < SHARDS; i++)
		env.conns[i].id.shard = (uint8_t)i;
	for (uint32_t i = 0; i < n; i++)
		args[i] = &heard[i];
	if (maps_open(m, DIR, err, sizeof(err)) || maps_rings_open(m, n, on_event, args, err, sizeof(err)))
		fail_msg("%s", err);
}

static bool readable(const struct maps *m, uint32_t shard)
{
	struct pollfd p = { .fd = maps_fd(m, shard), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void events__reach_their_shard(void **state)
{
	struct heard heard[SHARDS] = {};
	struct maps m;

	(void)state;
	start(&m, SHARDS, heard);
	env_ack(&env, 1);
	env_ack(&env, 2);
	env_ack(&env, 2);
	for (uint32_t i = 0; i < SHARDS; i++) {
		assert_int_equal(maps_consume(&m, i), i);
		assert_int_equal(heard[i].events, i);
		assert_int_equal(heard[i].cid, i);
		assert_int_equal(m.dirty[i].word[0], i ? 1U << i : 0);
	}
	maps_close(&m);
}

static void wakes__reach_their_shard(void **state)
{
	struct heard heard[SHARDS] = {};
	struct maps m;

	(void)state;
	start(&m, SHARDS, heard);
	m.config->shard[1].sleeping = 1;
	for (uint32_t i = 0; i < SHARDS; i++)
		env_ack(&env, i);
	for (uint32_t i = 0; i < SHARDS; i++)
		assert_int_equal(readable(&m, i), i == 1);
	assert_int_equal(maps_consume(&m, 1), 2);
	assert_int_equal(heard[1].events, 1);
	assert_false(readable(&m, 1));
	maps_close(&m);
}

/* An agent that died has left rings, and events in them. */
static void successor__has_its_own_rings(void **state)
{
	struct heard dead[SHARDS] = {}, heard = {};
	struct falcon_counters before, after;
	struct maps old, m;

	(void)state;
	start(&old, SHARDS, dead);
	env_ack(&env, 0);
	start(&m, 1, &heard);
	assert_int_equal(maps_consume(&m, 0), 0);
	env_counters(&env, &before);
	env_ack(&env, 0);
	env_ack(&env, 2);
	env_counters(&env, &after);
	assert_int_equal(maps_consume(&m, 0), 1);
	assert_int_equal(heard.events, 1);
	/* That of shard 2, which is no more, is lost. */
	assert_int_equal(after.rue_suppressed - before.rue_suppressed, 1);
	assert_int_equal(maps_consume(&old, 0), 1);
	assert_int_equal(maps_consume(&old, 2), 0);
	maps_close(&old);
	maps_close(&m);
}

/* Maps as an earlier build pinned them. */
static void maps__of_another_build_refused(void **state)
{
	static const struct {
		const char *name;
		enum bpf_map_type type;
		uint32_t key, value, entries;
	} olds[] = {
		{ "falcon_dirty", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct falcon_dirty), 1 },
		{ "falcon_rue", BPF_MAP_TYPE_RINGBUF, 0, 0, FALCON_RUE_RING_BYTES },
		{ "falcon_wake", BPF_MAP_TYPE_RINGBUF, 0, 0, FALCON_WAKE_RING_BYTES },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(olds); i++) {
		int fd = bpf_map_create(olds[i].type, "old", olds[i].key, olds[i].value, olds[i].entries,
					NULL);
		char dir[64], err[512] = "";
		struct maps m;

		snprintf(dir, sizeof(dir), DIR "/%zu", i);
		assert_int_equal(mkdir(dir, 0700), 0);
		assert_int_equal(pin(dir, olds[i].name, fd), 0);
		assert_int_equal(maps_open(&m, dir, err, sizeof(err)), -EPROTO);
		assert_non_null(strstr(err, olds[i].name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events__reach_their_shard),
		cmocka_unit_test(wakes__reach_their_shard),
		cmocka_unit_test(successor__has_its_own_rings),
		cmocka_unit_test(maps__of_another_build_refused),
	};

	return env_main(&env, "rings", tests, ARRAY_SIZE(tests), make_stage);
}
