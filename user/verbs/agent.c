// SPDX-License-Identifier: BSD-2-Clause
/* Attaching to the agent, commands, and noticing that it has gone or that we are somebody's child. */
#include "verbs/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ipc/client.h"
#include "ipc/fdpass.h"
#include "ipc/sleep.h"
#include "verbs/env.h"

enum {
	ANSWER_TIMEOUT_S = 30,	/* an agent that takes longer is stuck */
};

static _Thread_local char last_error[256];
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fv_agent *all;		/* attached by this process or its parent */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

const char *fv_error(void)
{
	return last_error;
}

int fv_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last_error, sizeof(last_error), fmt, ap);
	va_end(ap);
	errno = err;
	return err;
}

int fv_agent_usable(struct fv_agent *agent)
{
	switch (falcon_load(&agent->state)) {
	case FV_LIVE:
		return 0;
	case FV_FORKED:
		return fv_fail(EIO, "the device was opened by the parent process: open it again here");
	default:
		return fv_fail(EIO, "the agent is gone: close the device and open it again");
	}
}

/*
 * The child of fork() shares sockets and queues with its parent. It may use neither, and must not
 * keep the agent from noticing when the parent ends: its descriptors lead nowhere from now on (they stay
 * open so that closing them hits nobody else's), and its memory is its own.
 */
static void in_child(void)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	pthread_mutex_init(&all_lock, NULL);
	for (struct fv_agent *a = all; a; a = a->next) {
		falcon_store(&a->state, (uint32_t)FV_FORKED);
		dup3(nowhere, a->cmd, O_CLOEXEC);
		dup3(nowhere, a->doorbell, O_CLOEXEC);
		dup3(nowhere, a->async, O_CLOEXEC);
		fv_areas_unshare(a);
	}
	if (nowhere >= 0)
		close(nowhere);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static json_t *attach_request(void)
{
	json_t *req = json_pack("{s:s}", "op", "verbs-attach");
	unsigned int thread = fv_env_choice(FV_ENV_THREAD);

	/* 0 is "auto", 1 the thread 0. */
	if (req && thread)
		json_object_set_new(req, "thread", json_integer(thread - 1));
	return req;
}

/* Hand descriptors over through the control socket. */
static int attach(struct fv_agent *agent, int memfd)
{
	struct ipc_client control = IPC_CLIENT_CLOSED;
	int cmd[2] = { -1, -1 }, event[2] = { -1, -1 }, fds[4], rc;

	agent->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (agent->doorbell < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, cmd) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, event)) {
		rc = fv_fail(errno, "cannot make descriptors: %s", strerror(errno));
		goto out;
	}
	fds[0] = cmd[1];
	fds[1] = memfd;
	fds[2] = agent->doorbell;
	fds[3] = event[1];
	rc = ipc_client_connect(&control, fv_env_string(FV_ENV_SOCKET));
	if (!rc)
		rc = ipc_client_call(&control, attach_request(), fds, 4, NULL);
	if (rc) {
		rc = fv_fail(-rc, "%s", control.err);
		goto out;
	}
	agent->cmd = cmd[0];
	agent->async = event[0];
	cmd[0] = event[0] = -1;
out:
	for (int i = 0; i < 2; i++) {
		if (cmd[i] >= 0)
			close(cmd[i]);
		if (event[i] >= 0)
			close(event[i]);
	}
	ipc_client_close(&control);
	return rc;
}

/* With our memory; an agent that needs no descriptor to reach it does not mind that there is none. */
static int hello(struct fv_agent *agent)
{
	const struct fverbs_hello req = { .version = FVERBS_ABI_VERSION };
	struct fverbs_hello_answer answer;
	int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	int rc = fv_call(agent, FVERBS_HELLO, &req, sizeof(req), memory, &answer, sizeof(answer));

	if (memory >= 0)
		close(memory);
	if (rc)
		return rc;
	if (answer.version != FVERBS_ABI_VERSION)
		return fv_fail(EPROTO, "the agent speaks version %u, this library version %d",
			       answer.version, FVERBS_ABI_VERSION);
	agent->devices = answer.devices < FVERBS_DEVICES_MAX ? answer.devices : FVERBS_DEVICES_MAX;
	return 0;
}

int fv_agent_open(struct fv_agent *agent, void (*lost)(struct fv_agent *agent))
{
	const struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
	int memfd = -1, rc;

	pthread_once(&fork_once, watch_forks);
	memset(agent, 0, sizeof(*agent));
	agent->cmd = agent->doorbell = agent->async = agent->async_local = -1;
	agent->lost = lost;
	pthread_mutex_init(&agent->lock, NULL);
	pthread_mutex_init(&agent->area_lock, NULL);
	rc = fv_areas_init(agent, &memfd);
	if (!rc)
		rc = attach(agent, memfd);
	pthread_mutex_lock(&all_lock);
	agent->next = all;
	all = agent;
	pthread_mutex_unlock(&all_lock);
	if (!rc) {
		setsockopt(agent->cmd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
		setsockopt(agent->cmd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
		rc = hello(agent);
	}
	if (rc)
		fv_agent_close(agent);
	errno = rc;
	return rc;
}

void fv_agent_close(struct fv_agent *agent)
{
	const int fds[] = { agent->cmd, agent->doorbell, agent->async, agent->async_local };

	pthread_mutex_lock(&all_lock);
	for (struct fv_agent **p = &all; *p; p = &(*p)->next) {
		if (*p == agent) {
			*p = agent->next;
			break;
		}
	}
	pthread_mutex_unlock(&all_lock);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	fv_areas_free(agent);
	pthread_mutex_destroy(&agent->lock);
	pthread_mutex_destroy(&agent->area_lock);
}

bool fv_agent_any(bool (*fn)(struct fv_agent *agent, void *arg), void *arg)
{
	struct fv_agent *a;

	pthread_mutex_lock(&all_lock);
	for (a = all; a && !fn(a, arg);)
		a = a->next;
	pthread_mutex_unlock(&all_lock);
	return a != NULL;
}

void fv_agent_dead(struct fv_agent *agent)
{
	uint32_t live = FV_LIVE;

	if (!__atomic_compare_exchange_n(&agent->state, &live, FV_DEAD, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	if (agent->lost)
		agent->lost(agent);
	falcon_store(&agent->settled, true);
}

void fv_agent_check(struct fv_agent *agent)
{
	char byte;

	/* It writes to this socket only when asked: an end is all that can be waiting here. */
	if (fv_live(agent) && recv(agent->cmd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		fv_agent_dead(agent);
}

static int send_command(struct fv_agent *agent, enum fverbs_op op, const void *req, size_t len,
			int fd)
{
	struct fverbs_cmd cmd = { .op = (uint16_t)op, .tag = ++agent->tag };
	struct iovec iov[2] = {
		{ .iov_base = &cmd, .iov_len = sizeof(cmd) },
		{ .iov_base = (void *)req, .iov_len = len },
	};
	ssize_t n;

	do
		n = fdpass_send(agent->cmd, iov, 2, &fd, fd >= 0, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)(sizeof(cmd) + len) ? 0 : EIO;
}

/* A message of at most |len| bytes, and its first descriptor in *|fd|; others have no meaning. */
static ssize_t receive_message(const struct fv_agent *agent, void *buf, size_t len, int *fd)
{
	struct fdpass fds;
	ssize_t n;

	do
		n = fdpass_receive(agent->cmd, buf, len, &fds, 0);
	while (n < 0 && errno == EINTR);
	*fd = fdpass_first(&fds);
	return n;
}

/*
 * 0: *|reply| is the answer of the command sent last, |answer_len| bytes follow if it succeeded; its
 * descriptor is in *|fd| in any case.
 */
static int receive_answer(struct fv_agent *agent, struct fverbs_reply *reply, void *answer,
			  size_t answer_len, int *fd)
{
	char buf[FVERBS_MSG_MAX];
	ssize_t n = receive_message(agent, buf, sizeof(buf), fd);
	size_t rest;

	if (n < (ssize_t)sizeof(*reply))
		return EIO;
	memcpy(reply, buf, sizeof(*reply));
	if (reply->tag != agent->tag)
		return EIO;
	rest = (size_t)n - sizeof(*reply);
	if (reply->error) {
		fv_fail(reply->error, "%.*s", (int)rest, buf + sizeof(*reply));
		return 0;
	}
	if (rest < answer_len)
		return EIO;
	if (answer_len)
		memcpy(answer, buf + sizeof(*reply), answer_len);
	return 0;
}

static int call(struct fv_agent *agent, enum fverbs_op op, const void *req, size_t len, int fd,
		void *answer, size_t answer_len, int *answer_fd)
{
	struct fverbs_reply reply = { 0 };
	int rc = fv_agent_usable(agent);

	*answer_fd = -1;
	if (rc)
		return rc;
	pthread_mutex_lock(&agent->lock);
	rc = send_command(agent, op, req, len, fd);
	if (!rc)
		rc = receive_answer(agent, &reply, answer, answer_len, answer_fd);
	pthread_mutex_unlock(&agent->lock);
	if (rc) {
		fv_agent_dead(agent);
		return fv_agent_usable(agent);
	}
	if (reply.error < 0 || reply.error > 4095)
		reply.error = EPROTO;
	if (reply.error)
		errno = reply.error;
	return reply.error;
}

int fv_call(struct fv_agent *agent, enum fverbs_op op, const void *req, size_t len, int fd,
	    void *answer, size_t answer_len)
{
	int answer_fd, rc = call(agent, op, req, len, fd, answer, answer_len, &answer_fd);

	if (answer_fd >= 0)
		close(answer_fd);
	return rc;
}

int fv_call_fd(struct fv_agent *agent, enum fverbs_op op, const void *req, size_t len, void *answer,
	       size_t answer_len, int *answer_fd)
{
	int rc = call(agent, op, req, len, -1, answer, answer_len, answer_fd);

	if (rc && *answer_fd >= 0) {
		close(*answer_fd);
		*answer_fd = -1;
	}
	return rc;
}

int fv_call_handle(struct fv_agent *agent, enum fverbs_op op, uint32_t handle)
{
	const struct fverbs_handle req = { .handle = handle };

	return fv_call(agent, op, &req, sizeof(req), -1, NULL, 0);
}

int fv_call_destroy(struct fv_agent *agent, enum fverbs_op op, uint32_t handle)
{
	int rc = fv_live(agent) ? fv_call_handle(agent, op, handle) : 0;

	return fv_live(agent) ? rc : 0;
}

void fv_ring(struct fv_agent *agent, uint32_t slot)
{
	struct fverbs_ctx_shm *shm = agent->shm;
	uint32_t word = slot / 64;
	uint64_t bit = 1ULL << (slot % 64);
	const uint64_t one = 1;

	/* What is set already will be looked at, and whoever set it signals. */
	sleep_published();
	if (__atomic_load_n(&shm->rung[word], __ATOMIC_RELAXED) & bit)
		return;
	__atomic_fetch_or(&shm->rung[word], bit, __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&shm->summary[word / 64], 1ULL << (word % 64), __ATOMIC_SEQ_CST);
	if (!sleep_claim_after_rmw(&shm->agent_sleeping))
		return;
	/* Fails only if the counter is full, when the agent has a signal already. */
	if (write(agent->doorbell, &one, sizeof(one)) < 0)
		return;
}
