// SPDX-License-Identifier: BSD-2-Clause
/*
 * When acknowledgments leave (9.1.6): at once by request and by count, else when the coalescing timer says
 * so, unless a packet takes the news along. What is owed is reckoned from what is delivered and accepted;
 * a turn in which nothing held the core back leaves none behind that is due.
 */
#include "check.h"

enum {
	TICK_NS = 1024,		/* timers of the core fire late by up to so much, */
	WAKE_NS = 1024,		/* ... and the agent has had its turn by then */
};

void check_owe(struct endpoint *e, uint32_t flow, uint32_t count, bool ar)
{
	uint64_t now = host_now(e->host);
	struct due_ack *o = &e->ack[flow];

	if (!e->sim->cfg->checks || !e->core || e->fatal || e->closing)
		return;
	if (!(e->owing >> flow & 1)) {
		e->owing |= (uint16_t)(1U << flow);
		*o = (struct due_ack){ .due = now + e->cfg->ack_timeout + TICK_NS };
	}
	o->count += count;
	o->ar |= ar;
	if ((ar || o->count >= e->cfg->ack_count) && now < o->due)
		o->due = now;
	if (o->due < e->host->ack_due)
		e->host->ack_due = o->due;
}

static void fail_late(const struct endpoint *e, uint32_t flow, uint64_t now)
{
	const struct due_ack *o = &e->ack[flow];

	sim_fail(e->sim, e, "flow %u: the ACK of %u packets%s is due for %llu ns", flow, o->count,
		 o->ar ? ", wanted" : "", (unsigned long long)(now - o->due));
}

/* None of |h| is due at |now|, by its clock. */
static void check_none_due(struct host *h, uint64_t now)
{
	if (now < h->ack_due)
		return;
	h->ack_due = FCORE_NEVER;
	for (uint32_t i = 0; i < h->neps; i++) {
		struct endpoint *e = h->ep[i];

		if (!e->core || e->fatal)
			e->owing = 0;
		for (uint32_t m = e->owing; m; m &= m - 1) {
			uint32_t flow = (uint32_t)__builtin_ctz(m);

			/* What XDP has told of the agent comes to in its next turn. */
			if (e->ack[flow].due <= now && e->dirty)
				h->ack_due = now;
			else if (e->ack[flow].due <= now)
				fail_late(e, flow, now);
			else if (e->ack[flow].due < h->ack_due)
				h->ack_due = e->ack[flow].due;
		}
	}
}

void check_awake(struct host *h)
{
	uint64_t now = host_now(h);

	if (h->at_ease && now > WAKE_NS)
		check_none_due(h, now - WAKE_NS);
}

void check_turn(struct host *h, uint64_t refused, bool spent)
{
	h->at_ease = h->tx_refused == refused && !spent;
	if (h->at_ease)
		check_none_due(h, host_now(h));
}

void check_acked(struct endpoint *e, uint32_t flow)
{
	e->owing &= (uint16_t)~(1U << flow);
	e->answered |= (uint16_t)(1U << flow);
}

void check_piggybacked(struct endpoint *e)
{
	if (!e->owing || !check_all_told(e))
		return;
	for (uint32_t m = e->owing; m; m &= m - 1)
		if (!e->ack[__builtin_ctz(m)].ar)
			check_acked(e, (uint32_t)__builtin_ctz(m));
}

void check_nothing_owed(const struct endpoint *e)
{
	if (e->owing && !e->fatal)
		fail_late(e, (uint32_t)__builtin_ctz(e->owing), e->ack[__builtin_ctz(e->owing)].due);
}
