/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BPF ONLY. Telling the agent, by the shard whose connection it is: dirty connections, the wake-up, and RUE
 * events (Falcon 10.6.1).
 */
#ifndef FALCON_BPF_NOTIFY_H
#define FALCON_BPF_NOTIFY_H

#include "falcon_maps.h"
#include "falcon_work.h"

FALCON_INLINE __u32 falcon_shard_index(const struct falcon_work *w)
{
	return w->rx.conn->id.shard & (FALCON_MAX_SHARDS - 1);
}

/*
 * Wake the shard if it sleeps. It announces that, looks at the dirty bits once more, and sleeps; we
 * set the bits and then look, so one of the two sees the other. A full ring is a wake-up already
 * under way.
 */
FALCON_INLINE void falcon_wake_shard(struct falcon_work *w, __u32 shard)
{
	__u64 cid = w->rx.frame.cid;
	void *ring;

	/* The verifier forgets what it knew of |shard| when a helper has had its address. */
	if (!falcon_load(&w->rx.config->shard[shard & (FALCON_MAX_SHARDS - 1)].sleeping))
		return;
	ring = bpf_map_lookup_elem(&falcon_wake, &shard);
	if (ring && bpf_ringbuf_output(ring, &cid, sizeof(cid), BPF_RB_FORCE_WAKEUP) == 0)
		w->counters->wakeups++;
}

/*
 * Mark the connection as having ACK state that the agent has not seen. Whoever sets the bit first
 * also sets the summary and wakes; for the others somebody is already on the way.
 */
static __noinline void falcon_mark_dirty(struct falcon_work *w)
{
	__u32 shard = falcon_shard_index(w), cid = w->rx.frame.cid & (FALCON_MAX_CONNS - 1), word = cid / 64;
	struct falcon_dirty *d = bpf_map_lookup_elem(&falcon_dirty, &shard);

	if (!d)
		return;
	if (falcon_fetch_or(&d->word[word], 1ULL << (cid % 64)) & 1ULL << (cid % 64))
		return;
	falcon_fetch_or(&d->summary[word / 64], 1ULL << (word % 64));
	falcon_wake_shard(w, shard);
}

/* Write the event of ACK |a|; false if |ring| is full. */
FALCON_INLINE bool falcon_rue_emit(struct falcon_work *w, void *ring, const struct falcon_ack *a,
				   __u32 acked)
{
	struct falcon_rue_event *e = bpf_ringbuf_reserve(ring, sizeof(*e), 0);

	if (!e)
		return false;
	__builtin_memset(e, 0, sizeof(*e));
	falcon_rue_event_ack(w->rx.conn, w->rx.frame.flow, a, falcon_time_of_iv(w->rx.frame.iv),
			     falcon_time_of_ns(w->rx.now), acked, e);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return true;
}

/*
 * An ACK or NACK was applied: an event for the RUE, or not, by the policy of Falcon 10.6.1. True: an event.
 * An agent that is |quiet| would be woken by it, so either predicate has to hold, however empty the queue
 * is.
 */
static __noinline bool falcon_rue_ack(struct falcon_work *w, const struct falcon_ack *a, bool quiet)
{
	struct falcon_cc_event *s = &w->rx.conn->cc_event;
	__u32 total = falcon_ack_total(a), shard = falcon_shard_index(w);
	__s32 acked = falcon_seq_diff(total, falcon_load(&s->last_acked));
	void *ring = bpf_map_lookup_elem(&falcon_rue, &shard);
	__u32 used = ring ? (__u32)bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) : 0;
	bool p1 = w->rx.now - falcon_load(&s->last_ns) > w->rx.config->rue_p1_ns;
	bool p2;

	/* An EACK overtaken by its successor counts fewer packets than are known. */
	if (acked < 0)
		acked = 0;
	p2 = (__u32)acked >= w->rx.config->rue_p2_packets;
	if (!ring || (quiet && !p1 && !p2) || !falcon_rue_wants(used, w->rx.config->rue_threshold, p1, p2) ||
	    !falcon_rue_emit(w, ring, a, (__u32)acked)) {
		falcon_fetch_add(&s->suppressed, 1U);
		w->counters->rue_suppressed++;
		return false;
	}
	falcon_store(&s->last_ns, w->rx.now);
	if (acked)
		falcon_store(&s->last_acked, total);
	falcon_fetch_add(&s->events, 1U);
	w->counters->rue_events++;
	return true;
}

#endif /* FALCON_BPF_NOTIFY_H */
