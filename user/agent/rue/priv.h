/* SPDX-License-Identifier: BSD-2-Clause */
/* What rue.c and process.c share. */
#ifndef FALCON_AGENT_RUE_PRIV_H
#define FALCON_AGENT_RUE_PRIV_H

#include "agent/config/rue.h"
#include "agent/rue/rue.h"
#include "rue/worker.h"

enum { THRESHOLDS = 3 };

struct flow {
	struct falcon_rue_event next;	/* merged, while |waiting| */
	struct rue_flow_stats stats;
	uint64_t last_ns;		/* of the latest event of the core's, for P1 */
	uint32_t acked_owed;		/* packets that withheld events told of */
	bool busy;			/* an event is with the worker */
	bool waiting;			/* |next| follows */
	bool stale;			/* the result under way is of the past: drop it */
};

struct agent_rue {
	struct rue_host *host;
	struct rue_worker *worker;	/* thread or process; NULL: inline */
	uint32_t threshold[THRESHOLDS];	/* of 10.6.1, entries of the worker's queue */
	struct flow *flow;		/* agent_rue_flows() of them, by CID and flow */
	struct rue_flow_stats past;	/* of flows whose counters were set back; counters alone */
	uint32_t under_way;		/* flows that are |busy| */
	uint64_t taken;			/* results, free-running */
	/* process.c. */
	struct rue_worker *joining;	/* a process that has not answered yet */
	uint32_t engines;		/* of the host, that the process knows */
	uint64_t next_try;		/* ns, when to look for a process again */
	uint64_t stalled_since;		/* ns; since then results are owed and none has come */
	uint64_t taken_then;		/* |taken| when last looked */
	bool complained;		/* that there is no process */
};

/* rue.c: hand |event| of |flow| of |c| to the engine, which has none of it. */
void agent_rue_submit(struct shard *s, struct agent_conn *c, uint32_t flow, struct flow *f,
		      const struct falcon_rue_event *event);
/* rue.c: flows of all CIDs. */
uint32_t agent_rue_flows(const struct shard *s);
/* rue.c: the connection of an event or result, NULL if it is not set up. */
struct agent_conn *agent_rue_conn(struct shard *s, uint32_t connection_id);
/* rue.c: what the configuration gives to the algorithm |name|, a list as rue_host_engine() wants. */
void agent_rue_params(const struct shard *s, const char *name,
		      const char *params[CONFIG_RUE_PARAMS + 1]);
/* process.c: let a process that computes for us know the engines that there are now. */
void agent_rue_share_engines(struct shard *s);

#endif /* FALCON_AGENT_RUE_PRIV_H */
