/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rate update engines (Falcon 10.6): from a CC event to a CC result. An engine keeps no state of
 * its own about connections; what it needs between events travels in the event and the result.
 */
#ifndef FALCON_RUE_ENGINE_H
#define FALCON_RUE_ENGINE_H

#include "falcon/rue.h"

struct rue_algorithm {
	const char *name;
	/* Compute |r| from |e|; |r| comes in zeroed. */
	void (*process)(const struct falcon_rue_event *e, struct falcon_rue_result *r);
};

/* Windows, gap and timeout stay as they are: for experiments, and for measuring everything else. */
extern const struct rue_algorithm rue_fixed;

#endif /* FALCON_RUE_ENGINE_H */
