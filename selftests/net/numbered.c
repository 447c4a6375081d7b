// SPDX-License-Identifier: BSD-2-Clause
/*
 * Numbered UDP packets, to see what a link does to them:
 *
 *	numbered send ADDRESS COUNT BYTES GAP_US [SPORT FIRST [LABEL]]
 *		to port 9, ECT(0), over IPv4 with UDP checksum off; from port SPORT, numbers from FIRST
 *		on, IPv6 flow label LABEL
 *	numbered recv IDLE_MS
 *		on port 9; after SIGTERM, until IDLE_MS of silence
 *
 * recv prints "ready" once its socket is open, and at the end one line of JSON: packets received,
 * distinct among them, duplicates, reordered (a lower number after a higher), damaged, marked CE,
 * the microseconds from first to last, a digest of the numbers that came, and how many came from
 * each source port.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <linux/in6.h>
#include <netinet/ip.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Some kernels' headers leave it to netinet/in.h, which does not have it. */
#ifndef IPV6_FLOWINFO_SEND
#define IPV6_FLOWINFO_SEND 33
#endif

enum { PORT = 9, MAX_BYTES = 3500, MAX_COUNT = 1 << 20, BUFFER = 64 << 20, PORTS = 65536 };

/* How to send. */
struct volley {
	uint32_t count, len, first, label;
	uint64_t gap_us;
	uint16_t sport;		/* 0: any */
};

static uint8_t seen[MAX_COUNT / 8];
static uint32_t from_port[PORTS];
static volatile sig_atomic_t all_sent;

static void on_term(int sig)
{
	(void)sig;
	all_sent = 1;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void option(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die("setsockopt");
}

/* Packet |n|: its number, then bytes that follow from it. */
static void fill(uint8_t *packet, size_t len, uint32_t n)
{
	uint32_t number = htonl(n);

	for (size_t i = 0; i < len; i++)
		packet[i] = (uint8_t)(n + i * 7);
	memcpy(packet, &number, sizeof(number));
}

/* A socket to send by, and |to| filled in. */
static int open_sender(const char *address, const struct volley *v, struct sockaddr_in6 *to)
{
	struct sockaddr_in *to4 = (struct sockaddr_in *)to, from4 = { .sin_family = AF_INET };
	struct sockaddr_in6 from = { .sin6_family = AF_INET6, .sin6_port = htons(v->sport) };
	int fd, ipv6 = !!strchr(address, ':'), ok;

	*to = (struct sockaddr_in6){ .sin6_flowinfo = htonl(v->label) };
	to->sin6_family = ipv6 ? AF_INET6 : AF_INET;
	to->sin6_port = htons(PORT);
	ok = inet_pton(to->sin6_family, address, ipv6 ? (void *)&to->sin6_addr : &to4->sin_addr);
	fd = socket(to->sin6_family, SOCK_DGRAM, 0);
	if (ok != 1 || fd < 0)
		die(address);
	from4.sin_port = from.sin6_port;
	if (v->sport && bind(fd, ipv6 ? (void *)&from : (void *)&from4,
			     ipv6 ? sizeof(from) : sizeof(from4)))
		die("bind");
	if (ipv6) {
		option(fd, IPPROTO_IPV6, IPV6_TCLASS, 2);
		option(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND, 1);
	} else {
		option(fd, IPPROTO_IP, IP_TOS, 2);
		option(fd, SOL_SOCKET, SO_NO_CHECK, 1);
	}
	option(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER);
	return fd;
}

static int send_all(const char *address, const struct volley *v)
{
	struct sockaddr_in6 to;
	uint8_t packet[MAX_BYTES];
	uint64_t start;
	int fd;

	if (v->len > MAX_BYTES || v->len < 4)
		die("BYTES");
	fd = open_sender(address, v, &to);
	start = now_us();
	for (uint32_t n = 0; n < v->count; n++) {
		fill(packet, v->len, v->first + n);
		while (now_us() < start + n * v->gap_us)
			;
		if (sendto(fd, packet, v->len, 0, (struct sockaddr *)&to,
			   to.sin6_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(to)) < 0)
			die("sendto");
	}
	return 0;
}

/* Whether the IP header said CE, out of a message's control data. */
static int is_marked(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int tclass;

		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			return (*CMSG_DATA(c) & 3) == 3;
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
			memcpy(&tclass, CMSG_DATA(c), sizeof(tclass));
			return (tclass & 3) == 3;
		}
	}
	return 0;
}

struct tally {
	uint32_t received, distinct, duplicates, reordered, damaged, marked, highest;
	uint64_t first_us, last_us;
};

static void count(struct tally *t, const uint8_t *packet, size_t len, int marked)
{
	uint8_t want[MAX_BYTES];
	uint32_t n;

	memcpy(&n, packet, sizeof(n));
	n = ntohl(n);
	t->last_us = now_us();
	if (!t->received++)
		t->first_us = t->last_us;
	t->marked += (uint32_t)marked;
	fill(want, len, n);
	if (n >= MAX_COUNT || memcmp(packet, want, len)) {
		t->damaged++;
		return;
	}
	if (seen[n / 8] & 1 << n % 8) {
		t->duplicates++;
		return;
	}
	seen[n / 8] |= (uint8_t)(1 << n % 8);
	t->distinct++;
	if (n < t->highest)
		t->reordered++;
	else
		t->highest = n;
}

static int open_receiver(void)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_port = htons(PORT) };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		die("bind");
	option(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER);
	option(fd, IPPROTO_IP, IP_RECVTOS, 1);
	option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	return fd;
}

static void print_tally(const struct tally *t)
{
	uint64_t digest = 14695981039346656037ULL;
	const char *comma = "";

	for (uint32_t i = 0; i < sizeof(seen); i++)
		digest = (digest ^ seen[i]) * 1099511628211ULL;
	printf("{\"received\":%u,\"distinct\":%u,\"duplicates\":%u,\"reordered\":%u,\"damaged\":%u,"
	       "\"marked\":%u,\"us\":%llu,\"digest\":\"%016llx\",\"ports\":{", t->received, t->distinct,
	       t->duplicates, t->reordered, t->damaged, t->marked,
	       (unsigned long long)(t->last_us - t->first_us), (unsigned long long)digest);
	for (uint32_t i = 0; i < PORTS; i++) {
		if (!from_port[i])
			continue;
		printf("%s\"%u\":%u", comma, i, from_port[i]);
		comma = ",";
	}
	printf("}}\n");
}

static int receive_all(int idle_ms)
{
	struct sigaction action = { .sa_handler = on_term };
	struct tally t = { 0 };
	uint8_t packet[MAX_BYTES], control[64];
	sig_atomic_t was_sent = 0;
	int fd = open_receiver();

	sigaction(SIGTERM, &action, NULL);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct sockaddr_in6 from;
		struct iovec iov = { packet, sizeof(packet) };
		struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from),
				      .msg_iov = &iov, .msg_iovlen = 1,
				      .msg_control = control, .msg_controllen = sizeof(control) };
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t len;

		/* The signal may come just before poll(): then one more turn of silence ends it. */
		if (poll(&p, 1, idle_ms) <= 0) {
			if (all_sent && was_sent)
				break;
			was_sent = all_sent;
			continue;
		}
		len = recvmsg(fd, &msg, MSG_DONTWAIT);
		if (len < 4)
			continue;
		from_port[ntohs(from.sin6_port)]++;
		count(&t, packet, (size_t)len, is_marked(&msg));
	}
	print_tally(&t);
	return 0;
}

static uint32_t number(char **argv, int argc, int i)
{
	return i < argc ? (uint32_t)strtoul(argv[i], NULL, 0) : 0;
}

int main(int argc, char **argv)
{
	const struct volley v = {
		.count = number(argv, argc, 3), .len = number(argv, argc, 4),
		.gap_us = number(argv, argc, 5), .sport = (uint16_t)number(argv, argc, 6),
		.first = number(argv, argc, 7), .label = number(argv, argc, 8),
	};

	if (argc >= 6 && argc <= 9 && argc != 7 && !strcmp(argv[1], "send"))
		return send_all(argv[2], &v);
	if (argc == 3 && !strcmp(argv[1], "recv"))
		return receive_all(atoi(argv[2]));
	fprintf(stderr, "usage: numbered send ADDRESS COUNT BYTES GAP_US [SPORT FIRST [LABEL]] | "
			"recv IDLE_MS\n");
	return 2;
}
