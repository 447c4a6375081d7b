/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A shard: one thread, and all that it needs to carry packets: the core, its upper layers, and the engines
 * that compute rates. It waits for nobody. What control wants of it comes as calls (call.h), what it has to
 * tell control it leaves as news (news.h), and frames for another shard it hands over (handover.h).
 */
#ifndef FALCON_AGENT_SHARD_H
#define FALCON_AGENT_SHARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/process/priority.h"
#include "agent/shard/call.h"
#include "agent/shard/cpu_pressure.h"
#include "agent/shard/handover.h"
#include "agent/shard/news.h"
#include "base/log.h"
#include "core/core.h"
#include "falcon/abi/maps.h"
#include "falcon/abi/stats.h"
#include "io/xsk.h"
#include "ulp/raw.h"
#include "ulp/ulp.h"

struct agent;
struct agent_conn;
struct agent_rdma;
struct agent_rue;
struct falcon_frame;
struct loopq;
struct plane;
struct stall;
struct stall_call;

/* What the loop has done (stats.h). */
#define SHARD_STATS(V)											\
	V(counter, turns, none, "turns of the loop")							\
	V(counter, shared_turns, none, "short turns, as several users, or users and an NVMe target, share") \
	V(counter, sleeps, none, "times the loop went to sleep")					\
	V(counter, rx_frames, none, "frames taken from the sockets")					\
	V(counter, handed_over, none, "frames handed over to shards whose connections they are for")	\
	V(counter, rue_events, none, "events for the rate update engine that the agent has made itself") \
	V(counter, calls, none, "calls of control")							\
	V(gauge, longest_turn_ns, ns_us, "longest turn yet, the calls made between turns included")	\
	V(gauge, longest_call_ns, ns_us, "longest call yet")						\
	V(counter, lowered, none, "times the thread had run with real-time priority for as long as it may") \
	V(counter, ce_marked, none, "packets accepted with ECN CE that XDP had only steered here")

struct shard_stats {
	SHARD_STATS(STAT_MEMBER)
};

/* Of a connection, whether it is set up or not (stats.h). */
#define AGENT_CONN_STATS(V)										\
	V(counter, setups, none, "times the connection came up")					\
	V(counter, tx_unrouted, none, "packets dropped for want of a route")				\
	V(counter, tx_unsealed, none, "packets not sent because they could not be sealed")		\
	V(counter, rx_answered, none, "ACKs and NACKs that the agent itself sent for refused packets")

struct agent_conn_stats {
	AGENT_CONN_STATS(STAT_MEMBER)
};

/*
 * What serves applications with whose memory the shard's thread works, and which may keep it waiting
 * (stall.h). All by the shard.
 */
struct shard_memory_ops {
	/* The loop's thread is held up in |call|; the caller goes on in its place. */
	void (*stalled)(struct shard *s, struct stall_call *call);
	/* Look what has become of such calls: now and then, and when one may be over. */
	void (*late)(struct shard *s);
	/* |frame|, which the core needs no more, is in use by such a call: it is given back later. */
	bool (*keeps)(struct shard *s, struct xsk_frame *frame);
	/* Whether the shard has to wait for a CPU (cpu_pressure.h), when that has changed. */
	void (*cpu_pressure)(struct shard *s, bool pressure);
};

struct shard {
	struct plane *plane;		/* plane.h */
	struct agent *agent;		/* for those above shards, as |rdma| is */
	unsigned int index;		/* in plane.shards, and as XDP knows it */
	struct fcore *core;
	struct raw_ulp *raw;
	struct agent_conn **conns;	/* its own by local CID, FALCON_MAX_CONNS; changed in its calls */
	uint32_t nconns;		/* of them; changed in calls */
	struct agent_rdma *rdma;	/* verbs applications; NULL: none are served */
	const struct shard_memory_ops *memory;	/* theirs; NULL likewise */
	struct ulp ulps[ULP_MAX];
	unsigned nulps;
	struct agent_rue *rue;
	struct loopq *loopq;		/* packets to this host itself; NULL: there was no connection yet */
	struct handover handover;
	struct call_slot call;		/* control's calls */
	struct news news;		/* for control */
	pthread_t thread;		/* that watches the one that turns */
	bool stop;
	struct stall *stall;		/* the loop's; NULL in tests: nobody watches */
	struct falcon_counters counters;	/* of the shard's own receive path (steered frames) */
	struct shard_stats stats;
	struct agent_conn_stats past_conns;	/* of connections that were removed; changed in calls */
	uint64_t now;			/* ns, CLOCK_MONOTONIC, taken once a turn */
	uint64_t turned_at;		/* ns, when the turn before began; 0: it has slept since */
	int epoll_fd;			/* what ends a sleep */
	struct priority priority;	/* of the loop's thread */
	struct cpu_pressure pressure;	/* of the loop's thread */
	bool under_pressure;		/* as cpu_pressure_look() has said */
	bool sockets_watched;		/* the AF_XDP sockets are in the epoll set */
	uint32_t rx_waiting;		/* frames in the receive ring that is being read; 0: none is */
	uint64_t tx_now;		/* ns, the time that frames are stamped with */
	uint64_t tx_iv;			/* ps, IV of the latest frame: they only grow */
	uint32_t tx_stamps;		/* frames stamped with it */
	uint64_t refused[FALCON_VERDICT_COUNT];	/* packets, by XDP and the shard, when last looked at */
	bool refused_known;		/* |refused| is set: what came before us is not news */
	struct log_limit refused_limit;
	struct log_limit away_limit;
};

/* rx.c: take what the sockets hold, at most a burst each. Returns frames handled. */
uint32_t shard_receive(struct shard *s);
/* rx.c: a frame for a connection that is, or was, the shard's own. */
void shard_handle(struct shard *s, const struct xsk_rx_item *it);
/* rx.c: handle what other shards have handed over. Returns how many frames. */
uint32_t shard_take_over(struct shard *s);
/* rx.c: hand connections with new ACK state to the core. Returns how many. */
uint32_t shard_take_dirty(struct shard *s);
/* rx.c: |fn| of each socket that is the shard's: those of every nshards-th queue. */
void shard_each_xsk(struct shard *s, void (*fn)(struct xsk *x));
/* rx.c: have a socket dropped frames? Control will see to it (conn/drops.h). */
void shard_look_for_drops(struct shard *s);
/* rx.c: mark |cid| as having new ACK state, as XDP does. */
void shard_mark_dirty(struct shard *s, uint32_t cid);

/* refused.c: tell which packets were refused since the last call. */
void shard_log_refused(struct shard *s);

/* pools.c: sizes of the core's pools, from configuration and sockets, which are open. */
void agent_pools_config(const struct plane *p, struct fcore_config *cfg);
/* pools.c: limits of hosts and functions in a core made with |cfg|. */
void agent_pools_limit(struct shard *s, const struct fcore_config *cfg);

/* tx.c: struct fcore_ops.transmit. */
int agent_transmit(void *arg, struct fcore_conn *fc, const struct fcore_packet *p);

/*
 * steer.c: the whole of Falcon 9.2.2 for the frame |it| that XDP has only redirected, to a connection
 * that is set up. Returns how it ended; |*kept| is set if the core took the frame over.
 */
enum falcon_verdict agent_steered(struct agent_conn *c, const struct falcon_meta *m,
				  const struct xsk_rx_item *it, bool *kept);
/*
 * steer.c: the same for a packet that came at |now| (ns) and needs no check of addresses and integrity:
 * it has not left the host.
 */
enum falcon_verdict agent_checked(struct agent_conn *c, const struct falcon_frame *f, uint64_t now,
				  const struct xsk_rx_item *it, bool *kept);
/* steer.c: hand the packet |h| in frame |it| to the core, which has it from then on. */
void agent_give(struct agent_conn *c, const struct falcon_hdr *h, const struct falcon_meta *m,
		const struct xsk_rx_item *it);

/* ulps.c: what the core and the raw layer call. */
extern const struct fcore_ops agent_core_ops;
extern const struct raw_ops agent_raw_ops;
/* ulps.c: a frame that the core had, or a late call (agent/rdma/stall.c), is free. */
void agent_frame_put(struct shard *s, struct xsk_frame *frame);
/* ulps.c: one more upper layer, at most ULP_MAX. |ops| and |self| must stay until the end. */
void shard_ulp_add(struct shard *s, const struct ulp_ops *ops, void *self);
/* ulps.c: the upper layer of |proto|, or NULL. */
struct ulp *agent_ulp(struct shard *s, uint8_t proto);
/* ulps.c: the calls of struct ulp_ops, of all of them. */
uint32_t shard_ulps_pump(struct shard *s);
void shard_ulps_were_away(struct shard *s, uint64_t ns);
bool shard_ulps_sleep_begin(struct shard *s);
void shard_ulps_sleep_end(struct shard *s);
uint64_t shard_ulps_deadline(const struct shard *s);

/* loop.c: what the thread of shard |index| needs around it. 0, or a negative errno. */
int shard_open(struct shard *s, struct plane *p, struct agent *a, unsigned int index);
void shard_close(struct shard *s);
/* loop.c: turn, in a thread of its own, until shard_stop(). 0, or a negative errno. */
int shard_start(struct shard *s);
void shard_stop(struct shard *s);
/* loop.c: have the loop wake on |fd|. 0 or a negative errno. */
int shard_watch(struct shard *s, int fd);
void shard_unwatch(struct shard *s, int fd);

#endif /* FALCON_AGENT_SHARD_H */
