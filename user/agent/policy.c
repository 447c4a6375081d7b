// SPDX-License-Identifier: BSD-2-Clause
/* Who may connect to this host without a [connection] of his. */
#include "agent/policy.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "falcon/wire.h"

/* One "A" or "A-B" at |*text|, behind which |*text| is left. */
static bool take_range(const char **text, uint64_t *lo, uint64_t *hi)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*lo = *hi = strtoull(*text, &end, 0);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		*hi = strtoull(end + 1, &end, 0);
	*text = end;
	return *lo <= *hi && *hi <= FALCON_FUNCTION_MASK;
}

bool policy_functions_valid(const char *list)
{
	uint64_t lo, hi;

	if (strcmp(list, POLICY_ANY) == 0)
		return true;
	while (take_range(&list, &lo, &hi)) {
		if (!*list)
			return true;
		if (*list++ != ',')
			return false;
	}
	return false;
}

bool policy_has_function(const char *list, uint32_t function)
{
	uint64_t lo, hi;

	if (strcmp(list, POLICY_ANY) == 0)
		return true;
	while (take_range(&list, &lo, &hi)) {
		if (function >= lo && function <= hi)
			return true;
		if (*list++ != ',')
			return false;
	}
	return false;
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
