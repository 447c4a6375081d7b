/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections, as control knows them: added, found, removed. One is made by a section of the configuration
 * or a command (conn.c), by a peer that dials (accept.h), or for an upper layer (dial.h); setup.h has its
 * incarnations.
 */
#ifndef FALCON_AGENT_CONN_H
#define FALCON_AGENT_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/shard/conn.h"

struct agent;
struct ulp;
struct ulp_data;

/* conn.c: empty tables; then, with the maps and neighbours open, what connections need. */
void agent_conns_init(struct agent *a);
/* 0, or a negative errno. */
int agent_conns_open(struct agent *a);
void agent_conns_close(struct agent *a);
/*
 * conn.c: the life of connections. agent_conn_add() takes a copy of |cfg|, for |owner|; on failure a
 * negative errno with the reason in |err|. agent_conn_reset() starts the handshake over.
 */
int agent_conn_add(struct agent *a, const struct conn_config *cfg, uid_t owner, char *err, size_t errlen);
/* The same of a section of the configuration file. */
int agent_conn_configure(struct agent *a, const struct conn_config *cfg, char *err, size_t errlen);
/* The object of a connection of |ulp| that is to be set up, or NULL with the reason in |err|. */
struct agent_conn *agent_conn_new(struct shard *s, const struct conn_config *cfg, struct ulp *ulp,
				  char *err, size_t errlen);
/* What |c|'s offers carry for the peer's upper layer. */
void agent_conn_set_data(struct agent_conn *c, const struct ulp_data *data);
/* Start setting |c| up. 0, or a negative errno with the reason in |err|, and |c| is gone. */
int agent_conn_start(struct agent_conn *c, char *err, size_t errlen);
/* The same, but it is the upper layer that hears why not. */
void agent_conn_begin(struct agent_conn *c);
/* By name alone. */
int agent_conn_del(struct agent *a, const char *name, char *err, size_t errlen);
int agent_conn_reset(struct agent *a, const char *name, char *err, size_t errlen);
/*
 * Have the connection taken down and set up anew: agent_conns_run() acts. |why| is for people. By
 * control; the shard says so with news_of_conn().
 */
void agent_conn_fail(struct agent_conn *c, const char *why);
/* Have |c| removed soon, for |why|. By control; the shard says so with news_of_conn(). */
void agent_conn_drop(struct agent_conn *c, const char *why);
/* See to what fails, leaves, or goes another way, some at a time. True: there is more to do now. */
bool agent_conns_run(struct agent *a);
/* Wait for a connection that has left |cid| until it has left all of it. */
void agent_cid_free(struct agent *a, uint32_t cid);
/* That with the fewest connections, for one that any may have. */
struct shard *agent_quietest_shard(struct agent *a);

/* By CID; NULL if there is none, or it has been removed. */
struct agent_conn *agent_conn_at(const struct agent *a, uint32_t cid);
/* lookup.c: by name; NULL if there is none. */
struct agent_conn *agent_conn_named(const struct agent *a, const char *name);
/* By name or by the peer's address in text form, nobody's before users'; NULL if there is none. */
struct agent_conn *agent_conn_find(const struct agent *a, const char *name);
/*
 * The same for a program of |uid|, which is not led to users' connections by an address, but for its
 * own: whom they trust there is their owners' choice.
 */
struct agent_conn *agent_conn_find_for(const struct agent *a, const char *name, uid_t uid);
const char *agent_conn_state_name(enum agent_conn_state s);

/* Run |fn| of |c| by the thread of its shard (call.h). */
static inline void agent_conn_call(struct agent_conn *c, void (*fn)(void *conn))
{
	call_run(&c->shard->call, fn, c);
}

#endif /* FALCON_AGENT_CONN_H */
