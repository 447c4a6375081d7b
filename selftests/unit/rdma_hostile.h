/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer whose layer says whatever it likes: transactions made of arbitrary bytes, and responses that
 * are spoiled. What it may touch is what it was given; a bystander on the same host must not notice.
 */
#ifndef FALCON_SELFTESTS_RDMA_HOSTILE_H
#define FALCON_SELFTESTS_RDMA_HOSTILE_H

#include "rdma_env.h"

#include <stdlib.h>
#include <string.h>

enum { HOSTILE_MEMORY = 32768, HOSTILE_OPENED = 8192 };

static const uint8_t *hostile_at, *hostile_end;

static inline uint8_t hostile_byte(void)
{
	return hostile_at < hostile_end ? *hostile_at++ : 0;
}

static uint32_t hostile_tamper(uint8_t *bytes, uint32_t len)
{
	uint8_t how = hostile_byte();

	if (how < 128)
		return len;
	for (int i = how & 7; len && i; i--)
		bytes[hostile_byte() % len] ^= (uint8_t)(1U << (hostile_byte() & 7));
	return how & 8 ? hostile_byte() % (len + 1) : len;
}

/* Bytes that are mostly right where it matters, so that they get far. */
static inline uint32_t hostile_packet(uint8_t *out, uint32_t sn, uint32_t qpn, uint32_t rkey,
				      uint64_t va)
{
	uint8_t how = hostile_byte();
	struct falcon_rdma_hdr h = { .opcode = hostile_byte() };
	uint32_t len, data = hostile_byte() * (how & 1 ? 3U : 1U);

	h.dest_qp = how & 2 && !(hostile_byte() & 7) ? hostile_byte() : qpn;
	h.sn = how & 4 && !(hostile_byte() & 7) ? hostile_byte() : sn;
	h.ce = how >> 3 & 1;
	h.pad = how & 16 ? hostile_byte() & 3 : 0;
	h.rkey = how & 32 && !(hostile_byte() & 3) ? rkey ^ hostile_byte() : rkey;
	h.va = va + (uint64_t)(hostile_byte() * 37);
	h.length = how & 64 ? hostile_byte() * 41U : data;
	h.rmsn = 1 + hostile_byte() % 4U;
	h.offset = how & 128 ? hostile_byte() * 16U : 0;
	h.inv_rkey = rkey ^ (hostile_byte() & 1);
	h.xrc_srq = hostile_byte();
	len = falcon_rdma_pack(&h, out);
	if (!len)
		len = 12;
	if (how == 255)
		return hostile_byte() % (len + 1);
	if (falcon_rdma_is_pull(h.opcode) || len + data > ENV_MAX_LEN)
		return len;
	for (uint32_t i = 0; i < data; i++)
		out[len + i] = (uint8_t)(i * 3);
	return len + data;
}

static inline void hostile_submit(struct fcore_conn *c, const uint8_t *packet, uint32_t len)
{
	uint8_t *bytes = malloc(len + 1);
	uint32_t hdr = len < FCORE_MAX_ULP_HDR ? len : FCORE_MAX_ULP_HDR;
	struct fcore_txn t = { .proto = FALCON_PROTO_RDMA, .ulp_hdr = packet, .ulp_hdr_len = hdr };
	bool pull = hostile_byte() % 3 == 0;

	memcpy(bytes, packet, len);
	t.payload = bytes + hdr;
	t.len = pull ? hostile_byte() * 4U : len - hdr;
	if (pull)
		fcore_pull(c, &t, env.now);
	else
		fcore_push(c, &t, env.now);
	env_steps(12);
	/* Its memory must stay as long as the connection. */
	env.garbage[env.ngarbage++] = bytes;
}

static inline void hostile_post(struct env_qp *qp, struct env_app *app, struct env_mr mr)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_RDMA_READ, .num_sge = 1, .rkey = mr.rkey };
	struct fverbs_sge sge = { (uintptr_t)app->memory, hostile_byte() * 13U, mr.lkey };

	w.remote_addr = (uintptr_t)app->memory;
	if (hostile_byte() & 1) {
		w.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		sge.len = 8;
	}
	env_post_send(qp, &w, &sge);
}

static inline struct fcore_conn *hostile_conn(void)
{
	for (uint32_t cid = 1; cid < ENV_CONNS; cid++)
		if (env.host[0].conns[cid].core)
			return env.host[0].conns[cid].core;
	return NULL;
}

static inline void hostile_check(const struct env_app *victim, const struct env_app *bystander,
				 const struct env_qp *bystander_qp)
{
	for (uint32_t i = HOSTILE_OPENED; i < HOSTILE_MEMORY; i++)
		if (victim->memory[i] != 0x77)
			fail_msg("memory that nobody opened was written");
	for (uint32_t i = 0; i < HOSTILE_MEMORY; i++)
		if (bystander->memory[i] != 0x77)
			fail_msg("a bystander's memory was written");
	assert_int_equal(env_state(bystander_qp), IBV_QPS_RTS);
}

/* Play what |data| says. */
static inline void hostile_run(const uint8_t *data, size_t size)
{
	static struct env_app peer, victim, bystander;
	uint32_t all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
		       IBV_ACCESS_REMOTE_ATOMIC, sn = 1;
	struct env_cq pcq, vcq, bcq;
	struct env_qp pqp, vqp, bqp, bqp2;
	struct env_qp_opts opts = { 0 };
	struct env_mr mr;
	struct fverbs_sge sge;

	hostile_at = data;
	hostile_end = data + size;
	opts.ordering = hostile_byte() % 3;
	opts.errors = opts.ordering == FVERBS_UNORDERED ? FVERBS_COMPLETE_IN_ERROR :
							  hostile_byte() & 1;
	env_open(1);
	env_app_open(&peer, &env.host[0], HOSTILE_MEMORY);
	env_app_open(&victim, &env.host[1], HOSTILE_MEMORY);
	env_app_open(&bystander, &env.host[1], HOSTILE_MEMORY);
	memset(victim.memory, 0x77, HOSTILE_MEMORY);
	memset(bystander.memory, 0x77, HOSTILE_MEMORY);
	env_cq_open(&peer, &pcq, 256);
	env_cq_open(&victim, &vcq, 1024);
	env_cq_open(&bystander, &bcq, 64);
	env_qp_open(&peer, &pcq, &opts, &pqp);
	env_qp_open(&victim, &vcq, &opts, &vqp);
	env_connect(&pqp, &vqp);
	env_steps(10);
	env_qp_open(&bystander, &bcq, &(struct env_qp_opts){ 0 }, &bqp);
	env_qp_open(&bystander, &bcq, &(struct env_qp_opts){ 0 }, &bqp2);
	env_connect(&bqp, &bqp2);
	env_reg(&bystander, 0, HOSTILE_MEMORY, all);
	mr = env_reg(&victim, 0, HOSTILE_OPENED, all);
	sge = (struct fverbs_sge){ (uintptr_t)victim.memory, 600, mr.lkey };
	for (int i = 0; i < 8; i++)
		env_post_recv(&vqp, (uint64_t)i, &sge, 1);
	env_steps(10);
	env.tamper = hostile_tamper;
	env.hostile = true;
	while (hostile_at < hostile_end && env.ngarbage < 256 && hostile_conn()) {
		uint8_t packet[ENV_BYTES] = { 0 };
		uint32_t len = hostile_packet(packet, sn++, vqp.num, mr.rkey,
					      (uintptr_t)victim.memory);

		hostile_submit(hostile_conn(), packet, len);
		if (hostile_byte() % 8 == 0)
			hostile_post(&vqp, &victim, mr);
	}
	env_steps(20);
	hostile_check(&victim, &bystander, &bqp);
	env_app_close(&peer);
	env_app_close(&victim);
	env_app_close(&bystander);
	env_close();
	for (int i = 0; i < 256; i++)
		free(env.garbage[i]);
}

#endif /* FALCON_SELFTESTS_RDMA_HOSTILE_H */
