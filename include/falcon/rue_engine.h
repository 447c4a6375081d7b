/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C ABI of rate update engines (Falcon 10.6): from a CC event to a CC result.
 *
 * An algorithm is a struct rue_algorithm. Those that are not built in are shared objects that export
 * one under the name FALCON_RUE_SYMBOL; falcond loads them by name or path (falcon.conf(5), "cc").
 * user/rue/example has a complete one.
 *
 * What an engine needs between two events of a flow may travel in the event and the result; it may
 * also keep memory of its own, indexed by the lower FALCON_RUE_INDEX_BITS of base_delay_target. The
 * three bits above choose one of eight sets of parameters, "profiles". An engine has no clock: the
 * time comes in with the event. One thread at a time uses an engine.
 */
#ifndef FALCON_RUE_ENGINE_H
#define FALCON_RUE_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "rue.h"

/* Changes whenever a member changes its meaning or its place; new ones are added at the end. */
#define FALCON_RUE_ABI 1
#define FALCON_RUE_SYMBOL "falcon_rue_algorithm"

enum falcon_rue_engine_const {
	FALCON_RUE_INDEX_BITS = 21,	/* of base_delay_target; the profile is above */
	FALCON_RUE_PROFILES = 8,
};

struct rue_algorithm {
	uint32_t abi;		/* FALCON_RUE_ABI */
	uint32_t size;		/* sizeof(struct rue_algorithm), of the header it was built with */
	const char *name;
	/*
	 * Make an engine for indexes below |flows|. |params| is a list of "name=value" that ends with
	 * NULL, or NULL. Returns NULL, with the reason in |err|, if a parameter is wrong or memory is
	 * out. NULL for an algorithm without parameters and state: its engine is NULL.
	 */
	void *(*create)(uint32_t flows, const char *const *params, char *err, size_t size);
	/* Give back what create() made; NULL with create. */
	void (*destroy)(void *engine);
	/* Compute |r|, which comes in zeroed, from |e| at |now| (24 bits, units of 131.072 ns). */
	void (*process)(void *engine, const struct falcon_rue_event *e, uint32_t now,
			struct falcon_rue_result *r);
	/* Start fetching the memory that process() will touch for |e|. NULL if there is none. */
	void (*prefetch)(void *engine, const struct falcon_rue_event *e);
	/* A new flow has the index in |base_delay_target|: forget the old. NULL without state. */
	void (*reset)(void *engine, uint32_t base_delay_target);
	/*
	 * Let |profile|, 0 to 7, have the defaults changed by |params|, a list as above. 0, or a
	 * negative errno with the reason in |err|. NULL if there is one set of parameters only.
	 */
	int (*set_profile)(void *engine, uint32_t profile, const char *const *params, char *err,
			   size_t size);
};

#endif /* FALCON_RUE_ENGINE_H */
