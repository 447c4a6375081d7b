// SPDX-License-Identifier: BSD-2-Clause
/*
 * Numbered UDP packets, to see what a link does to them:
 *
 *	numbered send ADDRESS COUNT BYTES GAP_US	to port 9; ECT(0), UDP checksum off
 *	numbered recv IDLE_MS				on port 9; after SIGTERM, until IDLE_MS of silence
 *
 * recv prints "ready" once its socket is open, and at the end one line of JSON: packets received,
 * distinct among them, duplicates, reordered (a lower number after a higher), damaged, marked CE,
 * and the microseconds from first to last.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { PORT = 9, MAX_BYTES = 3500, MAX_COUNT = 1 << 20, BUFFER = 64 << 20 };

static uint8_t seen[MAX_COUNT / 8];
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

static int send_all(const char *address, uint32_t count, size_t len, uint64_t gap_us)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	uint8_t packet[MAX_BYTES];
	uint64_t start;

	if (fd < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1 || len > MAX_BYTES || len < 4)
		die(address);
	option(fd, IPPROTO_IP, IP_TOS, 2);
	option(fd, SOL_SOCKET, SO_NO_CHECK, 1);
	option(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER);
	start = now_us();
	for (uint32_t n = 0; n < count; n++) {
		fill(packet, len, n);
		while (now_us() < start + n * gap_us)
			;
		if (sendto(fd, packet, len, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("sendto");
	}
	return 0;
}

/* Whether the IP header said CE, out of a message's control data. */
static int is_marked(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS)
			return (*CMSG_DATA(c) & 3) == 3;
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

static int receive_all(int idle_ms)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sigaction action = { .sa_handler = on_term };
	struct tally t = { 0 };
	uint8_t packet[MAX_BYTES], control[64];
	sig_atomic_t was_sent = 0;

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		die("bind");
	option(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER);
	option(fd, IPPROTO_IP, IP_RECVTOS, 1);
	sigaction(SIGTERM, &action, NULL);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		struct iovec iov = { packet, sizeof(packet) };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
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
		if (len >= 4)
			count(&t, packet, (size_t)len, is_marked(&msg));
	}
	printf("{\"received\":%u,\"distinct\":%u,\"duplicates\":%u,\"reordered\":%u,\"damaged\":%u,"
	       "\"marked\":%u,\"us\":%llu}\n", t.received, t.distinct, t.duplicates, t.reordered,
	       t.damaged, t.marked, (unsigned long long)(t.last_us - t.first_us));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "send"))
		return send_all(argv[2], (uint32_t)atoi(argv[3]), (size_t)atoi(argv[4]),
				(uint64_t)atoi(argv[5]));
	if (argc == 3 && !strcmp(argv[1], "recv"))
		return receive_all(atoi(argv[2]));
	fprintf(stderr, "usage: numbered send ADDRESS COUNT BYTES GAP_US | recv IDLE_MS\n");
	return 2;
}
