/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters are described where they are declared: a list of a structure's counters,
 *
 *	#define THING_STATS(V)                                             \
 *		V(counter, tx_packets, none, "packets sent")               \
 *		V(gauge, rtt_ns, ns, "round-trip time of the latest sample")
 *
 * makes its members, by STAT_FIELD, rows of falconctl (user/agent/stats/stat.h), and metrics
 * (user/agent/metrics/tables.h). A counter only grows while its object lives, a gauge is the value of this
 * moment. The unit is none, bytes, or ns; ns_us is for ns that falconctl shows as microseconds. The last
 * argument says what is counted, for the operator.
 */
#ifndef FALCON_STATS_H
#define FALCON_STATS_H

#define STAT_FIELD(kind, name, unit, text) __u64 name;
/* The same outside of what is shared with XDP. */
#define STAT_MEMBER(kind, name, unit, text) uint64_t name;

/*
 * THING_STATS(STAT_ADD) adds the counters of |s| to those of |sum|, both pointers to the structure: what a
 * destroyed object leaves to the sum of the past. Gauges end with their object.
 */
#define STAT_ADD(kind, name, unit, text) STAT_ADD_##kind(name)
#define STAT_ADD_counter(name) sum->name += s->name;
#define STAT_ADD_gauge(name)

#endif /* FALCON_STATS_H */
