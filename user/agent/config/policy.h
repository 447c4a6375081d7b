/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may connect to this host without a [connection] of his: the [peer NAME] sections. */
#ifndef FALCON_AGENT_CONFIG_POLICY_H
#define FALCON_AGENT_CONFIG_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/config/config.h"
#include "cm/cm.h"

/* The section that [peer any] makes is for everybody who has none of his own. */
#define POLICY_ANY "any"

/* True if |list| is "any", or numbers and ranges of 24 bits: "0,16-31". */
bool policy_functions_valid(const char *list);

/* Whether |list|, which is valid, holds |function|. */
bool policy_has_function(const char *list, uint32_t function);

/*
 * The index of the section for the peer of |req| in |cfg|, which has |held[index]| connections
 * already; or a negative errno with a sentence for the peer in |err|.
 */
int policy_check(const struct agent_config *cfg, const uint32_t *held, const struct cm_request *req,
		 char *err, size_t errlen);

/* Whether |who| may talk to upper layers here: there is a section for him. */
bool policy_admits(const struct agent_config *cfg, const struct chan_identity *who);

#endif /* FALCON_AGENT_CONFIG_POLICY_H */
