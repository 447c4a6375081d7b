// SPDX-License-Identifier: BSD-2-Clause
/*
 * A hostile verbs application: whatever it likes in its commands and in the queues that it shares with
 * the agent, between the rounds of two RDMA layers on real cores. It has queue pairs to a victim on the
 * other host, which lends it some of its memory and posts receive requests of its own, and there is a
 * neighbour on its own host whom it has nothing to do with.
 *
 * The input is a sequence of actions, an u8 each, with arguments behind (see act()). Time is virtual.
 *
 * Checked after every action: the victim's memory outside of what it lends or posts, and all of the
 * neighbour's, is untouched. In the end everything is given back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/rdma_env.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	MEMORY = 16 * 1024,
	OPEN_FROM = 4096,	/* what the victim lends, bytes into its memory */
	OPEN_LEN = 4096,
	POST_FROM = 8192,	/* where its receive requests lead */
	POST_LEN = 4096,
	ACTIONS = 256,		/* of an input */
	QPS = 3,
	ENTRIES = 16,
	SECRET = 0xa5,		/* fills the memories */
	ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	      IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
};

static struct env_app hostile, neighbour, victim;
static struct env_cq near_cq, far_cq;
static struct env_qp near[QPS], far[QPS];
static struct env_mr mine, lent, posted, theirs;

/* What is left of the input; zeros behind its end. */
static const uint8_t *input;
static size_t left;

static uint64_t number(size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = 0; i < bytes && left; i++, left--)
		v |= (uint64_t)*input++ << 8 * i;
	return v;
}

static void open_app(struct env_app *app, struct env_host *host)
{
	env_app_open(app, host, MEMORY);
	memset(app->memory, SECRET, MEMORY);
}

static void set_up(void)
{
	static const struct env_qp_opts kinds[QPS] = {
		{ .entries = ENTRIES },
		{ .entries = ENTRIES, .ordering = FVERBS_UNORDERED,
		  .errors = FVERBS_COMPLETE_IN_ERROR },
		{ .entries = ENTRIES, .ordering = FVERBS_WEAKLY_ORDERED, .sig_all = true },
	};

	env_open(1);
	open_app(&hostile, &env.host[0]);
	open_app(&neighbour, &env.host[0]);
	open_app(&victim, &env.host[1]);
	mine = env_reg(&hostile, 0, MEMORY, ALL);
	theirs = env_reg(&neighbour, 0, MEMORY, ALL);
	lent = env_reg(&victim, OPEN_FROM, OPEN_LEN, ALL);
	posted = env_reg(&victim, POST_FROM, POST_LEN, IBV_ACCESS_LOCAL_WRITE);
	env_cq_open(&hostile, &near_cq, 64);
	env_cq_open(&victim, &far_cq, 64);
	for (int i = 0; i < QPS; i++) {
		env_qp_open(&hostile, &near_cq, &kinds[i], &near[i]);
		env_qp_open(&victim, &far_cq, &kinds[i], &far[i]);
		env_connect(&near[i], &far[i]);
	}
	env_steps(64);
}

/* Write anything anywhere in area 0, as far as it is used. */
static void scribble(void)
{
	uint64_t used = hostile.shm_next + 1024, at = number(3) % used;

	for (uint64_t len = number(1); len && at < used; len--, at++)
		hostile.shm[at] = (uint8_t)number(1);
}

static void ring(void)
{
	struct fverbs_ctx_shm *shm = (struct fverbs_ctx_shm *)hostile.shm;
	unsigned int word = (unsigned int)number(1) % FVERBS_SLOT_WORDS;

	shm->rung[word] |= number(8);
	shm->summary[word / 64] |= 1ULL << word % 64;
	shm->rung[0] |= (1 << (QPS + 1)) - 1;
	shm->summary[0] |= 1;
}

/* Index |which| of all rings becomes |v|, or moves by it. */
static void set_index(unsigned int which, uint32_t v, bool relative)
{
	struct env_ring *const rings[] = { &near[0].sq, &near[0].rq, &near[1].sq, &near[1].rq,
					   &near[2].sq, &near[2].rq, &near_cq.ring };
	struct falcon_ring_idx *idx = (struct falcon_ring_idx *)
		rings[which / 2 % (sizeof(rings) / sizeof(rings[0]))]->base;
	uint32_t *index = which % 2 ? &idx->tail : &idx->head;

	*index = relative ? *index + v : v;
}

/* Keys and addresses that mostly lead somewhere. */
static uint32_t a_key(void)
{
	const uint32_t keys[] = { lent.rkey, posted.rkey, mine.rkey, theirs.rkey };
	uint32_t v = (uint32_t)number(1);

	return v < 192 ? keys[v % 3] : v < 224 ? keys[3] : (uint32_t)number(4);
}

static uint64_t an_address(void)
{
	uint8_t *const memories[] = { victim.memory + OPEN_FROM, hostile.memory, victim.memory,
				      neighbour.memory };
	uint64_t v = number(3);

	return (uintptr_t)memories[v & 3] + (v >> 2) % (2 * MEMORY) - MEMORY / 2;
}

static void fill_sges(struct fverbs_sge *sge, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		sge[i] = (struct fverbs_sge){ .addr = an_address(), .len = (uint32_t)number(2),
					      .lkey = a_key() };
}

static void post_send(struct env_qp *qp)
{
	struct fverbs_sge sge[4];
	struct fverbs_send_wqe wqe = {
		.wr_id = 1,
		.opcode = (uint8_t)(number(1) % 16),
		.num_sge = (uint8_t)(number(1) % 4),
		.flags = (uint16_t)number(1),
		.imm = a_key(),
		.rkey = a_key(),
		.remote_addr = an_address(),
		.compare_add = an_address(),
		.swap = number(2),
		.mw = (uint32_t)number(1),
		.bind_access = (uint32_t)number(1),
	};

	fill_sges(sge, wqe.num_sge);
	wqe.flags &= (uint16_t)~IBV_SEND_INLINE;
	if (env_sq_used(qp) < ENTRIES)
		env_post_send(qp, &wqe, sge);
}

static void post_recv(struct env_qp *qp, bool honest)
{
	struct fverbs_sge sge[2] = {
		{ .addr = (uintptr_t)victim.memory + POST_FROM + number(1), .len = 1024,
		  .lkey = posted.lkey },
	};

	if (env_rq_used(qp) >= ENTRIES)
		return;
	if (!honest)
		fill_sges(sge, 2);
	env_post_recv(qp, 2, sge, honest ? 1 : 2);
}

/* A command of which every byte is the input's, its numbers small so that they name something. */
static void command(void)
{
	uint64_t msg[FVERBS_MSG_MAX / 8] = {}, reply[FVERBS_MSG_MAX / 8];
	struct fverbs_cmd cmd = { .op = (uint16_t)(number(1) % 72) };
	size_t len = (size_t)number(1) * 4;
	int n, fd;

	memcpy(msg, &cmd, sizeof(cmd));
	for (size_t at = 0; at < len; at += 4) {
		uint32_t v = (uint32_t)number(1);

		if (v >= 0xf0)
			v = (uint32_t)number(4);
		memcpy((uint8_t *)msg + sizeof(cmd) + at, &v, 4);
	}
	n = rdma_command(hostile.ctx, msg, sizeof(cmd) + len, -1, reply, &fd);
	CHECK(fd == -1);
	CHECK(n >= (int)sizeof(struct fverbs_reply) && n <= FVERBS_MSG_MAX);
}

static void modify(struct env_qp *qp)
{
	struct fverbs_qp_attr attr = { .qp_state = (uint8_t)(number(1) % 8) };

	env_modify(qp, IBV_QP_STATE | (uint32_t)number(3), &attr);
}

static void drain(struct env_cq *cq)
{
	struct fverbs_cqe cqe;

	for (int i = 0; i < 64 && env_poll(cq, &cqe); i++)
		;
}

static void act(unsigned int action)
{
	struct env_qp *qp = &near[(action >> 4) % QPS];

	switch (action & 0xf) {
	case 0: scribble(); break;
	case 1: ring(); break;
	case 2: set_index((unsigned int)number(1), (uint32_t)number(4), false); break;
	case 3: set_index((unsigned int)number(1), (uint32_t)number(1), true); break;
	case 4:
	case 5:
	case 6: post_send(qp); break;
	case 7: post_recv(qp, false); break;
	case 8: post_recv(&far[(action >> 4) % QPS], true); break;
	case 9: command(); break;
	case 10: modify(qp); break;
	case 11: drain(&far_cq); break;
	case 12: drain(&near_cq); break;
	case 13: hostile.dead = hostile.dead || number(1) == 0xff; break;
	default: env_steps((unsigned int)number(1) % 64);
	}
}

static void check(void)
{
	static uint8_t secret[MEMORY];

	memset(secret, SECRET, sizeof(secret));
	CHECK(!memcmp(victim.memory, secret, OPEN_FROM));
	CHECK(!memcmp(victim.memory + POST_FROM + POST_LEN, secret, MEMORY - POST_FROM - POST_LEN));
	CHECK(!memcmp(neighbour.memory, secret, MEMORY));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	input = data;
	left = size;
	set_up();
	for (int i = 0; i < ACTIONS && left; i++) {
		act((unsigned int)number(1));
		check();
	}
	env_steps(256);
	check();
	env_app_close(&hostile);
	env_steps(64);
	env_app_close(&neighbour);
	env_app_close(&victim);
	env_close();
	return 0;
}
