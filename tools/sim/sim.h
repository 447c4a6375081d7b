/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The simulator: hosts that run the core (libfcore.a) and the receive path of include/falcon, in
 * virtual time, joined by switches. One event at a time, in the order of their times and, at one
 * time, of their making; nothing depends on addresses, on the clock or on the machine.
 *
 *   upper layer -- core -- agent's loop -- NIC --> switch ports, wires --> receive path -- ring --
 *                                                  (queues, faults)        (as in XDP)
 */
#ifndef FALCON_SIM_H
#define FALCON_SIM_H

#include "config.h"
#include "event.h"
#include "host.h"
#include "link.h"
#include "pool.h"

enum event_kind {
	EV_PORT,	/* a frame reaches a switch's port */
	EV_UPLINK,	/* a frame leaves a host's NIC for a link with bit errors */
	EV_HOP,		/* a slot of a RIFL link */
	EV_ARRIVE,	/* a frame reaches a host */
	EV_AGENT,	/* a host's agent has its turn */
	EV_ANSWER,	/* an upper layer answers */
	EV_SUBMIT,	/* an upper layer submits */
	EV_RUE,		/* a rate update of any kind */
	EV_ENGINE,	/* a rate update engine has a result */
	EV_CLOSE,	/* a connection's end is closed */
	EV_FILTER,	/* a host's filters come or go */
	EV_MTU,		/* a host's link has another MTU */
	EV_TOLD,	/* an end hears from its peer's agent how large packets may be */
	EV_MOVE,	/* a host has another address on its link, or its peers hear of it */
	EV_REKEY,	/* an end is asked to replace its key */
	EV_KEY,		/* agents tell each other of keys */
	EV_CRASH,	/* a host's agent dies, or the next one starts */
	EV_OPEN,	/* an end opens its next incarnation */
	EV_HEAL,	/* no more faults */
};

/* What a run has gone through; added up over a soak, it shows what the soak has reached. */
struct sim_totals {
	uint64_t events, packet_events, packets;
	uint64_t completions[16];	/* by enum falcon_completion_code */
	uint64_t rnr, fatal, refused, pauses, rue;
	uint64_t unanswered;	/* answers that were left to the core */
	uint64_t executed;	/* requests that XDP has carried out */
	uint64_t adopted;	/* responses of XDP's that the core has watched over at last */
	uint64_t raced;		/* packets that XDP had within an agent's turn */
	uint64_t crashes;	/* of agents */
	uint64_t rekeys;	/* keys replaced */
	uint64_t replayed;	/* packets that strangers have sent again */
	uint64_t searches;	/* of what a path carries */
	uint64_t wraps;		/* ACKs between whose T1 and T4 the clock has wrapped */
	uint64_t retx_rto, retx_early, retx_own, retx_rack, resyncs, released;
	uint64_t verdicts[FALCON_VERDICT_COUNT];
};

struct sim {
	const struct sim_cfg *cfg;
	uint64_t now;
	uint64_t start;		/* |now| at the beginning */
	struct event_queue events;
	struct pool frames, payloads;
	uint32_t frame_len;	/* bytes of the longest frame */
	void *blank;		/* payload of those who have none */
	uint64_t *keys;		/* that were given out, by number */
	uint32_t nkeys;
	bool healed;
	bool widened;		/* all paths carry all sizes */
	uint64_t widened_at;
	bool measure;		/* keep latencies */
	struct host *hosts;
	struct link *links;	/* to hosts, from leaves to spines, from spines to leaves */
	uint32_t nlinks;
	struct group *groups;	/* by section */
	struct endpoint *ep;	/* two a connection */
	uint32_t neps;
	uint64_t hash;		/* of the trace so far */
	FILE *trace;
	struct sim_totals totals;
	bool failed;
	uint64_t failed_at;	/* ns since the beginning */
	int failed_ep;		/* -1: no connection's */
	char why[200];
};

/* sim.c */
/*
 * Prepare |s| to run |cfg|, which must stay; |trace| may be NULL. |measure|: keep what the report's
 * percentiles take.
 */
void sim_open(struct sim *s, const struct sim_cfg *cfg, FILE *trace, bool measure);
/* Run to the end, or to the first violation. */
void sim_run(struct sim *s);
/* Nothing of |e| is under way any more. */
bool sim_ep_drained(const struct endpoint *e);

/* A promise was broken. The first one counts; |e| may be NULL. */
void sim_fail(struct sim *s, const struct endpoint *e, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static inline uint32_t sim_at(struct sim *s, uint64_t at, enum event_kind kind, void *p, uint32_t n)
{
	return event_add(&s->events, at, (uint8_t)kind, p, n);
}

/* open.c */
void sim_close(struct sim *s);

/* trace.c */
/* What happened, with up to four numbers; |what| is one of the few literals of the man page. */
void sim_trace(struct sim *s, const char *what, const struct endpoint *e, uint64_t a, uint64_t b,
	       uint64_t c);

#endif /* FALCON_SIM_H */
