// SPDX-License-Identifier: BSD-2-Clause
/*
 * From frames on the sockets to the core: those that XDP has judged, and, where XDP only steers,
 * the same judgement made here with the same code.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "falcon/rx.h"

enum rx_const {
	RX_BURST = 64,		/* frames a socket and turn */
};

static void count(struct agent *a, enum falcon_verdict v)
{
	((__u64 *)&a->counters)[v]++;
}

void agent_mark_dirty(struct agent *a, uint32_t cid)
{
	struct falcon_dirty *d = a->maps.dirty;

	falcon_fetch_or(&d->word[cid / 64], 1ULL << (cid % 64));
	falcon_fetch_or(&d->summary[cid / 4096], 1ULL << (cid / 64 % 64));
}

static uint32_t take_word(struct agent *a, uint32_t index)
{
	__u64 bits = __atomic_exchange_n(&a->maps.dirty->word[index], 0, __ATOMIC_ACQ_REL);
	uint32_t n = 0;

	for (; bits; bits &= bits - 1, n++) {
		const struct agent_conn *c = a->conns[index * 64 + (uint32_t)__builtin_ctzll(bits)];

		if (c && c->core)
			fcore_acked(c->core, a->now);
	}
	return n;
}

uint32_t agent_take_dirty(struct agent *a)
{
	uint32_t n = 0;

	for (uint32_t s = 0; s < FALCON_DIRTY_SUMMARY; s++) {
		__u64 *summary = &a->maps.dirty->summary[s];
		__u64 bits;

		if (!falcon_load(summary))
			continue;
		bits = __atomic_exchange_n(summary, 0, __ATOMIC_ACQ_REL);
		for (; bits; bits &= bits - 1)
			n += take_word(a, s * 64 + (uint32_t)__builtin_ctzll(bits));
	}
	return n;
}

/*
 * Send the ACK or NACK of a packet refused here, on that packet's flow, as XDP does by turning the
 * frame round.
 */
static void answer(struct agent_conn *c, struct falcon_ack *ack, uint8_t flow)
{
	struct fcore_packet p = { .type = ack->type, .flow = flow };

	p.hdr_len = falcon_ack_pack(ack, p.hdr);
	if (agent_transmit(c->agent, c->core, &p) == 0)
		c->rx_answered++;
}

static void give(struct agent_conn *c, const struct falcon_hdr *h, const struct falcon_meta *m,
		 const struct xsk_rx_item *it)
{
	uint32_t hdr_len = falcon_hdr_len(h->type);
	struct fcore_rx rx = {
		.hdr = *h,
		.payload = it->data + m->falcon_off + hdr_len,
		.len = m->falcon_len - hdr_len,
		.frame = it->frame,
		.flow = m->flow,
		.now = m->rx_ns,
	};

	fcore_receive(c->core, &rx);
}

static enum falcon_verdict steered_ack(struct agent *a, struct agent_conn *c,
				       const struct falcon_frame *f, const uint8_t *falcon,
				       const struct falcon_meta *m)
{
	struct falcon_conn *shared = fcore_conn_shared(c->core);
	struct falcon_rue_event e = {};
	struct falcon_ack ack;
	enum falcon_verdict v;
	uint32_t acked;
	int rc = falcon_ack_unpack(falcon, falcon + f->falcon_len, &ack);

	if (rc != FALCON_WIRE_OK)
		return falcon_wire_verdict(rc);
	falcon_rx_remote_time(&shared->rx, f->iv);
	v = falcon_rx_ack(shared, &ack, m->rx_ns);
	if (v == FALCON_V_ack_stale || v == FALCON_V_ack_invalid)
		return v;
	acked = falcon_ack_total(&ack) - shared->cc_event.last_acked;
	shared->cc_event.last_acked += acked;
	falcon_rue_event_ack(shared, f->flow, &ack, falcon_time_of_iv(f->iv),
			     falcon_time_of_ns(m->rx_ns), acked, &e);
	a->maps.on_event(a->maps.arg, &e);
	fcore_acked(c->core, a->now);
	if (v == FALCON_V_rx_nack)
		fcore_nacked(c->core, &ack, a->now);
	return v;
}

/* |*kept| is set if the core took the frame over. */
static enum falcon_verdict steered_reliable(struct agent_conn *c, const struct falcon_frame *f,
					    const uint8_t *falcon, const struct falcon_meta *m,
					    const struct xsk_rx_item *it, bool *kept)
{
	struct falcon_conn *shared = fcore_conn_shared(c->core);
	struct falcon_hdr h;
	struct falcon_ack ack;
	enum falcon_verdict v;
	int rc = falcon_hdr_unpack(falcon, falcon + f->falcon_len, &h);

	if (rc != FALCON_WIRE_OK)
		return falcon_wire_verdict(rc);
	falcon_rx_measure(shared, f, m->rx_ns);
	if (falcon_piggyback(shared, h.rdbpsn, h.rrbpsn))
		fcore_acked(c->core, m->rx_ns);
	v = falcon_rx_window(shared, &h);
	if (v == FALCON_V_rx_data || v == FALCON_V_rx_request || v == FALCON_V_rx_resync) {
		*kept = true;
		give(c, &h, m, it);
	} else if (v != FALCON_V_drop_busy) {
		falcon_ack_compose(shared, f->flow, &ack);
		answer(c, &ack, f->flow);
	}
	return v;
}

/* The whole of Falcon 9.2.2 for a frame that XDP has only steered. */
static enum falcon_verdict steered(struct agent *a, struct agent_conn *c,
				   const struct falcon_meta *m, const struct xsk_rx_item *it,
				   bool *kept)
{
	const struct falcon_conn *shared = fcore_conn_shared(c->core);
	const uint8_t *end = it->data + it->len, *falcon;
	struct falcon_frame f;
	enum falcon_verdict v = falcon_parse_frame(it->data, end, &f);
	size_t alen;

	if (v != FALCON_V_rx_data)
		return v;
	if (f.cid != m->cid)
		return FALCON_V_drop_cid;
	alen = f.ipv6 ? 16 : 4;
	v = falcon_rx_check(shared, a->maps.config, &f, it->data + f.udp_off - 2 * alen,
			    it->data + f.udp_off - alen);
	if (v != FALCON_V_rx_data)
		return v;
	if (!(shared->id.flags & FALCON_CONN_NO_CSUM) && !frame_checksum_ok(it->data, &f))
		return FALCON_V_drop_csum;
	falcon = it->data + f.falcon_off;
	if (falcon_type_is_ack(f.type))
		return steered_ack(a, c, &f, falcon, m);
	return steered_reliable(c, &f, falcon, m, it, kept);
}

/* A frame that XDP has claimed. Returns true if the core took it over. */
static bool accepted(struct agent *a, struct agent_conn *c, const struct falcon_meta *m,
		     const struct xsk_rx_item *it)
{
	const uint8_t *falcon = it->data + m->falcon_off;
	struct falcon_hdr h;
	struct falcon_ack ack;

	if (m->verdict == FALCON_V_rx_nack) {
		if (falcon_ack_unpack(falcon, falcon + m->falcon_len, &ack) == FALCON_WIRE_OK) {
			fcore_acked(c->core, a->now);
			fcore_nacked(c->core, &ack, a->now);
		}
		return false;
	}
	if (falcon_hdr_unpack(falcon, falcon + m->falcon_len, &h) != FALCON_WIRE_OK)
		return false;
	give(c, &h, m, it);
	return true;
}

static void handle(struct agent *a, const struct xsk_rx_item *it)
{
	const struct falcon_meta *m = (const void *)(it->data - sizeof(*m));
	bool kept = false;

	if (m->magic == FALCON_META_MAGIC && m->cid < FALCON_MAX_CONNS &&
	    (uint32_t)m->falcon_off + m->falcon_len <= it->len) {
		struct agent_conn *c = a->conns[m->cid];

		if (!c || !c->core)
			count(a, FALCON_V_drop_not_alive);
		else if (m->verdict == FALCON_V_steered)
			count(a, steered(a, c, m, it, &kept));
		else
			kept = accepted(a, c, m, it);
	}
	if (!kept)
		xsk_frame_put(it->frame);
}

static uint32_t receive_burst(struct agent *a, struct xsk *x)
{
	struct xsk_rx_item items[RX_BURST];
	uint32_t n = xsk_rx(x, items, RX_BURST);

	for (uint32_t i = 0; i < n; i++) {
		if (i + 1 < n)
			__builtin_prefetch(items[i + 1].data - sizeof(struct falcon_meta));
		handle(a, &items[i]);
	}
	xsk_refill(x);
	return n;
}

uint32_t agent_receive(struct agent *a)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < a->nports; i++)
		for (uint32_t q = 0; q < a->ports[i].nqueues; q++)
			n += receive_burst(a, &a->ports[i].xsks[q]);
	a->stats.rx_frames += n;
	return n;
}

typedef void (*xsk_fn)(struct xsk *x);

static void each_xsk(struct agent *a, xsk_fn fn)
{
	for (unsigned i = 0; i < a->nports; i++)
		for (uint32_t q = 0; q < a->ports[i].nqueues; q++)
			fn(&a->ports[i].xsks[q]);
}

void agent_recover_drops(struct agent *a)
{
	bool dropped = false;

	for (unsigned i = 0; i < a->nports; i++)
		for (uint32_t q = 0; q < a->ports[i].nqueues; q++)
			dropped |= xsk_dropped(&a->ports[i].xsks[q]);
	if (!dropped)
		return;
	/* Nothing may be between claim and socket while claims are compared with arrivals. */
	each_xsk(a, xsk_hold_credits);
	maps_quiesce();
	while (agent_receive(a))
		;
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++)
		if (a->conns[cid] && a->conns[cid]->core)
			fcore_release_claims(a->conns[cid]->core);
	each_xsk(a, xsk_regrant);
	a->stats.drops_recovered++;
}
