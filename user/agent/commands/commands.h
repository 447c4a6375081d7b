/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket's requests, and what they are made of. */
#ifndef FALCON_AGENT_COMMANDS_H
#define FALCON_AGENT_COMMANDS_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct agent;
struct control_client;
struct show_query;

/* commands.c: struct control's handlers: a request, and a client that has gone. */
int agent_command(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply);
void agent_client_gone(void *arg, struct control_client *cl);
/* commands.c: a control_admit: by the [user] and [group] sections. */
int agent_client_admit(void *arg, const struct control_client *cl, const gid_t *groups, size_t n,
		       char *err, size_t errlen);
/* commands.c: applications broke the rules of their shared memory: close their control connections. */
void agent_clients_broken(struct agent *a);

/*
 * show.c: {"op":"show","object":O} -> {"rows":[...]}, an array of flat objects. O is one of conn,
 * window and pool (with an optional "name"), port, counters, client, config, version, ... Rows are about
 * what |uid| may know of. If there are more, the reply has "next", a number, which goes into the same request
 * as "from".
 */
int agent_show(struct agent *a, json_t *req, uid_t uid, json_t **reply);
/*
 * xlr.c: {"op":"xlr-add","where":"initiator"|"target"} and, each of them a string, what is to be compared:
 * "connection", "function", "protocol", "type" -> {"number":N}. {"op":"xlr-del","number":N}. Rows have
 * only what is compared; "name" is the connection's.
 */
int agent_xlr_add(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply);
int agent_xlr_del(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply);
void agent_show_xlr(struct agent *a, const struct show_query *q, json_t *rows);
/* pools.c, rue.c: rows of these objects. */
void agent_show_pool(struct agent *a, const struct show_query *q, json_t *rows);
void agent_rue_show(struct agent *a, const struct show_query *q, json_t *rows);
/* rue_trace.c: requests that change connections' congestion control, and trace it. */
int agent_conn_set(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		   json_t **reply);
int agent_rue_trace(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		    json_t **reply);
/* |cl| is gone, and with it the trace that it asked for. NULL: end any. */
void agent_rue_trace_end(const struct control_client *cl);

#endif /* FALCON_AGENT_COMMANDS_H */
