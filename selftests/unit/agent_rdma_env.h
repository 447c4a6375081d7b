/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Verbs applications at the agent's RDMA side, user/agent/rdma, and what that has around it. The applications
 * are this process. Included by one source of a test.
 */
#ifndef FALCON_SELFTESTS_AGENT_RDMA_ENV_H
#define FALCON_SELFTESTS_AGENT_RDMA_ENV_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/control/control.h"
#include "agent/process/deferred_close.h"
#include "agent/rdma/priv.h"
#include "agent/stats/stat.h"
#include "agent/tenant/quota.h"
#include "ipc/fdpass.h"

enum {
	AREA = 1 << 20,			/* bytes of memory that is shared with the agent */
	ALICE = 4000001,		/* users whom no host has */
	BOB = 4000002,
};

static struct agent agent;
static unsigned int watched;
static char refusal[512];		/* the sentence of the latest */

/* ---- what the agent has around ---------------------------------------------------------- */

void shard_ulp_add(struct shard *s, const struct ulp_ops *ops, void *self)
{
	(void)s, (void)self;
	assert_ptr_equal(ops, &rdma_ulp_ops);
}

int shard_watch(struct shard *s, int fd)
{
	(void)s, (void)fd;
	watched++;
	return 0;
}

void shard_unwatch(struct shard *s, int fd)
{
	(void)s, (void)fd;
	watched--;
}

int control_error(json_t **reply, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(refusal, sizeof(refusal), fmt, ap);
	va_end(ap);
	assert_int_not_equal(refusal[0], 0);
	*reply = json_string(refusal);
	return err;
}

void agent_frame_put(struct shard *s, struct xsk_frame *frame)
{
	(void)s, (void)frame;
	fail();
}

void stat_put(json_t *row, const char *name, enum stat_unit unit, uint64_t value)
{
	(void)row, (void)name, (void)unit, (void)value;
}

/* Control is the test. */
void news_verbs(struct shard *s)
{
	(void)s;
}

int agent_rdma_source(void *arg, const struct fverbs_cm_addr *dst, struct fverbs_cm_addr *src)
{
	(void)arg, (void)dst, (void)src;
	return -ENETUNREACH;
}

unsigned int agent_rdma_look(const struct agent *a, struct fverbs_device *out)
{
	(void)a;
	*out = (struct fverbs_device){ .name = "falcon0", .port_state = IBV_PORT_ACTIVE, .ngids = 1 };
	memcpy(out->gids[0].raw, (uint8_t[16]){ [10] = 0xff, 0xff, 10, 0, 0, 1 }, 16);
	return 1;
}

/* ---- an application ------------------------------------------------------------------------- */

struct app {
	int command, events;		/* its ends */
	int fds[4];			/* the agent's, as they are handed over */
};

/* What was closed is closed. */
static inline void settle(void)
{
	while (deferred_close_pending(geteuid()) || deferred_close_pending(ALICE) ||
	       deferred_close_pending(BOB))
		sched_yield();
}

static inline int make_area(void)
{
	int fd = memfd_create("area", MFD_ALLOW_SEALING);
	struct fverbs_ctx_shm head = { .magic = FVERBS_SHM_MAGIC, .version = FVERBS_SHM_VERSION };

	assert_int_equal(ftruncate(fd, AREA), 0);
	assert_int_equal(pwrite(fd, &head, 8, 0), 8);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

static inline void prepare(struct app *app)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	app->command = pair[0];
	app->fds[0] = pair[1];
	app->fds[1] = make_area();
	app->fds[2] = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	app->events = pair[0];
	app->fds[3] = pair[1];
}

static inline void drop(struct app *app)
{
	close(app->command);
	close(app->events);
	for (int i = 0; i < 4; i++)
		if (app->fds[i] >= 0)
			close(app->fds[i]);
}

static inline int attach_as(struct app *app, pid_t pid, uid_t uid, int nfds)
{
	struct control_client cl = { .pid = pid, .uid = uid };
	json_t *reply = NULL;
	int rc = agent_rdma_attach(&agent, &cl, NULL, app->fds, nfds, &reply);

	/* A refusal has its reason, and takes nothing. */
	assert_int_equal(rc < 0, reply != NULL);
	json_decref(reply);
	return rc;
}

static inline void process(void)
{
	agent_rdma_process(&agent.plane.shards[0]);
}

static inline void send_hello(const struct app *app)
{
	struct {
		struct fverbs_cmd cmd;
		struct fverbs_hello hello;
	} msg = { { .op = FVERBS_HELLO, .tag = 3 }, { .version = FVERBS_ABI_VERSION } };

	assert_int_equal(send(app->command, &msg, sizeof(msg), 0), sizeof(msg));
}

#endif /* FALCON_SELFTESTS_AGENT_RDMA_ENV_H */
