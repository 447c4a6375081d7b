/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshake tests: a network namespace of their own, and an agent that only records. */
#ifndef FALCON_SELFTESTS_CM_ENV_H
#define FALCON_SELFTESTS_CM_ENV_H

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <agent/cm.h>
#include <agent/log.h>
#include <falcon/maps.h>

enum { ENV_PORT = 1000, ENV_CIDS = 32, ENV_WAIT_MS = 10000 };

/* What one end's callbacks were told of a connection. */
struct end_conn {
	unsigned int established, readied, losses;
	bool up;
	bool set_up;			/* establish() without lost() since */
	struct cm_values ours, peer;
	char reason[CM_REASON_MAX];
};

struct end {
	struct cm *cm;
	const char *refuse;		/* establish() fails with this sentence */
	struct end_conn conns[ENV_CIDS];
};

static inline int env_establish(void *arg, uint32_t cid, const struct cm_values *ours,
				const struct cm_values *peer, char *err, size_t errlen)
{
	struct end *e = arg;
	struct end_conn *c = &e->conns[cid];

	assert_false(c->set_up);
	if (e->refuse) {
		snprintf(err, errlen, "%s", e->refuse);
		return -1;
	}
	c->established++;
	c->set_up = true;
	c->ours = *ours;
	c->peer = *peer;
	return 0;
}

static inline void env_ready(void *arg, uint32_t cid)
{
	struct end_conn *c = &((struct end *)arg)->conns[cid];

	assert_true(c->set_up);
	assert_false(c->up);
	c->readied++;
	c->up = true;
}

static inline void env_lost(void *arg, uint32_t cid, const char *reason)
{
	struct end_conn *c = &((struct end *)arg)->conns[cid];

	c->losses++;
	c->up = false;
	c->set_up = false;
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
}

static const struct cm_ops env_ops = {env_establish, env_ready, env_lost};

static inline uint64_t env_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static inline void env_open(struct end *e)
{
	char err[256];

	memset(e, 0, sizeof(*e));
	assert_int_equal(cm_open(&e->cm, &env_ops, e, ENV_PORT, err, sizeof(err)), 0);
}

/* Turn both ends (|b| may be NULL) until cond(arg), at most ENV_WAIT_MS. Returns cond(arg). */
static inline bool env_until(struct end *a, struct end *b, bool (*cond)(void *arg), void *arg)
{
	uint64_t give_up = env_now() + ENV_WAIT_MS * 1000000ULL;

	while (!cond(arg) && env_now() < give_up) {
		struct pollfd fds[2] = {{.fd = a->cm ? cm_fd(a->cm) : -1, .events = POLLIN},
					{.fd = b && b->cm ? cm_fd(b->cm) : -1, .events = POLLIN}};

		poll(fds, 2, 2);
		if (a->cm)
			cm_process(a->cm, env_now());
		if (b && b->cm)
			cm_process(b->cm, env_now());
	}
	return cond(arg);
}

static inline struct cm_local env_local(const char *from, const char *to, uint32_t local_cid,
					uint32_t remote_cid)
{
	struct cm_local l = {
		.family = strchr(from, ':') ? AF_INET6 : AF_INET,
		.local_cid = local_cid,
		.remote_cid = remote_cid,
		.ordered = true,
		.mtu = 1500,
	};

	assert_int_equal(inet_pton(l.family, from, l.local_addr), 1);
	assert_int_equal(inet_pton(l.family, to, l.peer_addr), 1);
	return l;
}

static inline void env_add(struct end *e, const char *from, const char *to, uint32_t local_cid,
			   uint32_t remote_cid)
{
	struct cm_local l = env_local(from, to, local_cid, remote_cid);
	char err[256];

	if (cm_add(e->cm, &l, err, sizeof(err)))
		fail_msg("%s", err);
}

/* Enter a new network namespace with both loopback addresses; false: no permission. */
static inline bool env_namespace(void)
{
	log_set_level(LOG_LEVEL_ERROR);
	return unshare(CLONE_NEWNET) == 0 && system("ip link set lo up") == 0 &&
	       system("ip addr add fd00::1/128 dev lo nodad") == 0 &&
	       system("ip addr add fd00::2/128 dev lo nodad") == 0;
}

#endif /* FALCON_SELFTESTS_CM_ENV_H */
