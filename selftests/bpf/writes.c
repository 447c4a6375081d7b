// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random WRITEs against a model of memory: XDP carries out those that the model does, leaves the others to
 * the agent, and no byte outside of what was written changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "env.h"
#include "falcon/receive/exec.h"
#include "offload.h"
#include "traffic.h"

enum {
	WRITES = 300000,
	LOOK_EVERY = 256,		/* WRITEs between looks at all of memory */
	MEMORIES = 2,
	BLOCKS = 3,
	BYTES = BLOCKS * FALCON_MEMORY_BLOCK,
	REGIONS = 4,
	PDS = 2,
	CID = 1,
	QP = 0x777,
	MAX_LEN = 1500,
	SLACK = 2000,			/* bytes around a region in which addresses are */
};

static struct env env;
static struct traffic rng = { .rng = 0x9e3779b97f4a7c15 };
static uint8_t *memory[MEMORIES], model[MEMORIES][BYTES];
static struct offload_known regions[REGIONS];
static uint32_t psn;
static unsigned int placed, left, acked;

static uint32_t pick(uint32_t n)
{
	return traffic_random(&rng, n);
}

/* True one time in |n|. */
static bool rarely(uint32_t n)
{
	return pick(n) == 0;
}

static int make_stage(void)
{
	for (uint32_t i = 0; i < MEMORIES; i++) {
		memory[i] = offload_memory(&env, i, BLOCKS);
		if (!memory[i])
			return -1;
	}
	for (uint32_t i = 0; i < REGIONS; i++) {
		struct offload_known *g = &regions[i];

		g->key = 0x100 * (i + 1) + pick(256);
		g->r = (struct falcon_region){
			.iova = 0x10000000ULL * (i + 1) + pick(5000),
			.length = BYTES / 2 + pick(5000),
			.offset = pick(BYTES / 2 - 5000),
			.pd = i % PDS,
			.memory = i / 2 % MEMORIES,
			.access = i == REGIONS - 1 ? 0 : FALCON_REGION_WRITE,
		};
		if (offload_region(&env, g->key, &g->r))
			return -1;
	}
	return 0;
}

/* ---- the model ---- */

/* Where the |len| bytes of |h| go; NULL: they are not XDP's to place. */
static uint8_t *place_of(const struct falcon_exec *e, const struct falcon_rdma_hdr *h, uint32_t rsn,
			 uint32_t len)
{
	bool first = h->opcode == FALCON_RDMA_WRITE_FIRST || h->opcode == FALCON_RDMA_WRITE_ONLY;
	bool last = h->opcode == FALCON_RDMA_WRITE_LAST || h->opcode == FALCON_RDMA_WRITE_ONLY;
	const struct offload_known *g = offload_find(regions, REGIONS, h->rkey);

	if (!first && !last && h->opcode != FALCON_RDMA_WRITE_MIDDLE)
		return NULL;
	if (e->owner != (1ULL << 32 | rsn) || h->sn != e->sn || h->dest_qp != e->qp)
		return NULL;
	if (first == (bool)e->in_write)
		return NULL;
	if (h->ce || len == 0 || (first && last ? len != h->length : len > h->length))
		return NULL;
	if (!g || g->r.pd != e->pd || !g->r.access || h->va < g->r.iova)
		return NULL;
	if (h->va - g->r.iova + (first ? h->length : len) > g->r.length)
		return NULL;
	return &model[g->r.memory][g->r.offset + (h->va - g->r.iova)];
}

/* ---- packets ---- */

static uint8_t an_opcode(const struct falcon_exec *e)
{
	static const uint8_t begin[] = { FALCON_RDMA_WRITE_ONLY, FALCON_RDMA_WRITE_FIRST };
	static const uint8_t go_on[] = { FALCON_RDMA_WRITE_MIDDLE, FALCON_RDMA_WRITE_LAST };

	if (rarely(20))
		return (uint8_t)pick(256);
	return e->in_write ? go_on[pick(2)] : begin[pick(2)];
}

static void make_header(const struct falcon_exec *e, struct falcon_rdma_hdr *h, uint32_t len)
{
	const struct offload_known *g = &regions[rarely(10) ? pick(REGIONS) : pick(REGIONS - 1)];

	*h = (struct falcon_rdma_hdr){
		.opcode = an_opcode(e),
		.ce = rarely(50),
		.pad = (uint8_t)falcon_rdma_pad(len),
		.dest_qp = rarely(30) ? pick(1 << 24) : QP,
		.sn = e->sn + (rarely(30) ? pick(3) - 1 : 0),
		.rkey = rarely(30) ? pick(1 << 12) : g->key,
		.va = g->r.iova + pick((uint32_t)g->r.length),
		.length = len,
	};
	/* Around both ends. */
	if (rarely(4))
		h->va = g->r.iova + (rarely(2) ? 0 : g->r.length) + pick(2 * SLACK) - SLACK;
	if (h->opcode == FALCON_RDMA_WRITE_FIRST || h->opcode == FALCON_RDMA_WRITE_MIDDLE || rarely(20))
		h->length += pick(rarely(10) ? BYTES : MAX_LEN) - (rarely(20) ? len : 0);
}

/* The agent has got what XDP left: it carries it out in its own way, and lets XDP have the next. */
static void be_the_agent(struct falcon_conn *c)
{
	falcon_rx_acknowledge(c, false, psn);
	c->exec.pd = pick(PDS);
	c->exec.sn += pick(3);
	c->exec.in_write = pick(2);
	c->exec.owner = falcon_exec_word(rarely(50) ? FALCON_EXEC_AGENT : FALCON_EXEC_FREE,
					 (uint32_t)c->exec.owner + pick(3));
	env.credits[ENV_XSK].credits = 64;
}

/* Where there are headers of RDMA and |len| bytes behind them; returns the length of the frame. */
static size_t make_frame(const struct falcon_conn *c, struct falcon_rdma_hdr *h, uint32_t *rsn, uint32_t len,
			 const uint8_t **data, uint8_t *frame)
{
	uint8_t falcon[2048], hdr[FALCON_RDMA_MAX_HDR] = {};
	uint32_t hdr_len, payload;
	struct packet_shape shape;
	struct falcon_hdr f;
	size_t n;

	make_header(&c->exec, h, len);
	hdr_len = falcon_rdma_pack(h, hdr);
	payload = hdr_len + len + h->pad;
	env_push(&env, CID, psn, &f);
	f.proto = FALCON_PROTO_RDMA;
	f.ar = rarely(20);
	f.rsn = *rsn = (uint32_t)c->exec.owner + (rarely(30) ? pick(3) - 1 : 0);
	f.request_len = (uint16_t)payload;
	n = packet_reliable(&f, payload, falcon);
	memcpy(falcon + falcon_hdr_len(FALCON_PUSH_DATA), hdr, hdr_len);
	for (uint32_t i = 0; i < len; i++)
		falcon[falcon_hdr_len(FALCON_PUSH_DATA) + hdr_len + i] = (uint8_t)pick(256);
	env_shape(&env, CID, 5000000, &shape);
	n = packet_build(&shape, falcon, n, frame);
	*data = frame + packet_falcon_off(&shape) + falcon_hdr_len(FALCON_PUSH_DATA) + hdr_len;
	return n;
}

static void one_write(struct falcon_counters *before)
{
	struct falcon_conn *c = &env.conns[CID];
	uint32_t len = rarely(20) ? pick(4) : pick(MAX_LEN) + 1, rsn;
	struct falcon_counters after;
	struct falcon_rdma_hdr h;
	uint8_t frame[PACKET_MAX], *to;
	const uint8_t *data;
	struct env_result r;
	size_t n = make_frame(c, &h, &rsn, len, &data, frame);

	to = place_of(&c->exec, &h, rsn, len);
	assert_int_equal(env_run(&env, frame, n, 0, &r), 0);
	env_counters(&env, &after);
	assert_int_equal(env_verdict(before, &after), to ? FALCON_V_xdp_placed : FALCON_V_rx_data);
	if (to) {
		memcpy(to, data, len);
		placed++;
		acked += r.action == XDP_TX;
		assert_int_equal(c->exec.owner, falcon_exec_word(FALCON_EXEC_FREE, rsn + 1));
	} else {
		left++;
		be_the_agent(c);
	}
	psn++;
	*before = after;
}

static void as_in_the_model(void **state)
{
	struct falcon_counters n;
	struct falcon_conn *c = &env.conns[CID];

	(void)state;
	env_reset(&env);
	psn = 0U - WRITES / 2;
	conn_windows(c, psn);
	c->rx_acked.ack_count = 16;
	c->exec = (struct falcon_exec){
		.owner = falcon_exec_word(FALCON_EXEC_FREE, 0U - WRITES / 3), .qp = QP,
		.access = FALCON_REGION_WRITE,
	};
	env_counters(&env, &n);
	for (int i = 0; i < WRITES; i++) {
		one_write(&n);
		if (i % LOOK_EVERY == 0)
			for (int m = 0; m < MEMORIES; m++)
				assert_memory_equal(memory[m], model[m], BYTES);
	}
	for (int m = 0; m < MEMORIES; m++)
		assert_memory_equal(memory[m], model[m], BYTES);
	printf("# %u placed, %u ACKs, %u left to the agent\n", placed, acked, left);
	assert_true(placed > WRITES / 4 && left > WRITES / 4 && acked > placed / 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_in_the_model),
	};

	return env_main(&env, "writes", tests, ARRAY_SIZE(tests), make_stage);
}
