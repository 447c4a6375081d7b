/* SPDX-License-Identifier: BSD-2-Clause */
/* The metrics of an agent: what of all that it has becomes metrics, and with which labels. */
#ifndef FALCON_AGENT_METRICS_AGENT_H
#define FALCON_AGENT_METRICS_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/metrics/metrics.h"

struct agent;
struct control_client;

/*
 * Everything of |a| as text, with metrics of each connection if |connections|, but for those that |uid| may
 * not know of. To be freed by the caller; |*len| is its bytes. NULL: memory was short.
 */
char *agent_metrics_text(struct agent *a, bool connections, uid_t uid, enum metrics_format format,
			 size_t *len);

/* {"op":"metrics","connections":BOOLEAN} -> {"text":"..."}, OpenMetrics. */
int agent_metrics_command(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
			  json_t **reply);

/* Listen where [agent] says, if it does. 0, or a negative errno, reason logged. */
int agent_metrics_open(struct agent *a);
void agent_metrics_close(struct agent *a);

#endif /* FALCON_AGENT_METRICS_AGENT_H */
