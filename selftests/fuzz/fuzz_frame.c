// SPDX-License-Identifier: BSD-2-Clause
/*
 * libFuzzer on the receive path: a sequence of frames against live connections, with an agent at
 * work in between. After each frame the promises of the path are checked.
 *
 * Input: for each frame one byte of flags (enum input_flag), two of length (little-endian), and
 * the frame itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "conn.h"
#include "falcon/receive/window.h"
#include "reference.h"
#include "traffic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CONNS = 2, FIRST_PSN = -100, FRAME_ALIGN = 2 };

enum input_flag {
	INPUT_FIX_CSUM = 0x01,	/* repair the checksums, or the fuzzer would have to guess them */
	INPUT_AGENT = 0x02,	/* let the agent work before the frame */
	INPUT_RELEASE = 0x04,	/* and release a claim */
	INPUT_NO_CREDIT = 0x08,
	INPUT_STEER = 0x10,
	INPUT_ESP = 0x20,	/* the connection is in ESP */
};

#define promise(cond)                                                                              \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #cond);         \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static struct falcon_conn conns[CONNS], before[CONNS];
static struct reference ref;
static struct traffic agent;

static void fresh(void)
{
	for (uint32_t cid = 0; cid < CONNS; cid++)
		conn_fresh(&conns[cid], cid, (uint32_t)FIRST_PSN);
	agent = (struct traffic){ .rng = 1 };
	ref = (struct reference){
		.conns = conns,
		.nconns = CONNS,
		.config = {
			.replay_margin = 1000000,
			.cur_spi_gen = CONN_SPI_GEN,
			.rue_threshold = { 1000, 2000, 3000 },
		},
		.agent = true,
		.credits = 1000,
		.max_frame = 3000,
		.mac = packet_dst_mac,
	};
}

static void prepare(uint8_t flags)
{
	struct falcon_conn *c = &conns[flags >> 7];
	uint32_t psn;

	if (flags & INPUT_AGENT)
		traffic_agent(&agent, c);
	if ((flags & INPUT_RELEASE) && traffic_unclaim(&agent, c, &psn))
		falcon_ring_release(c->rx.data_rx, FALCON_DATA_WORDS, psn);
	ref.credits = flags & INPUT_NO_CREDIT ? 0 : 1000;
	c->id.flags &= ~(uint32_t)FALCON_CONN_STEER;
	if (flags & INPUT_STEER)
		c->id.flags |= FALCON_CONN_STEER;
	c->id.flags |= FALCON_CONN_CLEAR;
	c->id.encap = FALCON_PSP_CLEAR;
	if (flags & INPUT_ESP) {
		c->id.flags &= ~(uint32_t)FALCON_CONN_CLEAR;
		c->id.encap = falcon_encap_seen(FALCON_ESP_AES_GCM_128);
	}
}

/* A claimed PSN was in the window and free, and is taken now. */
static void check_claim(const struct falcon_conn *was, const struct falcon_conn *is,
			const struct falcon_hdr *h)
{
	bool req = falcon_in_req_window(h->type, h->resync_type);
	uint32_t words = req ? FALCON_REQ_WORDS : FALCON_DATA_WORDS;
	uint32_t base = req ? was->rx_acked.req_base : was->rx_acked.data_base;

	promise(h->psn - base < (req ? FALCON_REQ_WINDOW : FALCON_DATA_WINDOW));
	promise(!falcon_ring_test(req ? was->rx.req_rx : was->rx.data_rx, words, h->psn));
	promise(falcon_ring_test(req ? is->rx.req_rx : is->rx.data_rx, words, h->psn));
}

/* What an answer states is so. */
static void check_answer(const struct falcon_conn *c, const struct falcon_ack *a)
{
	promise(a->cid == c->id.peer_cid);
	promise(a->rdbpsn == c->rx_acked.data_base && a->rrbpsn == c->rx_acked.req_base);
	for (uint32_t i = 0; i < 128 && a->type == FALCON_EACK; i++) {
		uint32_t psn = a->rdbpsn + i;

		promise((a->data_rx[i / 32] >> (i % 32) & 1) ==
			falcon_ring_test(c->rx.data_rx, FALCON_DATA_WORDS, psn));
		promise((a->data_ack[i / 32] >> (i % 32) & 1) ==
			falcon_ring_test(c->rx_acked.data_ack, FALCON_DATA_WORDS, psn));
	}
}

/* The transmitter's bases only move forward, and never beyond what was sent. */
static void check_transmitter(const struct falcon_conn *was, const struct falcon_conn *is)
{
	promise(falcon_seq_diff(is->tx_acked.data_base, was->tx_acked.data_base) >= 0);
	promise(falcon_seq_diff(is->tx_acked.req_base, was->tx_acked.req_base) >= 0);
	promise(falcon_seq_diff(is->tx_acked.data_base, is->cc.data_next) <= 0);
	promise(falcon_seq_diff(is->tx_acked.req_base, is->cc.req_next) <= 0);
}

static void check(const struct reference_result *r)
{
	enum falcon_verdict v = r->verdict;

	promise(v < FALCON_VERDICT_COUNT);
	for (uint32_t i = 0; i < CONNS; i++) {
		promise(!memcmp(&conns[i].id, &before[i].id, sizeof(before[i].id)));
		promise(!memcmp(&conns[i].rx_acked, &before[i].rx_acked,
				sizeof(before[i].rx_acked)));
		promise(!memcmp(&conns[i].cc, &before[i].cc, sizeof(before[i].cc)));
		check_transmitter(&before[i], &conns[i]);
	}
	if (falcon_verdict_passes(v) || v == FALCON_V_ack_stale ||
	    v == FALCON_V_ack_invalid || v == FALCON_V_steered || v >= FALCON_V_drop_truncated)
		promise(!memcmp(conns, before, sizeof(before)));
	if (r->claimed)
		check_claim(&before[r->frame.cid], &conns[r->frame.cid], &r->hdr);
	if (falcon_verdict_answers(v))
		check_answer(&conns[r->frame.cid], &r->ack);
}

/* The frame in memory of just its size, so that the sanitizer sees a read beyond. */
static void one_frame(const uint8_t *data, size_t len, uint8_t flags)
{
	struct reference_result r;
	uint8_t *memory = malloc(FRAME_ALIGN + len), *frame = memory + FRAME_ALIGN;

	if (!memory)
		return;
	memcpy(frame, data, len);
	if (flags & INPUT_FIX_CSUM)
		packet_fix_csum(frame, len);
	prepare(flags);
	memcpy(before, conns, sizeof(before));
	reference_rx(&ref, frame, len, 1, &r);
	check(&r);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fresh();
	while (size > 3) {
		size_t len = data[1] | (size_t)data[2] << 8;
		uint8_t flags = data[0];

		data += 3;
		size -= 3;
		if (len > size)
			len = size;
		one_frame(data, len, flags);
		data += len;
		size -= len;
	}
	return 0;
}
