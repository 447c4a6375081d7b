/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may do everything: root, and the user that the agent runs as. */
#ifndef FALCON_AGENT_TENANT_OPERATOR_H
#define FALCON_AGENT_TENANT_OPERATOR_H

#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

/* Whether |uid| may change what belongs to others. */
static inline bool user_is_operator(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

#endif /* FALCON_AGENT_TENANT_OPERATOR_H */
