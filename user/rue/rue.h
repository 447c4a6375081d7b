/* SPDX-License-Identifier: BSD-2-Clause */
/* Rate update engines in this program: those built in, and those loaded. */
#ifndef FALCON_USER_RUE_H
#define FALCON_USER_RUE_H

#include "falcon/rue_engine.h"

/* Windows, gap and timeout stay as they are: for experiments, and for measuring everything else. */
extern const struct rue_algorithm rue_fixed;

/* Swift and PLB of Falcon 10.3 and 10.4, see swift.h. */
extern const struct rue_algorithm rue_swift;

/* The built-in algorithm called |name|, or NULL. */
const struct rue_algorithm *rue_find(const char *name);

/*
 * The algorithm |name|: built in, or that of the shared object |name| if there is a slash in it, or
 * else of NAME.so in the directory rue/ beside this program or in ../lib/falcon/rue/. It stays
 * loaded. NULL with the reason in |err|: there is none, or it is not of this ABI.
 */
const struct rue_algorithm *rue_load(const char *name, char *err, size_t size);

/*
 * Process |n| events in order into |r|, which need not be zeroed. If the algorithm can prefetch,
 * the state of the event |ahead| places later is fetched before each event; 0: never.
 */
void rue_process_batch(const struct rue_algorithm *a, void *engine,
		       const struct falcon_rue_event *e, size_t n, uint32_t now,
		       struct falcon_rue_result *r, size_t ahead);

#endif /* FALCON_USER_RUE_H */
