/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filters that end transactions in error (core/xlr.h, Falcon 11). All shards have the same, by the same
 * numbers; they change in calls of all shards only, so control may look at any shard's.
 */
#ifndef FALCON_AGENT_CONN_FILTER_H
#define FALCON_AGENT_CONN_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "falcon/abi/stats.h"

struct agent;
struct agent_conn;
struct fcore_xlr_rule;

/* A filter of transactions, in all shards (falcon/stats.h). */
#define FILTER_NOW(V)                                                                                     \
	V(counter, hits, none, "transactions that the filter has dropped")

struct filter_now {
	FILTER_NOW(STAT_MEMBER)
};

/* In a call. The filter's number, or a negative errno: there are FCORE_XLR_RULES. */
int filter_add(struct agent *a, const struct fcore_xlr_rule *rule);
/* In a call. 0; -ENOENT: there is no filter |number|. */
int filter_remove(struct agent *a, uint32_t number);
/* In a call: filter |number|; in |sum| what it has dropped in all shards. False: there is none. */
bool filter_get(const struct agent *a, uint32_t number, struct fcore_xlr_rule *rule, struct filter_now *sum);
/* |c| is deleted, and filters that name it with it. */
void filters_conn_gone(struct agent_conn *c);

#endif /* FALCON_AGENT_CONN_FILTER_H */
