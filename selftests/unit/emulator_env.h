/* SPDX-License-Identifier: BSD-2-Clause */
/* A falcon-wire without interfaces, in virtual time: frames go in, and come out into a log. */
#ifndef FALCON_SELFTESTS_EMULATOR_ENV_H
#define FALCON_SELFTESTS_EMULATOR_ENV_H

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/wire/frame.h"
#include "../../tools/wire/link.h"
#include "../../tools/wire/wire.h"
#include "unit.h"

enum wire_env_const { ENV_FRAMES = 4096, ENV_FRAME_SIZE = 2048, ENV_LOG = 200000, ENV_MIN = 46 };

/* A frame that came out. */
struct env_out {
	uint64_t at;
	uint32_t number;	/* as given to env_send() */
	uint32_t len;
	uint8_t to, path, tos;
};

struct wire_env {
	struct wire *w;
	struct pool pool;
	uint64_t now;
	uint32_t outs;
	struct env_out out[ENV_LOG];
};

static inline void env_deliver(void *arg, uint32_t frame)
{
	struct wire_env *e = arg;
	const struct pool_frame *f = &e->pool.frame[frame];
	const uint8_t *data = pool_data(&e->pool, frame);
	struct env_out *o = &e->out[e->outs++];

	assert_true(e->outs <= ENV_LOG);
	*o = (struct env_out){ .at = e->now, .len = f->len, .to = f->to, .path = f->path,
			       .tos = data[15] };
	memcpy(&o->number, data + 42, sizeof(o->number));
	pool_give(&e->pool, frame);
}

/* |settings| is "KEY=VALUE ...", for all of |paths| paths between |ports| ports. */
static inline struct wire_env *env_open(unsigned int ports, unsigned int paths, uint64_t seed,
					const char *settings)
{
	struct wire_env *e = calloc(1, sizeof(*e));
	struct wire_conf conf = { .ports = ports, .paths = paths, .seed = seed,
				  .deliver = env_deliver, .arg = e };
	char copy[200], *rest = copy, *word, err[WIRE_ERR_LEN];
	struct wire_settings set;

	assert_non_null(e);
	settings_init(&set);
	assert_true(strlen(settings) < sizeof(copy));
	strcpy(copy, settings);
	while ((word = strsep(&rest, " ")))
		if (*word)
			assert_int_equal(settings_assign(&set, word, err), 0);
	assert_int_equal(settings_check(&set, err), 0);
	for (unsigned int i = 0; i < paths; i++)
		conf.path[i] = set;
	assert_int_equal(pool_init(&e->pool, ENV_FRAMES, ENV_FRAME_SIZE), 0);
	e->w = calloc(1, sizeof(*e->w));
	assert_non_null(e->w);
	assert_int_equal(wire_init(e->w, &e->pool, &conf), 0);
	return e;
}

static inline void env_close(struct wire_env *e)
{
	wire_close(e->w);
	free(e->w);
	pool_close(&e->pool);
	free(e);
}

/* Let time pass until |until|, from event to event. */
static inline void env_run(struct wire_env *e, uint64_t until)
{
	while (wire_next(e->w) <= until) {
		e->now = wire_next(e->w);
		wire_advance(e->w, e->now);
	}
	e->now = until;
}

/* Let all that is under way arrive. */
static inline void env_drain(struct wire_env *e)
{
	while (wire_next(e->w) != UINT64_MAX)
		env_run(e, wire_next(e->w));
}

/* An IPv4 UDP packet, ECT(0), of |len| bytes (at least ENV_MIN) from source port |sport|. */
static inline void env_packet(uint8_t *data, uint32_t len, uint16_t sport, uint32_t number)
{
	static const uint8_t head[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,		/* Ethernet */
		0x45, 2, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0,		/* IPv4 */
		10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0,	/* UDP */
	};

	memset(data, 0, len);
	memcpy(data, head, sizeof(head));
	data[34] = (uint8_t)(sport >> 8);
	data[35] = (uint8_t)sport;
	memcpy(data + 42, &number, sizeof(number));
}

/* A free frame of |len| bytes, empty. */
static inline uint32_t env_frame(struct wire_env *e, uint32_t len)
{
	uint32_t frame = pool_take(&e->pool);

	assert_true(frame != POOL_NONE);
	e->pool.frame[frame].offset = POOL_HEADROOM;
	e->pool.frame[frame].len = len;
	return frame;
}

/* Send packet |number| through |port| now. */
static inline void env_send(struct wire_env *e, unsigned int port, uint32_t len, uint16_t sport,
			    uint32_t number)
{
	uint32_t frame = env_frame(e, len);

	env_packet(pool_data(&e->pool, frame), len, sport, number);
	wire_advance(e->w, e->now);
	wire_input(e->w, port, 0, frame, e->now);
}

/* |n| packets of |len| bytes from port 0, |gap| ns apart, and all that comes of them. */
static inline void env_volley(struct wire_env *e, uint32_t n, uint32_t len, uint64_t gap)
{
	for (uint32_t i = 0; i < n; i++) {
		env_send(e, 0, len, 5000, i);
		env_run(e, e->now + gap);
	}
	env_drain(e);
}

/* What is known about the link from port 0 to 1. */
static inline const struct link_stats *env_stats(const struct wire_env *e)
{
	return &e->w->link[1][0].stats;
}

/* The link from port 0 to 1 fails, or is mended. */
static inline void env_set_down(struct wire_env *e, bool down)
{
	struct wire_settings set = e->w->link[1][0].set;

	set.down = down;
	wire_configure(e->w, 1, 0, &set);
}

/* Nothing is on the link from port 0 to 1, and no frame is missing. */
static inline void env_assert_idle(const struct wire_env *e)
{
	assert_int_equal(e->w->link[1][0].packets + e->w->link[1][0].bytes, 0);
	assert_int_equal(e->w->link[1][0].under_way, 0);
	assert_int_equal(e->pool.frees, ENV_FRAMES);
}

/* Of 20 packets of 1000 bytes at once the first |fit| arrive, and the rest finds the queue full. */
static inline void env_assert_fit(const char *settings, uint32_t fit)
{
	struct wire_env *e = env_open(2, 1, 1, settings);

	for (uint32_t n = 0; n < 20; n++)
		env_send(e, 0, 1000, 5000, n);
	env_drain(e);
	assert_int_equal(e->outs, fit);
	for (uint32_t n = 0; n < fit; n++)
		assert_int_equal(e->out[n].number, n);
	assert_int_equal(env_stats(e)->queue_full, 20 - fit);
	env_assert_idle(e);
	env_close(e);
}

#endif /* FALCON_SELFTESTS_EMULATOR_ENV_H */
