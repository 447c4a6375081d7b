// SPDX-License-Identifier: BSD-2-Clause
/* READs and atomics that XDP answers, and those that it leaves to the agent with nothing changed. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/libbpf.h>

#include "falcon/receive/pull.h"
#include "offload.h"
#include "verdict.h"

enum {
	BLOCKS = 3,
	BYTES = BLOCKS * FALCON_MEMORY_BLOCK,
	MEMORY = 5,			/* index of the memory */
	REGION = 1000,			/* where the region begins in it, ... */
	REGION_LEN = BYTES - 2000,	/* ... and its length: it ends 1000 bytes before the memory does */
	KEY = 0x12345601,
	WRITE_ONLY = 0x12345602,	/* of a region at the same place */
	UNMADE = 0x12345603,		/* of one in memory that is not there */
	ODD = 0x12345604,		/* of one whose words are not whole words of the memory */
	PD = 7,
	QP = 0xabcdef,
	PEER_QP = 0x13579b,
	SN = 42,
	RMSN = 17,
	RSN = 77,
	ENTRY = 9,			/* of falcon_responses */
	COUNT = 4,			/* packets for an ACK */
	LEN = 1001,
	LKEY = 0xfeedbeef,
	OUT = 16,			/* packets of the data window that are out: conn_fresh() */
	ALL = FALCON_REGION_WRITE | FALCON_REGION_READ | FALCON_REGION_ATOMIC,
};

#define IOVA 0x7f0012345678ULL
#define SINK 0x5500aabbccddULL

static struct stage {
	uint8_t *memory;
	uint8_t want[BYTES];
	struct falcon_responses *responses;
} stage;

/* The packet of the case, and what an atomic finds. */
static struct falcon_rdma_hdr request;
static uint64_t found;

static int make_region(uint32_t key, uint32_t memory, uint32_t offset, uint32_t access)
{
	const struct falcon_region r = {
		.iova = IOVA, .length = REGION_LEN, .offset = offset, .pd = PD, .memory = memory,
		.access = access,
	};

	return offload_region(&verdict_env, key, &r);
}

static int make_stage(void)
{
	int fd = bpf_object__find_map_fd_by_name(verdict_env.obj, "falcon_responses");

	stage.memory = offload_memory(&verdict_env, MEMORY, BLOCKS);
	stage.responses = mmap(NULL, sizeof(*stage.responses) * FALCON_RESPONSES, PROT_READ | PROT_WRITE,
			       MAP_SHARED, fd, 0);
	if (!stage.memory || stage.responses == MAP_FAILED)
		return -1;
	return make_region(KEY, MEMORY, REGION, ALL) ||
	       make_region(WRITE_ONLY, MEMORY, REGION, FALCON_REGION_WRITE) ||
	       make_region(UNMADE, MEMORY + 1, REGION, ALL) || make_region(ODD, MEMORY, REGION + 4, ALL);
}

static void set_request(struct verdict_packet *p)
{
	bool is_read = request.opcode == FALCON_RDMA_READ_REQUEST;

	p->payload = is_read ? sizeof(struct falcon_read_hdr) : sizeof(struct falcon_atomic_hdr);
	p->hdr.request_len = is_read ? (uint16_t)(FALCON_RDMA_READ_HDR + request.length +
						  falcon_rdma_pad(request.length)) :
				       FALCON_RDMA_MAX_RESPONSE_HDR;
}

static void set_len(struct verdict_packet *p, uint32_t len)
{
	request.length = len;
	set_request(p);
}

/* The next request of a connection whose requests are nobody's, at the region's start. */
static void next_request(struct falcon_conn *c, struct verdict_packet *p, uint8_t opcode)
{
	for (uint32_t i = 0; i < BYTES; i++)
		stage.want[i] = (uint8_t)(i * 7 + (i >> 8));
	memcpy(stage.memory, stage.want, BYTES);
	memset(&stage.responses[ENTRY], 0, sizeof(stage.responses[ENTRY]));
	c->exec = (struct falcon_exec){
		.owner = falcon_exec_word(FALCON_EXEC_FREE, RSN), .pd = PD, .qp = QP, .sn = SN, .access = ALL,
		.responses = ENTRY + 1, .peer_qp = PEER_QP, .read_rmsn = RMSN,
	};
	c->rx_acked.ack_count = COUNT;
	c->cc.flows = FALCON_MAX_FLOWS;
	c->cc.xdp_window = c->cc.fcwnd = 64;
	c->cc.fcwnd <<= FALCON_EV_fcwnd_fraction_WIDTH;
	c->id.function = 0x54321;
	p->hdr.type = FALCON_PULL_REQUEST;
	p->hdr.proto = FALCON_PROTO_RDMA;
	p->hdr.rsn = RSN;
	request = (struct falcon_rdma_hdr){
		.opcode = opcode, .dest_qp = QP, .sn = SN, .rmsn = RMSN, .va = IOVA, .rkey = KEY,
		.length = LEN, .sink_va = SINK, .sink_lkey = LKEY,
		.swap_add = 0x1122334455667788, .compare = 0x99aabbccddeeff00,
	};
	memcpy(&found, stage.want + REGION, sizeof(found));
	set_request(p);
}

static VERDICT_STEP(read_request)
{
	(void)e;
	next_request(c, p, FALCON_RDMA_READ_REQUEST);
}

static VERDICT_STEP(fetch_add)
{
	(void)e;
	next_request(c, p, FALCON_RDMA_FETCH_ADD);
}

static VERDICT_STEP(cmp_swap)
{
	(void)e;
	next_request(c, p, FALCON_RDMA_CMP_SWAP);
}

PACKED(rdma_headers)
{
	UNUSED;
	offload_headers(&request, p);
}

/* ---- what is answered ---- */

static void check_memory(void)
{
	assert_memory_equal(stage.memory, stage.want, BYTES);
}

/* What the agent needs to send it again. */
static void check_record(const struct falcon_conn *c, const struct verdict_packet *p)
{
	const struct falcon_response *r =
		&stage.responses[ENTRY].at[(ENV_PSN + OUT) & (FALCON_DATA_WINDOW - 1)];
	bool is_read = request.opcode == FALCON_RDMA_READ_REQUEST;

	assert_true(r->sent_ns != 0);
	assert_int_equal(r->rsn, p->hdr.rsn);
	assert_int_equal(r->sn, SN);
	assert_int_equal(r->opcode, request.opcode);
	assert_int_equal(r->va, request.va);
	assert_int_equal(r->rkey, KEY);
	assert_int_equal(r->sink_va, SINK);
	assert_int_equal(r->sink_lkey, LKEY);
	assert_int_equal(r->length, is_read ? request.length : sizeof(uint64_t));
	assert_int_equal(r->original, is_read ? 0 : found);
	assert_int_equal(c->cc.data_next, ENV_PSN + OUT + 1);
}

static void check_state(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,
			const struct verdict_packet *p)
{
	struct falcon_exec want = before->exec;

	check_memory();
	check_record(c, p);
	want.owner = falcon_exec_word(FALCON_EXEC_FREE, p->hdr.rsn + 1);
	want.sn++;
	want.read_rmsn++;
	want.packets = want.pulls = 1;
	want.ar_credit = c->exec.ar_credit;
	assert_memory_equal(&c->exec, &want, sizeof(want));
	assert_int_equal(c->rx_acked.req_base, ENV_PSN + 1);
	assert_true(falcon_ring_test(c->rx.req_rx, FALCON_REQ_WORDS, ENV_PSN));
	assert_int_equal(c->rx.accepted, 1);
	assert_int_equal(c->rx.flow[p->shape.flow].acked, before->rx.flow[p->shape.flow].acked + 1);
	assert_int_equal(c->tx_acked.watched, 1);
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
}

/* The Pull Data that came back: |h| and |rdma| are its headers; returns its payload, |*len| bytes. */
static const uint8_t *take_response(const struct env_result *r, struct falcon_hdr *h,
				    struct falcon_rdma_hdr *rdma, uint32_t *len)
{
	const uint8_t *frame = r->buf + r->meta_len, *falcon;
	struct packet_reply reply;
	uint32_t n;

	assert_int_equal(packet_parse_reply(frame, r->len, &reply), 0);
	assert_true(reply.udp_csum_ok && reply.ip_csum_ok);
	falcon = frame + reply.frame.falcon_off;
	assert_int_equal(falcon_hdr_unpack(falcon, falcon + reply.frame.falcon_len, h), 0);
	assert_int_equal(h->type, FALCON_PULL_DATA);
	*len = reply.frame.falcon_len - falcon_hdr_len(FALCON_PULL_DATA);
	falcon += falcon_hdr_len(FALCON_PULL_DATA);
	n = falcon_rdma_unpack(falcon, *len, rdma);
	assert_int_not_equal(n, 0);
	*len -= n;
	return falcon + n;
}

static void check_response(struct falcon_conn *c, const struct verdict_packet *p, const struct env_result *r,
			   bool ar)
{
	bool is_read = request.opcode == FALCON_RDMA_READ_REQUEST;
	struct falcon_rdma_hdr rdma = { 0 };
	struct falcon_hdr h = { 0 };
	uint32_t len;
	const uint8_t *payload = take_response(r, &h, &rdma, &len);

	assert_int_equal(h.cid, c->id.peer_cid);
	assert_int_equal(h.function, 0x54321);
	assert_int_equal(h.proto, FALCON_PROTO_RDMA);
	assert_int_equal(h.ar, ar);
	assert_int_equal(h.psn, ENV_PSN + OUT);
	assert_int_equal(h.rsn, p->hdr.rsn);
	assert_int_equal(h.rdbpsn, c->rx_acked.data_base);
	assert_int_equal(h.rrbpsn, ENV_PSN + 1);
	assert_int_equal(rdma.opcode, is_read ? FALCON_RDMA_READ_RESPONSE_ONLY : FALCON_RDMA_ATOMIC_RESPONSE);
	assert_int_equal(rdma.dest_qp, PEER_QP);
	assert_int_equal(rdma.sn, SN);
	assert_int_equal(rdma.sink_va, SINK);
	assert_int_equal(rdma.sink_lkey, LKEY);
	assert_int_equal(rdma.ce | rdma.se | rdma.reason, 0);
	assert_int_equal(rdma.room, is_read && c->exec.room);
	if (is_read) {
		uint32_t pad = falcon_rdma_pad(request.length);
		const uint8_t zeros[4] = { 0 };

		assert_int_equal(rdma.pad, pad);
		assert_int_equal(len, request.length + pad);
		assert_memory_equal(payload, stage.want + REGION + (request.va - IOVA), request.length);
		assert_memory_equal(payload + request.length, zeros, pad);
	} else {
		assert_int_equal(rdma.original, found);
		assert_int_equal(len, 0);
	}
}

/* All is told; the agent hears that XDP has begun to send. */
VERIFY(answered)
{
	check_state(e, c, before, p);
	check_response(c, p, r, false);
	assert_int_equal(c->rx.flow[p->shape.flow].told, c->rx.flow[p->shape.flow].acked);
	assert_int_equal(c->rx.answers_owed | c->rx.acks_watched, 0);
	assert_int_equal(env_dirty(e), before->tx_acked.watched ? 0 : 1U << p->hdr.cid);
}

static void change_word(uint64_t to)
{
	memcpy(stage.want + REGION + (request.va - IOVA), &to, sizeof(to));
}

VERIFY(added)
{
	change_word(found + request.swap_add);
	answered(e, c, before, p, r);
}

VERIFY(swapped)
{
	change_word(request.swap_add);
	answered(e, c, before, p, r);
}

/* The response cannot tell all: the agent's ACK follows. */
VERIFY(ack_follows)
{
	check_state(e, c, before, p);
	check_response(c, p, r, false);
	assert_int_equal(c->rx.answers_owed, 1U << p->shape.flow);
	assert_int_equal(env_dirty(e), 1U << p->hdr.cid);
}

/* Nobody is woken for it: the response has told what there is to tell. */
VERIFY(ack_waits)
{
	check_state(e, c, before, p);
	check_response(c, p, r, false);
	assert_int_equal(c->rx.flow[p->shape.flow].told, c->rx.flow[p->shape.flow].acked);
	assert_int_equal(c->rx.answers_owed, 1U << p->shape.flow);
	assert_int_equal(env_dirty(e), 0);
}

/* It can wait. */
VERIFY(ack_watched)
{
	check_state(e, c, before, p);
	check_response(c, p, r, false);
	assert_int_equal(c->rx.flow[p->shape.flow].told, before->rx.flow[p->shape.flow].told);
	assert_int_equal(c->rx.answers_owed, 0);
	assert_int_equal(c->rx.acks_watched, 1U << p->shape.flow);
	assert_int_equal(env_dirty(e), 1U << p->hdr.cid);
}

VERIFY(asks_for_an_ack)
{
	check_state(e, c, before, p);
	check_response(c, p, r, true);
}

#define STEP(name, change)                                                                         \
	HEADER(name)                                                                               \
	{                                                                                          \
		UNUSED;                                                                            \
		change;                                                                            \
	}

STEP(nothing, (void)0)
STEP(across_blocks, request.va += 2ULL * FALCON_MEMORY_BLOCK - REGION - 333)
STEP(to_the_end_of_a_block, request.va += FALCON_MEMORY_BLOCK - REGION - LEN)
STEP(to_the_end, request.va += REGION_LEN - LEN)
STEP(the_last_byte, (set_len(p, 1), request.va += REGION_LEN - 1))
STEP(a_long_one, (set_len(p, 2999), request.va += FALCON_MEMORY_BLOCK - 1500))
STEP(shorter_than_the_request, set_len(p, 4))
STEP(no_padding, set_len(p, 1000))
STEP(rsn_wraps, (p->hdr.rsn = 0xffffffff, c->exec.owner = falcon_exec_word(FALCON_EXEC_FREE, 0xffffffff)))
STEP(watched, c->tx_acked.watched = 1)
STEP(asks, p->hdr.ar = 1)
STEP(asks_the_quiet, p->hdr.ar = c->exec.quiet = c->tx_acked.watched = 1)
STEP(more_is_untold, c->rx.flow[p->shape.flow].acked = 1)
STEP(completes_count, c->rx.flow[p->shape.flow].acked = COUNT - 1)
STEP(another_has_come_early, falcon_ring_set(c->rx.data_rx, FALCON_DATA_WORDS, ENV_PSN + 3))
STEP(own_is_to_be_told, c->rx.own = FALCON_OWN_REQ)
STEP(window_closes, c->cc.xdp_window = OUT + 1)
STEP(window_is_small, c->exec.ar_fcwnd = 64)
STEP(every_second_asks, (c->exec.ar_percent = 50, c->exec.ar_credit = 50))
STEP(room_is_wanted, c->exec.room = 1)
STEP(all_resources_used, e->config->shard[c->id.shard].zone = c->rx_acked.zone = FALCON_ZONE_CLOSED)

HEADER(the_last_word)
{
	UNUSED;
	request.va += (REGION_LEN - 8) & ~7ULL;
	memcpy(&found, stage.want + REGION + (request.va - IOVA), sizeof(found));
}

HEADER(equal)
{
	UNUSED;
	request.compare = found;
}

/* ---- what is not ---- */

/* It goes up as it came. */
VERIFY(left_alone)
{
	check_memory();
	assert_memory_equal(&c->exec, &before->exec, sizeof(c->exec));
	assert_memory_equal(&c->rx_acked, &before->rx_acked, sizeof(c->rx_acked));
	assert_memory_equal(&c->tx_acked, &before->tx_acked, sizeof(c->tx_acked));
	assert_memory_equal(&c->cc, &before->cc, sizeof(c->cc));
	assert_int_equal(c->rx.flow[p->shape.flow].acked, 0);
	assert_int_equal(r->len, p->len);
	assert_memory_equal(r->buf + r->meta_len, p->frame, p->len);
	assert_int_equal(e->credits[ENV_XSK].credits, 63);
}

STEP(unknown_key, request.rkey = KEY + 0x100)
STEP(write_only, request.rkey = WRITE_ONLY)
STEP(no_such_memory, request.rkey = UNMADE)
STEP(another_pd, c->exec.pd = PD + 1)
STEP(only_writes, c->exec.access = FALCON_REGION_WRITE)
STEP(past_the_end, request.va += REGION_LEN - LEN + 1)
STEP(word_past_the_end, request.va += REGION_LEN)
STEP(before_the_start, request.va -= 8)
STEP(around_the_end, request.va = UINT64_MAX - 7)
STEP(another_qp, request.dest_qp = QP ^ 1)
STEP(sn_ahead, request.sn = SN + 1)
STEP(sn_behind, request.sn = SN - 1)
STEP(rmsn_ahead, request.rmsn = RMSN + 1)
STEP(rmsn_behind, request.rmsn = RMSN - 1)
STEP(rsn_ahead, p->hdr.rsn = RSN + 1)
STEP(rsn_behind, p->hdr.rsn = RSN - 1)
STEP(of_the_agent, c->exec.owner = falcon_exec_word(FALCON_EXEC_AGENT, RSN))
STEP(of_another_cpu, c->exec.owner = falcon_exec_word(FALCON_EXEC_XDP, RSN))
STEP(amid_a_write, c->exec.in_write = 1)
STEP(no_room_for_answers, c->exec.responses = 0)
STEP(entry_out_of_range, c->exec.responses = FALCON_RESPONSES + 1)
STEP(window_closed, c->cc.xdp_window = OUT)
STEP(window_none, c->cc.xdp_window = 0)
STEP(another_flow, c->cc.flows = 1)
STEP(of_xrc, request.opcode |= FALCON_RDMA_XRC)
STEP(in_error, request.ce = 1)
STEP(padded, request.pad = 1)
STEP(empty, set_len(p, 0))
STEP(too_long_for_a_frame, set_len(p, 3480))
STEP(too_long_at_all, set_len(p, 5000))
STEP(asks_for_less, p->hdr.request_len -= 4)
STEP(asks_for_more, p->hdr.request_len += 4)
STEP(bytes_too_many, p->payload += 4)
STEP(bytes_too_few, p->payload -= 4)
STEP(raw, p->hdr.proto = FALCON_PROTO_RAW)
STEP(unaligned, request.va += 4)
STEP(unaligned_memory, request.rkey = ODD)

HEADER(a_send)
{
	UNUSED;
	request.opcode = FALCON_RDMA_SEND_ONLY;
}

HEADER(claimed)
{
	UNUSED;
	falcon_ring_set(c->rx.req_rx, FALCON_REQ_WORDS, ENV_PSN);
}

HEADER(acknowledged)
{
	UNUSED;
	conn_windows(c, ENV_PSN + 5);
	/* The response would fit into what conn_windows() leaves open. */
	c->cc.xdp_window = 64;
}

STEP(beyond_the_window, p->hdr.psn = ENV_PSN + FALCON_REQ_WINDOW)
STEP(no_socket, p->queue = 1)

VERIFY(not_again)
{
	(void)p;
	(void)r;
	check_memory();
	assert_memory_equal(&c->exec, &before->exec, sizeof(c->exec));
	assert_int_equal(c->cc.data_next, before->cc.data_next);
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
}

/* ---- ACKs of what XDP has sent ---- */

static struct falcon_ack ack;

static void pack_ack(struct verdict_packet *p)
{
	p->falcon_len = falcon_ack_pack(&ack, p->falcon);
}

static VERDICT_STEP(acked)
{
	read_request(e, c, p);
	ack = (struct falcon_ack){ .type = FALCON_BACK, .cid = p->hdr.cid, .rdbpsn = ENV_PSN + 4,
				   .rrbpsn = ENV_PSN };
	c->exec.quiet = 1;
	/* No events: of those the agent would have to hear. */
	e->config->rue_p1_ns = UINT64_MAX;
	e->config->rue_p2_packets = UINT32_MAX;
}

PACKED(as_ack)
{
	UNUSED;
	pack_ack(p);
}

STEP(agents, c->exec.owner = falcon_exec_word(FALCON_EXEC_AGENT, RSN))
STEP(not_quiet, c->exec.quiet = 0)
STEP(eack, (ack.type = FALCON_EACK, ack.data_ack[0] = 2, ack.data_rx[0] = 2))
STEP(event_due, e->config->rue_p2_packets = 1)

VERIFY(not_told)
{
	(void)before;
	(void)p;
	(void)r;
	assert_int_equal(c->tx_acked.data_base, ENV_PSN + 4);
	assert_int_equal(env_dirty(e), 0);
}

VERIFY(told)
{
	(void)before;
	(void)r;
	assert_int_equal(c->tx_acked.data_base, ENV_PSN + 4);
	assert_int_equal(env_dirty(e), 1U << p->hdr.cid);
}

#define READ(name, by, check)                                                                      \
	{                                                                                          \
		name, FALCON_V_xdp_read, .base = read_request, .header = by, .packed = rdma_headers, \
			.acks = true, .verify = check                                              \
	}
#define ATOMIC(name, from, by, check)                                                              \
	{                                                                                          \
		name, FALCON_V_xdp_atomic, .base = from, .header = by, .packed = rdma_headers,     \
			.acks = true, .verify = check                                              \
	}
#define NOT(name, v, by, check)                                                                    \
	{                                                                                          \
		name, FALCON_V_##v, .base = read_request, .header = by, .packed = rdma_headers,    \
			.verify = check                                                            \
	}
#define UP(by) NOT("READ: " #by, rx_request, by, left_alone)
#define ATOMIC_UP(by)                                                                              \
	{                                                                                          \
		"atomic: " #by, FALCON_V_rx_request, .base = fetch_add, .header = by,              \
			.packed = rdma_headers, .verify = left_alone                               \
	}
#define ACKED(name, by, check)                                                                     \
	{                                                                                          \
		name, FALCON_V_ack_consumed, .base = acked, .header = by, .packed = as_ack,        \
			.verify = check                                                            \
	}

static const struct verdict_case cases[] = {
	READ("a READ", nothing, answered),
	READ("across blocks", across_blocks, answered),
	READ("up to the end of a block", to_the_end_of_a_block, answered),
	READ("up to the region's end", to_the_end, answered),
	READ("its last byte", the_last_byte, answered),
	READ("a long one", a_long_one, answered),
	READ("the response is shorter than the request", shorter_than_the_request, answered),
	READ("no padding", no_padding, answered),
	READ("RSN wraps", rsn_wraps, answered),
	READ("the agent watches already", watched, answered),
	READ("no credits are left", no_credit, NULL),
	READ("all resources are used", all_resources_used, answered),
	READ("asks for an ACK", asks, ack_follows),
	READ("asks for an ACK of an agent that is quiet", asks_the_quiet, ack_waits),
	READ("an ACK is due by count", completes_count, ack_follows),
	READ("another packet is to be told of", more_is_untold, ack_watched),
	READ("another packet has come early", another_has_come_early, ack_watched),
	READ("OWN is to be told", own_is_to_be_told, ack_watched),
	READ("the response closes the window", window_closes, asks_for_an_ack),
	READ("the window is small", window_is_small, asks_for_an_ack),
	READ("ACK Request Percent", every_second_asks, asks_for_an_ack),
	READ("room behind requests is wanted", room_is_wanted, answered),
	ATOMIC("fetch-and-add", fetch_add, nothing, added),
	ATOMIC("fetch-and-add, the last word", fetch_add, the_last_word, added),
	ATOMIC("compare-and-swap of another value", cmp_swap, nothing, answered),
	ATOMIC("compare-and-swap", cmp_swap, equal, swapped),
	ATOMIC("of an atomic it is not", fetch_add, room_is_wanted, added),
	UP(unknown_key), UP(write_only), UP(no_such_memory), UP(another_pd), UP(only_writes),
	UP(past_the_end), UP(before_the_start), UP(around_the_end), UP(another_qp), UP(sn_ahead),
	UP(sn_behind), UP(rmsn_ahead), UP(rmsn_behind), UP(rsn_ahead), UP(rsn_behind), UP(of_the_agent),
	UP(of_another_cpu), UP(amid_a_write), UP(no_room_for_answers), UP(entry_out_of_range),
	UP(window_closed), UP(window_none), UP(another_flow), UP(of_xrc), UP(in_error), UP(padded),
	UP(empty), UP(too_long_for_a_frame), UP(too_long_at_all), UP(asks_for_less), UP(asks_for_more),
	UP(bytes_too_many), UP(bytes_too_few), UP(raw), UP(a_send),
	ATOMIC_UP(unknown_key), ATOMIC_UP(write_only), ATOMIC_UP(no_such_memory), ATOMIC_UP(another_pd),
	ATOMIC_UP(only_writes), ATOMIC_UP(word_past_the_end), ATOMIC_UP(before_the_start),
	ATOMIC_UP(around_the_end), ATOMIC_UP(unaligned), ATOMIC_UP(unaligned_memory),
	ATOMIC_UP(window_closed), ATOMIC_UP(asks_for_less), ATOMIC_UP(bytes_too_few), ATOMIC_UP(rmsn_ahead),
	NOT("claimed by a packet on its way", dup_acked, claimed, not_again),
	NOT("acknowledged before", old_acked, acknowledged, not_again),
	NOT("beyond the window", oow_acked, beyond_the_window, not_again),
	NOT("no agent", drop_no_agent, no_socket, not_again),
	ACKED("the agent has nothing on the wire", nothing, not_told),
	ACKED("it has", not_quiet, told),
	ACKED("it answers itself", agents, told),
	ACKED("an EACK", eack, told),
	ACKED("an event for the rate update engine", event_due, told),
};

int main(void)
{
	return verdict_main("verdict_pull", cases, ARRAY_SIZE(cases), make_stage);
}
