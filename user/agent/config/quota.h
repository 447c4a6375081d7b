/* SPDX-License-Identifier: BSD-2-Clause */
/* What the [user] and [group] sections limit; tenant/quota.h counts it. */
#ifndef FALCON_AGENT_CONFIG_QUOTA_H
#define FALCON_AGENT_CONFIG_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/config/set.h"

/*
 * What is counted. A new kind needs a name in tenant/quota.c, a key in agent/config/keys.c and
 * falcon.conf(5), a column in falconctl, and a case in selftests/unit/quota_tenants.c.
 */
enum quota_kind {
	QUOTA_CLIENTS,		/* connections to the control socket, and verbs applications */
	QUOTA_CONNECTIONS,	/* Falcon connections that he has added */
	QUOTA_QPS,		/* queue pairs and shared receive queues */
	QUOTA_MRS,		/* memory regions and windows */
	QUOTA_MEMORY,		/* bytes: mapped arenas and rings, registered regions */
	QUOTA_LINKS,		/* Falcon connections that his queue pairs and address handles have */
	QUOTA_CM_IDS,		/* ids of rdma_cm */
	QUOTA_CHANNELS,		/* channels for completions and for events of rdma_cm */
	QUOTA_OBJECTS,		/* what else verbs applications make */
	QUOTA_KINDS,
};

enum quota_const {
	QUOTA_NAME_MAX = 64,	/* bytes of a user's or group's name, with the final 0 */
	QUOTA_SECTIONS_MAX = 256,
};

/* A [user NAME] or [group NAME] section. */
struct quota_section {
	char name[QUOTA_NAME_MAX];	/* or a number; "any", of users: all others */
	bool group;
	uint64_t limit[QUOTA_KINDS];
	struct config_set set;		/* keys that were given, one bit a key */
	unsigned int line;
};

#endif /* FALCON_AGENT_CONFIG_QUOTA_H */
