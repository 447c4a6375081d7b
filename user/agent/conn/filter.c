// SPDX-License-Identifier: BSD-2-Clause
#include "agent/conn/filter.h"

#include <errno.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "core/xlr.h"

int filter_add(struct agent *a, const struct fcore_xlr_rule *rule)
{
	int rc = -ENOSPC;

	for (unsigned int i = 0; i < a->plane.nshards; i++)
		rc = fcore_xlr_add(a->plane.shards[i].core, rule);
	return rc;
}

int filter_remove(struct agent *a, uint32_t number)
{
	int rc = -ENOENT;

	for (unsigned int i = 0; i < a->plane.nshards; i++)
		rc = fcore_xlr_del(a->plane.shards[i].core, number);
	return rc;
}

bool filter_get(const struct agent *a, uint32_t number, struct fcore_xlr_rule *rule,
		struct filter_now *sum)
{
	bool there = false;
	uint64_t n;

	sum->hits = 0;
	for (unsigned int i = 0; i < a->plane.nshards; i++) {
		there = fcore_xlr_get(a->plane.shards[i].core, number, rule, &n) == 0;
		sum->hits += there ? n : 0;
	}
	return there;
}

static bool names(struct agent *a, uint32_t number, uint32_t cid)
{
	struct fcore_xlr_rule rule;
	uint64_t hits;

	return fcore_xlr_get(a->plane.shards[0].core, number, &rule, &hits) == 0 &&
	       rule.fields & FCORE_XLR_CID && rule.cid == cid;
}

struct naming {
	struct agent *agent;
	uint32_t number;
};

/* In a call. */
static void remove_naming(void *arg)
{
	const struct naming *n = arg;

	filter_remove(n->agent, n->number);
}

void filters_conn_gone(struct agent_conn *c)
{
	struct naming n = { .agent = c->agent };

	for (; n.number < FCORE_XLR_RULES; n.number++)
		if (names(c->agent, n.number, c->cfg.local_cid))
			plane_call(&c->agent->plane, remove_naming, &n);
}
