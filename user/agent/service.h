/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the service manager is told (sd_notify(3)): that the agent is ready, reads its configuration again,
 * stops; and, if it wants to know (WatchdogSec=), that all threads turn. Does nothing without one.
 *
 * Control's thread.
 */
#ifndef FALCON_AGENT_SERVICE_H
#define FALCON_AGENT_SERVICE_H

#include <stdint.h>

struct agent;

/* The watchdog of the service manager. */
struct service {
	uint64_t interval;	/* ns between signs of life: a third of what is granted; 0: none are wanted */
	uint64_t next;		/* ns, CLOCK_MONOTONIC: when the next is due */
};

/* See whether signs of life are wanted. |a->now| is the time. */
void service_open(struct agent *a);

/* |a| serves now: after its start, or after service_reloading(). */
void service_ready(void);
void service_reloading(void);
void service_stopping(void);

/* When service_run() is to be called, ns; UINT64_MAX: never. */
uint64_t service_deadline(const struct agent *a);
/*
 * Have each shard's thread run a call, and give the sign of life after that. A thread that does not come
 * round holds up this one as well, and the service manager restarts the agent.
 */
void service_run(struct agent *a);

#endif /* FALCON_AGENT_SERVICE_H */
