/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engines that an agent runs: up to four algorithms at a time, of which an event's
 * event_queue_select (Falcon 10.6.2.1) names the one that is to process it.
 *
 * One thread processes. If that is not the caller of the other functions, create the host as
 * threaded: a lock then keeps them apart, and a caller waits for one batch at most.
 */
#ifndef FALCON_USER_RUE_HOST_H
#define FALCON_USER_RUE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rue/configs.h"
#include "rue/rue.h"
#include "rue/trace.h"

enum rue_host_const {
	RUE_ENGINES = 1 << FALCON_EV_event_queue_select_WIDTH,
	RUE_BATCH = 32,			/* events processed under one lock */
	RUE_ALGORITHM_NAME = 128,	/* bytes of a name or path, with the final 0 */
};

struct rue_host;

/*
 * A host for indexes (of base_delay_target) below |flows|, without engines. |profiles| are the
 * parameters of Swift, at most SWIFT_PROFILES, kept as a copy. NULL if memory is out.
 */
struct rue_host *rue_host_create(uint32_t flows, const struct rue_config *profiles,
				 uint32_t n_profiles, bool threaded);
void rue_host_destroy(struct rue_host *h);

/*
 * The engine of algorithm |name|: a number below RUE_ENGINES. If there is none yet it is loaded
 * (rue_load()) and made with |params|, a list as rue_algorithm.create() wants. A negative errno with
 * the reason in |err|: unknown, refuses its parameters, memory is out, or four run already.
 */
int rue_host_engine(struct rue_host *h, const char *name, const char *const *params, char *err,
		    size_t size);

/* The name that |engine| was asked for by; "" if there is no such engine. */
const char *rue_host_name(const struct rue_host *h, uint32_t engine);
/* True if |engine| knows profiles. */
bool rue_host_has_profiles(const struct rue_host *h, uint32_t engine);
/* The number of profile |name|; -ENOENT with those there are in |err|. */
int rue_host_profile(const struct rue_host *h, const char *name, char *err, size_t size);
/* The profile with |number|, NULL if there is none. */
const struct rue_config *rue_host_profile_at(const struct rue_host *h, uint32_t number);

/* A new flow uses |base_delay_target|'s index: all engines forget the old one. */
void rue_host_reset(struct rue_host *h, uint32_t base_delay_target);

/* What Swift keeps of a flow. Zeros if Swift is not running. */
struct swift_state rue_host_swift_state(struct rue_host *h, uint32_t base_delay_target);

/*
 * Keep what rue_host_swift_state() gives in |memory|, of a struct swift_state for each flow, from now
 * on; NULL: in the host's own. |adopt|: go on from what is there; else what is known now moves over.
 */
void rue_host_swift_memory(struct rue_host *h, void *memory, bool adopt);

/*
 * Process |n| events at |now| (24 bits, Falcon time units), at most RUE_BATCH, each by the engine
 * that its event_queue_select names; without one windows stay as they are. |r| need not be zeroed.
 */
void rue_host_process(struct rue_host *h, const struct falcon_rue_event *e, uint32_t n,
		      uint32_t now, struct falcon_rue_result *r);

/*
 * From now on record what Swift processes into |t|, which has room for |capacity| records and stays
 * until another call; NULL ends it. Only of the connection with CID |only|, unless that is negative.
 */
void rue_host_trace(struct rue_host *h, struct rue_trace *t, uint32_t capacity, int64_t only);

#endif /* FALCON_USER_RUE_HOST_H */
