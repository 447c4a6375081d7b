// SPDX-License-Identifier: BSD-2-Clause
/*
 * The loop: what is due, what has come in, what is to go out. It turns while there is work, spins
 * shortly when there is none, and then sleeps until the next frame or the next event.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "control.h"
#include "emulator.h"
#include "base/spin.h"

enum {
	SIGNAL_FD,
	CONTROL_FD,
	PORT_FDS = CONTROL_FD + CONTROL_FDS,
	MAX_FDS = PORT_FDS + WIRE_MAX_PORTS * PORT_MAX_QUEUES,
};

#define NS_PER_S 1000000000ULL
#define LOOK_NS (10ULL * 1000 * 1000)	/* signals and control wait at most so long for traffic */

struct loop {
	struct emulator *em;
	bool json, stop;
	struct spin spin;
	struct pollfd fds[MAX_FDS];
	unsigned int nfds;
};

static unsigned int receive(struct emulator *em, uint64_t now)
{
	uint32_t frames[PORT_BATCH];
	unsigned int total = 0;

	for (unsigned int port = 0; port < em->ports; port++) {
		for (unsigned int queue = 0; queue < em->port[port].queues; queue++) {
			unsigned int n = port_receive(&em->port[port], queue, frames);

			for (unsigned int i = 0; i < n; i++)
				wire_input(em->wire, port, queue, frames[i], now);
			total += n;
		}
	}
	return total;
}

/* Once round. Returns whether there was anything to do. */
static bool turn(struct emulator *em)
{
	uint64_t now = spin_clock();
	unsigned int n = wire_advance(em->wire, now);

	n += receive(em, now);
	for (unsigned int i = 0; i < em->ports; i++)
		port_flush(&em->port[i]);
	return n > 0;
}

static void report(struct loop *loop)
{
	json_t *r = report_json(loop->em);

	if (r && loop->json) {
		json_dumpf(r, stdout, JSON_REAL_PRECISION(9) | JSON_INDENT(1));
		putchar('\n');
	} else if (r) {
		report_text(r, stdout);
	}
	json_decref(r);
	fflush(stdout);
}

static void on_signal(struct loop *loop)
{
	struct signalfd_siginfo info;

	while (read(loop->fds[SIGNAL_FD].fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			report(loop);
		else
			loop->stop = true;
	}
}

/* Wait for descriptors until |until|, and serve signals and control. */
static void wait_until(struct loop *loop, uint64_t until)
{
	uint64_t now = spin_clock(), ns = until > now ? until - now : 0;
	struct timespec ts = { .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
	struct emulator *em = loop->em;

	if (em->control)
		control_pollfds(em->control, &loop->fds[CONTROL_FD]);
	if (ppoll(loop->fds, loop->nfds, until == UINT64_MAX ? NULL : &ts, NULL) <= 0)
		return;
	if (loop->fds[SIGNAL_FD].revents)
		on_signal(loop);
	if (em->control)
		control_serve(em->control, em, &loop->fds[CONTROL_FD]);
}

static int prepare(struct loop *loop)
{
	struct emulator *em = loop->em;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	loop->fds[SIGNAL_FD] = (struct pollfd){
		.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), .events = POLLIN,
	};
	if (loop->fds[SIGNAL_FD].fd < 0)
		return -errno;
	for (unsigned int i = 0; i < CONTROL_FDS; i++)
		loop->fds[CONTROL_FD + i].fd = -1;
	loop->nfds = PORT_FDS;
	for (unsigned int i = 0; i < em->ports; i++)
		loop->nfds += port_pollfds(&em->port[i], &loop->fds[loop->nfds]);
	/* The default slack of 50 us would be most of a short link's delay. */
	prctl(PR_SET_TIMERSLACK, 1);
	return 0;
}

int emulator_run(struct emulator *em, bool json)
{
	static struct loop loop;
	uint64_t worked, looked, now;

	loop = (struct loop){ .em = em, .json = json };
	if (prepare(&loop)) {
		perror("falcon-wire: signals");
		return 1;
	}
	fprintf(stderr, "falcon-wire: ready\n");
	now = worked = looked = spin_clock();
	while (!loop.stop) {
		bool busy = turn(em);

		now = spin_clock();
		if (busy)
			worked = now;
		if (now - looked < LOOK_NS && (busy || spin_once(&loop.spin, worked, now)))
			continue;
		wait_until(&loop, busy ? 0 : wire_next(em->wire));
		looked = spin_clock();
	}
	report(&loop);
	close(loop.fds[SIGNAL_FD].fd);
	return 0;
}
