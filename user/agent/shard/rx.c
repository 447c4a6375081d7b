// SPDX-License-Identifier: BSD-2-Clause
/* From frames on the sockets to the core: those that XDP has judged; steer.c judges the others. */
#include "agent/shard/shard.h"

#include <stdlib.h>
#include <string.h>

#include "agent/shard/plane.h"
#include "agent/rue/rue.h"
#include "agent/shard/conn.h"
#include "agent/shard/loopback.h"

enum rx_const {
	RX_BURST = 64,		/* frames a socket and turn */
};

static void count(struct shard *s, enum falcon_verdict v)
{
	((__u64 *)&s->counters)[v]++;
}

void shard_mark_dirty(struct shard *s, uint32_t cid)
{
	struct falcon_dirty *d = &s->plane->maps.dirty[s->index];

	falcon_fetch_or(&d->word[cid / 64], 1ULL << (cid % 64));
	falcon_fetch_or(&d->summary[cid / 4096], 1ULL << (cid / 64 % 64));
}

static uint32_t take_word(struct shard *s, uint32_t index)
{
	struct falcon_dirty *d = &s->plane->maps.dirty[s->index];
	__u64 bits = __atomic_exchange_n(&d->word[index], 0, __ATOMIC_ACQ_REL);
	uint32_t n = 0;

	for (; bits; bits &= bits - 1) {
		const struct agent_conn *c = s->conns[index * 64 + (uint32_t)__builtin_ctzll(bits)];

		if (c && c->core)
			n += fcore_acked(c->core, s->now);
	}
	return n;
}

uint32_t shard_take_dirty(struct shard *s)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w * 4096 < s->plane->maps.nconns; w++) {
		__u64 *summary = &s->plane->maps.dirty[s->index].summary[w];
		__u64 bits;

		if (!falcon_load(summary))
			continue;
		bits = __atomic_exchange_n(summary, 0, __ATOMIC_ACQ_REL);
		for (; bits; bits &= bits - 1)
			n += take_word(s, w * 64 + (uint32_t)__builtin_ctzll(bits));
	}
	return n;
}

/* A frame that XDP has claimed. Returns true if the core took it over. */
static bool accepted(struct shard *s, struct agent_conn *c, const struct falcon_meta *m,
		     const struct xsk_rx_item *it)
{
	const uint8_t *falcon = it->data + m->falcon_off;
	struct falcon_hdr h;
	struct falcon_ack ack;

	if (m->verdict == FALCON_V_rx_nack) {
		if (falcon_ack_unpack(falcon, falcon + m->falcon_len, &ack) == FALCON_WIRE_OK) {
			fcore_acked(c->core, s->now);
			fcore_nacked(c->core, &ack, s->now);
		}
		return false;
	}
	if (falcon_hdr_unpack(falcon, falcon + m->falcon_len, &h) != FALCON_WIRE_OK)
		return false;
	agent_give(c, &h, m, it);
	return true;
}

static const struct falcon_meta *meta_of(const struct xsk_rx_item *it)
{
	return (const void *)(it->data - sizeof(struct falcon_meta));
}

void shard_handle(struct shard *s, const struct xsk_rx_item *it)
{
	const struct falcon_meta *m = meta_of(it);
	struct agent_conn *c = s->conns[m->cid];
	bool kept = false;

	if (!c || !c->core)
		count(s, FALCON_V_drop_not_alive);
	else if (m->verdict == FALCON_V_steered)
		count(s, agent_steered(c, m, it, &kept));
	else
		kept = accepted(s, c, m, it);
	if (!kept)
		handover_release(s, it->frame);
}

/* A frame out of a socket of the shard's, for it or for another. */
static void sort(struct shard *s, const struct xsk_rx_item *it)
{
	const struct falcon_meta *m = meta_of(it);
	uint8_t to;

	if (m->magic != FALCON_META_MAGIC || m->cid >= s->plane->maps.nconns ||
	    (uint32_t)m->falcon_off + m->falcon_len > it->len)
		return xsk_frame_put(it->frame);
	to = falcon_load(&s->plane->shard_of[m->cid]);
	if (to == s->index)
		return shard_handle(s, it);
	it->frame->data = it->data;
	it->frame->len = it->len;
	handover_add(s, to, it->frame);
}

static uint32_t receive_burst(struct shard *s, struct xsk *x, struct fcore_occupancy *waiting)
{
	struct xsk_rx_item items[RX_BURST];
	uint32_t n;

	s->rx_waiting = xsk_rx_waiting(x);
	agent_rx_level_set(s, waiting, s->rx_waiting);
	n = xsk_rx(x, items, RX_BURST);
	for (uint32_t i = 0; i < n; i++) {
		if (i + 1 < n)
			__builtin_prefetch(items[i + 1].data - sizeof(struct falcon_meta));
		sort(s, &items[i]);
	}
	handover_flush(s);
	xsk_refill(x);
	return n;
}

uint32_t shard_receive(struct shard *s)
{
	struct plane *p = s->plane;
	uint32_t n = 0;

	for (unsigned i = 0; i < p->nports; i++)
		for (uint32_t q = s->index; q < p->ports[i].nqueues; q += p->nshards)
			n += receive_burst(s, &p->ports[i].xsks[q], &p->ports[i].waiting[q]);
	s->rx_waiting = 0;
	s->stats.rx_frames += n;
	return n;
}

void shard_each_xsk(struct shard *s, void (*fn)(struct xsk *x))
{
	struct plane *p = s->plane;

	for (unsigned i = 0; i < p->nports; i++)
		for (uint32_t q = s->index; q < p->ports[i].nqueues; q += p->nshards)
			fn(&p->ports[i].xsks[q]);
}

uint32_t shard_take_over(struct shard *s)
{
	struct xsk_frame *f = handover_take(s), *next;
	uint32_t n = 0;

	for (; f; f = next, n++) {
		next = f->next;
		if (f->xsk)
			shard_handle(s, &(struct xsk_rx_item){ .frame = f, .data = f->data, .len = f->len });
		else
			loopback_deliver(s, f);
	}
	return n;
}

void shard_look_for_drops(struct shard *s)
{
	struct plane *p = s->plane;
	bool dropped = false;

	for (unsigned i = 0; i < p->nports; i++)
		for (uint32_t q = s->index; q < p->ports[i].nqueues; q += p->nshards)
			dropped |= xsk_dropped(&p->ports[i].xsks[q]);
	if (dropped)
		news_drops(s);
}
