/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection, as its shard and control have it. What a field says is changed in calls of its shard only
 * (call.h), where both look at it.
 */
#ifndef FALCON_AGENT_SHARD_CONN_H
#define FALCON_AGENT_SHARD_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "agent/config/config.h"
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

/* Of the rotation of its keys (conn/rekey.h). */
enum rekey_state {
	REKEY_NONE,
	REKEY_DUE,		/* as soon as the connection manager can */
	REKEY_SENT,		/* until rekey_at the peer may answer */
	REKEY_SETTLING,		/* until rekey_at packets with the previous SPI may arrive */
};

enum agent_conn_state {
	AGENT_CONN_WAITING,	/* for the peer's agent */
	/* Set up; the peer has not said that it is ready, or what the path carries is searched. */
	AGENT_CONN_RECEIVING,
	AGENT_CONN_UP,
};

/* A connection; its protocol state exists only while it is set up. */
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

#endif /* FALCON_AGENT_SHARD_CONN_H */
