// SPDX-License-Identifier: BSD-2-Clause
#include "link.h"

enum { NS_PER_S = 1000000000, BITS = 8 };

/* xorshift64: plenty for choosing packets, and repeatable. */
static uint64_t next_random(uint64_t *rng)
{
	uint64_t x = *rng;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*rng = x;
	return x;
}

static bool hit(uint64_t *rng, uint32_t share)
{
	return share && (uint32_t)(next_random(rng) >> 32) <= share;
}

/* Nanoseconds the wire takes for |len| bytes. */
static uint64_t wire_ns(const struct link_conf *conf, uint64_t len)
{
	return conf->rate ? len * BITS * NS_PER_S / conf->rate : 0;
}

static uint64_t flight_ns(const struct link_conf *conf, uint64_t *rng)
{
	uint64_t spread = conf->jitter_ns;

	if (hit(rng, conf->reorder))
		return 0;
	if (!spread)
		return conf->delay_ns;
	if (spread > conf->delay_ns)
		spread = conf->delay_ns;
	return conf->delay_ns - spread + next_random(rng) % (2 * spread + 1);
}

struct link_fate link_offer(struct link *link, const struct link_conf *conf, uint64_t *rng,
			    uint64_t now, uint32_t len)
{
	struct link_fate fate = { .copies = 1 };
	uint64_t wait = link->free_at > now ? link->free_at - now : 0;
	/* What waits is what the wire still has to send, so no packet needs to be counted. */
	uint64_t backlog = (uint64_t)((__uint128_t)wait * conf->rate / BITS / NS_PER_S);

	if (conf->rate && backlog + len > conf->queue) {
		link->dropped++;
		fate.dropped = true;
		return fate;
	}
	fate.mark = conf->ecn && backlog >= conf->ecn;
	link->sent++;
	link->free_at = now + wait + wire_ns(conf, len);
	fate.at = link->free_at + flight_ns(conf, rng);
	if (hit(rng, conf->dup))
		fate.copies = 2;
	return fate;
}
