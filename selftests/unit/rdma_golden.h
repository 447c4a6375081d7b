/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets as they are written down in rdma_golden.c, against those that two hosts have exchanged. One is
 * written as its bytes in hexadecimal digits, and names for what differs from run to run:
 *
 *   QA QB        number of the queue pair of host a or b, 24 bits
 *   KA KB KW     key of a's or b's region, or of the window, 32 bits
 *   SRQ          number of the shared receive queue, 24 bits
 *   A+n B+n      address n of a's or b's memory, 64 bits
 *   a+n:l b+n:l  l bytes of that memory
 */
#ifndef FALCON_SELFTESTS_RDMA_GOLDEN_H
#define FALCON_SELFTESTS_RDMA_GOLDEN_H

#include "rdma_pair.h"

#include <stdlib.h>
#include <string.h>

#include <falcon/wire/wire.h>

enum { PACKETS = 32 };

/* What the two hosts have sent, oldest first. */
static struct {
	int host;
	uint8_t type;
	uint16_t request_len;
	uint32_t len;		/* bytes of |payload|: from the RDMA headers on; of NACK and Resync: all */
	uint8_t payload[ENV_BYTES];
} seen[PACKETS];
static unsigned int nseen, at;

static struct env_qp *tx, *rx;	/* of a and b */
static uint32_t window_key, srq_num;

static void keep(const struct env_host *host, const uint8_t *packet, uint32_t len)
{
	const struct falcon_base_hdr *base = (const void *)packet;
	uint8_t type = falcon_wire_type(base->func_type);
	struct falcon_hdr f = { .type = type };
	uint32_t n = 0;

	if (type != FALCON_NACK && falcon_type_is_ack(type))
		return;
	if (type != FALCON_NACK && type != FALCON_RESYNC) {
		assert_int_equal(falcon_hdr_unpack(packet, packet + len, &f), FALCON_WIRE_OK);
		n = falcon_hdr_len(type);
	}
	assert_true(nseen < PACKETS);
	seen[nseen].host = host->index;
	seen[nseen].type = type;
	seen[nseen].request_len = f.request_len;
	seen[nseen].len = len - n;
	memcpy(seen[nseen++].payload, packet + n, len - n);
}

static uint32_t number(uint8_t *out, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		out[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
	return bytes;
}

static uint32_t memory(uint8_t *out, const uint8_t *from, const char *range)
{
	char *colon;
	unsigned long off = strtoul(range, &colon, 10), len = strtoul(colon + 1, NULL, 10);

	memcpy(out, from + off, len);
	return (uint32_t)len;
}

static uint32_t digits(uint8_t *out, const char *hex)
{
	uint32_t n = 0;

	for (; *hex; hex += 2) {
		const char byte[3] = { hex[0], hex[1], 0 };

		out[n++] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return n;
}

static uint32_t word_of(uint8_t *out, const char *w)
{
	if (!strcmp(w, "QA"))
		return number(out, tx->num, 3);
	if (!strcmp(w, "QB"))
		return number(out, rx->num, 3);
	if (!strcmp(w, "SRQ"))
		return number(out, srq_num, 3);
	if (!strcmp(w, "KA"))
		return number(out, amr.lkey, 4);
	if (!strcmp(w, "KB"))
		return number(out, bmr.rkey, 4);
	if (!strcmp(w, "KW"))
		return number(out, window_key, 4);
	if (!strncmp(w, "A+", 2))
		return number(out, (uintptr_t)a.memory + strtoul(w + 2, NULL, 10), 8);
	if (!strncmp(w, "B+", 2))
		return number(out, (uintptr_t)b.memory + strtoul(w + 2, NULL, 10), 8);
	if (!strncmp(w, "a+", 2))
		return memory(out, a.memory, w + 2);
	if (!strncmp(w, "b+", 2))
		return memory(out, b.memory, w + 2);
	return digits(out, w);
}

static uint32_t bytes_of(const char *packet, uint8_t *out)
{
	char text[512], *rest = text, *w;
	uint32_t n = 0;

	assert_true(strlen(packet) < sizeof(text));
	strcpy(text, packet);
	while ((w = strsep(&rest, " ")))
		if (*w)
			n += word_of(out + n, w);
	return n;
}

/* The next packet is of |host|, and this. |request_len|: as the Falcon header has it (Falcon 7.3, 7.5). */
static void sent(int host, uint8_t type, uint16_t request_len, const char *packet)
{
	uint8_t want[ENV_BYTES];
	uint32_t len = bytes_of(packet, want);

	assert_true(at < nseen);
	assert_int_equal(seen[at].host, host);
	assert_int_equal(seen[at].type, type);
	assert_int_equal(seen[at].request_len, request_len);
	assert_int_equal(seen[at].len, len);
	assert_memory_equal(seen[at].payload, want, len);
	at++;
}

static void pushed(uint16_t len, const char *packet)
{
	sent(0, FALCON_PUSH_DATA, len, packet);
}

static void pulled(uint16_t response, const char *packet)
{
	sent(0, FALCON_PULL_REQUEST, response, packet);
}

static void answered(const char *packet)
{
	sent(1, FALCON_PULL_DATA, 0, packet);
}

/* The next packet is of |host| and |type|, and has this word |n|. */
static void has_word(int host, uint8_t type, unsigned int n, const char *word)
{
	uint8_t want[4];

	assert_int_equal(bytes_of(word, want), 4);
	assert_true(at < nseen);
	assert_int_equal(seen[at].host, host);
	assert_int_equal(seen[at].type, type);
	assert_memory_equal(seen[at].payload + 4UL * n, want, 4);
	at++;
}

/* Falcon 7.8, word 9: code, RNR timeout, window, ULP NACK code */
static void nacked(const char *word9)
{
	has_word(1, FALCON_NACK, 9, word9);
}

/* Falcon 7.6, word 6: code, type of the packet in whose place it stands, reserved */
static void resynced(const char *word6)
{
	has_word(0, FALCON_RESYNC, 6, word6);
}

static void no_more(void)
{
	env_steps(50);
	assert_int_equal(at, nseen);
}

#endif /* FALCON_SELFTESTS_RDMA_GOLDEN_H */
