// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a strict receiver checks, of every packet on the wire of rdma_env.h: lengths and padding (Falcon 7.3,
 * 7.5, 8.4.3.2, 8.5.3.5; RDMA 8.2). It fails the test that sent what such a receiver would discard.
 */
#include "rdma_env_parts.h"

#include <string.h>

enum { RSNS = 4096 };		/* pull requests under way, of a connection */

/* What each pull asks for, in bytes, by the connection that has sent it. */
static uint16_t wanted[ENV_HOSTS][ENV_CONNS][RSNS];

void env_rules_open(void)
{
	memset(wanted, 0, sizeof(wanted));
}

/* Headers and data end with a word, and what fills that up is zero. */
static void check_padding(const struct falcon_rdma_hdr *h, const uint8_t *payload, uint32_t hdr_len,
			  uint32_t len)
{
	uint32_t data = len - hdr_len - h->pad;

	assert_int_equal(len % 4, 0);
	assert_int_equal(h->pad, (4 - data % 4) % 4);
	for (uint32_t i = 0; i < h->pad; i++)
		assert_int_equal(payload[len - 1 - i], 0);
}

static void check_request(uint16_t *want, const struct falcon_hdr *f, const struct falcon_rdma_hdr *h)
{
	uint8_t op = h->opcode & FALCON_RDMA_OPCODE_MASK;

	*want = f->request_len;
	/* RBTH and STETH, 6 words; an atomic's has the AtomicAckETH's 2. */
	if (op == FALCON_RDMA_READ_REQUEST)
		assert_int_equal(f->request_len, 24 + (h->length + 3) / 4 * 4);
	else
		assert_int_equal(f->request_len, 32);
}

static void check_response(uint16_t want, const struct falcon_rdma_hdr *h, uint32_t hdr_len, uint32_t len)
{
	if (!h->ce) {
		assert_int_equal(h->reason, 0);
		assert_int_equal(len, want);
		return;
	}
	/* A failure without data, for a peer that reads the reason. */
	assert_false(env.foreign);
	assert_int_equal(len, hdr_len);
}

void env_rules_check(const struct env_host *host, uint32_t cid, const uint8_t *packet, uint32_t len)
{
	const struct env_conn *c = &host->conns[cid];
	struct falcon_rdma_hdr h = { 0 };
	struct falcon_hdr f;
	uint32_t hdr_len, n;
	int rc;

	rc = falcon_hdr_unpack(packet, packet + len, &f);
	/* BACK, EACK, NACK */
	if (rc == FALCON_WIRE_TYPE)
		return;
	assert_int_equal(rc, FALCON_WIRE_OK);
	if (f.type != FALCON_PULL_REQUEST && f.type != FALCON_PULL_DATA && f.type != FALCON_PUSH_DATA)
		return;
	n = falcon_hdr_len(f.type);
	packet += n;
	len -= n;
	if (f.type == FALCON_PULL_DATA && !len)
		return;
	hdr_len = falcon_rdma_unpack(packet, len, &h);
	assert_true(hdr_len);
	check_padding(&h, packet, hdr_len, len);
	if (f.type == FALCON_PULL_REQUEST)
		check_request(&wanted[host->index][cid][f.rsn % RSNS], &f, &h);
	else if (f.type == FALCON_PULL_DATA)
		check_response(wanted[c->peer_host][c->peer_cid][f.rsn % RSNS], &h, hdr_len, len);
	else
		assert_int_equal(f.request_len, len);
}
