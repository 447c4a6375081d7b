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
#include <sys/queue.h>
#include <sys/types.h>

#include "agent/config/config.h"
#include "agent/conn/rekey.h"
#include "agent/keys/sec.h"
#include "agent/net/neigh.h"
#include "agent/shard/news.h"
#include "agent/shard/shard.h"
#include "base/hash.h"
#include "cm/cm.h"
#include "io/frame.h"

struct agent;
struct falcon_conn;
struct fcore_conn;
struct port;
struct remote;
struct ulp;
struct ulp_data;

enum agent_conn_state {
	AGENT_CONN_WAITING,	/* for the peer's agent */
	/* Set up; the peer has not said that it is ready, or what the path carries is searched. */
	AGENT_CONN_RECEIVING,
	AGENT_CONN_UP,
};

/* A configured connection; its protocol state exists only while set up. */
struct agent_conn {
	struct agent *agent;
	struct shard *shard;		/* whose thread carries its packets */
	struct conn_config cfg;
	enum agent_conn_state state;
	char reason[NEWS_WHY_MAX];	/* why it is not up; empty if it is */
	struct conn_noted noted;	/* the shard's, for control */
	bool accepted;			/* the peer has dialled; it goes when it is lost */
	bool configured;		/* a section of the file has made it */
	uid_t owner;			/* who has added it, or for whom it was dialled; else 0 */
	bool owned;			/* ... and nobody else but root may use it */
	bool gone;			/* agent_conn_drop() was called, agent_conns_run() was not */
	bool reaping;			/* agent_conns_run() is to look at it: in agent.reap */
	bool leaving;			/* removed, but its shared state and CID: in agent.leaving */
	TAILQ_ENTRY(agent_conn) reap_link;	/* of either list */
	UT_hash_handle by_name;		/* in agent.conn_names, unless |leaving| */
	struct remote *remote;		/* the peer's address; NULL if |leaving| */
	TAILQ_ENTRY(agent_conn) of_remote;
	uint64_t closed_in;		/* grace period after which XDP has left it; 0: it has */
	uint32_t section;		/* accepted: of config.peers, or CONFIG_PEERS_MAX: it has gone */
	struct ulp *ulp;		/* of the agent's |ulps|: whose it is */
	struct cm_ulp ulp_data;		/* for the peer's */
	struct fcore_conn *core;	/* NULL unless RECEIVING or UP */
	struct falcon_conn *shared;	/* entry of falcon_conns */
	struct cm_values ours;		/* what this incarnation started from */
	struct cm_values peer;
	struct neigh_entry route;
	bool routed;			/* route is complete and leads to one of our ports */
	struct port *port;		/* where it leaves */
	struct xsk *tx;
	struct frame_template tmpl;
	struct sec sec;
	enum rekey_state rekey;
	uint64_t rekey_at;		/* ns, end of that state */
	TAILQ_ENTRY(agent_conn) rekey_link;	/* of that state's list */
	uint32_t link_mtu;		/* what both ends' links and our buffers allow, bytes */
	uint32_t mtu;			/* of that, what the path carries both ways, as far as known */
	uint32_t max_len;		/* the same as bytes of payload: of a transaction, with its header */
	bool path_sought;		/* a search has begun */
	uint32_t path_len;		/* payload that gets to the peer, bytes; 0: not found out yet */
	uint32_t peer_path_len;		/* payload that gets here; 0: the peer has not told */
	uint32_t flows;			/* paths used at a time: what both ends can */
	uint32_t data_window, req_window;	/* packets under way: what both ends take */
	struct agent_conn_stats stats;
	bool loop;			/* both ends are here: loopback.h */
	struct agent_conn *twin;	/* loop: the other end, while there is one */
	uint32_t twin_shard;		/* whose it is, or was last */
	uint64_t loop_at;		/* loop: ns, when it is to be dialled; UINT64_MAX: not */
	TAILQ_ENTRY(agent_conn) loop_link;	/* unless that is never */
	uint8_t rue_engine;		/* number in the RUE's host: event_queue_select */
	uint8_t rue_profile;		/* of Swift's parameters */
};

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
