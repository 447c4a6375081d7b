// SPDX-License-Identifier: BSD-2-Clause
/*
 * Control: the main thread, which serves what may take its time. Peers' sessions and TLS, routes and
 * neighbours, commands of applications and of the operator, the life of connections, and keys. No packet
 * waits for it; what it wants of the shard it calls for (call.h).
 */
#include "agent/agent.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/commands/commands.h"
#include "agent/conn/conn.h"
#include "agent/conn/grace.h"
#include "agent/conn/heard.h"
#include "agent/conn/loopback.h"
#include "agent/conn/notes.h"
#include "agent/control/control.h"
#include "agent/metrics/http.h"
#include "agent/rdma/rdma.h"
#include "agent/reload.h"
#include "agent/shard/shard.h"
#include "base/log.h"
#include "base/spin.h"

enum { EVENTS = 32 };

static int watch(struct agent *a, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

static void take_signal(struct agent *a)
{
	struct signalfd_siginfo si;

	if (read(a->signal_fd, &si, sizeof(si)) != sizeof(si))
		return;
	if (si.ssi_signo == SIGHUP)
		return agent_reload(a);
	log_info("stopping signal=%s", strsignal((int)si.ssi_signo));
	a->stop = true;
}

/* A grace period is over. Connections that leave and wait for it are looked at in each turn. */
static void take_grace(const struct agent *a)
{
	uint64_t n;

	(void)!read(grace_fd(a->grace), &n, sizeof(n));
	cm_settled(a->cm);
}

static void serve_news(struct shard *s)
{
	struct heard_left left = heard_serve(s);

	if (left.clients)
		agent_clients_broken(s->agent);
	if (left.verbs)
		agent_rdma_reap(s);
}

static void dispatch(struct agent *a, int fd)
{
	if (fd == a->signal_fd)
		take_signal(a);
	else if (fd == control_fd(a->control))
		control_process(a->control);
	else if (fd == cm_fd(a->cm))
		cm_process(a->cm, a->now);
	else if (fd == neigh_fd(a->neigh))
		neigh_process(a->neigh);
	else if (fd == grace_fd(a->grace))
		take_grace(a);
	else if (fd == metrics_http_fd(a->metrics))
		metrics_http_run(a->metrics, a->now);
	for (unsigned int i = 0; i < a->plane.nshards; i++) {
		struct shard *s = &a->plane.shards[i];

		if (fd == s->news.fd) {
			serve_news(s);
		} else if (s->rdma && fd == agent_rdma_fd(s)) {
			agent_rdma_process(s);
		}
	}
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ns until something is due; UINT64_MAX: nothing is. */
static uint64_t until_deadline(const struct agent *a)
{
	uint64_t next = earlier(cm_next_deadline(a->cm), rekey_deadline(a));

	next = earlier(next, loopback_deadline(a));
	next = earlier(next, service_deadline(a));
	next = earlier(next, metrics_http_deadline(a->metrics));
	if (next == UINT64_MAX)
		return next;
	return next > a->now ? next - a->now : 0;
}

/* Wait at most |wait_ns|, UINT64_MAX: for ever, and serve the descriptors that are ready. */
static void serve(struct agent *a, uint64_t wait_ns)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(wait_ns / 1000000000ULL),
		.tv_nsec = (long)(wait_ns % 1000000000ULL),
	};
	struct epoll_event ev[EVENTS];
	int n = epoll_pwait2(a->epoll_fd, ev, EVENTS, wait_ns == UINT64_MAX ? NULL : &ts, NULL);

	a->now = spin_clock();
	for (int i = 0; i < n; i++)
		dispatch(a, ev[i].data.fd);
}

/* Do what is due. True: there is more to do now. */
static bool turn(struct agent *a)
{
	bool more;

	if (cm_next_deadline(a->cm) <= a->now)
		cm_process(a->cm, a->now);
	a->stats.files_stale = cm_stale(a->cm) != NULL;
	if (rekey_deadline(a) <= a->now)
		rekey_run(a);
	if (service_deadline(a) <= a->now)
		service_run(a);
	if (metrics_http_deadline(a->metrics) <= a->now)
		metrics_http_run(a->metrics, a->now);
	loopback_dial(a);
	more = agent_notes_run(a) > 0;
	return agent_conns_run(a) || more;
}

static int watch_all(struct agent *a)
{
	const int fds[] = { a->signal_fd, control_fd(a->control), cm_fd(a->cm), neigh_fd(a->neigh),
			    grace_fd(a->grace) };
	int rc = 0;

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]) && rc == 0; i++)
		rc = watch(a, fds[i]);
	if (rc == 0 && a->metrics)
		rc = watch(a, metrics_http_fd(a->metrics));
	for (unsigned int i = 0; i < a->plane.nshards && rc == 0; i++) {
		rc = watch(a, a->plane.shards[i].news.fd);
		if (rc == 0 && a->plane.shards[i].rdma)
			rc = watch(a, agent_rdma_fd(&a->plane.shards[i]));
	}
	return rc;
}

int agent_loop(struct agent *a)
{
	int rc = watch_all(a);
	bool more = true;
	unsigned int n = 0;

	while (rc == 0 && n < a->plane.nshards) {
		rc = shard_start(&a->plane.shards[n]);
		n += rc == 0;
	}
	while (rc == 0 && !a->stop) {
		serve(a, more ? 0 : until_deadline(a));
		more = turn(a);
	}
	while (n > 0)
		shard_stop(&a->plane.shards[--n]);
	return rc;
}
