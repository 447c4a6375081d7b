// SPDX-License-Identifier: BSD-2-Clause
/* Pull Data that XDP places at the initiator, and those that it leaves to the agent with nothing changed. */
#include <string.h>
#include <sys/mman.h>

#include <bpf/libbpf.h>

#include "falcon/receive/sink.h"
#include "offload.h"
#include "verdict.h"

enum {
	BLOCKS = 2,
	BYTES = BLOCKS * FALCON_MEMORY_BLOCK,
	MEMORY = 5,			/* index of the memory */
	OFFSET = 1000,			/* where the data go in it */
	QP = 0xabcdef,
	SN = 42,
	RSN = 77,
	ENTRY = 9,			/* of falcon_sinks */
	COUNT = 4,			/* packets for an ACK */
	LEN = 1001,
	LKEY = 0xfeedbeef,
};

#define SINK_VA 0x5500aabbccddULL
#define FOUND 0x1122334455667788ULL

static struct stage {
	uint8_t *memory;
	uint8_t want[BYTES];
	struct falcon_sinks *sinks;
	struct falcon_sinks before;
} stage;

/* The response of the case, and what it answers. */
static struct falcon_rdma_hdr response;
static uint32_t len;

static int make_stage(void)
{
	int fd = bpf_object__find_map_fd_by_name(verdict_env.obj, "falcon_sinks");

	stage.memory = offload_memory(&verdict_env, MEMORY, BLOCKS);
	stage.sinks = mmap(NULL, sizeof(*stage.sinks) * FALCON_SINKS, PROT_READ | PROT_WRITE, MAP_SHARED,
			   fd, 0);
	return !stage.memory || stage.sinks == MAP_FAILED ? -1 : 0;
}

static struct falcon_sink *sink(const struct verdict_packet *p)
{
	return falcon_sink_at(&stage.sinks[ENTRY], p->hdr.rsn);
}

static bool is_atomic(void)
{
	return response.opcode == FALCON_RDMA_ATOMIC_RESPONSE;
}

/* The agent has asked for |n| bytes, and this is the answer. */
static void expect(struct verdict_packet *p, uint32_t n)
{
	const struct falcon_pull pull = {
		.opcode = is_atomic() ? FALCON_RDMA_FETCH_ADD : FALCON_RDMA_READ_REQUEST, .length = n,
		.sn = SN, .sink_va = SINK_VA, .sink_lkey = LKEY,
	};

	memset(&stage.sinks[ENTRY], 0, sizeof(stage.sinks[ENTRY]));
	sink(p)->offset = OFFSET;
	sink(p)->memory = MEMORY;
	falcon_sink_expect(sink(p), &pull, QP, false);
	falcon_sink_open(sink(p), p->hdr.rsn);
	len = n;
	response.pad = is_atomic() ? 0 : (uint8_t)falcon_rdma_pad(n);
	p->payload = is_atomic() ? FALCON_RDMA_MAX_RESPONSE_HDR : FALCON_RDMA_READ_HDR + n + response.pad;
}

static void next_response(struct falcon_conn *c, struct verdict_packet *p, uint8_t opcode)
{
	for (uint32_t i = 0; i < BYTES; i++)
		stage.want[i] = (uint8_t)(i * 7 + (i >> 8));
	memcpy(stage.memory, stage.want, BYTES);
	c->cc.sinks = ENTRY + 1;
	c->rx_acked.ack_count = COUNT;
	p->hdr.type = FALCON_PULL_DATA;
	p->hdr.proto = FALCON_PROTO_RDMA;
	p->hdr.rsn = RSN;
	response = (struct falcon_rdma_hdr){
		.opcode = opcode, .dest_qp = QP, .sn = SN, .sink_va = SINK_VA, .sink_lkey = LKEY,
		.original = FOUND,
	};
	expect(p, opcode == FALCON_RDMA_ATOMIC_RESPONSE ? sizeof(uint64_t) : LEN);
}

static VERDICT_STEP(of_a_read)
{
	(void)e;
	next_response(c, p, FALCON_RDMA_READ_RESPONSE_ONLY);
}

static VERDICT_STEP(of_an_atomic)
{
	(void)e;
	next_response(c, p, FALCON_RDMA_ATOMIC_RESPONSE);
}

PACKED(rdma_headers)
{
	UNUSED;
	offload_headers(&response, p);
	stage.before = stage.sinks[ENTRY];
}

/* ---- what is placed ---- */

static void check_memory(void)
{
	assert_memory_equal(stage.memory, stage.want, BYTES);
}

static void check_placed(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,
			 const struct verdict_packet *p)
{
	const struct falcon_flow_rx *f = &c->rx.flow[p->shape.flow];
	struct falcon_sink want = *falcon_sink_at(&stage.before, p->hdr.rsn);
	uint64_t found = FOUND;

	if (is_atomic())
		memcpy(stage.want + want.offset, &found, sizeof(found));
	else
		memcpy(stage.want + want.offset,
		       p->falcon + falcon_hdr_len(FALCON_PULL_DATA) + FALCON_RDMA_READ_HDR, len);
	check_memory();
	want.state = falcon_sink_word(FALCON_SINK_PLACED, p->hdr.rsn);
	assert_memory_equal(sink(p), &want, sizeof(want));
	assert_int_equal(c->rx_acked.data_base, ENV_PSN + 1);
	assert_true(falcon_ring_test(c->rx.data_rx, FALCON_DATA_WORDS, ENV_PSN));
	assert_int_equal(c->rx.accepted, 1);
	assert_int_equal(f->acked, before->rx.flow[p->shape.flow].acked + 1);
	assert_int_equal(f->t1_t2 >> 32, falcon_time_of_iv(p->shape.iv));
	assert_int_equal(env_dirty(e), 1U << p->hdr.cid);
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
}

/* No ACK is due. */
VERIFY(placed)
{
	(void)r;
	check_placed(e, c, before, p);
	assert_int_equal(c->rx.flow[p->shape.flow].told, before->rx.flow[p->shape.flow].told);
	assert_int_equal(c->rx.acks_watched, 1U << p->shape.flow);
}

VERIFY(placed_and_acked)
{
	struct packet_reply reply;

	check_placed(e, c, before, p);
	assert_int_equal(packet_parse_reply(r->buf + r->meta_len, r->len, &reply), 0);
	assert_true(falcon_type_is_ack(reply.frame.type));
	assert_int_equal(c->rx.flow[p->shape.flow].told, c->rx.flow[p->shape.flow].acked);
	assert_int_equal(c->rx.acks_watched, 0);
}

#define STEP(name, change)                                                                         \
	HEADER(name)                                                                               \
	{                                                                                          \
		UNUSED;                                                                            \
		change;                                                                            \
	}

STEP(nothing, (void)0)
STEP(across_blocks, sink(p)->offset = FALCON_MEMORY_BLOCK - 333)
STEP(to_the_end, sink(p)->offset = BYTES - len)
STEP(one_byte, expect(p, 1))
STEP(no_padding, expect(p, 1000))
STEP(asks, p->hdr.ar = 1)
STEP(completes_count, c->rx.flow[p->shape.flow].acked = COUNT - 1)
STEP(all_resources_used, e->config->shard[c->id.shard].zone = c->rx_acked.zone = FALCON_ZONE_CLOSED)

HEADER(rsn_wraps)
{
	UNUSED;
	p->hdr.rsn = 0xffffffff;
	expect(p, LEN);
}

/* ---- what is not ---- */

VERIFY(not_placed)
{
	(void)e;
	(void)r;
	check_memory();
	assert_memory_equal(&stage.sinks[ENTRY], &stage.before, sizeof(stage.before));
	assert_memory_equal(&c->rx_acked, &before->rx_acked, sizeof(c->rx_acked));
	assert_int_equal(c->rx.flow[p->shape.flow].acked, before->rx.flow[p->shape.flow].acked);
}

/* It goes up as it came. */
VERIFY(left_alone)
{
	not_placed(e, c, before, p, r);
	assert_int_equal(r->len, p->len);
	assert_memory_equal(r->buf + r->meta_len, p->frame, p->len);
	assert_int_equal(e->credits[ENV_XSK].credits, 63);
}

STEP(no_sinks, c->cc.sinks = 0)
STEP(entry_out_of_range, c->cc.sinks = FALCON_SINKS + 1)
STEP(closed, sink(p)->state = 0)
STEP(of_another_cpu, sink(p)->state = falcon_sink_word(FALCON_SINK_XDP, RSN))
STEP(placed_before, sink(p)->state = falcon_sink_word(FALCON_SINK_PLACED, RSN))
STEP(of_the_rsn_before, sink(p)->state = falcon_sink_word(FALCON_SINK_OPEN, RSN - FALCON_SINK_RSNS))
STEP(no_such_memory, sink(p)->memory = MEMORY + 1)
STEP(another_qp, response.dest_qp = QP ^ 1)
STEP(another_sn, response.sn = SN + 1)
STEP(another_sink, response.sink_va++)
STEP(another_sink_above, response.sink_va += 1ULL << 32)
STEP(another_lkey, response.sink_lkey++)
STEP(in_error, response.ce = 1)
STEP(wants_room, response.room = 1)
STEP(of_xrc, response.opcode |= FALCON_RDMA_XRC)
STEP(shorter, p->payload -= 4)
STEP(longer, p->payload += 4)
STEP(padded_otherwise, response.pad ^= 1)
STEP(raw, p->hdr.proto = FALCON_PROTO_RAW)

/* An answer of the wrong kind, and as long as the right one. */
HEADER(an_atomic_response)
{
	UNUSED;
	expect(p, 8);
	response.opcode = FALCON_RDMA_ATOMIC_RESPONSE;
}

HEADER(claimed)
{
	UNUSED;
	falcon_ring_set(c->rx.data_rx, FALCON_DATA_WORDS, ENV_PSN);
}

/* It brings what is on its way to the agent. */
VERIFY(not_acknowledged)
{
	(void)e;
	(void)r;
	assert_memory_equal(&stage.sinks[ENTRY], &stage.before, sizeof(stage.before));
	assert_memory_equal(&c->rx_acked, &before->rx_acked, sizeof(c->rx_acked));
	assert_int_equal(c->rx.flow[p->shape.flow].acked, 0);
}

STEP(acknowledged, conn_windows(c, ENV_PSN + 5))
STEP(beyond_the_window, p->hdr.psn = ENV_PSN + FALCON_DATA_WINDOW)
STEP(no_socket, p->queue = 1)

#define PLACED(name, of, by)                                                                       \
	{                                                                                          \
		name, FALCON_V_xdp_placed, .base = of, .header = by, .packed = rdma_headers,       \
			.verify = placed                                                           \
	}
#define ACKED(name, of, by)                                                                        \
	{                                                                                          \
		name, FALCON_V_xdp_placed, .base = of, .header = by, .packed = rdma_headers,       \
			.acks = true, .verify = placed_and_acked                                   \
	}
#define NOT(name, v, by, check)                                                                    \
	{                                                                                          \
		name, FALCON_V_##v, .base = of_a_read, .header = by, .packed = rdma_headers,       \
			.verify = check                                                            \
	}
#define UP(by) NOT("READ: " #by, rx_data, by, left_alone)
#define ATOMIC_UP(by)                                                                              \
	{                                                                                          \
		"atomic: " #by, FALCON_V_rx_data, .base = of_an_atomic, .header = by,              \
			.packed = rdma_headers, .verify = left_alone                               \
	}

static const struct verdict_case cases[] = {
	PLACED("of a READ", of_a_read, nothing),
	PLACED("across blocks", of_a_read, across_blocks),
	PLACED("up to the end of the memory", of_a_read, to_the_end),
	PLACED("one byte", of_a_read, one_byte),
	PLACED("no padding", of_a_read, no_padding),
	PLACED("RSN wraps", of_a_read, rsn_wraps),
	PLACED("all resources are used", of_a_read, all_resources_used),
	PLACED("of an atomic", of_an_atomic, nothing),
	ACKED("asks for an ACK", of_a_read, asks),
	ACKED("an ACK is due by count", of_a_read, completes_count),
	ACKED("of an atomic, asks for an ACK", of_an_atomic, asks),
	UP(no_sinks), UP(entry_out_of_range), UP(closed), UP(of_another_cpu), UP(placed_before),
	UP(of_the_rsn_before), UP(no_such_memory), UP(another_qp), UP(another_sn), UP(another_sink),
	UP(another_sink_above), UP(another_lkey), UP(in_error), UP(wants_room), UP(of_xrc), UP(shorter),
	UP(longer), UP(padded_otherwise), UP(raw), UP(an_atomic_response),
	ATOMIC_UP(closed), ATOMIC_UP(no_such_memory), ATOMIC_UP(another_qp), ATOMIC_UP(another_sn),
	ATOMIC_UP(another_sink), ATOMIC_UP(another_lkey), ATOMIC_UP(in_error), ATOMIC_UP(shorter),
	ATOMIC_UP(longer),
	NOT("claimed by a packet on its way", dup_acked, claimed, not_acknowledged),
	NOT("acknowledged before", old_acked, acknowledged, not_acknowledged),
	NOT("beyond the window", oow_acked, beyond_the_window, not_acknowledged),
	NOT("no agent", drop_no_agent, no_socket, not_placed),
};

int main(void)
{
	return verdict_main("verdict_sink", cases, ARRAY_SIZE(cases), make_stage);
}
