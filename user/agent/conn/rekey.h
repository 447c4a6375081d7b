/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rotation of keys (Falcon 9.2.2.3), of the whole agent or of one connection.
 *
 * The agent's, which replaces a master key, goes in the specification's five steps:
 *
 *   1  a new master key; Allow Previous SPI Generation; Current SPI Generation + 1
 *   2  a connection gets a new SPI, its last one becomes the previous one
 *   3  the peer is told SPI and key, and answers once it transmits with them
 *   4  after a while in which packets on their way arrive, the previous SPI is forgotten
 *   5  all connections are through: previous generations are not allowed any more
 *
 * Steps 2 to 4 alone rotate one connection's keys, beneath the same master key.
 *
 *   REKEY_NONE --> REKEY_DUE --> REKEY_SENT --> REKEY_SETTLING --> REKEY_NONE, or DUE again
 *                         step 2, 3        answer              step 4
 */
#ifndef FALCON_AGENT_CONN_REKEY_H
#define FALCON_AGENT_CONN_REKEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "falcon/abi/stats.h"

struct agent;
struct agent_conn;

enum rekey_const {
	REKEY_ANSWER_MS = 10000,	/* a peer that takes longer loses the connection */
	REKEY_RETRY_US = 1000,		/* between looks at connections that are not ready for it */
	REKEY_AT_ONCE = 64,		/* connections begun before packets are looked after again */
};

/* What has come of it (stats.h). */
#define REKEY_STATS(V)											\
	V(counter, key_rotations, none, "rotations of the master keys")					\
	V(counter, keys_replaced, none, "keys of connections replaced while in use")			\
	V(counter, keys_unanswered, none, "connections lost because a new key was not taken")

TAILQ_HEAD(rekey_list, agent_conn);

struct rekey {
	struct rekey_list due, sent, settling;	/* by state; the latter two in order of rekey_at */
	uint32_t open;			/* connections on the lists */
	bool rotating;			/* between steps 1 and 5 */
	uint64_t started;		/* ns, of step 1 */
	uint64_t next_rotation;		/* ns, by schedule; UINT64_MAX: never */
	uint64_t retry_at;		/* ns, not before it is |due| looked at */
	REKEY_STATS(STAT_MEMBER)
};

void rekey_init(struct agent *a);

/*
 * Begin a rotation of the agent's keys. 0; -EALREADY: one is under way; or -EIO: there is no
 * randomness. Both with a sentence in |err|, nothing changed.
 */
int rekey_all(struct agent *a, char *err, size_t errlen);

/*
 * Begin one of a connection's keys. 0; -EALREADY: one is under way; -EINVAL: it has no keys;
 * -ENOTCONN: it is not up. With a sentence in |err|.
 */
int rekey_conn(struct agent_conn *c, char *err, size_t errlen);

/* The connection has been set up; its SPI's generation may have been overtaken meanwhile. */
void rekey_join(struct agent_conn *c);
/* The connection goes down. */
void rekey_leave(struct agent_conn *c);
/* The peer has answered. */
void rekey_answered(struct agent_conn *c);
/* The key that packets are opened with has done its share (sec_worn()): rotate it. By control. */
void rekey_worn(struct agent_conn *c);

/* Do what is due. */
void rekey_run(struct agent *a);
/* When that is needed next, ns; UINT64_MAX: not without something happening. */
uint64_t rekey_deadline(const struct agent *a);

#endif /* FALCON_AGENT_CONN_REKEY_H */
