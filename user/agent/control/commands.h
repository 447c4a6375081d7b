/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket's requests, and what they are made of. */
#ifndef FALCON_AGENT_CONTROL_COMMANDS_H
#define FALCON_AGENT_CONTROL_COMMANDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct agent;
struct agent_conn;
struct control_client;
struct fcore_xlr_rule;
struct filter_now;

/* commands.c: struct control's handlers: a request, and a client that has gone. */
int agent_command(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply);
void agent_client_gone(void *arg, struct control_client *cl);
/* commands.c: a control_admit: by the [user] and [group] sections. */
int agent_client_admit(void *arg, const struct control_client *cl, const gid_t *groups, size_t n,
		       char *err, size_t errlen);
/* commands.c: applications broke the rules of their shared memory: close their control connections. */
void agent_clients_broken(struct agent *a);

/* What a table is to be about. */
struct show_query {
	const struct agent_conn *only;	/* this connection; NULL: all */
	uid_t uid;			/* who asks */
	uint64_t from;			/* where the rows before have ended; 0: these are the first */
	uint64_t *next;			/* becomes where these end, unless they are the last */
};

/*
 * Of tables that users can make long, a request gets a page: rows until there are SHOW_ROWS, or SHOW_LOOKS
 * calls have been made to look for some. A call makes ROWS_AT_ONCE of them: no packet moves meanwhile.
 */
enum show_page { SHOW_ROWS = 256, SHOW_LOOKS = 64, ROWS_AT_ONCE = 32 };

/*
 * show.c: whether rows about |c| are for whoever asks. Ordinary users see what they may use: their own
 * connections, and the host's for raw transactions. The others, with their addresses, are those of other
 * users' programs.
 */
bool show_wants(const struct show_query *q, const struct agent_conn *c);

/*
 * show.c: {"op":"show","object":O} -> {"rows":[...]}, an array of flat objects. O is one of conn,
 * window and pool (with an optional "name"), port, counters, client, config, version, ... Rows are about
 * what |uid| may know of. If there are more, the reply has "next", a number, which goes into the same request
 * as "from".
 */
int agent_show(struct agent *a, json_t *req, uid_t uid, json_t **reply);
/*
 * show.c: have |fn| append rows about each connection that |q| is about, a page of them; only such as are set
 * up if |up|.
 */
void agent_show_each(struct agent *a, const struct show_query *q, bool up,
		     void (*fn)(const struct agent_conn *c, void *rows), json_t *rows);
/* show.c: |fn| of each connection, |at_once| of them in a call. */
void agent_each_conn(struct agent *a, uint32_t at_once, void (*fn)(const struct agent_conn *c, void *arg),
		     void *arg);

/*
 * xlr.c: {"op":"xlr-add","where":"initiator"|"target"} and, each of them a string, what is to be compared:
 * "connection", "function", "protocol", "type" -> {"number":N}. {"op":"xlr-del","number":N}. Rows have
 * only what is compared; "name" is the connection's.
 */
int agent_xlr_add(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply);
int agent_xlr_del(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply);
/* xlr.c: |c| is deleted, and filters that name it with it. */
void agent_xlr_conn_gone(struct agent_conn *c);
/* xlr.c, in a call: filter |number|; in |sum| what it has dropped in all shards. False: there is none. */
bool agent_xlr_get(const struct agent *a, uint32_t number, struct fcore_xlr_rule *rule,
		   struct filter_now *sum);
void agent_show_xlr(struct agent *a, const struct show_query *q, json_t *rows);

#endif /* FALCON_AGENT_CONTROL_COMMANDS_H */
