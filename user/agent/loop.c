// SPDX-License-Identifier: BSD-2-Clause
/*
 * The loop: packets first, control when its descriptors say so.
 *
 * While there is work it turns without a system call other than those that send. Out of work it
 * spins shortly (io/spin.h), then tells XDP and the applications that it sleeps, looks once more,
 * and waits until the next deadline.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "agent/loopback.h"
#include "agent/rdma.h"
#include "agent/rue.h"
#include "agent/stall.h"
#include "io/spin.h"

enum loop_const {
	LOOP_BUDGET = 256,		/* packets the core may send a turn */
	LOOP_CONTROL_TURNS = 256,	/* turns between looks at the control descriptors */
	LOOP_BUSY_TURNS = 64,		/* turns in a row with work: no sleep is near */
	LOOP_EVENTS = 32,
};
static const uint64_t LOOP_DROP_CHECK_NS = 100 * 1000 * 1000;

static int watch(struct agent *a, int fd, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };

	return epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

int agent_watch(struct agent *a, int fd)
{
	/* Edge-triggered: such a descriptor only ends a sleep, what it announces is polled. */
	return watch(a, fd, EPOLLIN | EPOLLET);
}

void agent_unwatch(struct agent *a, int fd)
{
	epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void take_signal(struct agent *a)
{
	struct signalfd_siginfo si;

	if (read(a->signal_fd, &si, sizeof(si)) != sizeof(si))
		return;
	log_info("stopping signal=%s", strsignal((int)si.ssi_signo));
	a->stop = true;
}

static void look_late(struct agent *a)
{
	stall_read(a->stall);
	agent_rdma_late(a);
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
	else if (a->rdma && fd == agent_rdma_fd(a))
		agent_rdma_process(a);
	else if (fd == stall_fd(a->stall))
		look_late(a);
	else if (agent_rue_watches(a, fd))
		agent_rue_tick(a);
}

/* Wait at most |wait_ns| and serve the descriptors that are ready. Returns how many. */
static int serve_control(struct agent *a, uint64_t wait_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(wait_ns / 1000000000ULL),
		.tv_nsec = (long)(wait_ns % 1000000000ULL),
	};
	struct epoll_event ev[LOOP_EVENTS];
	int n = epoll_pwait2(a->epoll_fd, ev, LOOP_EVENTS, &ts, NULL);

	a->now = spin_clock();
	agent_rdma_set_time(a);
	for (int i = 0; i < n; i++)
		dispatch(a, ev[i].data.fd);
	if (cm_next_deadline(a->cm) <= a->now)
		cm_process(a->cm, a->now);
	return n;
}

static void kick(struct agent *a)
{
	for (unsigned i = 0; i < a->nports; i++)
		for (uint32_t q = 0; q < a->ports[i].nqueues; q++)
			xsk_kick(&a->ports[i].xsks[q]);
}

/* One turn of the data path. Returns how much there was to do. */
static uint32_t turn(struct agent *a)
{
	uint32_t work;

	a->now = spin_clock();
	a->tx_stamps = 0;
	a->stats.turns++;
	work = agent_receive(a);
	work += loopback_run(a);
	work += agent_take_dirty(a);
	work += (uint32_t)maps_consume(&a->maps);
	work += agent_rue_poll(a);
	work += agent_notes_run(a);
	work += agent_ulps_pump(a);
	work += fcore_run(a->core, a->now, LOOP_BUDGET);
	fcore_exec_run(a->core);
	kick(a);
	if (a->now >= rekey_deadline(a))
		rekey_run(a);
	return work + agent_conns_run(a);
}

static bool data_waiting(struct agent *a)
{
	if (loopback_waiting(a) || agent_notes_waiting(a))
		return true;
	for (unsigned i = 0; i < a->nports; i++)
		for (uint32_t q = 0; q < a->ports[i].nqueues; q++)
			if (xsk_rx_ready(&a->ports[i].xsks[q]))
				return true;
	for (uint32_t s = 0; s * 4096 < a->maps.nconns; s++)
		if (falcon_load(&a->maps.dirty->summary[s]))
			return true;
	return false;
}

static uint64_t until_deadline(struct agent *a)
{
	uint64_t core = fcore_next_deadline(a->core, a->now);
	uint64_t cm = cm_next_deadline(a->cm);
	uint64_t rekey = rekey_deadline(a);
	uint64_t ulps = agent_ulps_deadline(a);
	uint64_t loop = loopback_deadline(a);
	uint64_t next = a->now + LOOP_DROP_CHECK_NS;

	if (core < next)
		next = core;
	if (cm < next)
		next = cm;
	if (rekey < next)
		next = rekey;
	if (loop < next)
		next = loop;
	if (ulps < next)
		next = ulps;
	return next > a->now ? next - a->now : 0;
}

/*
 * Have the sockets wake us, or not: while a socket is watched every frame that arrives pays for
 * looking who waits, and under load nobody does.
 */
static void watch_sockets(struct agent *a, bool on)
{
	if (a->sockets_watched == on)
		return;
	a->sockets_watched = on;
	for (unsigned i = 0; i < a->nports; i++)
		for (uint32_t q = 0; q < a->ports[i].nqueues; q++) {
			int fd = xsk_fd(&a->ports[i].xsks[q]);

			if (on)
				agent_watch(a, fd);
			else
				agent_unwatch(a, fd);
		}
}

static void rest(struct agent *a, struct spin *spin)
{
	uint64_t wait, since;
	int n;

	watch_sockets(a, true);
	falcon_store(&a->maps.config->agent_sleeping, 1);
	__sync_synchronize();
	if (agent_ulps_sleep_begin(a)) {
		wait = data_waiting(a) || agent_rue_waiting(a) ? 0 : until_deadline(a);
		a->stats.sleeps += wait > 0;
		since = spin_clock();
		n = serve_control(a, wait);
		if (wait)
			spin_slept(spin, a->now - since, n > 0);
		agent_ulps_sleep_end(a);
	}
	falcon_store(&a->maps.config->agent_sleeping, 0);
}

/* Applications that poll are told when the agent comes to be short of CPU, and when no longer. */
static void look_around(struct agent *a)
{
	bool was = a->crowded;

	a->crowded = crowd_look(&a->crowd, a->now);
	if (a->crowded != was)
		agent_rdma_set_crowded(a, a->crowded);
}

static void watch_all(struct agent *a)
{
	watch(a, a->signal_fd, EPOLLIN);
	watch(a, control_fd(a->control), EPOLLIN);
	watch(a, cm_fd(a->cm), EPOLLIN);
	watch(a, neigh_fd(a->neigh), EPOLLIN);
	watch(a, stall_fd(a->stall), EPOLLIN);
	if (a->rdma)
		watch(a, agent_rdma_fd(a), EPOLLIN);
	agent_watch(a, maps_fd(&a->maps));
}

/* May begin in the middle of a turn that an earlier thread did not end (stall.h). */
static void turn_loop(void *arg)
{
	struct agent *a = arg;
	uint64_t busy_at = spin_clock(), drops_at = busy_at;
	struct spin spin = {};
	uint32_t turns = 0, busy = 0;

	crowd_close(&a->crowd);
	crowd_open(&a->crowd, "/proc/thread-self/schedstat", busy_at);
	while (!a->stop) {
		if (turn(a)) {
			busy_at = a->now;
			if (++busy >= LOOP_BUSY_TURNS)
				watch_sockets(a, false);
		} else {
			busy = 0;
			if (!spin_once(&spin, busy_at, a->now))
				rest(a, &spin);
		}
		if (++turns % LOOP_CONTROL_TURNS == 0)
			serve_control(a, 0);
		look_around(a);
		if (a->now - drops_at > LOOP_DROP_CHECK_NS) {
			drops_at = a->now;
			agent_recover_drops(a);
			agent_log_refused(a);
			agent_rue_tick(a);
			agent_rdma_late(a);
		}
	}
}

static void stalled(void *arg, struct stall_call *call)
{
	struct agent *a = arg;

	a->now = spin_clock();
	agent_rdma_stalled(a, call);
}

int agent_loop(struct agent *a)
{
	static const struct stall_ops ops = { .loop = turn_loop, .stalled = stalled };
	int rc;

	watch_all(a);
	a->crowd.fd = -1;
	rc = stall_run(a->stall, &ops, a);
	crowd_close(&a->crowd);
	return rc;
}
