// SPDX-License-Identifier: BSD-2-Clause
/*
 * The packets of each operation, written down by hand from RDMA 6.7 and the figures of section 8, against
 * those that two hosts exchange: what is sent is exactly that, and what is received has the effect that it
 * should.
 * wire_rdma_golden.c has each opcode's headers bit by bit, rdma_golden.h how packets are written.
 */
#include "rdma_golden.h"

#include <fcntl.h>

enum {
	SEGMENT = 964,		/* bytes: the path's, less the longest headers */
	FROM = 4096,		/* where a sends from, and reads to */
	TO = 8192,		/* where b receives, and is read from and written to */
};

static void begin(const struct env_qp_opts *opts)
{
	pair_open(opts);
	tx = &aqp;
	rx = &bqp;
	env_steps(20);
	nseen = at = 0;
	env.tap = keep;
}

static void end(void)
{
	no_more();
	pair_close();
}

static void rc(void)
{
	begin(&(struct env_qp_opts){ .sig_all = true });
}

static void receive(uint32_t len)
{
	struct fverbs_sge to = sge_of(&b, &bmr, TO, len);

	env_post_recv(rx, 7, &to, 1);
}

static void post(uint8_t opcode, uint32_t len, struct fverbs_send_wqe w)
{
	struct fverbs_sge sge = sge_of(&a, &amr, FROM, len);

	w.wr_id = 3;
	w.opcode = opcode;
	w.num_sge = len != 0;
	w.remote_addr = (uintptr_t)b.memory + TO;
	w.rkey = w.rkey ? w.rkey : bmr.rkey;
	w.flags |= IBV_SEND_SIGNALED;
	env_post_send(tx, &w, &sge);
}

static void delivered(uint8_t opcode, uint8_t completion, uint32_t len, struct fverbs_send_wqe w)
{
	receive(len ? len : 1);
	post(opcode, len, w);
	done(&acq, 3, completion);
	assert_int_equal(done(&bcq, 7, IBV_WC_RECV).byte_len, len);
	assert_memory_equal(b.memory + TO, a.memory + FROM, len);
}

static struct fverbs_send_wqe with_imm(uint32_t flags)
{
	struct fverbs_send_wqe w = { .flags = flags };

	memcpy(&w.imm, "\x71\x72\x73\x74", 4);
	return w;
}

/* RBTH (word 0; destination, reserved; SN), SETH, OETH, data, padding */
static void s8_send(void **state)
{
	(void)state;
	rc();
	delivered(IBV_WR_SEND, IBV_WC_SEND, 5, (struct fverbs_send_wqe){ 0 });
	pushed(28, "10000c04 QB 00 00000001  00000001  00000000  a+4096:5 000000");
	delivered(IBV_WR_SEND, IBV_WC_SEND, 0, (struct fverbs_send_wqe){ .flags = IBV_SEND_SOLICITED });
	pushed(20, "10000104 QB 00 00000002  00000002  00000000");
	delivered(IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, 2, with_imm(IBV_SEND_SOLICITED));
	pushed(28, "10000905 QB 00 00000003  00000003  00000000  71727374  a+4096:2 0000");
	end();
}

/* RDMA 6.7: First and Middle are of the size of a transaction, OETH says where they begin. */
static void s6_7_send_in_packets(void **state)
{
	(void)state;
	rc();
	delivered(IBV_WR_SEND, IBV_WC_SEND, 2000, (struct fverbs_send_wqe){ .flags = IBV_SEND_SOLICITED });
	pushed(984, "10000000 QB 00 00000001  00000001  00000000  a+4096:964");
	pushed(984, "10000001 QB 00 00000002  00000001  000003c4  a+5060:964");
	pushed(92, "10000102 QB 00 00000003  00000001  00000788  a+6024:72");
	delivered(IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, 967, with_imm(0));
	pushed(984, "10000000 QB 00 00000004  00000002  00000000  a+4096:964");
	pushed(28, "10000403 QB 00 00000005  00000002  000003c4  71727374  a+5060:3 00");
	end();
}

static void bind_window(void)
{
	struct fverbs_alloc_mw alloc = { .type = IBV_MW_TYPE_2, .pd = b.pd };
	struct fverbs_send_wqe w = { .wr_id = 1, .opcode = IBV_WR_BIND_MW, .flags = IBV_SEND_SIGNALED,
				     .rkey = bmr.rkey, .bind_addr = (uintptr_t)b.memory,
				     .bind_len = 4096, .bind_access = IBV_ACCESS_REMOTE_WRITE };
	struct fverbs_mr mw;

	assert_int_equal(env_cmd(&b, FVERBS_ALLOC_MW, &alloc, sizeof(alloc), &mw, sizeof(mw)), 0);
	w.mw = mw.handle;
	w.imm = window_key = (mw.rkey & ~0xffU) | ((mw.rkey + 1) & 0xff);
	env_post_send(&bqp, &w, NULL);
	done(&bcq, 1, IBV_WC_BIND_MW);
}

/* IETH behind SETH and OETH */
static void s8_3_8_send_with_invalidate(void **state)
{
	(void)state;
	rc();
	bind_window();
	delivered(IBV_WR_SEND_WITH_INV, IBV_WC_SEND, 4, (struct fverbs_send_wqe){ .imm = window_key });
	pushed(28, "10000017 QB 00 00000001  00000001  00000000  KW  a+4096:4");
	bind_window();
	delivered(IBV_WR_SEND_WITH_INV, IBV_WC_SEND, 965, (struct fverbs_send_wqe){ .imm = window_key });
	pushed(984, "10000000 QB 00 00000002  00000002  00000000  a+4096:964");
	pushed(28, "10000c16 QB 00 00000003  00000002  000003c4  KW  a+5060:1 000000");
	end();
}

static void written(uint32_t len)
{
	done(&acq, 3, IBV_WC_RDMA_WRITE);
	assert_memory_equal(b.memory + TO, a.memory + FROM, len);
}

/* RBTH, RETH (VA, R-Key, what is left of the operation), data, padding; with immediate SETH, ImmDt */
static void s8_write(void **state)
{
	(void)state;
	rc();
	post(IBV_WR_RDMA_WRITE, 7, (struct fverbs_send_wqe){ 0 });
	written(7);
	pushed(36, "1000040a QB 00 00000001  B+8192 KB 00000007  a+4096:7 00");
	post(IBV_WR_RDMA_WRITE, 2000, (struct fverbs_send_wqe){ 0 });
	written(2000);
	pushed(992, "10000006 QB 00 00000002  B+8192 KB 000007d0  a+4096:964");
	pushed(992, "10000007 QB 00 00000003  B+9156 KB 0000040c  a+5060:964");
	pushed(100, "10000008 QB 00 00000004  B+10120 KB 00000048  a+6024:72");
	receive(1);
	post(IBV_WR_RDMA_WRITE_WITH_IMM, 0, with_imm(IBV_SEND_SOLICITED));
	written(0);
	assert_int_equal(done(&bcq, 7, IBV_WC_RECV_RDMA_WITH_IMM).byte_len, 0);
	pushed(36, "1000010b QB 00 00000005  B+8192 KB 00000000  00000001  71727374");
	receive(1);
	post(IBV_WR_RDMA_WRITE_WITH_IMM, 966, with_imm(0));
	written(966);
	assert_int_equal(done(&bcq, 7, IBV_WC_RECV_RDMA_WITH_IMM).byte_len, 966);
	pushed(992, "10000006 QB 00 00000006  B+8192 KB 000003c6  a+4096:964");
	pushed(40, "10000809 QB 00 00000007  B+9156 KB 00000002  00000002  71727374  a+5060:2 0000");
	end();
}

/* RBTH, RETH, SETH, STETH; the response has RBTH, STETH, data, padding, which its Request Length counts. */
static void s8_read(void **state)
{
	(void)state;
	rc();
	post(IBV_WR_RDMA_READ, 965, (struct fverbs_send_wqe){ 0 });
	done(&acq, 3, IBV_WC_RDMA_READ);
	assert_memory_equal(a.memory + FROM, b.memory + TO, 965);
	pulled(988, "1000000c QB 00 00000001  B+8192 KB 000003c4  00000001  A+4096 KA");
	pulled(28, "1000000c QB 00 00000002  B+9156 KB 00000001  00000002  A+5060 KA");
	answered("10000010 QA 00 00000001  A+4096 KA  b+8192:964");
	answered("10000c10 QA 00 00000002  A+5060 KA  b+9156:1 000000");
	end();
}

/* RBTH, AtomicETH (VA, R-Key, swap or add, compare), SETH, STETH; RBTH, AtomicAckETH, STETH */
static void s8_3_6_atomics(void **state)
{
	struct fverbs_send_wqe w = { .compare_add = 0x0123456789abcdef, .swap = 0x8182838485868788 };
	uint64_t v = 0x0123456789abcdef;

	(void)state;
	rc();
	memcpy(b.memory + TO, &v, 8);
	post(IBV_WR_ATOMIC_CMP_AND_SWP, 8, w);
	done(&acq, 3, IBV_WC_COMP_SWAP);
	assert_memory_equal(a.memory + FROM, &v, 8);
	assert_memory_equal(b.memory + TO, &w.swap, 8);
	pulled(32, "10000013 QB 00 00000001  B+8192 KB 8182838485868788 0123456789abcdef  00000001  "
		   "A+4096 KA");
	answered("10000012 QA 00 00000001  0123456789abcdef  A+4096 KA");
	post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, (struct fverbs_send_wqe){ .compare_add = 0x0101 });
	done(&acq, 3, IBV_WC_FETCH_ADD);
	assert_memory_equal(a.memory + FROM, &w.swap, 8);
	v = 0x8182838485868889;
	assert_memory_equal(b.memory + TO, &v, 8);
	pulled(32, "10000014 QB 00 00000002  B+8192 KB 0000000000000101 0000000000000000  00000002  "
		   "A+4096 KA");
	answered("10000012 QA 00 00000002  8182838485868788  A+4096 KA");
	end();
}

/* RBTH with SN 0, DETH (queue key, source, reserved), data; 40 bytes are in front of them at the receiver. */
static void s8_3_10_datagrams(void **state)
{
	struct fverbs_create_ah req = { .attr = { .is_global = 1, .port_num = 1,
						  .dgid = { [10] = 0xff, 0xff, 10, 0, 0, 2 } } };
	struct fverbs_send_wqe w = with_imm(0);
	struct fverbs_handle h;

	(void)state;
	begin(&(struct env_qp_opts){ .type = IBV_QPT_UD });
	req.pd = a.pd;
	assert_int_equal(env_cmd(&a, FVERBS_CREATE_AH, &req, sizeof(req), &h, sizeof(h)), 0);
	w.ah = h.handle;
	w.remote_qpn = bqp.num;
	w.remote_qkey = 0x1111;
	for (int imm = 0; imm < 2; imm++) {
		receive(100);
		post(imm ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, 6, w);
		done(&acq, 3, IBV_WC_SEND);
		assert_int_equal(done(&bcq, 7, IBV_WC_RECV).src_qp, aqp.num);
		assert_memory_equal(b.memory + TO + 40, a.memory + FROM, 6);
	}
	pushed(28, "10000864 QB 00 00000000  00001111 QA 00  a+4096:6 0000");
	pushed(32, "10000865 QB 00 00000000  00001111 QA 00  71727374  a+4096:6 0000");
	end();
}

/* ---- XRC ---- */

static struct env_ring srq;
static struct env_qp ini, tgt;

static void xrc_open(void)
{
	const struct fverbs_open_xrcd domain = { .oflags = O_CREAT };
	struct fverbs_create_srq req = { .max_wr = 64, .max_sge = 4, .type = IBV_SRQT_XRC };
	struct fverbs_handle_num num;
	struct fverbs_handle x;

	pair_open(&(struct env_qp_opts){ 0 });
	assert_int_equal(env_cmd(&b, FVERBS_OPEN_XRCD, &domain, sizeof(domain), &x, sizeof(x)), 0);
	srq = env_ring(&b, 64, 576);
	req.place = srq.place;
	req.pd = b.pd;
	req.xrcd = x.handle;
	req.cq = bcq.handle;
	assert_int_equal(env_cmd(&b, FVERBS_CREATE_SRQ, &req, sizeof(req), &num, sizeof(num)), 0);
	srq_num = num.num;
	env_qp_open(&b, &bcq, &(struct env_qp_opts){ .type = IBV_QPT_XRC_RECV,
						     .xrcd_plus_1 = x.handle + 1 }, &tgt);
	env_qp_open(&a, &acq, &(struct env_qp_opts){ .type = IBV_QPT_XRC_SEND }, &ini);
	env_connect(&ini, &tgt);
	tx = &ini;
	rx = &tgt;
	tgt.rq = srq;
	env_steps(20);
	nseen = at = 0;
	env.tap = keep;
}

/* Opcode bits 101; the XRCETH is right behind the RBTH of requests, and in no response. */
static void s8_3_9_xrc(void **state)
{
	struct fverbs_send_wqe w = { 0 };

	(void)state;
	xrc_open();
	w.xrc_srqn = srq_num;
	delivered(IBV_WR_SEND, IBV_WC_SEND, 965, w);
	pushed(988, "100000a0 QB 00 00000001  SRQ 00  00000001  00000000  a+4096:964");
	pushed(28, "10000ca2 QB 00 00000002  SRQ 00  00000001  000003c4  a+5060:1 000000");
	post(IBV_WR_RDMA_WRITE, 4, w);
	written(4);
	pushed(36, "100000aa QB 00 00000003  SRQ 00  B+8192 KB 00000004  a+4096:4");
	post(IBV_WR_RDMA_READ, 3, w);
	done(&acq, 3, IBV_WC_RDMA_READ);
	pulled(28, "100000ac QB 00 00000004  SRQ 00  B+8192 KB 00000003  00000001  A+4096 KA");
	answered("100004b0 QA 00 00000004  A+4096 KA  b+8192:3 00");
	w.compare_add = 1;
	memset(b.memory + TO, 0, 8);
	post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, w);
	done(&acq, 3, IBV_WC_FETCH_ADD);
	pulled(32, "100000b4 QB 00 00000005  SRQ 00  B+8192 KB 0000000000000001 0000000000000000  00000002 "
		   "A+4096 KA");
	answered("100000b2 QA 00 00000005  0000000000000000  A+4096 KA");
	end();
}

/* ---- errors ---- */

static uint8_t failed(uint8_t opcode, uint32_t len)
{
	post(opcode, len, (struct fverbs_send_wqe){ .rkey = bmr.rkey ^ 0x100 });
	return env_wait(&acq).status;
}

/* Falcon 8.5.3.5: the response of a pull in error has no bytes. */
static void errors_of_pulls(void **state)
{
	(void)state;
	begin(&(struct env_qp_opts){ .errors = FVERBS_COMPLETE_IN_ERROR, .sig_all = true, .foreign = true });
	assert_int_equal(failed(IBV_WR_RDMA_READ, 4), IBV_WC_REM_OP_ERR);
	assert_int_equal(failed(IBV_WR_ATOMIC_FETCH_AND_ADD, 8), IBV_WC_REM_OP_ERR);
	at = 1;
	answered("");
	at = 3;
	answered("");
	end();
	/* The extension: headers alone, with CE and, here 0010, the reason. */
	begin(&(struct env_qp_opts){ .errors = FVERBS_COMPLETE_IN_ERROR, .sig_all = true });
	assert_int_equal(failed(IBV_WR_RDMA_READ, 4), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(failed(IBV_WR_ATOMIC_FETCH_AND_ADD, 8), IBV_WC_REM_ACCESS_ERR);
	at = 1;
	answered("10005010 QA 00 00000001  A+4096 KA");
	at = 3;
	answered("10005012 QA 00 00000002  0000000000000000  A+4096 KA");
	end();
}

/*
 * Falcon 7.8: NRE (7) ends a verbs-compatible queue pair, CIE (6) the operation; data window; 2: access.
 * Falcon 7.6: a Resync takes the packet's place, of code 6 (NRE) or 1 (CIE), for Push Data (0101).
 */
static void errors_of_pushes(void **state)
{
	(void)state;
	rc();
	assert_int_equal(failed(IBV_WR_RDMA_WRITE, 4), IBV_WC_REM_ACCESS_ERR);
	at = 1;
	nacked("07000002");
	resynced("06500000");
	end();
	begin(&(struct env_qp_opts){ .errors = FVERBS_COMPLETE_IN_ERROR, .sig_all = true });
	assert_int_equal(failed(IBV_WR_RDMA_WRITE, 4), IBV_WC_REM_ACCESS_ERR);
	at = 1;
	nacked("06000002");
	resynced("01500000");
	/* The queue pair goes on, with the next sequence number. */
	post(IBV_WR_RDMA_WRITE, 4, (struct fverbs_send_wqe){ 0 });
	written(4);
	pushed(32, "1000000a QB 00 00000002  B+8192 KB 00000004  a+4096:4");
	end();
}

static bool has_nack(void *arg)
{
	(void)arg;
	return nseen && seen[nseen - 1].type == FALCON_NACK;
}

/* RNR (2), with the timeout of the receiving queue pair, 1; what was sent comes again, the same. */
static void receiver_not_ready(void **state)
{
	unsigned int packets = 0;

	(void)state;
	rc();
	post(IBV_WR_SEND, 4, (struct fverbs_send_wqe){ 0 });
	assert_true(env_run(has_nack, NULL, 1000));
	receive(4);
	done(&acq, 3, IBV_WC_SEND);
	done(&bcq, 7, IBV_WC_RECV);
	while (at < nseen) {
		if (seen[at].type == FALCON_NACK) {
			nacked("02010000");
			continue;
		}
		pushed(24, "10000004 QB 00 00000001  00000001  00000000  a+4096:4");
		packets++;
	}
	assert_true(packets > 1);
	end();
}

/* RDMA 6.9: a queue pair that takes no packet answers "invalid CID" (8 in Falcon 7.8, 7 in 7.6). */
static void invalid_cid(void **state)
{
	(void)state;
	rc();
	env_modify(&bqp, IBV_QP_STATE, &(struct fverbs_qp_attr){ .qp_state = IBV_QPS_ERR });
	assert_int_equal(failed(IBV_WR_RDMA_WRITE, 4), IBV_WC_RETRY_EXC_ERR);
	at = 1;
	nacked("08000000");
	resynced("07500000");
	pair_close();
}

/* RDMA 8.2: the application's memory ends in mid-message. The last packet says so, with CE and no data. */
static void ends_in_error(uint8_t opcode, const char *first, const char *last)
{
	begin(&(struct env_qp_opts){ .errors = FVERBS_COMPLETE_IN_ERROR, .sig_all = true });
	receive(3 * SEGMENT);
	a.size = FROM + SEGMENT;
	post(opcode, 3 * SEGMENT, with_imm(0));
	assert_int_equal(env_wait(&acq).status, IBV_WC_LOC_PROT_ERR);
	pushed((uint16_t)seen[0].len, first);
	pushed((uint16_t)seen[1].len, last);
	if (opcode == IBV_WR_RDMA_WRITE)
		assert_int_equal(env_rq_used(&bqp), 1);
	else
		assert_int_equal(env_wait(&bcq).status, IBV_WC_REM_ABORT_ERR);
	a.size = MEMORY;
	pair_close();
}

static void s8_2_complete_in_error(void **state)
{
	(void)state;
	ends_in_error(IBV_WR_SEND, "10000000 QB 00 00000001  00000001  00000000  a+4096:964",
		      "10001002 QB 00 00000002  00000001  000003c4");
	ends_in_error(IBV_WR_SEND_WITH_IMM, "10000000 QB 00 00000001  00000001  00000000  a+4096:964",
		      "10001003 QB 00 00000002  00000001  000003c4  71727374");
	ends_in_error(IBV_WR_RDMA_WRITE, "10000006 QB 00 00000001  B+8192 KB 00000b4c  a+4096:964",
		      "10001008 QB 00 00000002  B+9156 KB 00000000");
	ends_in_error(IBV_WR_RDMA_WRITE_WITH_IMM, "10000006 QB 00 00000001  B+8192 KB 00000b4c  a+4096:964",
		      "10001009 QB 00 00000002  B+9156 KB 00000000  00000001  71727374");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s8_send),
		cmocka_unit_test(s6_7_send_in_packets),
		cmocka_unit_test(s8_3_8_send_with_invalidate),
		cmocka_unit_test(s8_write),
		cmocka_unit_test(s8_read),
		cmocka_unit_test(s8_3_6_atomics),
		cmocka_unit_test(s8_3_10_datagrams),
		cmocka_unit_test(s8_3_9_xrc),
		cmocka_unit_test(errors_of_pulls),
		cmocka_unit_test(errors_of_pushes),
		cmocka_unit_test(receiver_not_ready),
		cmocka_unit_test(invalid_cid),
		cmocka_unit_test(s8_2_complete_in_error),
	};

	return unit_run(tests);
}
