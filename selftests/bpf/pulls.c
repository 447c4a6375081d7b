// SPDX-License-Identifier: BSD-2-Clause
/*
 * Random READs and atomics against a model of memory: XDP answers those that the model does, with what is
 * there, leaves the others to the agent, and no byte but the words of atomics changes.
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
#include "falcon/receive/pull.h"
#include "offload.h"
#include "traffic.h"

enum {
	PULLS = 200000,
	LOOK_EVERY = 256,		/* pulls between looks at all of memory */
	MEMORIES = 2,
	BLOCKS = 3,
	BYTES = BLOCKS * FALCON_MEMORY_BLOCK,
	REGIONS = 4,
	PDS = 2,
	CID = 1,
	QP = 0x777,
	MAX_LEN = 1500,
	SLACK = 2000,			/* bytes around a region in which addresses are */
	WINDOW = 16,
};

/* What the response must be. */
struct expected {
	bool is_read;
	uint64_t original;
	uint8_t bytes[MAX_LEN + 4];
};

static struct env env;
static struct traffic rng = { .rng = 0x9e3779b97f4a7c15 };
static uint8_t *memory[MEMORIES], model[MEMORIES][BYTES];
static struct offload_known regions[REGIONS];
static uint32_t psn;
static unsigned int reads, atomics, left;

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
		for (uint32_t n = 0; n < BYTES; n++)
			memory[i][n] = model[i][n] = (uint8_t)pick(256);
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
			.access = pick(8) | (i == 0 ? FALCON_REGION_READ | FALCON_REGION_ATOMIC : 0),
		};
		/* Words of most regions are words of the memory. */
		if (i < 3)
			g->r.offset = (g->r.offset & ~7ULL) + (g->r.iova & 7);
		if (offload_region(&env, g->key, &g->r))
			return -1;
	}
	return 0;
}

/* ---- the model ---- */

/* Where what |h| wants is; NULL: it is not XDP's to answer. */
static uint8_t *place_of(const struct falcon_exec *e, const struct falcon_rdma_hdr *h, uint32_t rsn,
			 uint32_t request_len)
{
	bool is_read = h->opcode == FALCON_RDMA_READ_REQUEST;
	uint32_t need = is_read ? h->length : 8, want = is_read ? 24 + (need + 3) / 4 * 4 : 32;
	const struct offload_known *g = offload_find(regions, REGIONS, h->rkey);
	uint8_t *at;

	if (!is_read && h->opcode != FALCON_RDMA_FETCH_ADD && h->opcode != FALCON_RDMA_CMP_SWAP)
		return NULL;
	if (e->owner != (1ULL << 32 | rsn) || h->sn != e->sn || h->dest_qp != e->qp)
		return NULL;
	if (h->rmsn != e->read_rmsn)
		return NULL;
	if (e->in_write || h->ce || h->pad || need == 0 || request_len != want)
		return NULL;
	if (!g || g->r.pd != e->pd || h->va < g->r.iova || h->va - g->r.iova + need > g->r.length)
		return NULL;
	if (!(g->r.access & (is_read ? 2 : 4)) || !(e->access & (is_read ? 2 : 4)))
		return NULL;
	at = &model[g->r.memory][g->r.offset + (h->va - g->r.iova)];
	if (!is_read && (h->va % 8 || (size_t)(at - model[g->r.memory]) % 8))
		return NULL;
	return at;
}

static void carry_out(const struct falcon_rdma_hdr *h, uint8_t *at, struct expected *x)
{
	uint64_t word;

	x->is_read = h->opcode == FALCON_RDMA_READ_REQUEST;
	if (x->is_read) {
		memset(x->bytes, 0, sizeof(x->bytes));
		memcpy(x->bytes, at, h->length);
		reads++;
		return;
	}
	memcpy(&word, at, sizeof(word));
	x->original = word;
	if (h->opcode == FALCON_RDMA_FETCH_ADD)
		word += h->swap_add;
	else if (word == h->compare)
		word = h->swap_add;
	memcpy(at, &word, sizeof(word));
	atomics++;
}

/* ---- packets ---- */

static uint64_t pick64(void)
{
	return (uint64_t)pick(UINT32_MAX) << 32 | pick(UINT32_MAX);
}

static void make_header(const struct falcon_exec *e, struct falcon_rdma_hdr *h, uint32_t len)
{
	static const uint8_t opcodes[] = { FALCON_RDMA_READ_REQUEST, FALCON_RDMA_FETCH_ADD,
					   FALCON_RDMA_CMP_SWAP };
	const struct offload_known *g = &regions[rarely(4) ? pick(REGIONS) : 0];

	*h = (struct falcon_rdma_hdr){
		.opcode = rarely(40) ? (uint8_t)pick(256) : opcodes[pick(3)],
		.ce = rarely(50),
		.dest_qp = rarely(30) ? pick(1 << 24) : QP,
		.sn = e->sn + (rarely(30) ? pick(3) - 1 : 0),
		.rmsn = e->read_rmsn + (rarely(30) ? pick(3) - 1 : 0),
		.rkey = rarely(30) ? pick(1 << 12) : g->key,
		.va = g->r.iova + pick((uint32_t)g->r.length),
		.length = len,
		.swap_add = pick64(),
		.sink_va = pick64(),
		.sink_lkey = pick(UINT32_MAX),
	};
	/* Around both ends. */
	if (rarely(4))
		h->va = g->r.iova + (rarely(2) ? 0 : g->r.length) + pick(2 * SLACK) - SLACK;
	if (h->opcode != FALCON_RDMA_READ_REQUEST && !rarely(10))
		h->va &= ~7ULL;
	/* Half of the comparisons succeed. */
	h->compare = pick64();
	if (rarely(2) && h->va >= g->r.iova && h->va - g->r.iova + 8 <= g->r.length)
		memcpy(&h->compare, &model[g->r.memory][g->r.offset + (h->va - g->r.iova)], 8);
}

/* The agent has got what XDP left: it carries it out in its own way, and lets XDP have the next. */
static void be_the_agent(struct falcon_conn *c)
{
	falcon_rx_acknowledge(c, true, psn);
	c->exec.pd = rarely(8) ? pick(PDS) : 0;
	c->exec.sn += pick(3);
	c->exec.read_rmsn += pick(3);
	c->exec.in_write = rarely(20);
	c->exec.access = rarely(8) ? pick(8) : 7;
	c->exec.owner = falcon_exec_word(rarely(50) ? FALCON_EXEC_AGENT : FALCON_EXEC_FREE,
					 (uint32_t)c->exec.owner + pick(3));
	env.credits[ENV_XSK].credits = 64;
}

/* Returns the length of the frame. */
static size_t make_frame(const struct falcon_conn *c, struct falcon_rdma_hdr *h, struct falcon_hdr *f,
			 uint8_t *frame)
{
	uint32_t len = rarely(20) ? pick(4) : pick(MAX_LEN) + 1, hdr_len;
	uint8_t falcon[256], hdr[FALCON_RDMA_MAX_HDR] = {};
	struct packet_shape shape;
	size_t n;

	make_header(&c->exec, h, len);
	hdr_len = falcon_rdma_pack(h, hdr);
	env_push(&env, CID, psn, f);
	f->type = FALCON_PULL_REQUEST;
	f->proto = FALCON_PROTO_RDMA;
	f->ar = rarely(20);
	f->rsn = (uint32_t)c->exec.owner + (rarely(30) ? pick(3) - 1 : 0);
	f->request_len = (uint16_t)(h->opcode == FALCON_RDMA_READ_REQUEST ?
					    FALCON_RDMA_READ_HDR + len + falcon_rdma_pad(len) :
					    FALCON_RDMA_MAX_RESPONSE_HDR);
	f->request_len += (uint16_t)(rarely(30) ? pick(9) - 4 : 0);
	f->rdbpsn = c->tx_acked.data_base;
	f->rrbpsn = c->tx_acked.req_base;
	n = packet_reliable(f, hdr_len, falcon);
	memcpy(falcon + falcon_hdr_len(FALCON_PULL_REQUEST), hdr, hdr_len);
	env_shape(&env, CID, 5000000, &shape);
	return packet_build(&shape, falcon, n, frame);
}

static void check_response(const struct falcon_hdr *request, const struct falcon_rdma_hdr *asked,
			   const struct expected *x, const struct env_result *r)
{
	const uint8_t *frame = r->buf + r->meta_len, *falcon;
	struct falcon_rdma_hdr rdma = { 0 };
	struct packet_reply reply;
	struct falcon_hdr h = { 0 };
	uint32_t n;

	assert_int_equal(packet_parse_reply(frame, r->len, &reply), 0);
	assert_true(reply.udp_csum_ok && reply.ip_csum_ok);
	falcon = frame + reply.frame.falcon_off;
	assert_int_equal(falcon_hdr_unpack(falcon, falcon + reply.frame.falcon_len, &h), 0);
	assert_int_equal(h.rsn, request->rsn);
	falcon += falcon_hdr_len(FALCON_PULL_DATA);
	n = falcon_rdma_unpack(falcon, reply.frame.falcon_len - falcon_hdr_len(FALCON_PULL_DATA), &rdma);
	assert_int_equal(n, x->is_read ? FALCON_RDMA_READ_HDR : FALCON_RDMA_MAX_RESPONSE_HDR);
	assert_int_equal(rdma.sn, asked->sn);
	assert_int_equal(rdma.sink_va, asked->sink_va);
	if (x->is_read)
		assert_memory_equal(falcon + n, x->bytes, asked->length + rdma.pad);
	else
		assert_int_equal(rdma.original, x->original);
}

static void one_pull(struct falcon_counters *before)
{
	struct falcon_conn *c = &env.conns[CID];
	uint8_t frame[PACKET_MAX], *at;
	struct falcon_counters after;
	struct falcon_rdma_hdr h;
	struct falcon_hdr f;
	struct env_result r;
	struct expected x;
	size_t n = make_frame(c, &h, &f, frame);

	at = place_of(&c->exec, &h, f.rsn, f.request_len);
	if (at)
		carry_out(&h, at, &x);
	assert_int_equal(env_run(&env, frame, n, 0, &r), 0);
	env_counters(&env, &after);
	assert_int_equal(env_verdict(before, &after), !at       ? FALCON_V_rx_request :
						      x.is_read ? FALCON_V_xdp_read :
								  FALCON_V_xdp_atomic);
	if (at) {
		assert_int_equal(r.action, XDP_TX);
		check_response(&f, &h, &x, &r);
		/* The peer acknowledges it, but for a few. */
		if (!rarely(WINDOW))
			c->tx_acked.data_base = c->cc.data_next - pick(WINDOW / 2);
	} else {
		left++;
		be_the_agent(c);
	}
	if (c->cc.data_next - c->tx_acked.data_base >= WINDOW)
		c->tx_acked.data_base = c->cc.data_next;
	psn++;
	*before = after;
}

static void as_in_the_model(void **state)
{
	struct falcon_conn *c = &env.conns[CID];
	struct falcon_counters n;

	(void)state;
	env_reset(&env);
	psn = 0U - PULLS / 2;
	conn_windows(c, psn);
	c->rx_acked.ack_count = 16;
	c->cc.flows = 1;
	c->cc.xdp_window = WINDOW + 1;
	c->tx_acked.data_base = c->cc.data_next;
	c->exec = (struct falcon_exec){
		.owner = falcon_exec_word(FALCON_EXEC_FREE, 0U - PULLS / 3), .qp = QP, .access = 7,
		.responses = 1,
	};
	env_counters(&env, &n);
	for (int i = 0; i < PULLS; i++) {
		one_pull(&n);
		if (i % LOOK_EVERY == 0)
			for (int m = 0; m < MEMORIES; m++)
				assert_memory_equal(memory[m], model[m], BYTES);
	}
	for (int m = 0; m < MEMORIES; m++)
		assert_memory_equal(memory[m], model[m], BYTES);
	printf("# %u READs, %u atomics, %u left to the agent\n", reads, atomics, left);
	assert_true(reads > PULLS / 8 && atomics > PULLS / 8 && left > PULLS / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_in_the_model),
	};

	return env_main(&env, "pulls", tests, ARRAY_SIZE(tests), make_stage);
}
