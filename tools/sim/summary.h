/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run came to, for the connections of one section. */
#ifndef FALCON_SIM_SUMMARY_H
#define FALCON_SIM_SUMMARY_H

#include "sim.h"

struct summary {
	double connections, messages, errors;
	double goodput_gbps;	/* payload of all, while results count */
	double mean_us, p50_us, p99_us, p999_us, max_us;	/* messages' latencies */
	double ideal_us;	/* of a message, if all that go to its host share the link evenly */
	double spread;		/* of connections' goodput: standard deviation by mean, % */
	double jain;		/* Jain's fairness index of the same */
	double rtt_us;		/* fabric round trip, mean, as the engine is told; 0: no engine */
	double packets;		/* reliable ones, sent first */
	double retx, rto, early;	/* sent again: % of |packets|; on timeout, early */
	double acks;
	double spurious;	/* received again although they had come: % of |packets| */
	double nacked;		/* refused for want of room at the receiver: % of |packets| */
	double lost, queue_full, marked;	/* packets, on all links */
	double max_queue;	/* bytes, of the link to the section's host */
	double time_ms;		/* of the run */
};

struct summary_column {
	const char *name;
	size_t offset;		/* of a double in struct summary */
};

/* Column |i|, or NULL behind the last. */
const struct summary_column *summary_column(uint32_t i);
static inline double summary_get(const struct summary *s, const struct summary_column *c)
{
	return *(const double *)((const char *)s + c->offset);
}

/* Sum up section |g| of a run that is over and not closed yet. Sorts its latencies. */
void summarize(const struct sim *s, uint32_t g, struct summary *sum);

#endif /* FALCON_SIM_SUMMARY_H */
