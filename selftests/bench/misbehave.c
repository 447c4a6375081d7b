// SPDX-License-Identifier: BSD-2-Clause
/*
 * A tenant that misbehaves, for tenants.sh:
 *
 *	misbehave [-t SECONDS] NAME [ARGUMENT]
 *
 * Does what |NAME| says (table below) as fast as it can, for so many seconds (60), or until SIGTERM. Says
 * "busy" when it has begun, and at its end, as JSON, how often it did it and how often it was refused.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <falcon/receive/parse.h>
#include <falcon/wire/wire.h>

#include "../unit/lingering.h"
#include "misbehave.h"

enum {
	UDP_BATCH = 32,
	UDP_BYTES = 200,
	FIRST_SPI = 256,
	CIDS = 4096,
};

static volatile sig_atomic_t stopped;
static double deadline;
static uint64_t ndone, nrefused;

void die(const char *what, const char *why)
{
	fprintf(stderr, "misbehave: %s: %s\n", what, why);
	exit(1);
}

static void stop(int sig)
{
	(void)sig;
	stopped = 1;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool go_on(void)
{
	return !stopped && seconds() < deadline;
}

void did(bool done)
{
	if (!done) {
		nrefused++;
		return;
	}
	if (ndone++)
		return;
	puts("busy");
	fflush(stdout);
}

int slow_descriptor(void)
{
	static int peers[PEERS_MAX];
	static unsigned int next;
	int *peer = &peers[next++ % PEERS_MAX];

	if (*peer)
		close(*peer);
	return lingering(peer);
}

static void *close_it(void *fd)
{
	close((int)(intptr_t)fd);
	return NULL;
}

void leave(int fd)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, close_it, (void *)(intptr_t)fd))
		die("thread", "there is none to close a descriptor");
	pthread_detach(thread);
}

/* Does nothing to the agent, and takes a CPU. */
static void misbehave_spin(const char *arg)
{
	(void)arg;
	while (go_on())
		did(true);
}

/* A packet as a stranger could make it: right in all that is not encrypted. */
static void make_packet(uint8_t *packet)
{
	struct falcon_psp_hdr *psp = (struct falcon_psp_hdr *)packet;
	uint32_t cid = (uint32_t)FALCON_VERSION << 28 | (uint32_t)(rand() % CIDS);

	falcon_psp_fill(psp, 0, false, (uint32_t)(FIRST_SPI + rand()), (uint64_t)rand() << 17);
	cid = htonl(cid);
	memcpy(psp + 1, &cid, sizeof(cid));
}

/* Packets to UDP port |arg| of an address, as "ADDRESS PORT". */
static void misbehave_udp(const char *arg)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct mmsghdr msgs[UDP_BATCH] = { 0 };
	struct iovec iov[UDP_BATCH];
	static uint8_t packets[UDP_BATCH][UDP_BYTES];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned short port;
	char address[64];

	if (fd < 0 || !arg || sscanf(arg, "%63s %hu", address, &port) != 2 ||
	    inet_pton(AF_INET, address, &to.sin_addr) != 1)
		die("udp", "wants \"ADDRESS PORT\"");
	to.sin_port = htons(port);
	for (int i = 0; i < UDP_BATCH; i++) {
		iov[i] = (struct iovec){ packets[i], UDP_BYTES };
		msgs[i].msg_hdr = (struct msghdr){ .msg_name = &to, .msg_namelen = sizeof(to),
						   .msg_iov = &iov[i], .msg_iovlen = 1 };
	}
	while (go_on()) {
		int n;

		for (int i = 0; i < UDP_BATCH; i++)
			make_packet(packets[i]);
		n = sendmmsg(fd, msgs, UDP_BATCH, 0);
		for (int i = 0; i < UDP_BATCH; i++)
			did(i < n);
	}
	close(fd);
}

static const struct {
	const char *name;
	void (*run)(const char *arg);
} table[] = {
	{ "spin", misbehave_spin },
	{ "udp", misbehave_udp },
	{ "event", misbehave_event },
	{ "show", misbehave_show },
	{ "reset", misbehave_reset },
	{ "nvme", misbehave_nvme },
	{ "descriptors", misbehave_descriptors },
	{ "events", misbehave_events },
	{ "ids", misbehave_ids },
	{ "handles", misbehave_handles },
	{ "regions", misbehave_regions },
	{ "memory", misbehave_memory },
};

int main(int argc, char **argv)
{
	const struct sigaction on_term = { .sa_handler = stop };
	double limit = 60, begin = seconds();
	int opt;

	while ((opt = getopt(argc, argv, "t:")) != -1) {
		if (opt != 't')
			return 2;
		limit = atof(optarg);
	}
	sigaction(SIGTERM, &on_term, NULL);
	deadline = begin + limit;
	for (size_t i = 0; optind < argc && i < ARRAY_SIZE(table); i++) {
		if (strcmp(table[i].name, argv[optind]))
			continue;
		table[i].run(argv[optind + 1]);
		printf("{\"done\": %llu, \"refused\": %llu, \"seconds\": %.2f}\n",
		       (unsigned long long)ndone, (unsigned long long)nrefused, seconds() - begin);
		return 0;
	}
	die("usage", "[-t SECONDS] NAME [ARGUMENT]");
}
