// SPDX-License-Identifier: BSD-2-Clause
/*
 * Attached verbs applications: their command sockets, and their end. Whoever breaks the rules of the
 * socket, or does not read what he has asked for, is detached; the control connection has no part in
 * it and may be closed once the application is attached.
 */
#include "agent/rdma/priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/control/control.h"
#include "agent/process/deferred_close.h"
#include "agent/shard/shard.h"
#include "agent/tenant/quota.h"
#include "base/log.h"
#include "ipc/fdpass.h"
#include "ulp/client.h"

enum app_const {
	APP_FDS = 4,			/* descriptors of verbs-attach */
	APP_COMMANDS = 64,		/* of an application, served in a turn */
	APP_EVENTS = 32,
	APP_HELD = 4,			/* of a user, that threads may be waiting for after their end */
};

/* What a socket that is watched says is found by looking; that the process ended, is told apart. */
static void *ended(struct rdma_app *app)
{
	return (uint8_t *)app + 1;
}

static int watch(struct agent_rdma *v, int fd, uint32_t events, void *ptr, int how)
{
	struct epoll_event ev = { .events = events, .data.ptr = ptr };

	return epoll_ctl(v->epoll_fd, how, fd, &ev) < 0 ? -errno : 0;
}

static void unlink_app(struct rdma_app *app)
{
	*app->pprev = app->next;
	if (app->next)
		app->next->pprev = app->pprev;
}

static void link_app(struct rdma_app *app, struct rdma_app **list)
{
	app->next = *list;
	app->pprev = list;
	if (app->next)
		app->next->pprev = &app->next;
	*list = app;
}

/* In a call. */
static void unlink_gone(void *arg)
{
	struct rdma_app *app = arg;

	if (app->gone)
		unlink_app(app);
}

/* The account of user |uid|, with one application more. NULL: memory is short. */
static struct rdma_user *get_user(struct agent_rdma *v, uid_t uid)
{
	struct rdma_user *u;

	LIST_FOREACH(u, &v->users, entry)
		if (u->uid == uid)
			break;
	if (!u) {
		u = calloc(1, sizeof(*u));
		if (!u)
			return NULL;
		u->uid = uid;
		LIST_INSERT_HEAD(&v->users, u, entry);
	}
	u->apps++;
	return u;
}

static void put_user(const struct rdma_app *app)
{
	struct rdma_user *u = app->user;

	if (--u->apps)
		return;
	app->rdma->rests += u->rest.rests;
	LIST_REMOVE(u, entry);
	free(u);
}

void agent_rdma_free(struct rdma_app *app)
{
	call_run(&app->rdma->shard->call, unlink_gone, app);
	quota_uncharge(app->rdma->agent->quota, app->uid, QUOTA_CLIENTS, 1);
	rdma_proc_close(app->proc);
	put_user(app);
	free(app);
}

static void drop_one(const struct rdma_app *app, int *fd)
{
	if (*fd >= 0)
		deferred_close(*fd, app->uid);
	*fd = -1;
}

struct closing {
	struct rdma_app *app;
	struct rdma_let_gos let_go;
};

/* In a call: the shard's part of it, which stays if a late call still refers to it. */
static void close_ctx(void *arg)
{
	struct closing *c = arg;
	struct rdma_app *app = c->app;
	struct agent_rdma *v = app->rdma;

	if (app->ctx)
		rdma_ctx_close(app->ctx);
	app->ctx = NULL;
	if (app->pprev) {
		unlink_app(app);
		v->napps--;
	}
	app->gone = app->late;
	if (app->gone)
		link_app(app, &v->gone);
	STAILQ_CONCAT(&c->let_go, &v->let_go);
}

void agent_rdma_detach(struct rdma_app *app)
{
	struct agent_rdma *v = app->rdma;
	bool attached = app->pprev;
	struct closing c = { .app = app };

	STAILQ_INIT(&c.let_go);
	call_run(&v->shard->call, close_ctx, &c);
	agent_rdma_give_back(v, &c.let_go);
	if (attached) {
		stall_watch(v->shard->stall, v->napps > 0);
		shard_unwatch(v->shard, app->doorbell);
		epoll_ctl(v->epoll_fd, EPOLL_CTL_DEL, rdma_proc_fd(app->proc), NULL);
		epoll_ctl(v->epoll_fd, EPOLL_CTL_DEL, app->command, NULL);
		log_ratelimited(LOG_LEVEL_INFO, &v->agent->applications, "verbs application gone pid=%d",
				(int)app->pid);
	}
	quota_uncharge(v->agent->quota, app->uid, QUOTA_MEMORY, app->memory);
	/* Closing it may wait for others of the user's descriptors; his application need not. */
	if (app->command >= 0)
		shutdown(app->command, SHUT_RDWR);
	drop_one(app, &app->command);
	drop_one(app, &app->doorbell);
	drop_one(app, &app->async);
	drop_one(app, &app->answer_fd);
	if (!app->gone)
		agent_rdma_free(app);
}

static int check_fds(const int *fds, char *err, size_t errlen)
{
	if (!client_is_socket(fds[0], SOCK_SEQPACKET))
		snprintf(err, errlen, "the command socket is not a Unix SOCK_SEQPACKET socket");
	else if (!client_is_eventfd(fds[2]))
		snprintf(err, errlen, "the doorbell is not an eventfd");
	else if (!client_is_socket(fds[3], SOCK_STREAM))
		snprintf(err, errlen, "the event descriptor is not a Unix stream socket");
	else
		return 0;
	return -EINVAL;
}

static int charge(struct rdma_app *app, enum quota_kind kind, uint64_t amount, char *err,
		  size_t errlen)
{
	struct quota *q = app->rdma->agent->quota;
	int rc = quota_charge(q, app->uid, kind, amount);

	if (rc < 0)
		quota_explain(q, app->uid, kind, err, errlen);
	return rc;
}

/* The context over area 0, whose descriptor is closed. */
static int open_ctx(struct rdma_app *app, int memfd, char *err, size_t errlen)
{
	const struct rdma_owner owner = { .proc = app, .uid = app->uid, .pid = app->pid };
	uint64_t size = 0;
	void *base;
	int rc;

	if (client_check_memfd(memfd, &size, err, errlen))
		return -EINVAL;
	rc = charge(app, QUOTA_MEMORY, size, err, errlen);
	if (rc < 0)
		return rc;
	app->memory = size;
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	if (base == MAP_FAILED) {
		snprintf(err, errlen, "cannot map area 0: %s", strerror(errno));
		return -errno;
	}
	app->ctx = rdma_ctx_open(app->rdma->layer, &owner, base, size, app->async, err, errlen);
	if (app->ctx)
		return 0;
	munmap(base, size);
	return -EINVAL;
}

static int start(struct rdma_app *app, int *fds, char *err, size_t errlen)
{
	struct agent_rdma *v = app->rdma;
	int rc = rdma_proc_open(&app->proc, app->pid, app->uid, fds[0], err, errlen);

	if (rc < 0)
		return rc;
	app->async = fds[3];
	rc = open_ctx(app, fds[1], err, errlen);
	if (rc < 0)
		app->async = -1;
	if (rc == 0) {
		rc = watch(v, fds[0], EPOLLIN, app, EPOLL_CTL_ADD);
		if (rc == 0)
			rc = watch(v, rdma_proc_fd(app->proc), EPOLLIN, ended(app), EPOLL_CTL_ADD);
		if (rc < 0)
			snprintf(err, errlen, "cannot watch the application: %s", strerror(-rc));
	}
	if (rc < 0)
		return rc;
	app->command = fds[0];
	app->doorbell = fds[2];
	fds[0] = fds[2] = fds[3] = -1;
	shard_watch(v->shard, app->doorbell);
	link_app(app, &v->apps);
	v->napps++;
	stall_watch(v->shard->stall, true);
	return 0;
}

/* The one that |wanted| numbers, or, if that is NULL, the one with the fewest applications. */
static struct agent_rdma *choose(const struct agent *a, const json_t *wanted)
{
	struct agent_rdma *v = a->plane.shards[0].rdma;

	if (wanted)
		return a->plane.shards[json_integer_value(wanted)].rdma;
	for (unsigned int i = 1; i < a->plane.nshards && v; i++)
		if (a->plane.shards[i].rdma->napps < v->napps)
			v = a->plane.shards[i].rdma;
	return v;
}

int agent_rdma_attach(struct agent *a, struct control_client *cl, json_t *req, int *fds, int nfds,
		      json_t **reply)
{
	const json_t *thread = json_object_get(req, "thread");
	struct rdma_app *app;
	struct agent_rdma *v;
	char err[512];
	int rc;

	if (thread && (!json_is_integer(thread) || json_integer_value(thread) < 0 ||
		       json_integer_value(thread) >= a->plane.nshards))
		return control_error(reply, -EINVAL, "thread: this agent has threads 0 to %u",
				     a->plane.nshards - 1);
	v = choose(a, thread);
	if (!v)
		return control_error(reply, -EOPNOTSUPP,
				     "this agent serves no verbs applications: verbs = off in [agent]");
	if (nfds != APP_FDS)
		return control_error(reply, -EINVAL, "verbs-attach wants four descriptors, not %d",
				     nfds);
	rc = check_fds(fds, err, sizeof(err));
	if (rc < 0)
		return control_error(reply, rc, "%s", err);
	if (agent_rdma_held(v, cl->uid) >= APP_HELD)
		return control_error(reply, -EBUSY,
				     "the agent still waits for memory of %u processes of user %u that it "
				     "has detached",
				     APP_HELD, (unsigned)cl->uid);
	app = calloc(1, sizeof(*app));
	if (!app)
		return control_error(reply, -ENOMEM, "out of memory");
	*app = (struct rdma_app){ .rdma = v, .number = ++v->last_number, .command = -1,
				  .doorbell = -1, .async = -1, .answer_fd = -1, .pid = cl->pid,
				  .uid = cl->uid };
	app->user = get_user(v, cl->uid);
	if (!app->user) {
		free(app);
		return control_error(reply, -ENOMEM, "out of memory");
	}
	rc = charge(app, QUOTA_CLIENTS, 1, err, sizeof(err));
	if (rc < 0) {
		put_user(app);
		free(app);
		return control_error(reply, rc, "%s", err);
	}
	rc = start(app, fds, err, sizeof(err));
	if (rc < 0) {
		agent_rdma_detach(app);
		return control_error(reply, rc, "%s", err);
	}
	log_ratelimited(LOG_LEVEL_INFO, &v->agent->applications,
			"verbs application attached pid=%d uid=%u thread=%u", (int)cl->pid, cl->uid,
			v->shard->index);
	return 0;
}

/* Receive a command of |*len| bytes, with |*fd|, at most one. 0, -EAGAIN, or another errno: it is over. */
static int receive(const struct rdma_app *app, void *buf, size_t *len, int *fd)
{
	struct fdpass fds;
	ssize_t n = fdpass_receive(app->command, buf, FVERBS_MSG_MAX, &fds, MSG_DONTWAIT);
	int rc = 0;

	*fd = -1;
	if (n < 0)
		return -errno;
	*len = (size_t)n;
	if (!fds.whole || fds.n > 1)
		rc = -EPROTO;
	else if (n == 0)
		rc = -ECONNRESET;
	else if (fds.n)
		*fd = fds.fd[0];
	for (unsigned int i = 0; rc < 0 && i < fds.n; i++)
		drop_one(app, &fds.fd[i]);
	return rc;
}

/* Send what |app| waits for. If there is no room, it is served again when there is. */
static int answer(struct rdma_app *app)
{
	const struct iovec iov = { .iov_base = app->answer, .iov_len = (size_t)app->unsent };

	if (fdpass_send(app->command, &iov, 1, &app->answer_fd, app->answer_fd >= 0,
			MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
		if (errno != EAGAIN)
			return -errno;
		return watch(app->rdma, app->command, EPOLLOUT, app, EPOLL_CTL_MOD) < 0 ? -EIO : -EAGAIN;
	}
	drop_one(app, &app->answer_fd);
	app->unsent = 0;
	app->commands++;
	return 0;
}

struct command {
	struct rdma_app *app;
	const void *bytes;
	size_t len;
	int fd;
	struct rdma_let_gos let_go;	/* what came free on the way */
};

/* In a call. */
static void execute(void *arg)
{
	struct command *c = arg;
	struct rdma_app *app = c->app;

	app->unsent = rdma_command(app->ctx, c->bytes, c->len, c->fd, app->answer, &app->answer_fd);
	STAILQ_CONCAT(&c->let_go, &app->rdma->let_go);
}

static void carry_out(struct command *c)
{
	struct rdma_app *app = c->app;

	STAILQ_INIT(&c->let_go);
	agent_rdma_prepare(app, c->bytes, c->len, c->fd);
	if (rdma_command_of_group(c->bytes, c->len))
		plane_call(&app->rdma->agent->plane, execute, c);
	else
		call_run(&app->rdma->shard->call, execute, c);
	agent_rdma_unprepare(app);
	agent_rdma_give_back(app->rdma, &c->let_go);
}

/* Commands that wait, in order, as long as their answers are taken. 0, or a negative errno: it is over. */
static int serve(struct rdma_app *app)
{
	uint64_t buf[FVERBS_MSG_MAX / 8];
	struct command command = { .app = app, .bytes = buf };
	int rc = 0;

	if (app->unsent) {
		rc = answer(app);
		if (rc == 0 && watch(app->rdma, app->command, EPOLLIN, app, EPOLL_CTL_MOD) < 0)
			rc = -EIO;
	}
	for (int i = 0; i < APP_COMMANDS && rc == 0; i++) {
		/* As at the control socket: a user whose descriptors do not close may not send more. */
		if (deferred_close_full(app->uid))
			return -EBUSY;
		rc = receive(app, buf, &command.len, &command.fd);
		if (rc < 0)
			break;
		carry_out(&command);
		rc = app->unsent < 0 ? app->unsent : answer(app);
	}
	return rc == -EAGAIN ? 0 : rc;
}

static bool known(const struct agent_rdma *v, const struct rdma_app *app)
{
	const struct rdma_app *a = v->apps;

	while (a && a != app)
		a = a->next;
	return a;
}

void agent_rdma_process(struct shard *s)
{
	struct agent_rdma *v = s->rdma;
	struct epoll_event ev[APP_EVENTS];
	int n = epoll_wait(v->epoll_fd, ev, APP_EVENTS, 0);

	for (int i = 0; i < n; i++) {
		uintptr_t ptr = (uintptr_t)ev[i].data.ptr;
		struct rdma_app *app = (struct rdma_app *)(ptr & ~(uintptr_t)1);
		int rc;

		/* It may have gone with an event before. */
		if (!known(v, app))
			continue;
		rc = ptr & 1 ? -ESRCH : serve(app);
		if (rc == -EPROTO)
			log_ratelimited(LOG_LEVEL_WARN, &v->limit,
					"verbs application detached: it breaks the rules of its command "
					"socket pid=%d", (int)app->pid);
		if (rc < 0)
			agent_rdma_detach(app);
	}
}
