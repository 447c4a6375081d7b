/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's own state: what main.c starts, and commands/show.c shows.
 *
 * Control, the main thread (main_loop.c), owns it, but for the shards, which carry packets in threads of
 * their own (shard/shard.h). What both look at, |conns| and what the fields of struct agent_conn say, is
 * changed in calls only (shard/call.h).
 */
#ifndef FALCON_AGENT_H
#define FALCON_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "agent/config/config.h"
#include "agent/conn/rekey.h"
#include "agent/conn/remotes.h"
#include "agent/service.h"
#include "agent/shard/plane.h"
#include "base/log.h"
#include "falcon/abi/maps.h"
#include "falcon/abi/stats.h"
#include "ulp/client.h"

struct agent_conn;
struct agent_nvme;
struct cm;
struct control;
struct grace;
struct loopback;
struct metrics_http;
struct neigh;
struct notes;
struct quota;
struct rdma_group;
struct sec_keys;

/* What has been decided about connections and clients (stats.h). */
#define AGENT_STATS(V)											\
	V(counter, dials_refused, none, "connections that peers dialled and policy refused")		\
	V(counter, setups, none, "times that a connection came up")					\
	V(counter, drops_recovered, none, "times dropped frames made the agent release claims")		\
	V(counter, clients_refused, none, "programs whose user may not use the agent")			\
	V(gauge, files_stale, none, "1: certificates, keys or lists have changed and cannot be loaded")

struct agent_stats {
	AGENT_STATS(STAT_MEMBER)
};

struct agent {
	struct agent_config config;
	const char *config_path;	/* of its file */
	bool verbose;			/* whatever log_level says */
	struct plane plane;		/* what carries packets */
	struct rdma_group *rdma_group;	/* the shards' RDMA layers; NULL: there is one at most */
	uint64_t boot;			/* random: tells runs of the agent apart */
	struct agent_nvme *nvme;
	struct agent_conn *conns[FALCON_MAX_CONNS];	/* by local CID; control's */
	uint32_t nconns;		/* of them, those that leave included */
	uint32_t nup;
	struct agent_conn *conn_names;	/* by name */
	struct remotes remotes;		/* by the peer's address */
	TAILQ_HEAD(, agent_conn) reap;	/* failed, or to be removed */
	TAILQ_HEAD(, agent_conn) leaving;	/* oldest first */
	struct grace *grace;
	uint64_t drained;		/* grace period after which the sockets were drained */
	struct loopback *loop;		/* NULL: there was no connection to ourselves yet */
	struct notes *notes;		/* to ourselves, on their way; NULL: none yet */
	struct cm *cm;
	struct sec_keys *keys;
	struct rekey rekey;
	struct neigh *neigh;
	struct control *control;
	struct metrics_http *metrics;	/* NULL: they are not served */
	struct quota *quota;		/* what local users may, and hold */
	struct agent_stats stats;
	struct client_stats past_clients;	/* of applications that have gone */
	uint64_t cids[FALCON_MAX_CONNS / 64];	/* that are taken, one bit each; atomic */
	uint32_t last_cid;		/* that was; atomic */
	/* Accepted connections by config.peers; at last, of those whose section is not there any more. */
	uint32_t peer_conns[CONFIG_PEERS_MAX + 1];
	struct log_limit refusals;	/* messages about peers that dial in vain */
	struct log_limit applications;	/* messages about applications that come and go; control's */
	uint64_t now;			/* ns, CLOCK_MONOTONIC, taken once a turn */
	int epoll_fd;			/* control's */
	struct service service;
	int signal_fd;
	bool offload;			/* XDP runs the receive path */
	bool stop;
};

/* main_loop.c: turn until a->stop. 0, or a negative errno: it could not begin. */
int agent_loop(struct agent *a);

#endif /* FALCON_AGENT_H */
