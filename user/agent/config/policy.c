// SPDX-License-Identifier: BSD-2-Clause
/* Who may connect to this host without a [connection] of his. */
#include "agent/config/policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "agent/config/ranges.h"
#include "falcon/wire/wire.h"

bool policy_functions_valid(const char *list)
{
	return strcmp(list, POLICY_ANY) == 0 || ranges_valid(list, FALCON_FUNCTION_MASK);
}

bool policy_has_function(const char *list, uint32_t function)
{
	return strcmp(list, POLICY_ANY) == 0 || ranges_have(list, function);
}

static bool has_name(const struct chan_identity *who, const char *name)
{
	for (unsigned int i = 0; i < who->nnames; i++) {
		if (strcasecmp(who->names[i], name) == 0)
			return true;
	}
	return false;
}

/* A section of the peer's own goes before that for everybody. */
static int find(const struct agent_config *cfg, const struct chan_identity *who)
{
	int any = -1;

	for (unsigned int i = 0; i < cfg->npeers; i++) {
		if (has_name(who, cfg->peers[i].name))
			return (int)i;
		if (strcmp(cfg->peers[i].name, POLICY_ANY) == 0)
			any = (int)i;
	}
	return any;
}

bool policy_admits(const struct agent_config *cfg, const struct chan_identity *who)
{
	return find(cfg, who) >= 0;
}

int policy_check(const struct agent_config *cfg, const uint32_t *held, const struct cm_request *req,
		 char *err, size_t errlen)
{
	int i = find(cfg, req->who);
	const struct peer_config *p = i < 0 ? NULL : &cfg->peers[i];

	if (!p)
		snprintf(err, errlen, "no [peer] section is for %s",
			 req->who->nnames ? req->who->names[0] : "agents without a name");
	else if (req->security == CM_SECURITY_CLEAR && !p->clear)
		snprintf(err, errlen, "[peer %s] wants encryption", p->name);
	else if (!policy_has_function(p->functions, req->function))
		snprintf(err, errlen, "[peer %s] may not use function %u", p->name, req->function);
	else if (held[i] >= p->max_connections)
		snprintf(err, errlen, "[peer %s] has its %u connections", p->name,
			 p->max_connections);
	else
		return i;
	return -EPERM;
}
