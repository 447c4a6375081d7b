/* SPDX-License-Identifier: BSD-2-Clause */
/* What the control socket's requests are made of; agent.h has their entry point. */
#ifndef FALCON_AGENT_COMMANDS_H
#define FALCON_AGENT_COMMANDS_H

#include "agent/agent.h"

/*
 * show.c: {"op":"show","object":O} -> {"rows":[...]}, an array of flat objects. O is one of conn,
 * window (both with an optional "name"), port, counters, client, config, version.
 */
int agent_show(struct agent *a, json_t *req, json_t **reply);

#endif /* FALCON_AGENT_COMMANDS_H */
