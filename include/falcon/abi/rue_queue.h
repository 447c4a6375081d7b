/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The CC event queue and the CC result queue (Falcon 10.6.2): one producer, one consumer, 64-byte
 * entries, between threads or between processes that share a memfd. Nothing in the memory is an
 * address, so it may be mapped anywhere.
 *
 * Bit 511 of an entry is its generation: 1 the first time round, 0 the second, and so on. The
 * producer writes the entry's last word last, so a consumer that finds the generation it expects
 * finds all of the entry; it never looks at the producer's index. The other way the consumer says
 * how far it has read, and the producer never writes beyond that.
 *
 * Each side keeps its own copy of what it relies on (struct falcon_rue_producer, struct
 * falcon_rue_consumer): whatever the other side writes, neither leaves the memory. A garbled index
 * of the consumer looks like a full queue.
 */
#ifndef FALCON_RUE_QUEUE_H
#define FALCON_RUE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "../rue.h"

enum falcon_rue_queue_const {
	FALCON_RUE_QUEUE_MAGIC = 0x51455552,	/* "RUEQ" */
	FALCON_RUE_QUEUE_VERSION = 1,
	FALCON_RUE_QUEUE_MAX = 1 << 20,		/* entries */
	FALCON_RUE_GEN_SHIFT = 63,		/* the generation's place in the last word */
};

/* An event or a result, with the generation in its last bit. */
struct falcon_rue_entry {
	__u64 w[8];
};

struct falcon_rue_queue {
	__u32 magic;		/* these three: whoever makes the queue, once */
	__u32 version;
	__u32 entries;		/* a power of two, at most FALCON_RUE_QUEUE_MAX */
	__u32 tail FALCON_ALIGNED;	/* entries read, free-running; consumer, atomic */
	__u32 asleep;		/* 1: the consumer waits for a wake-up; both, by exchange */
	__u32 head FALCON_ALIGNED;	/* entries written, free-running; producer, for onlookers */
	struct falcon_rue_entry entry[] FALCON_ALIGNED;
};

struct falcon_rue_producer {
	struct falcon_rue_queue *q;
	__u32 entries;
	__u32 head;		/* where the next entry goes */
	__u32 tail;		/* of the consumer, as last seen */
};

struct falcon_rue_consumer {
	struct falcon_rue_queue *q;
	__u32 entries;
	__u32 tail;		/* the next entry to read */
};

/* Bytes of memory that a queue of |entries| takes. */
FALCON_INLINE size_t falcon_rue_queue_bytes(__u32 entries)
{
	return sizeof(struct falcon_rue_queue) + (size_t)entries * sizeof(struct falcon_rue_entry);
}

/* Make an empty queue in |q|, zeroed memory at a cache line's boundary. */
FALCON_INLINE void falcon_rue_queue_init(struct falcon_rue_queue *q, __u32 entries)
{
	q->version = FALCON_RUE_QUEUE_VERSION;
	q->entries = entries;
	falcon_store(&q->magic, (__u32)FALCON_RUE_QUEUE_MAGIC);
}

/* True if |q|, of which |bytes| are mapped, is a queue that this header can use. */
FALCON_INLINE bool falcon_rue_queue_valid(const struct falcon_rue_queue *q, size_t bytes)
{
	__u32 n;

	if (bytes < sizeof(*q) || falcon_load(&q->magic) != FALCON_RUE_QUEUE_MAGIC ||
	    q->version != FALCON_RUE_QUEUE_VERSION)
		return false;
	n = falcon_load(&q->entries);
	return n && n <= FALCON_RUE_QUEUE_MAX && !(n & (n - 1)) &&
	       bytes >= falcon_rue_queue_bytes(n);
}

/* Produce into |q|, which is valid, from where an earlier producer has stopped. */
FALCON_INLINE void falcon_rue_produce_into(struct falcon_rue_producer *p,
					   struct falcon_rue_queue *q)
{
	p->q = q;
	p->entries = q->entries;
	p->head = falcon_load(&q->head);
	p->tail = falcon_load(&q->tail);
}

/* Consume from |q|, which is valid, from where an earlier consumer has stopped. */
FALCON_INLINE void falcon_rue_consume_from(struct falcon_rue_consumer *c,
					   struct falcon_rue_queue *q)
{
	c->q = q;
	c->entries = q->entries;
	c->tail = falcon_load(&q->tail);
}

/* Entries written and not read, as the producer sees it: what 10.6.1 compares with thresholds. */
FALCON_INLINE __u32 falcon_rue_used(struct falcon_rue_producer *p)
{
	p->tail = falcon_load(&p->q->tail);
	return p->head - p->tail > p->entries ? p->entries : p->head - p->tail;
}

/* The generation that entry number |n| of a ring of |entries| has. */
FALCON_INLINE __u64 falcon_rue_generation(__u32 n, __u32 entries)
{
	return n & entries ? 0 : 1;
}

/* Append |w|, whose generation bit is set here. False if the queue is full. */
FALCON_INLINE bool falcon_rue_put(struct falcon_rue_producer *p, const __u64 w[8])
{
	__u64 *to = p->q->entry[p->head & (p->entries - 1)].w;
	__u64 last = w[7] & ~(1ULL << FALCON_RUE_GEN_SHIFT);

	if (p->head - p->tail >= p->entries && falcon_rue_used(p) >= p->entries)
		return false;
	for (int i = 0; i < 7; i++)
		to[i] = w[i];
	last |= falcon_rue_generation(p->head, p->entries) << FALCON_RUE_GEN_SHIFT;
	falcon_store(&to[7], last);
	p->head++;
	falcon_store(&p->q->head, p->head);
	return true;
}

/* Take the next entry into |w|. False if there is none. */
FALCON_INLINE bool falcon_rue_get(struct falcon_rue_consumer *c, __u64 w[8])
{
	__u64 *from = c->q->entry[c->tail & (c->entries - 1)].w;
	__u64 last = falcon_load(&from[7]);

	if (last >> FALCON_RUE_GEN_SHIFT != falcon_rue_generation(c->tail, c->entries))
		return false;
	for (int i = 0; i < 7; i++)
		w[i] = from[i];
	w[7] = last;
	c->tail++;
	falcon_store(&c->q->tail, c->tail);
	return true;
}

/* True if falcon_rue_get() would find an entry. */
FALCON_INLINE bool falcon_rue_ready(const struct falcon_rue_consumer *c)
{
	__u64 last = falcon_load(&c->q->entry[c->tail & (c->entries - 1)].w[7]);

	return last >> FALCON_RUE_GEN_SHIFT == falcon_rue_generation(c->tail, c->entries);
}

/*
 * The consumer is about to wait. True: nothing is there, and the producer will wake it; false: go
 * on reading. Both sides exchange the same word, so one of the two sees what the other did.
 */
FALCON_INLINE bool falcon_rue_sleep(struct falcon_rue_consumer *c)
{
	__atomic_exchange_n(&c->q->asleep, 1, __ATOMIC_ACQ_REL);
	if (!falcon_rue_ready(c))
		return true;
	__atomic_exchange_n(&c->q->asleep, 0, __ATOMIC_ACQ_REL);
	return false;
}

/* After a batch of falcon_rue_put(): true if the consumer sleeps and has to be woken. */
FALCON_INLINE bool falcon_rue_must_wake(struct falcon_rue_producer *p)
{
	return __atomic_exchange_n(&p->q->asleep, 0, __ATOMIC_ACQ_REL) == 1;
}

#endif /* FALCON_RUE_QUEUE_H */
