/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rate update engines (Falcon 10.6): from a CC event to a CC result.
 *
 * What an engine needs between two events of a connection travels in the event and the result; an
 * algorithm may keep more in memory of its own ("stateful", SIGCOMM '25 paper 5.3). An engine has
 * no clock: the time comes in with the event. One thread at a time may use an engine.
 */
#ifndef FALCON_RUE_ENGINE_H
#define FALCON_RUE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "falcon/rue.h"

struct rue_algorithm {
	const char *name;
	/*
	 * Make an engine with state for |connections|. |params| is a list of "name=value" that ends
	 * with NULL, or NULL. Returns NULL, with the reason in |err|, if a parameter is wrong or
	 * memory is out. NULL for an algorithm without parameters and state: its engine is NULL.
	 */
	void *(*create)(uint32_t connections, const char *const *params, char *err, size_t size);
	/* Give back what create() made; NULL with create. */
	void (*destroy)(void *engine);
	/* Compute |r|, which comes in zeroed, from |e| at |now| (24 bits, Falcon time units). */
	void (*process)(void *engine, const struct falcon_rue_event *e, uint32_t now,
			struct falcon_rue_result *r);
	/* Start fetching the memory that process() will touch for |e|. NULL if there is none. */
	void (*prefetch)(void *engine, const struct falcon_rue_event *e);
};

/* Windows, gap and timeout stay as they are: for experiments, and for measuring everything else. */
extern const struct rue_algorithm rue_fixed;

/* Swift and PLB of Falcon 10.3 and 10.4, see swift.h. */
extern const struct rue_algorithm rue_swift;

/* The algorithm called |name|, or NULL. */
const struct rue_algorithm *rue_find(const char *name);

/*
 * * Process |n| events in order into |r|, which need not be zeroed. If the algorithm can prefetch,
 * the state of the event |ahead| places later is fetched before each event; 0: never.
 */
void rue_process_batch(const struct rue_algorithm *a, void *engine,
		       const struct falcon_rue_event *e, size_t n, uint32_t now,
		       struct falcon_rue_result *r, size_t ahead);

#endif /* FALCON_RUE_ENGINE_H */
