/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent's own state: what main.c starts, and commands.c shows.
 *
 * Control, the main thread (main_loop.c), owns it, but for the shard, which carries packets in a thread
 * of its own (shard.h). What both look at, |conns| and what the fields of struct agent_conn say, is
 * changed in calls only (call.h). The modules beneath (io/, core/, ulp/, cm, neigh, control) know nothing
 * of all that; they call back through the functions declared at the end.
 */
#ifndef FALCON_AGENT_H
#define FALCON_AGENT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"
#include "agent/control.h"
#include "agent/grace.h"
#include "agent/neigh.h"
#include "agent/rekey.h"
#include "agent/remotes.h"
#include "agent/sec.h"
#include "agent/service.h"
#include "agent/shard.h"
#include "cm/cm.h"
#include "io/frame.h"
#include "io/maps.h"
#include "ulp/client.h"

/* An interface the agent serves. */
struct port {
	char ifname[IF_NAMESIZE];
	uint32_t ifindex;
	uint32_t index;			/* in falcon_ports; sockets are index * FALCON_MAX_QUEUES + q */
	uint32_t nqueues;
	struct xsk *xsks;		/* nqueues of them */
	struct fcore_occupancy *waiting;	/* of their receive rings (Falcon 10.2) */
	bool native;			/* XDP attached in the driver, not in generic mode */
	bool tight;			/* XDP has no room behind received frames */
	bool trusted_csum;		/* rx_csum = trusted: connections skip the UDP checksum */
};

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

struct agent_nvme;
struct metrics_http;
struct rdma_group;

struct agent {
	struct agent_config config;
	const char *config_path;	/* of its file */
	bool verbose;			/* whatever log_level says */
	struct maps maps;
	struct shard shards[FALCON_MAX_SHARDS];
	unsigned int nshards;		/* that there are; fixed once the agent has begun */
	struct call_slot *calls[FALCON_MAX_SHARDS];	/* theirs */
	struct rdma_group *rdma_group;	/* the shards' RDMA layers; NULL: there is one at most */
	uint64_t boot;			/* random: tells runs of the agent apart */
	struct agent_nvme *nvme;
	struct port ports[FALCON_MAX_PORTS];
	unsigned nports;
	struct agent_conn *conns[FALCON_MAX_CONNS];	/* by local CID; control's */
	uint8_t shard_of[FALCON_MAX_CONNS];	/* that has that connection, or had it last; atomic */
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

/* port.c: open every configured port. 0, or a negative errno, reason logged. */
int agent_ports_open(struct agent *a);
void agent_ports_close(struct agent *a);
struct port *agent_port_by_ifindex(struct agent *a, uint32_t ifindex);

/* conn.c: empty tables; then, with the maps and neighbours open, what connections need. */
void agent_conns_init(struct agent *a);
/* 0, or a negative errno. */
int agent_conns_open(struct agent *a);
/* xlr.c: |c| is deleted, and filters that name it with it. */
void agent_xlr_conn_gone(struct agent_conn *c);
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
/* Start setting |c| up. 0, or a negative errno with the reason in |err|, and |c| is gone. */
int agent_conn_start(struct agent_conn *c, char *err, size_t errlen);
/* The same, but it is the upper layer that hears why not. */
void agent_conn_begin(struct agent_conn *c);
/* Run |fn| while no shard turns (call_run_all()): what belongs to any may be read and changed. */
static inline void agent_call(struct agent *a, void (*fn)(void *arg), void *arg)
{
	call_run_all(a->calls, a->nshards, fn, arg);
}

/* Run |fn| of |c| by the thread of its shard (call.h). */
static inline void agent_conn_call(struct agent_conn *c, void (*fn)(void *conn))
{
	call_run(&c->shard->call, fn, c);
}
/* setup.c: |c| was not up, and its upper layer might wait for it; the peer has |refused| it. */
void agent_conn_tell_not_up(struct agent_conn *c, bool refused, const char *reason);
/* accept.c: the same of connection |cid|, which could not be made. */
void agent_ulp_not_up(struct shard *s, struct ulp *ulp, uint32_t cid, const char *why);
/*
 * By c->ours and c->peer: protocol state, ready to receive. 0, or a negative errno with the reason in
 * |err|. Then, when the other end is ready, too: tell the upper layer. 0 or -ENOMEM.
 */
int agent_conn_set_up(struct agent_conn *c, char *err, size_t errlen);
int agent_conn_go_up(struct agent_conn *c);
/* path.c: how large packets may be, by links and headers; for agent_conn_set_up(). 0 or -EMSGSIZE. */
int agent_path_limit(struct agent_conn *c, char *err, size_t errlen);
/* The peer is ready: search what the path carries. A connection with a handshake goes up then. */
void agent_path_search(struct agent_conn *c);
/* What the search found, of struct fcore_ops.on_path(). */
void agent_path_found(struct agent_conn *c, uint32_t len);
/* What the peer says of its search and of its link: struct cm_ops.path(). */
void agent_path_told(struct agent_conn *c, const struct cm_path *path);
/* |c|, which is set up, has a route whose MTU may be another. */
void agent_path_follow(struct agent_conn *c);
/* Who |c| connects, for its upper layer. */
void agent_conn_ends(const struct agent_conn *c, struct ulp_ends *out);
/* Bytes of payload of a raw transaction, which applications are told. */
uint32_t agent_conn_segment(const struct agent_conn *c);
/* Have |c| removed soon, for |why|. By control; the shard says so with news_of_conn(). */
void agent_conn_drop(struct agent_conn *c, const char *why);
/* What we tell the peer's agent of |c|. */
void agent_conn_offer(struct agent_conn *c, struct cm_local *out);
/* By name alone. */
int agent_conn_del(struct agent *a, const char *name, char *err, size_t errlen);
int agent_conn_reset(struct agent *a, const char *name, char *err, size_t errlen);
/* By name; NULL if there is none. */
struct agent_conn *agent_conn_named(const struct agent *a, const char *name);
/* By name or by the peer's address in text form, nobody's before users'; NULL if there is none. */
struct agent_conn *agent_conn_find(const struct agent *a, const char *name);
/*
 * The same for a program of |uid|, which is not led to users' connections by an address, but for its
 * own: whom they trust there is their owners' choice.
 */
struct agent_conn *agent_conn_find_for(const struct agent *a, const char *name, uid_t uid);
const char *agent_conn_state_name(enum agent_conn_state s);
/* By CID; NULL if there is none, or it has been removed. */
struct agent_conn *agent_conn_at(const struct agent *a, uint32_t cid);
void agent_conns_close(struct agent *a);
/* See to what fails, leaves, or goes another way, some at a time. True: there is more to do now. */
bool agent_conns_run(struct agent *a);
/* Wait for a connection that has left |cid| until it has left all of it. */
void agent_cid_free(struct agent *a, uint32_t cid);
/*
 * Have the connection taken down and set up anew: agent_conns_run() acts. |why| is for people. By
 * control; the shard says so with news_of_conn().
 */
void agent_conn_fail(struct agent_conn *c, const char *why);

/* setup.c: have what is in the sockets now taken, by the shards whose connections it is for. */
void agent_drain(struct agent *a);
/* setup.c: close |c| to XDP and end its transactions with kCmplDeadConn, if it is set up. */
void agent_conn_take_down(struct agent_conn *c, const char *why);
/* setup.c: whether nothing that was claimed for |c| before it was closed is on its way any more. */
bool agent_conn_settled(struct agent_conn *c);
/* setup.c: wait until it is so. */
void agent_conn_settle(struct agent_conn *c);
/* setup.c: set |c| up without the peer's agent. 0, or a negative errno with a sentence in |err|. */
int agent_conn_start_static(struct agent_conn *c, char *err, size_t errlen);
extern const struct cm_ops agent_cm_ops;

/* keys.c: the parts of agent_cm_ops that are about keys; cm.h describes them. */
int agent_fill_security(void *arg, uint32_t cid, struct cm_security *out);
int agent_use_security(void *arg, uint32_t cid, const struct cm_security *in);
void agent_security_used(void *arg, uint32_t cid, uint32_t generation);
/*
 * keys.c: before a connection is set up by c->ours and c->peer: take the peer's key, wiped there. 0,
 * or a negative errno with a sentence in |err|: -EPROTO if the two ends disagree on the security,
 * -ESTALE if our key has expired meanwhile.
 */
int agent_agree_security(struct agent_conn *c, char *err, size_t errlen);
/*
 * cid.c: a free CID, or -ENOSPC with a sentence in |err|. It is taken from then on: for the connection
 * that is made with it, until that has gone, or agent_cid_release(). agent_cid_take() is for shards: it
 * does not wait.
 */
int agent_cid_choose(struct agent *a, char *err, size_t errlen);
int agent_cid_take(struct agent *a, char *err, size_t errlen);
/* cid.c: take |cid|. False: it is taken. */
bool agent_cid_claim(struct agent *a, uint32_t cid);
void agent_cid_release(struct agent *a, uint32_t cid);
/* accept.c: struct cm_ops.accept. */
int agent_accept(void *arg, const struct cm_request *req, struct cm_local *out, char *err,
		 size_t errlen);
/*
 * accept.c: the upper layer's consent to what is dialled: 0 with its answer in |reply|, or a negative
 * errno with a sentence in |err|.
 */
int agent_ask_ulp(struct agent *a, const struct conn_config *cfg, const struct cm_request *req,
		  struct shard **shard, struct ulp **ulp, struct ulp_data *reply, char *err, size_t errlen);
/* accept.c: listen where [agent] says. 0, or a negative errno with a sentence in |err|. */
int agent_listen(struct agent *a, char *err, size_t errlen);

/* keys.c: the keys of what connections receive, for debugging: rows of name, spi, version, key. */
json_t *agent_keys_json(struct agent *a);

/* pools.c: sizes of the core's pools, from configuration and sockets, which are open. */
void agent_pools_config(const struct agent *a, struct fcore_config *cfg);
/* pools.c: limits of hosts and functions in a core made with |cfg|. */
void agent_pools_limit(struct shard *s, const struct fcore_config *cfg);

/* dial.c: what |c|'s offers carry for the peer's upper layer. */
void agent_conn_set_data(struct agent_conn *c, const struct ulp_data *data);
/* conn.c: that with the fewest connections, for one that any may have. */
struct shard *agent_quietest_shard(struct agent *a);

/* dial.c: struct ulp_host.dial, but in a call only. Its connection is the shard's. */
int agent_dial(struct shard *s, const struct ulp_dial *d, char *err, size_t errlen);
/* dial.c: the same for |cid|, which is reserved; the upper layer hears what comes of it. In a call. */
void agent_dial_reserved(struct shard *s, uint32_t cid, const struct ulp_dial *d);

/* notes.c: struct ulp_host.note and struct cm_ops.note. */
int agent_send_note(struct agent *a, uint8_t proto, const struct ulp_note *note, char *err,
		    size_t errlen);
void agent_take_note(void *arg, const struct cm_note *note, const struct chan_identity *who);
/* notes.c: deliver what upper layers here say to those here. Returns how many notes. */
uint32_t agent_notes_run(struct agent *a);
bool agent_notes_waiting(const struct agent *a);
void agent_notes_close(struct agent *a);

/* tx.c: the template of a connection's frames, by the way to its peer. */
void agent_conn_route(struct agent_conn *c);

/* main_loop.c: turn until a->stop. 0, or a negative errno: it could not begin. */
int agent_loop(struct agent *a);
/* drops.c: a socket has dropped frames: release the claims that never arrived. */
void agent_recover_drops(struct agent *a);

/* commands.c: a request on the control socket. */
int agent_command(void *arg, struct control_client *cl, json_t *req, int *fds, int nfds,
		  json_t **reply);
void agent_client_gone(void *arg, struct control_client *cl);
/* commands.c: a control_admit: by the [user] and [group] sections. */
int agent_client_admit(void *arg, const struct control_client *cl, const gid_t *groups, size_t n,
		       char *err, size_t errlen);
/* commands.c: applications broke the rules of their shared memory: close their control connections. */
void agent_clients_broken(struct agent *a);

#endif /* FALCON_AGENT_H */
