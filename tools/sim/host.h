/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts: an agent's loop around a core, its clock, its resources, and XDP before it. */
#ifndef FALCON_SIM_HOST_H
#define FALCON_SIM_HOST_H

#include "endpoint.h"
#include "frame.h"

struct host {
	struct sim *sim;
	const struct sim_host_cfg *cfg;
	uint32_t index;
	struct fcore *core;	/* NULL while there is no agent */
	struct rng rng;
	struct falcon_config config;
	struct endpoint **by_cid;
	struct endpoint **ep;	/* its ends of connections */
	uint32_t neps, ncids;
	uint64_t counters[FALCON_VERDICT_COUNT];
	uint64_t nic_busy_ps;
	uint64_t agent_at;	/* when the agent's next turn is; FCORE_NEVER: asleep */
	uint32_t agent_event;
	uint64_t next_pause;
	uint64_t credits;
	struct ring ring[SIM_MAX_QUEUES];	/* to the agent */
	struct ring wire;	/* what XDP has while the agent is in its turn */
	bool racing;		/* it does so now */
	bool dropped;		/* claimed frames were lost since the agent last looked */
	long frames;		/* lent to the core */
	uint64_t lent;		/* bytes of them */
	uint64_t level;		/* moving average of |lent|, times 16 */
	uint64_t mem_busy;	/* everything pushed so far is in memory, ns */
	struct endpoint **dirty;	/* those with |dirty| set */
	uint32_t ndirty;
	struct endpoint **touched;	/* those with |touched| set */
	uint32_t ntouched;
	uint32_t checks;	/* of its pools */
	/* By end that waits, and end that was served: packets since the former's turn. NULL: not kept. */
	uint8_t *passed;
	bool running;		/* its core sends what windows allow */
	uint32_t filter[SIM_FILTERS];	/* rules of its core ... */
	uint8_t filters;	/* ... that there are */
	uint32_t mtu;		/* of its link */
	uint64_t changed_at;	/* when it became so */
	uint8_t station;	/* which of its addresses it has */
	uint64_t ack_due;	/* no ACK is due before this, by its clock */
	bool at_ease;		/* in its latest turn nothing held the core back */
	struct security *security;	/* its agent's keys; NULL: none, or no agent */
	struct falcon_responses *responses;	/* SIM_RESPONSES of them */
	struct falcon_sinks *sinks;	/* SIM_SINKS of them */
	struct engine *engine;	/* rate update; NULL: none of its connections has one */
	uint64_t tx_frames, tx_refused;
};

/* crash.c */
/* What is to come of the agent of |h|. */
void crash_open(struct host *h);
/* The agent of |h| dies, or |again| is there. */
void crash_event(struct host *h, bool again);
/* It is time for |e| to open |incarnation|. */
void crash_open_ep(struct endpoint *e, uint32_t incarnation);

/* pools.c */
/* The core of |h|, with the resources that are configured. */
void pool_config(struct host *h);
/* The function of |e|, whose accounts it uses. */
uint32_t pool_function(const struct endpoint *e);
/* The limits of connection |e|. */
void pool_limit(struct endpoint *e);

/* filter.c */
/* The filters of |h| will come and go. */
void filter_open(struct host *h);
void filter_set(struct host *h, bool on);
/* A rule of the host of |e|, at |where|, matches pushes or pulls of |e|, or of its peer. */
bool filter_matches(const struct endpoint *e, enum fcore_xlr_where where, bool pull);

/* host.c */
extern const struct fcore_ops host_ops;
/* The agent has something to do at |at|. */
void host_kick(struct host *h, uint64_t at);
/* One turn of the agent's loop. */
void host_turn(struct host *h);
/* A frame that the receive path has accepted goes to the core. */
void host_accept(struct host *h, struct frame *f);
/* Close this end with everything that is under way; for good, and as an incarnation. */
void host_close_ep(struct endpoint *e);
void host_end_ep(struct endpoint *e);
/* |f| has come: XDP has it, at once or in the middle of the agent's next turn. */
void host_arrive(struct host *h, struct frame *f);
/* Frame |f| waits for the agent, in one of its rings. */
void host_queue(struct host *h, struct frame *f);
bool host_waits(const struct host *h);
/* XDP takes what has come: some of it by chance, or all; as if the agent were in the middle of its turn. */
void host_race(struct host *h, bool all);
/* Frames of |h| that are on their way inside of it are lost. */
void host_lose_frames(struct host *h);
/* Take all that is in the rings of |h|. */
void host_drain(struct host *h);
/* |e| is to be checked after this turn. */
void host_touch(struct endpoint *e);

/* clock.c */
/* What the clock of |h| shows at virtual time |at|, and now. */
uint64_t host_clock(const struct host *h, uint64_t at);
uint64_t host_now(const struct host *h);
/* What has passed by the clock of |h| since virtual time |then|. */
uint64_t host_since(const struct host *h, uint64_t then);
/* The virtual time at which the clock of |h| first shows |shows|; FCORE_NEVER is never. */
uint64_t host_when(const struct host *h, uint64_t shows);

/* execute.c */
/* What is left to do for a request that was carried out. */
struct executed {
	bool ack_due;	/* its ACK goes out now */
	bool wake;	/* the agent is to be told */
};
/*
 * XDP has |h| of |f|, parsed as |fr|, at |now|: carry it out, claim and acknowledge it, and answer it.
 * FALCON_V_rx_data if it is the agent's: then nothing has changed.
 */
enum falcon_verdict execute(struct endpoint *e, const struct frame *f, const struct falcon_frame *fr,
			    const struct falcon_hdr *h, uint64_t now, struct executed *x);

/* xdp.c */
/*
 * The receive path, as bpf/falcon.bpf.c has it; with |agent| as user/agent/shard/rx.c, for a frame from
 * the ring that was only steered there.
 */
void xdp_receive(struct host *h, struct frame *f, bool agent);

#endif /* FALCON_SIM_HOST_H */
