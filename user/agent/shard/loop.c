// SPDX-License-Identifier: BSD-2-Clause
/*
 * A shard's loop: packets, what applications submit, timers; between turns, what control calls for.
 *
 * While there is work it turns without a system call other than those that send. Out of work it
 * spins shortly (base/spin.h), then tells XDP and the applications that it sleeps, looks once more,
 * and waits until the next deadline.
 */
#include "agent/shard/shard.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "agent/shard/plane.h"
#include "agent/config/ranges.h"
#include "agent/rue/rue.h"
#include "agent/shard/loopback.h"
#include "agent/shard/stall.h"
#include "agent/tenant/quota.h"
#include "base/log.h"
#include "base/spin.h"
#include "ipc/sleep.h"

enum loop_const {
	LOOP_BUDGET = 256,		/* packets the core may send a turn ... */
	LOOP_SHARED_BUDGET = 16,	/* ... where several have business with the agent */
	LOOP_CATCH_UP = 8,		/* times that catch_up() takes in what comes meanwhile */
	LOOP_EVENT_TURNS = 256,		/* turns between looks at the descriptors */
	LOOP_BUSY_TURNS = 64,		/* turns in a row with work: no sleep is near */
	LOOP_EVENTS = 32,
};
static const uint64_t LOOP_TICK_NS = 100 * 1000 * 1000;
/* No turn takes so long, and no sleep: a thread that sees the clock go on by more has not run. */
static const uint64_t LOOP_AWAY_NS = 300 * 1000 * 1000;
static const uint64_t LOOP_AWAY_TOLD_NS = 1000 * 1000 * 1000;

int shard_watch(struct shard *s, int fd)
{
	/* Edge-triggered: such a descriptor only ends a sleep, what it announces is polled. */
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.fd = fd };

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

void shard_unwatch(struct shard *s, int fd)
{
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* Time in which the thread was stopped, or its machine, or had no CPU, is not held against peers. */
static void look_at_clock(struct shard *s)
{
	uint64_t away = spin_clock() - s->now;

	s->now += away;
	if (away < LOOP_AWAY_NS)
		return;
	fcore_was_away(s->core, away);
	shard_ulps_were_away(s, away);
	if (away >= LOOP_AWAY_TOLD_NS)
		log_ratelimited(LOG_LEVEL_WARN, &s->away_limit, "thread %u has not run for %.1f s: it was "
				"stopped, its machine was, or others had the CPU", s->index,
				(double)away / 1e9);
}

static void look_for_late_calls(struct shard *s)
{
	if (s->memory)
		s->memory->late(s);
}

static void dispatch(struct shard *s, int fd)
{
	if (fd == stall_fd(s->stall))
		look_for_late_calls(s);
	else if (agent_rue_watches(s, fd))
		agent_rue_tick(s);
}

/* Wait at most |wait_ns| and see what has become ready. Returns how many descriptors have. */
static int look_at_events(struct shard *s, uint64_t wait_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(wait_ns / 1000000000ULL),
		.tv_nsec = (long)(wait_ns % 1000000000ULL),
	};
	struct epoll_event ev[LOOP_EVENTS];
	int n = epoll_pwait2(s->epoll_fd, ev, LOOP_EVENTS, &ts, NULL);

	look_at_clock(s);
	for (int i = 0; i < n; i++)
		dispatch(s, ev[i].data.fd);
	return n;
}

/* Take what was in the sockets, and what other shards had handed over, when control asked. */
static void drain(struct shard *s)
{
	uint32_t number = call_drain_wanted(&s->call);

	if (!number)
		return;
	for (int n = 0; n <= XSK_RING_SIZE && shard_receive(s); n++)
		;
	shard_take_over(s);
	call_drained(&s->call, number);
}

static void longest(uint64_t *most, uint64_t ns)
{
	if (ns > *most)
		*most = ns;
}

static uint32_t serve_call(struct shard *s)
{
	uint64_t begun;

	if (!call_waits(&s->call))
		return 0;
	begun = spin_clock();
	call_serve(&s->call);
	s->stats.calls++;
	longest(&s->stats.longest_call_ns, spin_clock() - begun);
	return 1;
}

static void hold(struct xsk *x)
{
	x->tx_held = true;
}

static void kick(struct xsk *x)
{
	x->tx_held = false;
	xsk_kick(x);
}

/*
 * How many packets the core may send in this turn. Whoever comes with 8 bytes waits for the turn that is
 * under way, whomever it serves: with long turns a tenant's bulk data delays all others. Short turns cost
 * throughput, which a tenant who is alone need not pay.
 */
static uint32_t budget(struct shard *s)
{
	const struct plane *p = s->plane;

	if (quota_tenants(p->quota) + (p->config->nnamespaces > 0) < 2)
		return LOOP_BUDGET;
	s->stats.shared_turns++;
	return LOOP_SHARED_BUDGET;
}

/*
 * What has been received goes through upper layers and core. A lone packet, unless others have come, is an
 * ACK that XDP has left to us, and nothing follows it soon.
 */
static uint32_t serve(struct shard *s)
{
	uint32_t work = shard_ulps_pump(s), sent = fcore_run(s->core, s->now, budget(s));

	return sent > 1 ? work + sent : work;
}

/*
 * XDP goes on with requests only where none waits for us: so we take in all that do, while our answers,
 * which bring more, are held.
 */
static uint32_t catch_up(struct shard *s)
{
	uint32_t work, received;

	shard_each_xsk(s, hold);
	work = serve(s);
	for (int i = 0; i < LOOP_CATCH_UP; i++) {
		received = shard_receive(s);
		if (!received)
			break;
		work += received + serve(s);
	}
	return work;
}

/* One turn of the data path. Returns how much there was to do. */
static uint32_t turn(struct shard *s)
{
	uint32_t work;

	look_at_clock(s);
	if (s->turned_at)
		longest(&s->stats.longest_turn_ns, s->now - s->turned_at);
	s->turned_at = s->now;
	s->tx_stamps = 0;
	s->stats.turns++;
	drain(s);
	work = shard_receive(s);
	work += shard_take_over(s);
	work += loopback_run(s);
	work += shard_take_dirty(s);
	/* What it hears for the rate update engine alone is no reason to stay awake. */
	maps_consume(&s->plane->maps, s->index);
	agent_rue_poll(s);
	work += fcore_exec_chasing(s->core) ? catch_up(s) : serve(s);
	fcore_exec_run(s->core);
	handover_flush(s);
	shard_each_xsk(s, kick);
	return work + serve_call(s);
}

static bool data_waiting(struct shard *s)
{
	struct plane *p = s->plane;

	if (loopback_waiting(s) || handover_waiting(s))
		return true;
	for (unsigned i = 0; i < p->nports; i++)
		for (uint32_t q = s->index; q < p->ports[i].nqueues; q += p->nshards)
			if (xsk_rx_ready(&p->ports[i].xsks[q]) || xsk_refillable(&p->ports[i].xsks[q]))
				return true;
	for (uint32_t w = 0; w * 4096 < p->maps.nconns; w++)
		if (falcon_load(&p->maps.dirty[s->index].summary[w]))
			return true;
	return false;
}

static uint64_t until_deadline(struct shard *s)
{
	uint64_t core = fcore_next_deadline(s->core, s->now);
	uint64_t ulps = shard_ulps_deadline(s);
	uint64_t next = s->now + LOOP_TICK_NS;

	if (core < next)
		next = core;
	if (ulps < next)
		next = ulps;
	return next > s->now ? next - s->now : 0;
}

/*
 * Have the sockets wake us, or not: while a socket is watched every frame that arrives pays for
 * looking who waits, and under load nobody does.
 */
static void watch_sockets(struct shard *s, bool on)
{
	struct plane *p = s->plane;

	if (s->sockets_watched == on)
		return;
	s->sockets_watched = on;
	for (unsigned i = 0; i < p->nports; i++)
		for (uint32_t q = s->index; q < p->ports[i].nqueues; q += p->nshards) {
			int fd = xsk_fd(&p->ports[i].xsks[q]);

			if (on)
				shard_watch(s, fd);
			else
				shard_unwatch(s, fd);
		}
}

/* Nobody has anything for us, as far as they know that we sleep. */
static void sleep_until(struct shard *s, struct spin *spin)
{
	uint64_t wait, since;
	int n;

	wait = data_waiting(s) || agent_rue_waiting(s) ? 0 : until_deadline(s);
	s->stats.sleeps += wait > 0;
	since = spin_clock();
	n = look_at_events(s, wait);
	if (wait) {
		spin_slept(spin, s->now - since, n > 0);
		priority_slept(&s->priority, s->now);
	}
}

static void rest(struct shard *s, struct spin *spin)
{
	struct falcon_shard *told = &s->plane->maps.config->shard[s->index];

	watch_sockets(s, true);
	priority_sleeps(&s->priority);
	sleep_announce(&told->sleeping);
	if (shard_ulps_sleep_begin(s)) {
		if (call_sleep_begin(&s->call)) {
			sleep_until(s, spin);
			call_sleep_end(&s->call);
		}
		shard_ulps_sleep_end(s);
	}
	sleep_over(&told->sleeping);
	s->turned_at = 0;
}

/* Applications that poll are told when the agent comes to be short of CPU, and when no longer. */
static void look_around(struct shard *s)
{
	bool was = s->under_pressure;

	s->under_pressure = cpu_pressure_look(&s->pressure, s->now);
	if (s->under_pressure != was && s->memory)
		s->memory->cpu_pressure(s, s->under_pressure);
}

static void tick(struct shard *s)
{
	shard_look_for_drops(s);
	shard_log_refused(s);
	agent_rue_tick(s);
	look_for_late_calls(s);
}

/* For "top -H" and "ps -L". */
static void name_thread(const struct shard *s)
{
	char name[16];

	snprintf(name, sizeof(name), "falcon-shard-%u", s->index % FALCON_MAX_SHARDS);
	pthread_setname_np(pthread_self(), name);
}

static void place_thread(const struct shard *s)
{
	const char *cpus = s->plane->config->agent.cpus;
	cpu_set_t set;
	int rc, cpu;

	if (!cpus[0])
		return;
	cpu = (int)ranges_at(cpus, s->index);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (rc)
		log_warn("thread %u cannot have CPU %d: %s cpus=%s", s->index, cpu, strerror(rc), cpus);
}

static void take_priority(struct shard *s)
{
	enum priority_level wanted = s->plane->config->agent.priority;
	int rc = priority_take(&s->priority, wanted, s->now);

	if (rc < 0)
		log_warn("thread %u cannot have priority = %s, and has %s: %s", s->index,
			 priority_name(wanted), priority_name(s->priority.granted), strerror(-rc));
	else
		log_info("thread %u carries packets priority=%s", s->index, priority_name(wanted));
}

/* Nothing to do since |busy_at|. */
static void idle(struct shard *s, struct spin *spin, uint64_t busy_at)
{
	if (spin_over(spin, busy_at, s->now)) {
		rest(s, spin);
		return;
	}
	priority_spins(&s->priority);
	spin_once(spin, busy_at, s->now);
}

/* May begin in the middle of a turn that an earlier thread did not end (stall.h). */
static void turn_loop(void *arg)
{
	struct shard *s = arg;
	uint64_t busy_at, ticked_at;
	struct spin spin = {};
	uint32_t turns = 0, busy = 0;

	s->now = busy_at = ticked_at = spin_clock();
	name_thread(s);
	place_thread(s);
	take_priority(s);
	cpu_pressure_close(&s->pressure);
	cpu_pressure_open(&s->pressure, "/proc/thread-self/schedstat", busy_at);
	while (!s->stop) {
		if (turn(s)) {
			busy_at = s->now;
			if (++busy >= LOOP_BUSY_TURNS)
				watch_sockets(s, false);
		} else {
			busy = 0;
			idle(s, &spin, busy_at);
		}
		if (++turns % LOOP_EVENT_TURNS == 0)
			look_at_events(s, 0);
		s->stats.lowered += priority_ran(&s->priority, s->now);
		look_around(s);
		if (s->now - ticked_at > LOOP_TICK_NS) {
			ticked_at = s->now;
			tick(s);
		}
	}
}

static void stalled(void *arg, struct stall_call *call)
{
	struct shard *s = arg;

	look_at_clock(s);
	s->memory->stalled(s, call);
}

/* Watches the loop's thread; the loop ends when s->stop is set. */
static void *run_loop(void *arg)
{
	static const struct stall_ops ops = { .loop = turn_loop, .stalled = stalled };
	struct shard *s = arg;

	if (stall_run(s->stall, &ops, s) < 0) {
		log_warn("no thread to watch the loop: applications' memory can hold it up");
		turn_loop(s);
	}
	return NULL;
}

int shard_open(struct shard *s, struct plane *p, struct agent *a, unsigned int index)
{
	s->plane = p;
	s->agent = a;
	s->index = index;
	p->calls[index] = &s->call;
	s->pressure.fd = -1;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->stall = stall_open();
	s->conns = calloc(FALCON_MAX_CONNS, sizeof(*s->conns));
	if (s->epoll_fd < 0 || !s->stall || !s->conns || call_open(&s->call) < 0 || news_open(&s->news) < 0)
		return -errno;
	return shard_watch(s, s->call.fd);
}

void shard_close(struct shard *s)
{
	close(s->epoll_fd);
	free(s->conns);
	stall_close(s->stall);
	call_close(&s->call);
	news_close(&s->news);
}

int shard_start(struct shard *s)
{
	sigset_t all, before;
	int rc;

	rc = shard_watch(s, maps_fd(&s->plane->maps, s->index));
	if (rc == 0)
		rc = shard_watch(s, stall_fd(s->stall));
	if (rc < 0)
		return rc;
	s->call.served = true;
	/* Signals are control's business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&s->thread, NULL, run_loop, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->call.served = rc == 0;
	return -rc;
}

static void end(void *arg)
{
	struct shard *s = arg;

	s->stop = true;
}

void shard_stop(struct shard *s)
{
	call_run(&s->call, end, s);
	pthread_join(s->thread, NULL);
	s->call.served = false;
	cpu_pressure_close(&s->pressure);
}
