/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections of ordinary users: those whom a [user] or [group] section lets may add some. Such a
 * connection is dialled and encrypted, counts for its user, and neither its name nor its number is of
 * use to other users, but for root and the agent's own.
 */
#ifndef FALCON_AGENT_CONN_USERS_H
#define FALCON_AGENT_CONN_USERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct agent;
struct agent_conn;
struct conn_config;

/* Whether |uid| may know of |c| and use it. */
bool user_sees_conn(const struct agent_conn *c, uid_t uid);

/* Whether |uid| may delete or reset |c|. */
bool user_changes_conn(const struct agent_conn *c, uid_t uid);

/*
 * Add |cfg|, which was made from the request |req|, for |uid|. 0; -EPERM: ordinary users may not, or
 * not so, or not from that address; -EDQUOT; or what agent_conn_add() returns. A sentence in |err|.
 */
int user_conn_add(struct agent *a, uid_t uid, const json_t *req, const struct conn_config *cfg, char *err,
		  size_t errlen);

#endif /* FALCON_AGENT_CONN_USERS_H */
