/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the agent gets the CPU that it wants.
 *
 * The kernel counts how long a thread that could run has waited for a CPU. If that is a good part of
 * the time, somebody is in the way; as a rule it is applications that poll, which would get their
 * completions sooner if they slept. What was once so is taken to stay so for a second: as soon as
 * they sleep there is no more waiting to be seen.
 */
#ifndef FALCON_AGENT_SHARD_CPU_PRESSURE_H
#define FALCON_AGENT_SHARD_CPU_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_PRESSURE_LOOK_NS (10ULL * 1000 * 1000)	/* from one look to the next */
#define CPU_PRESSURE_HOLD_NS (1000ULL * 1000 * 1000)
#define CPU_PRESSURE_PERCENT 10			/* of the time spent waiting */

struct cpu_pressure {
	int fd;			/* schedstat of the thread; -1: there is none, never under pressure */
	uint64_t waited;	/* ns, at the latest look */
	uint64_t looked_at;	/* ns, CLOCK_MONOTONIC */
	uint64_t hold_until;	/* ns: under pressure until then */
};

/* |path|: a thread's schedstat in procfs. */
void cpu_pressure_open(struct cpu_pressure *c, const char *path, uint64_t now);
void cpu_pressure_close(struct cpu_pressure *c);
/* Look, if CPU_PRESSURE_LOOK_NS have passed since the latest look. Returns whether it is under pressure. */
bool cpu_pressure_look(struct cpu_pressure *c, uint64_t now);

#endif /* FALCON_AGENT_SHARD_CPU_PRESSURE_H */
