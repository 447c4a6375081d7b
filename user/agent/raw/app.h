/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applications of the raw layer, those that libfalcon attaches: one client (ulp/client.h) in each shard,
 * since any connection may be theirs to use, whichever shard has it.
 */
#ifndef FALCON_AGENT_RAW_APP_H
#define FALCON_AGENT_RAW_APP_H

#include <jansson.h>
#include <stdbool.h>

struct agent;
struct client_stats;
struct control_client;
struct raw_app;

/*
 * {"op":"attach","service":S}, with the memory, the doorbell of ring set 0, the event, and the doorbells of
 * the other ring sets, as many as there are shards -> {"service":S}. In a call.
 */
int agent_raw_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		     json_t **reply);
/* {"op":"threads"} -> {"threads":N}: how many ring sets an application's memory must have. */
int agent_raw_threads(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply);
/* |cl| goes: detach its application, if it has one. In a call. */
void agent_raw_gone(struct agent *a, struct control_client *cl);

/* Whether it broke the rules of its shared memory in any of its ring sets. In a call. */
bool raw_app_broken(const struct raw_app *app);
/* Add what it has counted in all of its ring sets to |sum|. In a call. */
void raw_app_add_stats(const struct raw_app *app, struct client_stats *sum);
/* |app|'s row for "falconctl client show": counters are the sums over its ring sets. In a call. */
json_t *raw_app_row(const struct raw_app *app, const struct control_client *cl);

#endif /* FALCON_AGENT_RAW_APP_H */
