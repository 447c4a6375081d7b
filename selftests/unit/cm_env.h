/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection manager tests: a network namespace of their own, and an agent that only records. */
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

#include <base/log.h>
#include <cm/priv.h>
#include <falcon/abi/maps.h>
#include <falcon/wire/psp.h>

enum { ENV_PORT = 1000, ENV_CIDS = 32, ENV_WAIT_MS = 10000 };

/* What one end's callbacks were told of a connection. */
struct end_conn {
	unsigned int established, readied, losses;
	bool up;
	bool delayed;			/* establish() has said that it is too early */
	bool set_up;			/* establish() without lost() since */
	struct cm_values ours, peer;
	unsigned int filled, used, rekeyed;	/* calls about security */
	uint32_t generation;			/* that rekeyed() named last */
	struct cm_security local, remote;	/* chosen last, and used last */
	char reason[CM_REASON_MAX];
	unsigned int paths;			/* calls of path() */
	struct cm_path path;			/* the last one */
};

struct end {
	struct cm *cm;
	const char *refuse;		/* establish() fails with this sentence */
	bool psp;			/* connections are encrypted */
	bool unsettled;			/* establish() has to come again */
	bool delays;			/* it has to come twice, each time */
	bool no_key;			/* there are no keys to be had, nor to be used */
	uint32_t accept_cid;		/* the next one for a peer that dials; 0: refused */
	uint32_t accept_end;		/* from which on it is refused; 0: never */
	uint32_t accept_function;	/* the only one that may be dialled */
	struct chan_identity dialler;	/* who has dialled last */
	uint32_t grace_ms;
	struct chan_config chan;	/* without files: plain */
	struct end_conn conns[ENV_CIDS];
	unsigned int notes;		/* that have arrived */
	struct cm_note note;		/* the last of them */
};

static inline int env_establish(void *arg, uint32_t cid, const struct cm_values *ours,
				const struct cm_values *peer, char *err, size_t errlen)
{
	struct end *e = arg;
	struct end_conn *c = &e->conns[cid];

	assert_false(c->set_up);
	if (e->unsettled || (e->delays && (c->delayed = !c->delayed)))
		return -EAGAIN;
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

/* Keys that tell who made them and when. */
static inline int env_fill(void *arg, uint32_t cid, struct cm_security *out)
{
	struct end *e = arg;
	struct end_conn *c = &e->conns[cid];

	c->filled++;
	if (e->no_key)
		return -ENOKEY;
	if (e->psp) {
		out->version = FALCON_PSP_AES_GCM_256;
		out->key_len = 32;
		memset(out->key, (int)(16 * cid + c->filled), 32);
		out->pcid = cid;
	}
	out->generation = c->filled;
	c->local = *out;
	return 0;
}

static inline int env_use(void *arg, uint32_t cid, const struct cm_security *in)
{
	struct end *e = arg;

	assert_true(e->conns[cid].set_up);
	if (e->no_key)
		return -ENOKEY;
	e->conns[cid].used++;
	e->conns[cid].remote = *in;
	return 0;
}

static inline void env_rekeyed(void *arg, uint32_t cid, uint32_t generation)
{
	struct end_conn *c = &((struct end *)arg)->conns[cid];

	c->rekeyed++;
	c->generation = generation;
}

static inline int env_accept(void *arg, const struct cm_request *req, struct cm_local *out,
			     char *err, size_t errlen)
{
	struct end *e = arg;

	e->dialler = *req->who;
	if (!e->accept_cid || e->accept_cid == e->accept_end || req->function != e->accept_function) {
		snprintf(err, errlen, "function %u is not for you\n", req->function);
		return -EPERM;
	}
	out->local_cid = e->accept_cid++;
	out->ulp.len = 1;
	out->ulp.data[0] = (uint8_t)(req->ulp.data[0] + 1);
	out->params = (struct cm_params){.mtu = 1400, .flows = 1, .data_window = 128,
					 .req_window = 64};
	return 0;
}

static inline void env_note(void *arg, const struct cm_note *note, const struct chan_identity *who)
{
	struct end *e = arg;

	e->note = *note;
	e->notes++;
	e->dialler = *who;
}

static inline void env_path(void *arg, uint32_t cid, const struct cm_path *path)
{
	struct end_conn *c = &((struct end *)arg)->conns[cid];

	assert_true(c->up);
	c->path = *path;
	c->paths++;
}

static const struct cm_ops env_ops = {env_establish, env_ready, env_lost, env_fill,
				      env_use, env_rekeyed, env_accept, env_path, env_note};

static inline uint64_t env_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* |e|'s switches are as the test has set them. */
static inline void env_open(struct end *e)
{
	struct chan_config chan = e->chan;
	struct cm_options opt = {.chan = &chan, .grace_ms = e->grace_ms};
	char err[256];

	chan.port = ENV_PORT;
	chan.plain = !chan.cert && !chan.psk_file;
	memset(e->conns, 0, sizeof(e->conns));
	assert_int_equal(cm_open(&e->cm, &env_ops, e, &opt, err, sizeof(err)), 0);
}

static inline void env_turn(struct end *e)
{
	if (!e->cm)
		return;
	cm_process(e->cm, env_now());
	if (e->delays)
		cm_settled(e->cm);
}

/* Turn both ends (|b| may be NULL) until cond(arg), at most ENV_WAIT_MS. Returns cond(arg). */
static inline bool env_until(struct end *a, struct end *b, bool (*cond)(void *arg), void *arg)
{
	uint64_t give_up = env_now() + ENV_WAIT_MS * 1000000ULL;

	while (!cond(arg) && env_now() < give_up) {
		struct pollfd fds[2] = {{.fd = a->cm ? cm_fd(a->cm) : -1, .events = POLLIN},
					{.fd = b && b->cm ? cm_fd(b->cm) : -1, .events = POLLIN}};

		poll(fds, 2, 2);
		env_turn(a);
		if (b)
			env_turn(b);
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
		.ulp.proto = FALCON_PROTO_RAW,
		.params = {.mtu = 1500, .flows = 1, .data_window = 128, .req_window = 64},
	};

	assert_int_equal(inet_pton(l.family, from, l.local_addr.b), 1);
	assert_int_equal(inet_pton(l.family, to, l.peer_addr.b), 1);
	return l;
}

static inline void env_add(struct end *e, const char *from, const char *to, uint32_t local_cid,
			   uint32_t remote_cid)
{
	struct cm_local l = env_local(from, to, local_cid, remote_cid);
	char err[256];

	l.security = e->psp ? CM_SECURITY_PSP : CM_SECURITY_CLEAR;
	if (cm_add(e->cm, &l, err, sizeof(err)))
		fail_msg("%s", err);
}

/* The session of connection |cid| ends as by a failure of the network. */
static inline void env_cut(struct end *e, uint32_t cid)
{
	cm_session_fail(e->cm->conns[cid]->session, "cut by the test");
	cm_process(e->cm, env_now());
}

static inline bool env_session_up(const struct end *e, uint32_t cid)
{
	return e->cm->conns[cid]->session->phase == CM_OPEN;
}

/* cond() for env_until(): the end's connection |arg| is up. */
static inline bool env_conn_up(void *arg)
{
	return ((struct end_conn *)arg)->up;
}

/* The agent dies: nobody is told. */
static inline void env_abandon(struct end *e)
{
	for (struct cm_session *s = e->cm->sessions; s; s = s->next)
		cm_session_fail(s, "the agent dies");
	cm_process(e->cm, env_now());
	cm_close(e->cm);
	e->cm = NULL;
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
