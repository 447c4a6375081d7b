/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace of what Swift was asked and what it answered: memory that falconctl gives to the agent,
 * which appends to it until it is full. Writer and reader are of one build; |record_size| checks.
 */
#ifndef FALCON_USER_RUE_TRACE_H
#define FALCON_USER_RUE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "rue/configs.h"

enum rue_trace_const {
	RUE_TRACE_MAGIC = 0x43525446,	/* "FTRC" */
	RUE_TRACE_MAX = 1 << 20,	/* records */
};

/* An event, when it was processed, what came of it, and the engine's own state around it. */
struct rue_trace_record {
	struct falcon_rue_event event;
	struct falcon_rue_result result;
	struct swift_state before, after;
	uint32_t now;
	uint32_t profile;
};

struct rue_trace {
	/* The reader, before the trace begins. */
	uint32_t magic;
	uint32_t record_size;
	uint32_t capacity;		/* records, at most RUE_TRACE_MAX */
	/* The writer. */
	uint32_t n;			/* records that are complete; atomic */
	struct rue_config profile[SWIFT_PROFILES];	/* those in force when it began */
	struct rue_trace_record record[];
};

static inline size_t rue_trace_bytes(uint32_t capacity)
{
	return sizeof(struct rue_trace) + (size_t)capacity * sizeof(struct rue_trace_record);
}

#endif /* FALCON_USER_RUE_TRACE_H */
