/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control in the agent: from events of XDP and the core to engines (user/rue), inline, on
 * a thread or in another process, and from their results back to the core.
 */
#ifndef FALCON_AGENT_RUE_H
#define FALCON_AGENT_RUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/abi/stats.h"

struct agent_conn;
struct cc_options;
struct falcon_ack;
struct falcon_rue_event;
struct fcore_occupancy;
struct rue_host;
struct rue_trace;
struct shard;

/* Of one flow while its connection is set up (stats.h). */
#define RUE_FLOW_STATS(V)										\
	V(counter, events, none, "events handed to the engine")						\
	V(counter, suppressed, none, "events withheld by the agent, or merged into a later one") \
	V(counter, results, none, "results applied")							\
	V(counter, reroutes_plb, none, "other paths taken since the engine said so (10.4)")

struct rue_flow_stats {
	RUE_FLOW_STATS(STAT_MEMBER)
	/* The latest result's: */
	uint32_t delay, rtt;	/* smoothed, Falcon time units */
	uint32_t gap;		/* units of inter_packet_gap */
};

/* Make the engines that the configuration asks for. 0, or a negative errno with why in |err|. */
int agent_rue_open(struct shard *s, char *err, size_t errlen);
void agent_rue_close(struct shard *s);

/*
 * Let |c|'s congestion be controlled as |cc| says, from now on. Nothing changes if that fails: a
 * negative errno with why in |err|.
 */
int agent_rue_select(struct agent_conn *c, const struct cc_options *cc, char *err, size_t errlen);
/* |c|'s protocol state is fresh and not open to XDP yet: what the core does not know of it. */
void agent_rue_start(struct agent_conn *c);
/* |c| is closed: what it has counted is kept for the sums. */
void agent_rue_stop(struct agent_conn *c);

/* An event of XDP or the core, arg: the shard. */
void agent_on_rue_event(void *arg, const struct falcon_rue_event *e);
/* The core has made an event: subject to the policy of 10.6.1, like those of XDP. */
void agent_rue_core_event(struct shard *s, struct agent_conn *c, const struct falcon_rue_event *e);
/* The agent has taken in |ack| of |flow| itself, sent at |t3|, received at |now_ns|. */
void agent_rue_ack(struct shard *s, struct agent_conn *c, uint32_t flow,
		   const struct falcon_ack *ack, uint32_t t3, uint64_t now_ns);
/* Apply the results that a thread or process has computed. Returns how many. */
uint32_t agent_rue_poll(struct shard *s);
/* About to sleep: true if results wait after all. */
bool agent_rue_waiting(struct shard *s);

/* process.c: every now and then: is there a process that computes for us? */
void agent_rue_tick(struct shard *s);
/* process.c: true if agent_rue_tick() should be called when |fd| is ready. */
bool agent_rue_watches(const struct shard *s, int fd);
/* process.c: where results are computed now: "inline", "thread" or "process". */
const char *agent_rue_where(const struct shard *s);
/* process.c: rue_host_trace(), there; |fd| is the memory of |t|. False: it cannot be reached. */
bool agent_rue_trace_set(struct shard *s, struct rue_trace *t, int fd, uint32_t records,
			 int64_t only);

/*
 * level.c: what waits in receive rings counts in the buffer level of ACKs (10.2) beside the
 * core's pools. |n| frames wait now in the ring that |ring|, of one of the agent's ports, is of.
 */
void agent_rx_level_init(const struct shard *s, struct fcore_occupancy *ring);
void agent_rx_level_set(struct shard *s, struct fcore_occupancy *ring, uint32_t n);

/* What |flow| of |c| has counted. */
const struct rue_flow_stats *agent_rue_stats(const struct agent_conn *c, uint32_t flow);
/* What connections had counted when they were closed, all together; the rest of it means nothing. */
const struct rue_flow_stats *agent_rue_past(const struct shard *s);
/* What identifies the flow, and its profile, to engines: base_delay_target. */
uint32_t agent_rue_base(const struct agent_conn *c, uint32_t flow);
struct rue_host *agent_rue_host(const struct shard *s);

#endif /* FALCON_AGENT_RUE_H */
