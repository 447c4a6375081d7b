// SPDX-License-Identifier: BSD-2-Clause
/*
 * The service as its owner sees it, and the two queues between him and the thread, chan_thread.c.
 *
 * The owner puts commands into one queue and rings command_fd; the thread puts events into the
 * other and rings event_fd. Everything else belongs to the thread. Events about failures of
 * strangers are dropped when the owner lags, so that nobody can fill its memory.
 */
#include "cm/chan.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cm/chan_priv.h"
#include "cm/net.h"

static void ring(int fd)
{
	static const uint64_t one = 1;
	ssize_t n = write(fd, &one, sizeof(one));

	/* Fails only when it has rung very often already. */
	(void)n;
}

void chan_silence(int fd)
{
	uint64_t count;
	ssize_t n = read(fd, &count, sizeof(count));

	(void)n;
}

struct chan_event *chan_event_new(enum chan_event_type type, const struct relay *r,
				  const char *reason)
{
	struct chan_event *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->type = type;
	e->accepted = true;
	e->fd = -1;
	snprintf(e->reason, sizeof(e->reason), "%s", reason);
	if (!r)
		return e;
	e->id = r->id;
	e->accepted = r->accepted;
	e->family = r->ends.family;
	e->local = r->ends.local;
	e->peer = r->ends.peer;
	return e;
}

void chan_event_post(struct chan_service *s, struct chan_event *e)
{
	bool kept;

	if (!e)
		return;
	pthread_mutex_lock(&s->lock);
	kept = e->type != CHAN_FAILED || !e->accepted || s->nevents < CHAN_EVENTS_MAX;
	if (kept) {
		*s->events_tail = e;
		s->events_tail = &e->next;
		s->nevents++;
	}
	pthread_mutex_unlock(&s->lock);
	if (!kept)
		free(e);
	ring(s->event_fd);
}

struct chan_event *chan_next_event(struct chan_service *s)
{
	struct chan_event *e;

	pthread_mutex_lock(&s->lock);
	e = s->events;
	if (e) {
		s->events = e->next;
		s->nevents--;
		if (!s->events)
			s->events_tail = &s->events;
	} else {
		chan_silence(s->event_fd);
	}
	pthread_mutex_unlock(&s->lock);
	return e;
}

static void submit(struct chan_service *s, const struct chan_command *cmd)
{
	struct chan_command *copy = malloc(sizeof(*copy));

	if (!copy) {
		if (cmd->what == CMD_LISTEN)
			close(cmd->fd);
		return;
	}
	*copy = *cmd;
	pthread_mutex_lock(&s->lock);
	STAILQ_INSERT_TAIL(&s->commands, copy, list);
	pthread_mutex_unlock(&s->lock);
	ring(s->command_fd);
}

struct tls_ends chan_ends(int family, const struct falcon_addr *local, const struct falcon_addr *peer)
{
	struct tls_ends ends = {.family = family};

	ends.local = *local;
	if (peer)
		ends.peer = *peer;
	return ends;
}

uint64_t chan_connect(struct chan_service *s, int family, const struct falcon_addr *local,
		      const struct falcon_addr *peer)
{
	struct chan_command cmd = {.what = CMD_CONNECT, .ends = chan_ends(family, local, peer)};

	cmd.id = s->next_id += 2;
	submit(s, &cmd);
	return cmd.id;
}

void chan_cancel(struct chan_service *s, uint64_t id)
{
	submit(s, &(struct chan_command){.what = CMD_CANCEL, .id = id});
}

int chan_listen(struct chan_service *s, int family, const struct falcon_addr *addr)
{
	struct chan_command cmd = {.what = CMD_LISTEN, .ends = chan_ends(family, addr, NULL)};

	cmd.fd = net_listen(family, addr, s->port);
	if (cmd.fd >= 0)
		submit(s, &cmd);
	return cmd.fd;
}

/* The thread closes it later; the address is to be free at once. */
void chan_unlisten(struct chan_service *s, int listener)
{
	shutdown(listener, SHUT_RDWR);
	submit(s, &(struct chan_command){.what = CMD_UNLISTEN, .fd = listener});
}

bool chan_ready(const struct chan_service *s)
{
	return s->ready;
}

bool chan_plain(const struct chan_service *s)
{
	return s->plain;
}

int chan_event_fd(const struct chan_service *s)
{
	return s->event_fd;
}

static void release(struct chan_service *s)
{
	struct chan_command *cmd;
	struct chan_event *e;

	while ((cmd = STAILQ_FIRST(&s->commands))) {
		STAILQ_REMOVE_HEAD(&s->commands, list);
		free(cmd);
	}
	while (!LIST_EMPTY(&s->relays))
		relay_free(s, LIST_FIRST(&s->relays));
	while (!LIST_EMPTY(&s->listeners))
		chan_drop_listener(LIST_FIRST(&s->listeners));
	while ((e = s->events)) {
		s->events = e->next;
		if (e->fd >= 0)
			close(e->fd);
		free(e);
	}
	for (int i = 0; i < 3; i++) {
		int fd = (int[]){s->epoll_fd, s->command_fd, s->event_fd}[i];

		if (fd >= 0)
			close(fd);
	}
	tls_close(&s->tls);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* Signals are the owner's business. */
static int start_thread(struct chan_service *s)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(&s->thread, NULL, chan_run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret == 0)
		pthread_setname_np(s->thread, "falcon-channels");
	return -ret;
}

static int open_fds(struct chan_service *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &s->kind};

	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->command_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->epoll_fd < 0 || s->command_fd < 0 || s->event_fd < 0 ||
	    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->command_fd, &ev) < 0)
		return -errno;
	return 0;
}

static struct chan_service *service_new(const struct chan_config *cfg)
{
	struct chan_service *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->plain = cfg->plain;
	s->port = cfg->port;
	s->epoll_fd = s->command_fd = s->event_fd = -1;
	s->kind = CHAN_WATCH_COMMANDS;
	s->next_accepted_id = 1;
	s->events_tail = &s->events;
	STAILQ_INIT(&s->commands);
	LIST_INIT(&s->relays);
	LIST_INIT(&s->listeners);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

int chan_service_open(struct chan_service **out, const struct chan_config *cfg, char *err,
		      size_t errlen)
{
	struct chan_service *s = service_new(cfg);
	int ret = 0;

	*out = NULL;
	if (!s) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	if (!s->plain)
		ret = tls_open(&s->tls, cfg, err, errlen);
	if (ret == 0) {
		s->ready = s->plain || s->tls.ctx;
		ret = open_fds(s);
		if (ret == 0)
			ret = start_thread(s);
		if (ret)
			snprintf(err, errlen, "cannot start the thread of the control sessions: %s",
				 strerror(-ret));
	}
	if (ret) {
		release(s);
		return ret;
	}
	*out = s;
	return 0;
}

void chan_service_close(struct chan_service *s)
{
	if (!s)
		return;
	submit(s, &(struct chan_command){.what = CMD_STOP});
	pthread_join(s->thread, NULL);
	release(s);
}
