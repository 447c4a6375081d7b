// SPDX-License-Identifier: BSD-2-Clause
/*
 * falcon-linkem: links with a rate, a length and a queue, for kernels without netem.
 *
 * It stands in the lab's switch namespace, reads the frames that the hosts send from one packet
 * socket a cable, keeps each for as long as the link model says, and sends it down the cable of the
 * host that the destination MAC names. One thread; a heap orders what is under way by arrival.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"
#include "link.h"

enum {
	MAX_LEGS = 16,
	MAX_PATHS = 16,
	FRAMES = 32768,		/* under way at most, over all links */
	FRAME_BYTES = 4000,
	BATCH = 64,
	RCVBUF = 32 << 20,
	SEND_RETRIES = 1000,
	NS_PER_S = 1000000000,
};

struct frame {
	uint64_t at;		/* arrival, ns */
	uint64_t order;		/* breaks ties: first in, first out */
	uint32_t len;
	uint32_t leg;		/* where to */
	uint8_t data[FRAME_BYTES];
};

struct leg {
	int fd;
	unsigned int host;	/* host number, last byte of its MAC */
	struct link path[MAX_PATHS];	/* towards this host */
	uint64_t unsent;	/* frames that the cable would not take */
};

struct emulator {
	struct link_conf conf;
	unsigned int paths;
	uint64_t rng;
	unsigned int legs;
	struct leg leg[MAX_LEGS];
	struct pollfd poll[MAX_LEGS];
	struct frame *frames;
	uint32_t free[FRAMES];	/* stack of unused frames */
	uint32_t frees;
	uint32_t heap[FRAMES];	/* frames under way, by arrival */
	uint32_t heaped;
	uint64_t order;
	uint64_t unknown;	/* frames to nobody */
	uint64_t overrun;	/* copies not made, no frame being free */
};

static struct emulator em;
static volatile sig_atomic_t stop, report;

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		report = 1;
	else
		stop = 1;
}

static void die(const char *what)
{
	fprintf(stderr, "falcon-linkem: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* True if frame |a| arrives before frame |b|. */
static bool earlier(uint32_t a, uint32_t b)
{
	const struct frame *x = &em.frames[a], *y = &em.frames[b];

	return x->at != y->at ? x->at < y->at : x->order < y->order;
}

static void heap_push(uint32_t frame)
{
	uint32_t i = em.heaped++;

	for (; i && earlier(frame, em.heap[(i - 1) / 2]); i = (i - 1) / 2)
		em.heap[i] = em.heap[(i - 1) / 2];
	em.heap[i] = frame;
}

static uint32_t heap_pop(void)
{
	uint32_t top = em.heap[0], last = em.heap[--em.heaped], i = 0, child;

	while ((child = 2 * i + 1) < em.heaped) {
		if (child + 1 < em.heaped && earlier(em.heap[child + 1], em.heap[child]))
			child++;
		if (earlier(last, em.heap[child]))
			break;
		em.heap[i] = em.heap[child];
		i = child;
	}
	em.heap[i] = last;
	return top;
}

static void print_stats(void)
{
	fprintf(stderr, "{\"under_way\":%u,\"unknown\":%" PRIu64 ",\"overrun\":%" PRIu64 ",\"links\":[",
		em.heaped, em.unknown, em.overrun);
	for (unsigned int i = 0; i < em.legs * em.paths; i++) {
		const struct leg *leg = &em.leg[i / em.paths];
		const struct link *link = &leg->path[i % em.paths];

		fprintf(stderr,
			"%s{\"to\":%u,\"path\":%u,\"sent\":%" PRIu64 ",\"dropped\":%" PRIu64
			",\"marked\":%" PRIu64 ",\"unsent\":%" PRIu64 "}",
			i ? "," : "", leg->host, i % em.paths, link->sent, link->dropped,
			link->marked, leg->unsent);
	}
	fprintf(stderr, "]}\n");
}

/* Send a copy of frame |f| towards leg |to|, over the path that its flow hashes to. */
static void offer(const struct frame *f, unsigned int to, uint64_t now)
{
	struct link *link = &em.leg[to].path[frame_flow_hash(f->data, f->len) % em.paths];
	struct link_fate fate = link_offer(link, &em.conf, &em.rng, now, f->len);

	if (fate.dropped)
		return;
	for (unsigned int i = 0; i < fate.copies; i++) {
		struct frame *copy;

		if (!em.frees) {
			em.overrun++;
			return;
		}
		copy = &em.frames[em.free[--em.frees]];
		copy->at = fate.at;
		copy->order = em.order++;
		copy->len = f->len;
		copy->leg = to;
		memcpy(copy->data, f->data, f->len);
		if (fate.mark && frame_mark_ce(copy->data, copy->len))
			link->marked++;
		heap_push((uint32_t)(copy - em.frames));
	}
}

/* Like a switch: to the host the MAC names, or to all but the sender. */
static void route(const struct frame *f, unsigned int from, uint64_t now)
{
	bool all = f->data[0] & 1, found = false;

	for (unsigned int i = 0; i < em.legs; i++) {
		if (i == from || (!all && em.leg[i].host != f->data[ETH_ALEN - 1]))
			continue;
		offer(f, i, now);
		found = true;
	}
	if (!found)
		em.unknown++;
}

/* Read a batch from |leg|. Returns the number of frames read. */
static int receive(unsigned int leg)
{
	static struct frame in[BATCH];
	struct mmsghdr msg[BATCH] = { 0 };
	struct iovec iov[BATCH];
	uint64_t now;
	int n;

	for (unsigned int i = 0; i < BATCH; i++) {
		iov[i] = (struct iovec){ .iov_base = in[i].data, .iov_len = FRAME_BYTES };
		msg[i].msg_hdr.msg_iov = &iov[i];
		msg[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(em.leg[leg].fd, msg, BATCH, MSG_DONTWAIT, NULL);
	now = now_ns();
	for (int i = 0; i < n; i++) {
		in[i].len = msg[i].msg_len;
		if (in[i].len >= ETH_HLEN)
			route(&in[i], leg, now);
	}
	return n;
}

/* Put |n| messages on the cable of |leg|; what it does not take is lost, and counted. */
static void transmit(struct leg *leg, struct mmsghdr *msg, unsigned int n)
{
	unsigned int done = 0, retries = 0;

	while (done < n) {
		int sent = sendmmsg(leg->fd, msg + done, n - done, MSG_DONTWAIT);

		if (sent > 0) {
			done += (unsigned int)sent;
		} else if (retries++ < SEND_RETRIES) {
			sched_yield();
		} else {
			done++;
			leg->unsent++;
		}
	}
}

/* Send what has arrived by |now|, in runs of frames for the same host. */
static void deliver(uint64_t now)
{
	struct mmsghdr msg[BATCH] = { 0 };
	struct iovec iov[BATCH];
	uint32_t frame[BATCH];

	while (em.heaped && em.frames[em.heap[0]].at <= now) {
		uint32_t leg = em.frames[em.heap[0]].leg;
		unsigned int n = 0;

		while (n < BATCH && em.heaped && em.frames[em.heap[0]].at <= now &&
		       em.frames[em.heap[0]].leg == leg) {
			frame[n] = heap_pop();
			iov[n].iov_base = em.frames[frame[n]].data;
			iov[n].iov_len = em.frames[frame[n]].len;
			msg[n].msg_hdr.msg_iov = &iov[n];
			msg[n].msg_hdr.msg_iovlen = 1;
			n++;
		}
		transmit(&em.leg[leg], msg, n);
		while (n)
			em.free[em.frees++] = frame[--n];
	}
}

/* Sleep until a frame comes in or one is due. */
static void wait_for_work(void)
{
	struct timespec ts = { 0 }, *timeout = NULL;

	if (em.heaped) {
		uint64_t now = now_ns(), at = em.frames[em.heap[0]].at;

		if (at > now) {
			ts.tv_sec = (time_t)((at - now) / NS_PER_S);
			ts.tv_nsec = (long)((at - now) % NS_PER_S);
		}
		timeout = &ts;
	}
	if (ppoll(em.poll, em.legs, timeout, NULL) < 0 && errno != EINTR)
		die("poll");
}

static void run(void)
{
	while (!stop) {
		wait_for_work();
		for (unsigned int i = 0; i < em.legs; i++)
			if (em.poll[i].revents & (POLLIN | POLLERR))
				receive(i);
		deliver(now_ns());
		if (report) {
			report = 0;
			print_stats();
		}
	}
	print_stats();
}

static void set_option(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		die("setsockopt");
}

/* |arg| is HOSTNUMBER:INTERFACE. */
static void add_leg(const char *arg)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htobe16(ETH_P_ALL) };
	struct leg *leg = &em.leg[em.legs];
	const char *name = strchr(arg, ':');

	if (!name || em.legs == MAX_LEGS) {
		fprintf(stderr, "falcon-linkem: %s: want at most %d of HOST:INTERFACE\n", arg, MAX_LEGS);
		exit(2);
	}
	leg->host = (unsigned int)strtoul(arg, NULL, 10);
	addr.sll_ifindex = (int)if_nametoindex(name + 1);
	if (!addr.sll_ifindex)
		die(name + 1);
	leg->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (leg->fd < 0)
		die("packet socket");
	set_option(leg->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
	set_option(leg->fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1);
	set_option(leg->fd, SOL_SOCKET, SO_RCVBUFFORCE, RCVBUF);
	set_option(leg->fd, SOL_SOCKET, SO_SNDBUFFORCE, RCVBUF);
	if (bind(leg->fd, (struct sockaddr *)&addr, sizeof(addr)))
		die(name + 1);
	em.poll[em.legs++] = (struct pollfd){ .fd = leg->fd, .events = POLLIN };
}

static void usage(FILE *out)
{
	fprintf(out,
		"usage: falcon-linkem [OPTION]... HOST:INTERFACE...\n"
		"  --rate BIT/S --delay NS --jitter NS --queue BYTES --ecn BYTES --paths N\n"
		"  --reorder SHARE --dup SHARE (out of 2^32) --seed N\n"
		"SIGUSR1 prints counters to standard error; falcon-lab starts it.\n");
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rate", 1, NULL, 'r' },    { "delay", 1, NULL, 'd' },
		{ "jitter", 1, NULL, 'j' },  { "queue", 1, NULL, 'q' },
		{ "ecn", 1, NULL, 'e' },     { "paths", 1, NULL, 'p' },
		{ "reorder", 1, NULL, 'o' }, { "dup", 1, NULL, 'u' },
		{ "seed", 1, NULL, 's' },    { "help", 0, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 10) : 0;

		switch (c) {
		case 'r': em.conf.rate = value; break;
		case 'd': em.conf.delay_ns = value; break;
		case 'j': em.conf.jitter_ns = value; break;
		case 'q': em.conf.queue = value; break;
		case 'e': em.conf.ecn = value; break;
		case 'p': em.paths = (unsigned int)value; break;
		case 'o': em.conf.reorder = (uint32_t)value; break;
		case 'u': em.conf.dup = (uint32_t)value; break;
		case 's': em.rng = value ? value : 1; break;
		case 'h': usage(stdout); exit(0);
		default: usage(stderr); exit(2);
		}
	}
	if (!em.paths || em.paths > MAX_PATHS || argc - optind < 2) {
		usage(stderr);
		exit(2);
	}
	for (; optind < argc; optind++)
		add_leg(argv[optind]);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };

	em.paths = 1;
	em.rng = 1;
	parse(argc, argv);
	em.frames = mmap(NULL, sizeof(*em.frames) * FRAMES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (em.frames == MAP_FAILED)
		die("frame memory");
	while (em.frees < FRAMES) {
		em.free[em.frees] = em.frees;
		em.frees++;
	}
	/* The default slack of 50 us would be most of a short link's delay. */
	prctl(PR_SET_TIMERSLACK, 1);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	fprintf(stderr, "falcon-linkem: ready\n");
	run();
	return 0;
}
