/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules of xlr.h, and whom they match. Without a rule they cost one comparison a transaction. */
#include "core/parts.h"

#include <errno.h>

static bool differs(const struct fcore_xlr_rule *r, enum fcore_xlr_field f, uint32_t a, uint32_t b)
{
	return r->fields & f && a != b;
}

bool fc_xlr_match(struct fcore_conn *c, enum fcore_xlr_where where, uint32_t function,
		  uint8_t proto, uint8_t type)
{
	struct fcore *core = c->core;

	for (uint32_t i = 0; core->xlr_rules[where] && i < FCORE_XLR_RULES; i++) {
		struct fc_xlr *x = &core->xlr[i];
		const struct fcore_xlr_rule *r = &x->rule;

		if (!x->used || r->where != where || differs(r, FCORE_XLR_CID, r->cid, c->cid) ||
		    differs(r, FCORE_XLR_FUNCTION, r->function, function) ||
		    differs(r, FCORE_XLR_PROTO, r->proto, proto) ||
		    differs(r, FCORE_XLR_TYPE, r->type, type))
			continue;
		x->hits++;
		return true;
	}
	return false;
}

/* What is under way ends, too. */
static void apply(struct fcore *core)
{
	fc_enter(core);
	for (uint32_t cid = 0; cid < FALCON_MAX_CONNS; cid++)
		if (core->conns[cid])
			fc_init_xlr(core->conns[cid]);
	fc_leave(core);
}

int fcore_xlr_add(struct fcore *core, const struct fcore_xlr_rule *rule)
{
	if (rule->where >= FCORE_XLR_WHERES ||
	    (rule->fields & FCORE_XLR_TYPE && rule->type != FALCON_PUSH_DATA &&
	     rule->type != FALCON_PULL_REQUEST))
		return -EINVAL;
	for (uint32_t i = 0; i < FCORE_XLR_RULES; i++) {
		struct fc_xlr *x = &core->xlr[i];

		if (x->used)
			continue;
		*x = (struct fc_xlr){ .rule = *rule, .used = true };
		core->xlr_rules[rule->where]++;
		if (rule->where == FCORE_XLR_INITIATOR)
			apply(core);
		return (int)i;
	}
	return -ENOSPC;
}

int fcore_xlr_del(struct fcore *core, uint32_t number)
{
	if (number >= FCORE_XLR_RULES || !core->xlr[number].used)
		return -ENOENT;
	core->xlr[number].used = false;
	core->xlr_rules[core->xlr[number].rule.where]--;
	return 0;
}

int fcore_xlr_get(const struct fcore *core, uint32_t number, struct fcore_xlr_rule *rule,
		  uint64_t *hits)
{
	if (number >= FCORE_XLR_RULES || !core->xlr[number].used)
		return -ENOENT;
	*rule = core->xlr[number].rule;
	*hits = core->xlr[number].hits;
	return 0;
}
