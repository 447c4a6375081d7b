// SPDX-License-Identifier: BSD-2-Clause
/*
 * Verbs applications of fuzz_tenants.c that misbehave: their commands, well formed or not, one or
 * many times, and their life. What a user may have of what users are charged for is limited, as by
 * falcon.conf(5).
 */
#include "tenants_verbs.h"

#include <stdlib.h>
#include <string.h>

enum {
	SHM_RINGS = 1 << 21,		/* where rings that commands name lie, bytes into the shared memory */
	RING_BYTES = 1 << 14,
	REPEAT = 8,			/* times, of one of the input */
	HOSTS_NOWHERE = 250,		/* last byte of addresses that nobody has */
	CHARGES = 8,
	CHARGE_MAX = 12,		/* of what is counted, and of any kind that is new; ... */
	CHARGE_BYTES = 16 << 20,	/* ... of memory */
	/* What the heap has for an object, and for a context's queue pair with its connection. */
	PER_OBJECT = 512,
	PER_QP = 256 << 10,
	POOLS = 2 << 20,		/* of a host: pools, tables and packets, which all share */
};

struct tenant tenants[TENANTS];
static int64_t charged[TENANTS][CHARGES];

void known_add(struct known *k, uint32_t v)
{
	k->list[k->n++ % KNOWN] = v;
}

uint32_t known_pick(const struct known *k)
{
	uint32_t v = (uint32_t)number(1), n = k->n < KNOWN ? k->n : KNOWN;

	return n && v < 0xf0 ? k->list[(k->n - 1 - v % n) % KNOWN] : v & 0xf;
}

uint32_t handle_pick(const struct tenant *t, enum rdma_kind kind)
{
	return known_pick(&t->handles[kind]);
}

/* As agent/tenant/quota.h has it. */
static bool charge(const struct env_host *host, uint32_t uid, enum rdma_charge what, int64_t amount)
{
	int64_t max = what == RDMA_CHARGE_MEMORY ? CHARGE_BYTES : CHARGE_MAX;
	int64_t *held;

	(void)host;
	if (uid < TENANT_UID)
		return true;
	CHECK(what < CHARGES);
	held = &charged[uid - TENANT_UID][what];
	if (amount > max - *held)
		return false;
	*held += amount;
	CHECK(*held >= 0);
	return true;
}

static void open_tenant(struct tenant *t)
{
	uint32_t i = (uint32_t)(t - tenants);

	memset(t, 0, sizeof(*t));
	env_app_open_as(&t->app, &env.host[i == TENANTS - 1], TENANT_MEMORY, TENANT_UID + i);
	t->mr = env_reg(&t->app, 0, TENANT_MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND);
	env_cq_open(&t->app, &t->cq, 64);
	known_add(&t->handles[RDMA_KIND_PD], t->app.pd);
	known_add(&t->handles[RDMA_KIND_MR], t->mr.handle);
	known_add(&t->handles[RDMA_KIND_CQ], t->cq.handle);
}

static void close_tenant(struct tenant *t)
{
	meter_turn("the end of an application", true);
	env_app_close(&t->app);
	meter_turn("the end of an application", false);
	pairs_forget(t);
	/* Datagrams' links are kept for a while. */
	for (int i = 0; i < CHARGES; i++)
		CHECK(i == RDMA_CHARGE_LINKS || charged[t - tenants][i] == 0);
}

void tenants_open(void)
{
	memset(charged, 0, sizeof(charged));
	env.charge = charge;
	pairs_open();
	for (int i = 0; i < TENANTS; i++)
		open_tenant(&tenants[i]);
}

void tenants_close(void)
{
	for (int i = 0; i < TENANTS; i++)
		close_tenant(&tenants[i]);
}

void tenants_settled(void)
{
	for (int i = 0; i < TENANTS; i++)
		CHECK(charged[i][RDMA_CHARGE_LINKS] == 0);
}

int tenant_command(struct tenant *t, uint16_t op, const void *req, size_t len, bool fd, void *out,
		   size_t outlen)
{
	uint64_t reply[FVERBS_MSG_MAX / 8];
	struct fverbs_cmd cmd = { .op = op };
	struct fverbs_reply r;
	int n, got;

	memcpy(t->msg, &cmd, sizeof(cmd));
	if (req != (uint8_t *)t->msg + sizeof(cmd))
		memcpy((uint8_t *)t->msg + sizeof(cmd), req, len);
	t->len = sizeof(cmd) + len;
	t->fd = fd;
	t->app.host->fds += fd;
	meter_turn("a command", true);
	n = rdma_command(t->app.ctx, t->msg, t->len, fd ? env_fd_of(&t->app) : -1, reply, &got);
	meter_turn("a command", false);
	CHECK(got == -1 && n >= (int)sizeof(r) && n <= FVERBS_MSG_MAX);
	memcpy(&r, reply, sizeof(r));
	outlen = outlen < (size_t)n - sizeof(r) ? outlen : (size_t)n - sizeof(r);
	if (!r.error && outlen)
		memcpy(out, (uint8_t *)reply + sizeof(r), outlen);
	return r.error;
}

void tenant_target(uint8_t gid[16])
{
	uint32_t v = (uint32_t)number(1);

	memset(gid, 0, 16);
	gid[10] = gid[11] = 0xff;
	gid[12] = 10;
	gid[15] = (uint8_t)(v < 128 ? 1 + v % ENV_HOSTS : 3 + v % HOSTS_NOWHERE);
}

/* ---- commands ---- */

static struct fverbs_place a_place(uint32_t stride)
{
	return (struct fverbs_place){
		.entries = 1U << number(1) % 6,
		.offset = SHM_RINGS + number(1) % 64 * RING_BYTES,
		.stride = number(1) < 0xf0 ? stride : (uint32_t)number(2),
	};
}

static size_t make_queue(struct tenant *t, uint16_t op, void *out)
{
	struct fverbs_create_cq cq = { .channel_plus_1 = 0, .flags = number(1) & 1 };
	struct fverbs_create_srq srq = { .max_wr = 8, .max_sge = 2, .limit = number(1) & 3 };

	if (op == FVERBS_CREATE_CQ) {
		cq.place = a_place(sizeof(struct fverbs_cqe));
		if (number(1) & 1)
			cq.channel_plus_1 = handle_pick(t, RDMA_KIND_CHANNEL) + 1;
		memcpy(out, &cq, sizeof(cq));
		return sizeof(cq);
	}
	srq.place = a_place(FVERBS_STRIDE(sizeof(struct fverbs_recv_wqe), 2 * sizeof(struct fverbs_sge)));
	srq.pd = handle_pick(t, RDMA_KIND_PD);
	srq.type = (uint32_t)number(1) & 1;
	srq.xrcd = handle_pick(t, RDMA_KIND_XRCD);
	srq.cq = handle_pick(t, RDMA_KIND_CQ);
	memcpy(out, &srq, sizeof(srq));
	return sizeof(srq);
}

static size_t make_qp(struct tenant *t, void *out)
{
	static const uint8_t types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
					 IBV_QPT_XRC_RECV };
	struct fverbs_create_qp q = {
		.slot = 32 + (uint32_t)number(1), .pd = handle_pick(t, RDMA_KIND_PD),
		.send_cq = handle_pick(t, RDMA_KIND_CQ), .recv_cq = handle_pick(t, RDMA_KIND_CQ),
		.type = types[number(1) % sizeof(types)], .max_send_wr = 8, .max_recv_wr = 8,
		.max_send_sge = 2, .max_recv_sge = 2, .sq = a_place(128), .rq = a_place(128),
		.ordering = (uint32_t)number(1) % 3, .errors = (uint32_t)number(1) % 2,
	};

	if (number(1) & 1)
		q.srq_plus_1 = handle_pick(t, RDMA_KIND_SRQ) + 1;
	if (q.type == IBV_QPT_XRC_RECV) {
		q.xrcd_plus_1 = handle_pick(t, RDMA_KIND_XRCD) + 1;
		q.sq = q.rq = (struct fverbs_place){ 0 };
	}
	memcpy(out, &q, sizeof(q));
	return sizeof(q);
}

static size_t make_memory(struct tenant *t, uint16_t op, void *out)
{
	struct fverbs_reg_mr mr = {
		.pd = handle_pick(t, RDMA_KIND_PD), .access = (uint32_t)number(1),
		.addr = (uintptr_t)t->app.memory + number(2), .length = number(2), .iova = number(3),
	};
	struct fverbs_alloc_mw mw = { mr.pd, 1 + (uint32_t)number(1) % 2 };

	if (number(1) & 1)
		mr.area_plus_1 = 1 + (uint32_t)number(1) % 4;
	if (mr.area_plus_1)
		mr.addr = number(2);
	memcpy(out, op == FVERBS_REG_MR ? (void *)&mr : (void *)&mw,
	       op == FVERBS_REG_MR ? sizeof(mr) : sizeof(mw));
	return op == FVERBS_REG_MR ? sizeof(mr) : sizeof(mw);
}

/* A request that creates something, and mostly can. */
static size_t make(struct tenant *t, uint16_t op, void *out)
{
	struct fverbs_create_ah ah = { .pd = handle_pick(t, RDMA_KIND_PD),
				       .attr = { .is_global = 1, .port_num = 1 } };
	struct fverbs_open_xrcd x = { .oflags = 0100, .has_fd = 1 };

	switch (op) {
	case FVERBS_CREATE_CQ:
	case FVERBS_CREATE_SRQ:
		return make_queue(t, op, out);
	case FVERBS_CREATE_QP:
		return make_qp(t, out);
	case FVERBS_REG_MR:
	case FVERBS_ALLOC_MW:
		return make_memory(t, op, out);
	case FVERBS_OPEN_XRCD:
		memcpy(out, &x, sizeof(x));
		return sizeof(x);
	case FVERBS_CREATE_AH:
		tenant_target(ah.attr.dgid);
		memcpy(out, &ah, sizeof(ah));
		return sizeof(ah);
	default:
		return op == FVERBS_ALLOC_PD ? sizeof(struct fverbs_handle) : 0;
	}
}

static const struct {
	uint16_t create, destroy;
	enum rdma_kind kind;
	bool fd;			/* it is created with a descriptor */
} kinds[] = {
	{ FVERBS_ADD_AREA, FVERBS_DEL_AREA, RDMA_KIND_NONE, true },
	{ FVERBS_ALLOC_PD, FVERBS_DEALLOC_PD, RDMA_KIND_PD, false },
	{ FVERBS_REG_MR, FVERBS_DEREG_MR, RDMA_KIND_MR, false },
	{ FVERBS_ALLOC_MW, FVERBS_DEALLOC_MW, RDMA_KIND_MW, false },
	{ FVERBS_CREATE_CHANNEL, FVERBS_DESTROY_CHANNEL, RDMA_KIND_CHANNEL, true },
	{ FVERBS_CREATE_CQ, FVERBS_DESTROY_CQ, RDMA_KIND_CQ, false },
	{ FVERBS_CREATE_SRQ, FVERBS_DESTROY_SRQ, RDMA_KIND_SRQ, false },
	{ FVERBS_OPEN_XRCD, FVERBS_CLOSE_XRCD, RDMA_KIND_XRCD, true },
	{ FVERBS_CREATE_QP, FVERBS_DESTROY_QP, RDMA_KIND_QP, false },
	{ FVERBS_CREATE_AH, FVERBS_DESTROY_AH, RDMA_KIND_AH, false },
};

static void create(struct tenant *t)
{
	unsigned int i = (unsigned int)number(1) % ARRAY_SIZE(kinds);
	uint64_t req[32] = { 0 };
	struct fverbs_handle h = { 0 };
	size_t len = make(t, kinds[i].create, req);

	if (!tenant_command(t, kinds[i].create, req, len, kinds[i].fd, &h, sizeof(h)))
		known_add(&t->handles[kinds[i].kind], h.handle);
}

static void destroy(struct tenant *t)
{
	unsigned int i = (unsigned int)number(1) % ARRAY_SIZE(kinds);
	struct fverbs_handle h = { .handle = handle_pick(t, kinds[i].kind) };

	tenant_command(t, kinds[i].destroy, &h, sizeof(h), false, NULL, 0);
}

/* A command of which every byte is the input's, its numbers small so that they name something. */
static void garbage(struct tenant *t)
{
	uint8_t req[1024] = { 0 };
	uint16_t op = (uint16_t)(number(1) % 72);
	size_t len = (size_t)number(1) * 4;

	for (size_t at = 0; at < len; at += 4) {
		uint32_t v = (uint32_t)number(1);

		if (v >= 0xf0)
			v = (uint32_t)number(4);
		memcpy(req + at, &v, 4);
	}
	tenant_command(t, op, req, len, number(1) & 1, NULL, 0);
}

/* The latest command once more, or many times. */
static void repeat(struct tenant *t)
{
	struct fverbs_cmd cmd;

	memcpy(&cmd, t->msg, sizeof(cmd));
	for (uint64_t n = number(1) * REPEAT; t->len && n; n--)
		tenant_command(t, cmd.op, t->msg + 1, t->len - sizeof(cmd), t->fd, NULL, 0);
}

void tenant_act(unsigned int which)
{
	struct tenant *t = &tenants[which % TENANTS];

	switch (number(1) % 16) {
	case 0: garbage(t); break;
	case 1:
	case 2: create(t); break;
	case 3: destroy(t); break;
	case 4: repeat(t); break;
	case 5: tenant_pair(t); break;
	case 6:
	case 7: tenant_post(t); break;
	case 8: tenant_modify(t); break;
	case 9: tenant_scribble(t); break;
	case 10: tenant_ring(t); break;
	case 11: tenant_index(t); break;
	case 12: tenant_drain(t); break;
	case 13: tenant_cm(t); break;
	case 14: tenant_squat(t); break;
	case 15:
		if (number(1) & 1) {
			t->app.full = !t->app.full;
			break;
		}
		close_tenant(t);
		open_tenant(t);
		break;
	}
}

/* ---- what it may cost ---- */

static int64_t heap_of_ctx(const struct rdma_ctx *ctx)
{
	int64_t n = (int64_t)sizeof(*ctx) + ctx->handles_size * (int64_t)sizeof(*ctx->handles) +
		    ctx->nevents * (int64_t)sizeof(struct rdma_event);

	for (int kind = 0; kind < RDMA_KINDS; kind++)
		n += ctx->counts[kind] * (int64_t)(kind == RDMA_KIND_QP ? PER_QP : PER_OBJECT);
	return n;
}

/* A request is an id, too: its event is counted with that. */
static int64_t heap_of_cm(const struct env_host *h)
{
	struct tenants_cm cm = tenants_cm(h);
	int64_t max = cm.ids * (int64_t)RCM_EVENTS_MAX;

	return (cm.events < max ? cm.events : max) * (int64_t)sizeof(struct rcm_event) +
	       cm.channels * (int64_t)sizeof(struct rcm_channel) + cm.ids * (int64_t)sizeof(struct rcm_id);
}

int64_t tenants_heap(void)
{
	int64_t n = 0;

	for (int i = 0; i < ENV_HOSTS; i++) {
		const struct rdma *r = env.host[i].r;

		n += POOLS + heap_of_cm(&env.host[i]);
		for (const struct rdma_ctx *ctx = r->ctxs; ctx; ctx = ctx->next)
			n += heap_of_ctx(ctx);
	}
	return n;
}
