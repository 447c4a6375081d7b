// SPDX-License-Identifier: BSD-2-Clause
/*
 * Queue pairs of fuzz_tenants.c that are connected between applications that misbehave, so that their
 * requests come far; and what such applications do to the memory that they share with the agent.
 */
#include "tenants_verbs.h"

#include <string.h>

enum {
	ENTRIES = 16,
	QKEY = 0x1111,
	/*
	 * Pairs that an input may make. A connection outlives its queue pair for a while, and a layer has at
	 * most 256 such (link.h), for which the link here has no room.
	 */
	MADE_MAX = 8,
	ROOM = 1 << 20,			/* bytes of shared memory, for rings of pairs */
};

static struct pair {
	struct tenant *t[2];		/* whose its ends are; NULL: it is not there */
	struct env_qp qp[2];
} pairs[PAIRS];

static unsigned int made;

void pairs_open(void)
{
	memset(pairs, 0, sizeof(pairs));
	made = 0;
}

static void close_end(struct pair *p, int end)
{
	struct fverbs_handle h = { .handle = p->qp[end].handle };

	tenant_command(p->t[end], FVERBS_DESTROY_QP, &h, sizeof(h), false, NULL, 0);
}

void pairs_forget(const struct tenant *t)
{
	for (int i = 0; i < PAIRS; i++) {
		struct pair *p = &pairs[i];

		if (p->t[0] != t && p->t[1] != t)
			continue;
		for (int end = 0; end < 2; end++)
			if (p->t[end] != t && p->t[end]->app.ctx)
				close_end(p, end);
		p->t[0] = p->t[1] = NULL;
	}
}

static int modify(struct env_qp *qp, uint32_t mask, const struct fverbs_qp_attr *attr)
{
	struct fverbs_modify_qp req = { .qp = qp->handle, .mask = mask, .attr = *attr };
	struct tenant *t = NULL;

	for (int i = 0; i < TENANTS; i++)
		if (qp->app == &tenants[i].app)
			t = &tenants[i];
	return tenant_command(t, FVERBS_MODIFY_QP, &req, sizeof(req), false, NULL, 0);
}

/* All steps to RTS; some may fail. */
static void connect_end(struct env_qp *qp, const struct env_qp *to)
{
	bool ud = qp->type == IBV_QPT_UD;
	struct fverbs_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = 0xe, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = number(1) < 0xf0 ? to->num : good_qpn(), .min_rnr_timer = 1,
		.max_dest_rd_atomic = 16, .ah = { .is_global = 1, .port_num = 1 },
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 8, .qkey = QKEY,
	};
	uint32_t rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	uint32_t rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

	memcpy(a.ah.dgid + 10, (uint8_t[6]){ 0xff, 0xff, 10, 0, 0, (uint8_t)(to->app->host->index + 1) }, 6);
	modify(qp, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS), &a);
	a.qp_state = IBV_QPS_RTR;
	modify(qp, IBV_QP_STATE | (ud ? 0 : rtr), &a);
	a.qp_state = IBV_QPS_RTS;
	modify(qp, IBV_QP_STATE | IBV_QP_SQ_PSN | (ud ? 0 : rts), &a);
}

static void open_pair(struct pair *p, struct tenant *a, struct tenant *b)
{
	const struct env_qp_opts opts = { .entries = ENTRIES, .ordering = (uint32_t)number(1) % 3,
					  .type = number(1) & 3 ? IBV_QPT_RC : IBV_QPT_UD,
					  .errors = (uint32_t)number(1) % 2, .sig_all = number(1) & 1 };

	if (made == MADE_MAX || a->app.shm_next > ROOM || b->app.shm_next > ROOM)
		return;
	made++;
	if (env_qp_try(&a->app, &a->cq, &opts, &p->qp[0]))
		return;
	p->t[0] = a;
	p->t[1] = b;
	if (env_qp_try(&b->app, &b->cq, &opts, &p->qp[1])) {
		close_end(p, 0);
		p->t[0] = p->t[1] = NULL;
		return;
	}
	connect_end(&p->qp[0], &p->qp[1]);
	connect_end(&p->qp[1], &p->qp[0]);
}

void tenant_pair(struct tenant *t)
{
	struct pair *p = &pairs[number(1) % PAIRS];

	if (!p->t[0]) {
		open_pair(p, t, &tenants[number(1) < 0xc0 ? TENANTS - 1 : 0]);
		return;
	}
	close_end(p, 0);
	close_end(p, 1);
	p->t[0] = p->t[1] = NULL;
}

/* A queue pair of |t|, or NULL. */
static struct env_qp *pick(const struct tenant *t)
{
	struct pair *p = &pairs[number(1) % PAIRS];

	return p->t[0] == t ? &p->qp[0] : p->t[1] == t ? &p->qp[1] : NULL;
}

static uint32_t a_key(void)
{
	uint32_t v = (uint32_t)number(1);

	return v < 0xe0 ? tenants[v % TENANTS].mr.lkey : v < 0xf0 ? good_key() : (uint32_t)number(4);
}

static uint64_t an_address(void)
{
	uint32_t v = (uint32_t)number(1);
	uint8_t *base = v < 0xe0 ? tenants[v % TENANTS].app.memory : good_memory();

	return (uintptr_t)base + number(2) % (TENANT_MEMORY + 64);
}

void tenant_post(struct tenant *t)
{
	struct env_qp *qp = pick(t);
	bool recv = number(1) & 1;
	struct fverbs_sge sge[2];
	struct fverbs_send_wqe w = { .wr_id = number(1), .opcode = (uint8_t)(number(1) % 16), .num_sge = 2,
				     .flags = (uint16_t)(number(1) & ~(unsigned int)IBV_SEND_INLINE),
				     .rkey = a_key(), .remote_addr = an_address(), .compare_add = number(1),
				     .ah = handle_pick(t, RDMA_KIND_AH) };

	for (int i = 0; i < 2; i++)
		sge[i] = (struct fverbs_sge){ an_address(), (uint32_t)number(2), a_key() };
	if (!qp)
		return;
	w.remote_qpn = pairs[number(1) % PAIRS].qp[1].num;
	w.remote_qkey = QKEY;
	for (uint64_t n = number(1) % ENTRIES; n; n--) {
		if (recv && env_rq_used(qp) < ENTRIES)
			env_post_recv(qp, w.wr_id, sge, 2);
		else if (!recv && env_sq_used(qp) < ENTRIES)
			env_post_send(qp, &w, sge);
	}
}

void tenant_modify(struct tenant *t)
{
	struct fverbs_qp_attr attr = { .qp_state = (uint8_t)(number(1) % 8), .sq_psn = (uint32_t)number(1) };
	uint32_t mask = IBV_QP_STATE | (uint32_t)number(3);
	struct env_qp *qp = pick(t);

	if (qp)
		modify(qp, mask, &attr);
}

void tenant_scribble(struct tenant *t)
{
	uint64_t at = number(3) % (t->app.shm_next + 1024);

	for (uint64_t len = number(1); len && at < t->app.shm_next + 1024; len--, at++)
		t->app.shm[at] = (uint8_t)number(1);
}

void tenant_ring(struct tenant *t)
{
	struct fverbs_ctx_shm *shm = (struct fverbs_ctx_shm *)t->app.shm;
	unsigned int word = (unsigned int)number(1) % FVERBS_SLOT_WORDS;

	if (number(1) == 0xff) {
		memset(shm->rung, 0xff, sizeof(shm->rung));
		memset(shm->summary, 0xff, sizeof(shm->summary));
		return;
	}
	shm->rung[word] |= number(8);
	shm->summary[word / 64] |= 1ULL << word % 64;
}

void tenant_index(struct tenant *t)
{
	struct env_qp *qp = pick(t);
	const struct env_ring *ring = !qp || number(1) % 3 == 0 ? &t->cq.ring
							      : number(1) & 1 ? &qp->sq : &qp->rq;
	struct falcon_ring_idx *idx = (struct falcon_ring_idx *)ring->base;
	uint32_t v = (uint32_t)number(1);

	if (v >= 0x80)
		v = (uint32_t)number(4);
	if (number(1) & 1)
		idx->head += v;
	else
		idx->tail += v;
}

void tenant_drain(struct tenant *t)
{
	struct fverbs_cqe cqe;

	for (int i = 0; i < 64 && env_poll(&t->cq, &cqe); i++)
		;
	t->app.nevents = 0;
}
