// SPDX-License-Identifier: BSD-2-Clause
/* WRITEs that XDP carries out, and those that it leaves to the agent with nothing changed. */
#include <string.h>

#include "falcon/receive/exec.h"
#include "offload.h"
#include "verdict.h"

enum {
	BLOCKS = 3,
	BYTES = BLOCKS * FALCON_MEMORY_BLOCK,
	MEMORY = 5,			/* index of the memory */
	REGION = 1000,			/* where the region begins in it, ... */
	REGION_LEN = BYTES - 2000,	/* ... and its length: it ends 1000 bytes before the memory does */
	KEY = 0x12345601,
	READ_ONLY = 0x12345602,		/* of a region at the same place, which peers may not write */
	UNMADE = 0x12345603,		/* of one in memory that is not there */
	PD = 7,
	QP = 0xabcdef,
	SN = 42,
	RSN = 77,
	COUNT = 4,			/* packets for an ACK */
	LEN = 1001,
};

#define IOVA 0x7f0012345678ULL

static struct stage {
	uint8_t *memory;
	uint8_t want[BYTES];
} stage;

/* The packet of the case. */
static struct falcon_rdma_hdr write_hdr;
static uint32_t write_len, write_pad;

static int make_region(uint32_t key, uint32_t memory, uint32_t access)
{
	const struct falcon_region r = {
		.iova = IOVA, .length = REGION_LEN, .offset = REGION, .pd = PD, .memory = memory,
		.access = access,
	};

	return offload_region(&verdict_env, key, &r);
}

static int make_stage(void)
{
	stage.memory = offload_memory(&verdict_env, MEMORY, BLOCKS);
	if (!stage.memory)
		return -1;
	return make_region(KEY, MEMORY, FALCON_REGION_WRITE) ||
	       make_region(READ_ONLY, MEMORY, FALCON_REGION_READ) ||
	       make_region(UNMADE, MEMORY + 1, FALCON_REGION_WRITE);
}

static void set_len(struct verdict_packet *p, uint32_t len)
{
	write_len = write_hdr.length = len;
	write_pad = write_hdr.pad = (uint8_t)falcon_rdma_pad(len);
	p->payload = p->hdr.request_len = (uint16_t)(FALCON_WRITE_HDR + len + write_pad);
}

/* A whole WRITE at the region's start, the next request of a connection whose requests are nobody's. */
static VERDICT_STEP(write_only)
{
	UNUSED;
	for (uint32_t i = 0; i < BYTES; i++)
		stage.want[i] = (uint8_t)(i * 7 + (i >> 8));
	memcpy(stage.memory, stage.want, BYTES);
	c->exec = (struct falcon_exec){
		.owner = falcon_exec_word(FALCON_EXEC_FREE, RSN), .pd = PD, .qp = QP, .sn = SN,
		.access = FALCON_REGION_WRITE,
	};
	c->rx_acked.ack_count = COUNT;
	p->hdr.proto = FALCON_PROTO_RDMA;
	p->hdr.rsn = RSN;
	write_hdr = (struct falcon_rdma_hdr){
		.opcode = FALCON_RDMA_WRITE_ONLY, .dest_qp = QP, .sn = SN, .va = IOVA, .rkey = KEY,
	};
	set_len(p, LEN);
}

PACKED(rdma_headers)
{
	UNUSED;
	offload_headers(&write_hdr, p);
}

PACKED(another_version)
{
	rdma_headers(e, c, p);
	p->falcon[falcon_hdr_len(FALCON_PUSH_DATA)] ^= 0x30;
}

/* ---- what is carried out ---- */

static void check_memory(void)
{
	assert_memory_equal(stage.memory, stage.want, BYTES);
}

static void check_placed(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,
			 const struct verdict_packet *p)
{
	const struct falcon_flow_rx *f = &c->rx.flow[p->shape.flow];
	struct falcon_exec want = before->exec;

	memcpy(stage.want + REGION + (write_hdr.va - IOVA),
	       p->falcon + falcon_hdr_len(FALCON_PUSH_DATA) + FALCON_WRITE_HDR, write_len);
	check_memory();
	want.owner = falcon_exec_word(FALCON_EXEC_FREE, p->hdr.rsn + 1);
	want.sn++;
	want.write_len = (before->exec.in_write ? before->exec.write_len : 0) + write_len;
	want.in_write = write_hdr.opcode == FALCON_RDMA_WRITE_FIRST ||
			write_hdr.opcode == FALCON_RDMA_WRITE_MIDDLE;
	want.packets = 1;
	want.bytes = write_len;
	assert_memory_equal(&c->exec, &want, sizeof(want));
	assert_int_equal(c->rx_acked.data_base, ENV_PSN + 1);
	assert_true(falcon_ring_test(c->rx.data_rx, FALCON_DATA_WORDS, ENV_PSN));
	assert_int_equal(c->rx.accepted, 1);
	assert_int_equal(f->acked, before->rx.flow[p->shape.flow].acked + 1);
	assert_int_equal(f->t1_t2 >> 32, falcon_time_of_iv(p->shape.iv));
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
}

/* No ACK is due: the agent is told that one is owed, if the WRITE ends here. */
VERIFY(placed)
{
	(void)r;
	check_placed(e, c, before, p);
	assert_int_equal(c->rx.flow[p->shape.flow].told, before->rx.flow[p->shape.flow].told);
	assert_int_equal(c->rx.acks_watched, c->exec.in_write ? 0 : 1U << p->shape.flow);
	assert_int_equal(env_dirty(e), c->exec.in_write ? 0 : 1U << p->hdr.cid);
}

VERIFY(placed_watched)
{
	(void)r;
	check_placed(e, c, before, p);
	assert_int_equal(env_dirty(e), 0);
}

VERIFY(placed_acked)
{
	const struct falcon_flow_rx *f = &c->rx.flow[p->shape.flow];
	struct packet_reply reply;

	check_placed(e, c, before, p);
	assert_int_equal(f->told, f->acked);
	assert_int_equal(env_dirty(e), 0);
	assert_int_equal(packet_parse_reply(r->buf + r->meta_len, r->len, &reply), 0);
	assert_true(reply.udp_csum_ok && reply.ip_csum_ok);
	assert_int_equal(reply.wire_error, 0);
	assert_int_equal(reply.ack.type, FALCON_BACK);
	assert_int_equal(reply.ack.rdbpsn, ENV_PSN + 1);
	assert_int_equal(reply.ack.t1, falcon_time_of_iv(p->shape.iv));
	assert_int_equal(reply.ack.t2, (uint32_t)f->t1_t2);
	assert_int_equal(reply.frame.flow, p->shape.flow);
}

HEADER(across_blocks)
{
	UNUSED;
	write_hdr.va += 2ULL * FALCON_MEMORY_BLOCK - REGION - 333;
}

HEADER(to_the_end_of_a_block)
{
	UNUSED;
	write_hdr.va += FALCON_MEMORY_BLOCK - REGION - LEN;
}

HEADER(to_the_end)
{
	UNUSED;
	write_hdr.va += REGION_LEN - LEN;
}

HEADER(one_byte_at_the_end)
{
	UNUSED;
	set_len(p, 1);
	write_hdr.va += REGION_LEN - 1;
}

HEADER(as_long_as_can_be)
{
	UNUSED;
	set_len(p, 2048 - 64 - FALCON_WRITE_HDR);
	write_hdr.va += FALCON_MEMORY_BLOCK - 1500;
}

HEADER(no_padding)
{
	UNUSED;
	set_len(p, 1000);
}

HEADER(first)
{
	UNUSED;
	write_hdr.opcode = FALCON_RDMA_WRITE_FIRST;
	write_hdr.length = REGION_LEN;
}

HEADER(middle)
{
	UNUSED;
	write_hdr.opcode = FALCON_RDMA_WRITE_MIDDLE;
	write_hdr.length = LEN + 1;
	c->exec.in_write = 1;
	c->exec.write_len = 5000;
}

HEADER(last)
{
	middle(e, c, p);
	write_hdr.opcode = FALCON_RDMA_WRITE_LAST;
	write_hdr.length = LEN;
}

HEADER(asks)
{
	UNUSED;
	p->hdr.ar = 1;
}

HEADER(first_asks)
{
	first(e, c, p);
	p->hdr.ar = 1;
}

HEADER(completes_count)
{
	UNUSED;
	c->rx.flow[p->shape.flow].acked = 0xfffffffe + COUNT - 1;
	c->rx.flow[p->shape.flow].told = 0xfffffffe;
}

HEADER(watched)
{
	UNUSED;
	c->rx.acks_watched = 1U << p->shape.flow;
}

HEADER(all_resources_used)
{
	UNUSED;
	e->config->shard[c->id.shard].zone = c->rx_acked.zone = FALCON_ZONE_CLOSED;
	c->rx_acked.next_rsn = RSN - 5;
}

HEADER(rsn_wraps)
{
	UNUSED;
	p->hdr.rsn = 0xffffffff;
	c->exec.owner = falcon_exec_word(FALCON_EXEC_FREE, 0xffffffff);
}

/* ---- what is not ---- */

/* It goes up as if there were no offload memory. */
VERIFY(left_alone)
{
	(void)r;
	check_memory();
	assert_memory_equal(&c->exec, &before->exec, sizeof(c->exec));
	assert_memory_equal(&c->rx_acked, &before->rx_acked, sizeof(c->rx_acked));
	assert_int_equal(c->rx.flow[p->shape.flow].acked, 0);
	assert_int_equal(e->credits[ENV_XSK].credits, 63);
}

#define LEFT(name, change)                                                                         \
	HEADER(name)                                                                               \
	{                                                                                          \
		UNUSED;                                                                            \
		change;                                                                            \
	}

LEFT(unknown_key, write_hdr.rkey = KEY + 0x100)
LEFT(stale_key, write_hdr.rkey = KEY - 1)
LEFT(not_writable, write_hdr.rkey = READ_ONLY)
LEFT(no_such_memory, write_hdr.rkey = UNMADE)
LEFT(another_pd, c->exec.pd = PD + 1)
LEFT(no_writes_at_all, c->exec.access = FALCON_REGION_READ)
LEFT(past_the_end, write_hdr.va += REGION_LEN - LEN + 1)
LEFT(before_the_start, write_hdr.va -= 1)
LEFT(far_before, write_hdr.va = 0)
LEFT(around_the_end, write_hdr.va = UINT64_MAX - LEN / 2)
LEFT(first_too_long, (write_hdr.opcode = FALCON_RDMA_WRITE_FIRST, write_hdr.length = REGION_LEN + 1))
LEFT(another_qp, write_hdr.dest_qp = QP ^ 1)
LEFT(sn_ahead, write_hdr.sn = SN + 1)
LEFT(sn_behind, write_hdr.sn = SN - 1)
LEFT(rsn_ahead, p->hdr.rsn = RSN + 1)
LEFT(rsn_behind, p->hdr.rsn = RSN - 1)
LEFT(of_the_agent, c->exec.owner = falcon_exec_word(FALCON_EXEC_AGENT, RSN))
LEFT(of_another_cpu, c->exec.owner = falcon_exec_word(FALCON_EXEC_XDP, RSN))
LEFT(amid_a_write, c->exec.in_write = 1)
LEFT(middle_of_none, (write_hdr.opcode = FALCON_RDMA_WRITE_MIDDLE, write_hdr.length = LEN + 1))
LEFT(last_of_none, write_hdr.opcode = FALCON_RDMA_WRITE_LAST)
LEFT(with_immediate, write_hdr.opcode = FALCON_RDMA_WRITE_ONLY_IMM)
LEFT(a_send, write_hdr.opcode = FALCON_RDMA_SEND_ONLY)
LEFT(reserved_opcode, write_hdr.opcode = 31)
LEFT(of_xrc, write_hdr.opcode |= FALCON_RDMA_XRC)
LEFT(in_error, write_hdr.ce = 1)
LEFT(longer_than_said, write_hdr.length = LEN - 1)
LEFT(shorter_than_said, write_hdr.length = LEN + 1)
LEFT(empty, set_len(p, 0))
LEFT(no_headers, p->payload = p->hdr.request_len = FALCON_WRITE_HDR - 1)
LEFT(raw, p->hdr.proto = FALCON_PROTO_RAW)
LEFT(nothing, (void)0)

HEADER(claimed)
{
	UNUSED;
	falcon_ring_set(c->rx.data_rx, FALCON_DATA_WORDS, ENV_PSN);
}

LEFT(acknowledged, conn_windows(c, ENV_PSN + 5))
LEFT(beyond_the_window, p->hdr.psn = ENV_PSN + FALCON_DATA_WINDOW)
LEFT(no_socket, p->queue = 1)

VERIFY(not_again)
{
	(void)p;
	(void)r;
	assert_memory_equal(&c->exec, &before->exec, sizeof(c->exec));
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
}

#define PLACED(name, by, ack, check)                                                               \
	{                                                                                          \
		name, FALCON_V_xdp_placed, .base = write_only, .header = by, .packed = rdma_headers, \
			.acks = ack, .verify = check                                               \
	}
#define NOT(name, v, by, as, check)                                                                \
	{                                                                                          \
		name, FALCON_V_##v, .base = write_only, .header = by, .packed = as, .verify = check    \
	}
#define UP(by) NOT(#by, rx_data, by, rdma_headers, left_alone)

static const struct verdict_case cases[] = {
	PLACED("a whole WRITE", nothing, false, placed),
	PLACED("across blocks", across_blocks, false, placed),
	PLACED("up to the end of a block", to_the_end_of_a_block, false, placed),
	PLACED("up to the region's end", to_the_end, false, placed),
	PLACED("its last byte", one_byte_at_the_end, false, placed),
	PLACED("a long one", as_long_as_can_be, false, placed),
	PLACED("no padding", no_padding, false, placed),
	PLACED("first packet", first, false, placed),
	PLACED("middle packet", middle, false, placed),
	PLACED("last packet", last, false, placed),
	PLACED("RSN wraps", rsn_wraps, false, placed),
	PLACED("the agent watches already", watched, false, placed_watched),
	PLACED("no credits are left", no_credit, false, NULL),
	PLACED("all resources are used", all_resources_used, false, NULL),
	PLACED("asks for an ACK", asks, true, placed_acked),
	PLACED("first packet asks for an ACK", first_asks, true, placed_acked),
	PLACED("an ACK is due by count", completes_count, true, placed_acked),
	UP(unknown_key), UP(stale_key), UP(not_writable), UP(no_such_memory), UP(another_pd),
	UP(no_writes_at_all),
	UP(past_the_end), UP(before_the_start), UP(far_before), UP(around_the_end), UP(first_too_long),
	UP(another_qp), UP(sn_ahead), UP(sn_behind), UP(rsn_ahead), UP(rsn_behind), UP(of_the_agent),
	UP(of_another_cpu), UP(amid_a_write), UP(middle_of_none), UP(last_of_none), UP(with_immediate),
	UP(a_send), UP(reserved_opcode), UP(of_xrc), UP(in_error), UP(longer_than_said),
	UP(shorter_than_said), UP(empty), UP(no_headers), UP(raw),
	NOT("another version", rx_data, nothing, another_version, left_alone),
	NOT("claimed by a packet on its way", dup_acked, claimed, rdma_headers, not_again),
	NOT("acknowledged before", old_acked, acknowledged, rdma_headers, not_again),
	NOT("beyond the window", oow_acked, beyond_the_window, rdma_headers, not_again),
	NOT("no agent", drop_no_agent, no_socket, rdma_headers, not_again),
	NOT("offload off", steered, offload_off, rdma_headers, left_alone),
};

int main(void)
{
	return verdict_main("verdict_write", cases, ARRAY_SIZE(cases), make_stage);
}
