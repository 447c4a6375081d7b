// SPDX-License-Identifier: BSD-2-Clause
/*
 * The first corpus of the fuzzers around the agent: seeds_agent DIR writes DIR/fuzz_config/ and
 * DIR/fuzz_control/, from text that exercises every kind of value and every request, and
 * DIR/fuzz_client/, in which all operations succeed, or rings are full, or an application comes
 * again; and has the other seeds_*.c write theirs.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "seed_file.h"

static const char *const configs[] = {
	"[agent]\nsocket = /run/falcon/falcond.sock\nsocket_group = falcon\npin_path = /sys/fs/bpf\n"
	"offload = on\ncontrol_port = 1000\nlog_level = debug\nreplay_margin_ms = 10\n"
	"rue_p1_us = 20\nrue_p2_packets = 16\nfcwnd = 32\nncwnd = 64\nrto_us = 2000\n"
	"max_retx = 7\ntxn_timeout_ms = 5000\nrnr_patience_us = 500\nack_timeout_us = 100\n"
	"ack_count = 8\nar_fcwnd = 4\n"
	"ar_percent = 50\nooo_threshold = 16\n[port eth0]\nqueues = auto\nmode = zerocopy\n"
	"rx_csum = trusted\n[port eth1]\nqueues = 4\nmode = copy ; a comment\n",
	"# a comment\n[connection b]\nlocal = 192.0.2.1\nremote = 192.0.2.2\nlocal_cid = 1\n"
	"remote_cid = 1\nsecurity = clear\nordering = unordered\nrto_us = 3000\n",
	"[connection b6]\nlocal = fd00::1\nremote = fd00::2\nlocal_cid = 2\nremote_cid = 0x10\n"
	"security = clear\nhandshake = off\nlocal_spi = 1\nremote_spi = 2\nfunction = 1\n"
	"  [connection c]\n\tlocal=::ffff:10.0.0.1\nremote=fd00::3\nlocal_cid=3\nremote_cid=3\n"
	"security=clear\n",
	"[agent]\nrto_us = 10\nrto_us = 10\n",
	"[connection b]\nsecurity = psp\n",
	"key = before any section\n",
};

#define BASE                                                                                       \
	"\"local\":\"10.0.0.1\",\"remote\":\"10.0.0.2\",\"local_cid\":%1$u,\"remote_cid\":\"2\","      \
	"\"security\":\"clear\""

/* Requests, printed with a number. */
static const char *const requests[] = {
	"{\"op\":\"attach\",\"service\":%u}",
	"{\"op\":\"attach\",\"service\":0}",
	"{\"op\":\"conn-add\",\"name\":\"b\"," BASE "}",
	"{\"op\":\"conn-add\",\"name\":\"c\"," BASE ",\"ordering\":\"unordered\",\"rto_us\":50,"
	"\"handshake\":false,\"local_spi\":1,\"remote_spi\":2}",
	"{\"op\":\"conn-add\",\"name\":\"n%1$u\"," BASE "}",
	"{\"op\":\"lookup\",\"name\":\"b\"}",
	"{\"op\":\"conn-info\",\"conn\":%u}",
	"{\"op\":\"show\",\"object\":\"conn\"}",
	"{\"op\":\"show\",\"object\":\"flow\",\"from\":3}",
	"{\"op\":\"show\",\"object\":\"window\",\"name\":\"b\"}",
	"{\"op\":\"show\",\"object\":\"port\"}",
	"{\"op\":\"show\",\"object\":\"counters\"}",
	"{\"op\":\"show\",\"object\":\"client\"}",
	"{\"op\":\"show\",\"object\":\"config\"}",
	"{\"op\":\"show\",\"object\":\"version\"}",
	"{\"op\":\"conn-reset\",\"name\":\"b\"}",
	"{\"op\":\"xlr-add\",\"where\":\"target\",\"connection\":\"b\",\"type\":\"push\"}",
	"{\"op\":\"xlr-add\",\"where\":\"initiator\",\"function\":\"7\",\"protocol\":\"nvme\"}",
	"{\"op\":\"xlr-del\",\"number\":0}",
	"{\"op\":\"show\",\"object\":\"xlr\"}",
	"{\"op\":\"conn-del\",\"name\":\"b\"}",
};

enum {
	REQUESTS = sizeof(requests) / sizeof(requests[0]),
	ADD = 2, ADD_NUMBERED = 4, SHOW_CONFIG = 12,
	MANY = 40,	/* connections, whose configuration is more than fits a message */
};

/* Request |i| about |n|, with the descriptors that "attach" wants; |how| as in fuzz_control.c. */
static size_t request(uint8_t *out, unsigned int i, unsigned int n, uint8_t how)
{
	uint8_t fds = i < 2 ? 3 : 0;
	size_t len;

	len = (size_t)sprintf((char *)out + 5, requests[i], n);
	out[0] = how | fds;
	out[1] = 2 << 4 | 1 << 2;
	out[2] = 0;
	out[3] = (uint8_t)len;
	out[4] = (uint8_t)(len >> 8);
	return len + 5;
}

/*
 * All requests in a row, one with a long reply, and each alone behind one that makes a connection,
 * in six manners.
 */
static void control_seeds(const char *dir)
{
	static const uint8_t manners[] = { 0, 0x08, 0x10, 0x20, 0x40, 0x80 };
	static uint8_t out[64 * 1024];
	size_t len = 0;

	for (unsigned int i = 0; i < REQUESTS; i++)
		len += request(out + len, i, i, 0);
	seed_write(dir, "fuzz_control", 0, out, len);
	len = 0;
	for (unsigned int i = 1; i <= MANY; i++)
		len += request(out + len, ADD_NUMBERED, i, 0);
	len += request(out + len, SHOW_CONFIG, 0, 0);
	seed_write(dir, "fuzz_control", 1, out, len);
	for (unsigned int i = 0; i < REQUESTS * sizeof(manners); i++) {
		len = request(out, ADD, ADD, 0);
		len += request(out + len, i % REQUESTS, i % REQUESTS, manners[i / REQUESTS]);
		seed_write(dir, "fuzz_control", i + 2, out, len);
	}
}

/* Actions of fuzz_client.c; conn 0 unless 0x80 is set. */
static const struct {
	uint8_t len, actions[64];
} clients[] = {
	/* PUT, GET and SEND of some size, a turn, delivery and completion. */
	{ 30, { 2, 1, 0, 0, 0, 0x88, 0x13, 100, 3, 2, 2, 0, 0, 4, 0x88, 0x13, 100, 0, 2, 3, 0, 0, 0, 0,
		0, 50, 0, 6, 9, 6 } },
	/* The unordered connection, beyond what the victim has opened. */
	{ 17, { 2, 1, 1, 0, 0, 0, 0, 100, 0, 6, 0x89, 6, 0x8b, 255, 255, 255, 6 } },
	/* A stalled connection and as many operations as there can be, then some more. */
	{ 52, { 14, 0, 3, 0, 4, 1, 0, 0, 0, 0x88, 0x13, 8, 0, 6, 6, 6, 6, 6, 6, 6, 6,
		3, 0, 4, 1, 0, 0, 0, 0x88, 0x13, 8, 0, 6, 6, 6, 6, 6, 6, 6, 6,
		2, 1, 0, 0, 0, 0x88, 0x13, 8, 0, 6, 6, 12 } },
	/* Messages until the victim's ring is full, and five seconds more. */
	{ 27, { 3, 44, 1, 3, 0, 0, 0, 0, 0, 8, 0, 6, 6, 9, 9, 6, 9, 9, 9, 11, 0, 0xf2, 5, 42, 1, 9, 6 } },
	/* Held responses, and the application goes; a connection goes. */
	{ 21, { 14, 1, 2, 2, 0, 0, 0, 0x88, 0x13, 0xe8, 7, 6, 9, 15, 0, 14, 2, 13, 100, 0, 12 } },
};

static void client_seeds(const char *dir)
{
	for (unsigned int i = 0; i < sizeof(clients) / sizeof(clients[0]); i++)
		seed_write(dir, "fuzz_client", i, clients[i].actions, clients[i].len);
}

/* All actions of fuzz_verbs.c in some order, long enough that queue pairs come up and fail. */
static void verbs_seeds(const char *dir)
{
	uint64_t random = 1;

	for (unsigned int i = 0; i < 16; i++) {
		uint8_t actions[2048];

		for (size_t k = 0; k < sizeof(actions); k++) {
			random = random * 6364136223846793005ULL + 1442695040888963407ULL;
			actions[k] = (uint8_t)(random >> 56);
		}
		seed_write(dir, "fuzz_verbs", i, actions, sizeof(actions));
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: seeds_agent DIR\n");
		return 2;
	}
	for (unsigned int i = 0; i < sizeof(configs) / sizeof(configs[0]); i++)
		seed_write(argv[1], "fuzz_config", i, configs[i], strlen(configs[i]));
	control_seeds(argv[1]);
	client_seeds(argv[1]);
	verbs_seeds(argv[1]);
	cp_seeds(argv[1]);
	emulator_seeds(argv[1]);
	tenants_seeds(argv[1]);
	return 0;
}
