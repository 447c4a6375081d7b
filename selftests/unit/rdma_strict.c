// SPDX-License-Identifier: BSD-2-Clause
/*
 * Peers of other makes, which take and send what the figures have: packets by hand from RDMA 8.1 to 8.3,
 * data of all sizes, and failures of pulls (Falcon 8.5.3.5). rdma_env_rules.c checks each packet.
 */
#include "rdma_pair.h"

#include <string.h>

#include <falcon/wire/wire.h>
#include <ulp/rdma/qp.h>

/* ---- packets by hand ---- */

static uint8_t seen[ENV_HOSTS][ENV_BYTES];	/* last reliable packet of each host, its payload */
static uint32_t seen_len[ENV_HOSTS];
static uint16_t seen_request_len[ENV_HOSTS];

static void keep(const struct env_host *host, const uint8_t *packet, uint32_t len)
{
	struct falcon_hdr f;
	uint32_t n;

	if (falcon_hdr_unpack(packet, packet + len, &f) != FALCON_WIRE_OK)
		return;
	if (f.type != FALCON_PULL_REQUEST && f.type != FALCON_PULL_DATA && f.type != FALCON_PUSH_DATA)
		return;
	n = falcon_hdr_len(f.type);
	seen_len[host->index] = len - n;
	seen_request_len[host->index] = f.request_len;
	memcpy(seen[host->index], packet + n, len - n);
}

/* |len| bytes from word |word| of |host|'s packet on. */
static void assert_words(int host, unsigned int word, const void *want, size_t len)
{
	assert_true(word * 4 + len <= seen_len[host]);
	assert_memory_equal(seen[host] + word * 4UL, want, len);
}

/* The |bits| of a word in the order of the figures, bit 0 the first; blanks do not count. */
static void assert_bits(int host, unsigned int word, const char *bits)
{
	uint8_t want[4] = { 0 };
	unsigned int n = 0;

	for (; *bits; bits++) {
		if (*bits == ' ')
			continue;
		want[n / 8] |= (uint8_t)((*bits - '0') << (7 - n % 8));
		n++;
	}
	assert_int_equal(n, 32);
	assert_words(host, word, want, 4);
}

static void assert_number(int host, unsigned int word, uint64_t v, unsigned int bytes)
{
	uint8_t want[8];

	for (unsigned int i = 0; i < bytes; i++)
		want[i] = (uint8_t)(v >> 8 * (bytes - 1 - i));
	assert_words(host, word, want, bytes);
}

static void tapped_open(bool foreign)
{
	pair_open(&(struct env_qp_opts){ .foreign = foreign, .errors = FVERBS_COMPLETE_IN_ERROR,
					.sig_all = true });
	memset(seen_len, 0, sizeof(seen_len));
	env.tap = keep;
}

static void post(uint8_t opcode, uint32_t len, uint64_t compare_add, uint32_t rkey)
{
	struct fverbs_sge sge = sge_of(&a, &amr, 64, len);
	struct fverbs_send_wqe w = { .wr_id = 3, .opcode = opcode, .num_sge = 1, .rkey = rkey,
				     .remote_addr = (uintptr_t)b.memory + 128,
				     .compare_add = compare_add };

	env_post_send(&aqp, &w, &sge);
}

/* RDMA 8.2: 103 bytes have a pad byte; Falcon 7.3: the Request Length counts it. */
static void s8_2_read_of_103(void **state)
{
	(void)state;
	tapped_open(true);
	post(IBV_WR_RDMA_READ, 103, 0, bmr.rkey);
	done(&acq, 3, IBV_WC_RDMA_READ);
	assert_memory_equal(a.memory + 64, b.memory + 128, 103);

	assert_int_equal(seen_request_len[0], 128);
	assert_int_equal(seen_len[0], (3 + 4 + 1 + 3) * 4);
	/*                version reserved         CE pad R SE opcode */
	assert_bits(0, 0, "0001 000000000000000 0 00 0 0 00001100");
	assert_number(0, 1, bqp.num << 8, 4);
	assert_number(0, 2, 1, 4);				/* sequence number */
	assert_number(0, 3, (uintptr_t)b.memory + 128, 8);	/* RETH */
	assert_number(0, 5, bmr.rkey, 4);
	assert_number(0, 6, 103, 4);
	assert_number(0, 7, 1, 4);				/* SETH */
	assert_number(0, 8, (uintptr_t)a.memory + 64, 8);	/* STETH */
	assert_number(0, 10, amr.lkey, 4);

	assert_int_equal(seen_len[1], 128);
	assert_bits(1, 0, "0001 000000000000000 0 01 0 0 00010000");
	assert_number(1, 1, aqp.num << 8, 4);
	assert_number(1, 2, 1, 4);
	assert_number(1, 3, (uintptr_t)a.memory + 64, 8);
	assert_number(1, 5, amr.lkey, 4);
	assert_words(1, 6, b.memory + 128, 103);
	assert_int_equal(seen[1][127], 0);
	pair_close();
}

/* 8.1.3, 8.3.6, 8.3.7: the response of an atomic has 8 words, and its request asks for 32 bytes. */
static void s8_3_7_fetch_and_add(void **state)
{
	uint64_t was;

	(void)state;
	tapped_open(true);
	memcpy(&was, b.memory + 128, sizeof(was));
	post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 5, bmr.rkey);
	done(&acq, 3, IBV_WC_FETCH_ADD);

	assert_int_equal(seen_request_len[0], 32);
	assert_int_equal(seen_len[0], (3 + 7 + 1 + 3) * 4);
	assert_bits(0, 0, "0001 000000000000000 0 00 0 0 00010100");
	assert_number(0, 3, (uintptr_t)b.memory + 128, 8);
	assert_number(0, 5, bmr.rkey, 4);
	assert_number(0, 6, 5, 8);

	assert_int_equal(seen_len[1], 32);
	assert_bits(1, 0, "0001 000000000000000 0 00 0 0 00010010");
	assert_number(1, 3, was, 8);				/* AtomicAckETH */
	assert_number(1, 5, (uintptr_t)a.memory + 64, 8);	/* STETH */
	assert_number(1, 7, amr.lkey, 4);
	pair_close();
}

/* A SEND of 5 bytes has 3 bytes of padding, which the receiver does not see. */
static void s8_2_send_of_5(void **state)
{
	struct fverbs_sge sge;
	struct fverbs_cqe c;

	(void)state;
	tapped_open(true);
	memset(b.memory, 0xee, 16);
	sge = sge_of(&b, &bmr, 0, 16);
	env_post_recv(&bqp, 9, &sge, 1);
	post(IBV_WR_SEND, 5, 0, 0);
	c = done(&bcq, 9, IBV_WC_RECV);
	assert_int_equal(c.byte_len, 5);
	done(&acq, 3, IBV_WC_SEND);
	assert_memory_equal(b.memory, a.memory + 64, 5);
	assert_int_equal(b.memory[5], 0xee);

	assert_int_equal(seen_request_len[0], 28);
	assert_int_equal(seen_len[0], (3 + 1 + 1) * 4 + 8);
	assert_bits(0, 0, "0001 000000000000000 0 11 0 0 00000100");
	assert_words(0, 5, a.memory + 64, 5);
	assert_words(0, 6, (uint8_t[]){ a.memory[68], 0, 0, 0 }, 4);
	pair_close();
}

/* ---- all sizes ---- */

enum { LONGEST = 3 * ENV_MAX_LEN };

static uint32_t from_a, from_b;		/* where the two buffers begin */

static void move(uint8_t opcode, uint8_t completion, uint32_t len, uint32_t flags)
{
	bool pull = opcode == IBV_WR_RDMA_READ, sends = opcode == IBV_WR_SEND;
	struct env_app *source = pull ? &b : &a, *sink = pull ? &a : &b;
	uint8_t *from = source->memory + (pull ? from_b : from_a);
	uint8_t *to = sink->memory + (pull ? from_a : from_b);
	struct fverbs_sge at_a = sge_of(&a, &amr, from_a, len), at_b = sge_of(&b, &bmr, from_b, len);
	struct fverbs_send_wqe w = { .wr_id = len, .opcode = opcode, .rkey = bmr.rkey, .flags = flags,
				     .remote_addr = (uintptr_t)b.memory + from_b };

	memset(to, 0xc3, LONGEST + 8);
	if (sends)
		env_post_recv(&bqp, len, &at_b, 1);
	if (flags & IBV_SEND_INLINE)
		w.inline_len = len;
	else
		w.num_sge = 1;
	env_post_send(&aqp, &w, flags & IBV_SEND_INLINE ? (const void *)from : &at_a);
	if (sends)
		assert_int_equal(done(&bcq, len, IBV_WC_RECV).byte_len, len);
	done(&acq, len, completion);
	assert_memory_equal(from, to, len);
	assert_int_equal(to[len], 0xc3);
}

static void all_sizes(void **state)
{
	static const uint32_t around[] = { 250, 255, 256, 257, 963, 964, 965, 967, 968, 1001, 2047, 2051 };

	(void)state;
	pair_open(&(struct env_qp_opts){ .foreign = true, .sig_all = true });
	for (uint32_t i = 0; i < 40 + ARRAY_SIZE(around); i++) {
		uint32_t len = i < 40 ? i : around[i - 40];

		from_a = 4096 + i % 7;
		from_b = 8192 + i % 5;
		move(IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, len, 0);
		move(IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, len, 0);
		move(IBV_WR_SEND, IBV_WC_SEND, len, 0);
		if (len <= 32)
			move(IBV_WR_SEND, IBV_WC_SEND, len, IBV_SEND_INLINE);
	}
	assert_int_equal(env_state(&aqp), IBV_QPS_RTS);
	pair_close();
}

/* Elements of odd sizes: a READ ends at the end of each, a SEND gathers them. */
static void odd_elements(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_RDMA_READ, .num_sge = 3 };
	struct fverbs_sge sge[3], sink;

	(void)state;
	pair_open(&(struct env_qp_opts){ .foreign = true, .sig_all = true });
	sge[0] = sge_of(&a, &amr, 0, 5);
	sge[1] = sge_of(&a, &amr, 100, 1);
	sge[2] = sge_of(&a, &amr, 200, 7);
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory + 1;
	env_post_send(&aqp, &w, sge);
	done(&acq, 1, IBV_WC_RDMA_READ);
	assert_memory_equal(a.memory, b.memory + 1, 5);
	assert_memory_equal(a.memory + 100, b.memory + 6, 1);
	assert_memory_equal(a.memory + 200, b.memory + 7, 7);
	w.opcode = IBV_WR_SEND;
	sink = sge_of(&b, &bmr, 4096, 100);
	env_post_recv(&bqp, 2, &sink, 1);
	env_post_send(&aqp, &w, sge);
	assert_int_equal(done(&bcq, 2, IBV_WC_RECV).byte_len, 13);
	assert_memory_equal(b.memory + 4096, b.memory + 1, 13);
	pair_close();
}

/* What is shared with the agent is sent from where it lies, but not what lies behind it. */
static void shared_memory(void **state)
{
	enum { AT = ENV_SHM - 4096, LEN = 1001 };
	struct fverbs_reg_mr req = { .access = IBV_ACCESS_LOCAL_WRITE, .addr = AT, .iova = 0x70000,
				     .length = LEN, .area_plus_1 = 1 };
	struct fverbs_send_wqe w = { .wr_id = 6, .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 };
	struct fverbs_sge sge = { .addr = 0x70000, .len = LEN };
	struct fverbs_mr mr;

	(void)state;
	pair_open(&(struct env_qp_opts){ .foreign = true, .sig_all = true });
	req.pd = a.pd;
	assert_int_equal(env_cmd(&a, FVERBS_REG_MR, &req, sizeof(req), &mr, sizeof(mr)), 0);
	memset(a.shm + AT, 0x6b, LEN + 8);
	sge.lkey = mr.lkey;
	w.rkey = bmr.rkey;
	w.remote_addr = (uintptr_t)b.memory;
	env_post_send(&aqp, &w, &sge);
	done(&acq, 6, IBV_WC_RDMA_WRITE);
	assert_memory_equal(b.memory, a.shm + AT, LEN);
	assert_int_not_equal(b.memory[LEN], 0x6b);
	pair_close();
}

/* ---- "the length of the operation" ---- */

enum { PARTS = 3, PART = 100 };

/* Packet |i| of a WRITE of three, whose RETH has |length|. */
static void push_write(unsigned int i, uint32_t length, uint8_t *bytes)
{
	static const uint8_t opcodes[PARTS] = { FALCON_RDMA_WRITE_FIRST, FALCON_RDMA_WRITE_MIDDLE,
						FALCON_RDMA_WRITE_LAST };
	const struct falcon_rdma_hdr h = { .opcode = opcodes[i], .dest_qp = bqp.num, .sn = i + 1,
					   .va = (uintptr_t)b.memory + i * (uint64_t)PART,
					   .rkey = bmr.rkey, .length = length };
	struct fcore_conn *c = rdma_link_core(rdma_qp_find(env.host[0].r, aqp.num)->link);
	struct fcore_txn t = { .proto = FALCON_PROTO_RDMA, .ulp_hdr = bytes, .payload = bytes + 64,
			       .len = PART };

	memset(bytes + 64, 'a' + (int)i, PART);
	t.ulp_hdr_len = falcon_rdma_pack(&h, bytes);
	assert_int_equal(fcore_push(c, &t, env.now), 0);
	env_steps(20);
}

/* RDMA 8.3.1: what remains of the operation (ours), the whole in each packet, or each packet's own. */
static void s8_3_1_lengths_of_a_write(void **state)
{
	static const uint32_t readings[][PARTS] = {
		{ 3 * PART, 2 * PART, PART }, { 3 * PART, 3 * PART, 3 * PART }, { PART, PART, PART },
	};
	uint8_t bytes[PARTS][64 + PART] = { 0 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(readings); i++) {
		pair_open(&(struct env_qp_opts){ .foreign = true });
		env_steps(20);
		for (unsigned int n = 0; n < PARTS; n++)
			push_write(n, readings[i][n], bytes[n]);
		for (unsigned int n = 0; n < PARTS; n++)
			assert_memory_equal(b.memory + n * (size_t)PART, bytes[n] + 64, PART);
		assert_int_equal(env_state(&bqp), IBV_QPS_RTS);
		pair_close();
	}
}

/* A packet with more data than its operation, and a first one beyond its region, move nothing. */
static void s8_3_1_lengths_that_lie(void **state)
{
	static const uint32_t lengths[] = { PART - 1, 0, MEMORY + 1 };
	uint8_t bytes[64 + PART] = { 0 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(lengths); i++) {
		pair_open(&(struct env_qp_opts){ .foreign = true });
		env_steps(20);
		push_write(0, lengths[i], bytes);
		assert_memory_not_equal(b.memory, bytes + 64, PART);
		assert_int_equal(env_state(&bqp), IBV_QPS_ERR);
		pair_close();
	}
}

/* ---- READs in pieces ---- */

static uint8_t response_opcode;

static uint32_t other_opcode(uint8_t *bytes, uint32_t len)
{
	bytes[3] = response_opcode;
	return len;
}

/*
 * RDMA 8.1.3 has First, Middle and Last READ responses, and says nothing of which request they answer: each
 * request is a transaction, and its response whole. Ours is "Only", and all are taken.
 */
static void s8_1_3_kinds_of_read_responses(void **state)
{
	struct fverbs_send_wqe w = { .wr_id = 7, .opcode = IBV_WR_RDMA_READ, .num_sge = 1 };
	struct fverbs_sge sge;

	(void)state;
	for (response_opcode = FALCON_RDMA_READ_RESPONSE_FIRST;
	     response_opcode <= FALCON_RDMA_READ_RESPONSE_ONLY; response_opcode++) {
		pair_open(&(struct env_qp_opts){ .foreign = true, .sig_all = true });
		env.tamper = other_opcode;
		sge = sge_of(&a, &amr, 0, LONGEST);
		w.rkey = bmr.rkey;
		w.remote_addr = (uintptr_t)b.memory;
		env_post_send(&aqp, &w, &sge);
		done(&acq, 7, IBV_WC_RDMA_READ);
		assert_memory_equal(a.memory, b.memory, LONGEST);
		pair_close();
	}
}

/* InfiniBand 11.2.5.2: the responder resources. One READ here is many requests, none of which says so. */
static void responder_resources(void **state)
{
	static const uint8_t limits[] = { 0, 1 };
	struct fverbs_send_wqe w = { .wr_id = 7, .opcode = IBV_WR_RDMA_READ, .num_sge = 1 };
	struct fverbs_sge sge;

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(limits); i++) {
		pair_open(&(struct env_qp_opts){ .sig_all = true });
		rdma_qp_find(env.host[1].r, bqp.num)->attr.max_dest_rd_atomic = limits[i];
		sge = sge_of(&a, &amr, 0, 100 * ENV_MAX_LEN);
		w.rkey = bmr.rkey;
		w.remote_addr = (uintptr_t)b.memory;
		env_post_send(&aqp, &w, &sge);
		assert_int_equal(env_wait(&acq).status,
				 limits[i] ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR);
		pair_close();
	}
}

/* ---- failures of pulls ---- */

static uint8_t failing(bool foreign, uint8_t opcode, uint32_t len)
{
	struct fverbs_cqe c;

	tapped_open(foreign);
	post(opcode, len, 0, bmr.rkey ^ 0x100);
	c = env_wait(&acq);
	pair_close();
	return c.status;
}

/* Falcon 8.5.3.5: "a zero-length pull data packet"; it has no room for the reason. */
static void s8_5_3_5_zero_length(void **state)
{
	static const uint32_t sizes[] = { 1, 3, 8, 900 };

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(sizes); i++) {
		seen_len[1] = 1;
		assert_int_equal(failing(true, IBV_WR_RDMA_READ, sizes[i]), IBV_WC_REM_OP_ERR);
		assert_int_equal(seen_len[1], 0);
	}
	assert_int_equal(failing(true, IBV_WR_ATOMIC_FETCH_AND_ADD, 8), IBV_WC_REM_OP_ERR);
	assert_int_equal(seen_len[1], 0);
}

/* The extension: headers alone, with the reason beside CE. */
static void reasons(void **state)
{
	(void)state;
	assert_int_equal(failing(false, IBV_WR_RDMA_READ, 1), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(seen_len[1], 24);
	/*                version reserved  reason CE pad R SE opcode */
	assert_bits(1, 0, "0001 00000000000 0010 1 00 0 0 00010000");
	assert_int_equal(failing(false, IBV_WR_ATOMIC_CMP_AND_SWP, 8), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(seen_len[1], 32);
	assert_bits(1, 0, "0001 00000000000 0010 1 00 0 0 00010010");
}

/* In complete-in-error mode the queue pair goes on, with the numbers that READs have (RDMA 8.3.2). */
static void resources_come_later(void **state)
{
	struct rdma_qp *target;

	(void)state;
	tapped_open(false);
	target = rdma_qp_find(env.host[1].r, bqp.num);
	target->attr.max_dest_rd_atomic = 0;
	post(IBV_WR_RDMA_READ, 100, 0, bmr.rkey);
	assert_int_equal(env_wait(&acq).status, IBV_WC_REM_INV_REQ_ERR);
	target->attr.max_dest_rd_atomic = 1;
	post(IBV_WR_RDMA_READ, 100, 0, bmr.rkey);
	done(&acq, 3, IBV_WC_RDMA_READ);
	assert_memory_equal(a.memory + 64, b.memory + 128, 100);
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s8_2_read_of_103),
		cmocka_unit_test(s8_3_7_fetch_and_add),
		cmocka_unit_test(s8_2_send_of_5),
		cmocka_unit_test(all_sizes),
		cmocka_unit_test(odd_elements),
		cmocka_unit_test(shared_memory),
		cmocka_unit_test(s8_3_1_lengths_of_a_write),
		cmocka_unit_test(s8_3_1_lengths_that_lie),
		cmocka_unit_test(s8_1_3_kinds_of_read_responses),
		cmocka_unit_test(responder_resources),
		cmocka_unit_test(resources_come_later),
		cmocka_unit_test(s8_5_3_5_zero_length),
		cmocka_unit_test(reasons),
	};

	return unit_run(tests);
}
