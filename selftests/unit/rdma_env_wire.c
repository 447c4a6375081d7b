// SPDX-License-Identifier: BSD-2-Clause
/* The wire of rdma_env.h: a heap of packets by their arrival. */
#include "rdma_env_parts.h"

#include <string.h>

static struct env_packet flight[ENV_FLIGHT];

bool env_chance(unsigned int percent)
{
	return percent && unit_random(&env.random) % 100 < percent;
}

static bool before(const struct env_packet *a, const struct env_packet *b)
{
	return a->at != b->at ? a->at < b->at : a->number < b->number;
}

static void swap(uint32_t i, uint32_t j)
{
	struct env_packet p = env.flight[i];

	env.flight[i] = env.flight[j];
	env.flight[j] = p;
}

static void put(const struct env_conn *c, uint8_t flow, const void *bytes, uint32_t len)
{
	uint64_t delay = 5000 + unit_random(&env.random) % (env.faults.jitter + 1);
	uint32_t i = env.in_flight++;
	struct env_packet *p = &env.flight[i];

	assert_true(i < ENV_FLIGHT && len <= ENV_BYTES);
	if (env_chance(env.faults.reorder))
		delay += unit_random(&env.random) % 40000;
	p->at = env.now + delay;
	p->sent = env.now;
	p->number = env.packets++;
	p->host = c->peer_host;
	p->cid = c->peer_cid;
	p->flow = flow;
	p->len = len;
	memcpy(p->bytes, bytes, len);
	for (; i && before(&env.flight[i], &env.flight[(i - 1) / 2]); i = (i - 1) / 2)
		swap(i, (i - 1) / 2);
}

struct env_packet env_pop(void)
{
	struct env_packet first = env.flight[0];
	uint32_t i = 0, n = --env.in_flight;

	env.flight[0] = env.flight[n];
	for (;;) {
		uint32_t l = 2 * i + 1, m = i;

		if (l < n && before(&env.flight[l], &env.flight[m]))
			m = l;
		if (l + 1 < n && before(&env.flight[l + 1], &env.flight[m]))
			m = l + 1;
		if (m == i)
			return first;
		swap(i, m);
		i = m;
	}
}

/* Both ends of |c| are on one host. */
static bool is_own(const struct env_conn *c)
{
	const struct env_host *h = &env.host[c->peer_host];

	return c >= h->conns && c < h->conns + ENV_CONNS;
}

void env_send(const struct env_conn *c, uint8_t flow, const void *bytes, uint32_t len)
{
	if (env.host[c->peer_host].dark && !is_own(c))
		return;
	if (!env_chance(env.faults.loss))
		put(c, flow, bytes, len);
	if (env_chance(env.faults.dup))
		put(c, flow, bytes, len);
}

void env_wire_open(void)
{
	env.flight = flight;
}
