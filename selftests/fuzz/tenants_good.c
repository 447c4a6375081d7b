// SPDX-License-Identifier: BSD-2-Clause
/*
 * The application that behaves, and its partner at the peer: one operation after another, each a
 * WRITE of 8 bytes and a SEND of the same, while an rdma_cm id of its own listens at a port that
 * the agent has chosen. Every now and then both make a new queue pair. All of that has to go well,
 * and soon.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <string.h>

#include "tenants.h"
#include "ulp/rdma/cm.h"
#include "ulp/rdma/objects.h"

enum {
	ENTRIES = 16,
	SLOTS = 64,			/* places for values in turn */
	RECV_FROM = SLOTS * 8,		/* where SENDs arrive, bytes into the partner's memory */
	DONE = 3,			/* completions of an operation: WRITE, SEND, receive */
	ROUNDS_MAX = 4000,		/* an operation takes no more rounds of the agent, ... */
};

#define OPERATION_MAX_NS 2000000000ULL	/* ... nor more time */
/* A queue pair lasts so long: more than its connection outlives it (LINK_LEAVE_MS). */
#define REMAKE_NS 1500000000ULL

static struct {
	struct env_app app;
	struct env_cq cq;
	struct env_qp qp;
	struct env_mr mr;
	uint8_t shadow[TENANT_MEMORY];	/* what its memory is to be */
	uint64_t shm_next;		/* as it is without a queue pair */
} near, far;

static struct {
	bool busy;
	bool keeps;			/* its queue pair */
	uint64_t number, since, made;	/* of the operation; ns: it began; the queue pair was made */
	unsigned int rounds, done;
	uint32_t channel, id;
} op;

static uint32_t place(void)
{
	return (uint32_t)(op.number % SLOTS) * 8;
}

static uint32_t cm(struct fverbs_cm_req *q, enum fverbs_cm_what what)
{
	struct fverbs_cm_answer a = { 0 };
	bool answers = what == FVERBS_CM_CREATE_ID || what == FVERBS_CM_DESTROY_ID;
	int rc;

	q->what = what;
	meter_turn("a request about an id", true);
	rc = env_cmd(&near.app, FVERBS_CM, q, sizeof(*q), &a, answers ? sizeof(a) : 0);
	meter_turn("a request about an id", false);
	if (rc)
		fprintf(stderr, "request %u about an id fails: %d\n", what, rc);
	CHECK(rc == 0);
	return a.id;
}

static void listen_anywhere(void)
{
	struct fverbs_cm_req q = { .channel = op.channel, .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC };

	q.id = op.id = cm(&q, FVERBS_CM_CREATE_ID);
	q.src = (struct fverbs_cm_addr){ .family = AF_INET, .addr = { 10, 0, 0, 1 } };
	cm(&q, FVERBS_CM_BIND);
	cm(&q, FVERBS_CM_LISTEN);
}

/* A channel comes with a descriptor, so env_cmd() is not enough. */
static void open_channel(void)
{
	struct {
		struct fverbs_cmd cmd;
		struct fverbs_cm_req q;
	} msg = { { .op = FVERBS_CM }, { .what = FVERBS_CM_OPEN_CHANNEL } };
	uint64_t reply[FVERBS_MSG_MAX / 8];
	struct fverbs_cm_answer a;
	int fd;

	near.app.host->fds++;
	CHECK(rdma_command(near.app.ctx, &msg, sizeof(msg), env_fd_of(&near.app), reply, &fd) ==
	      sizeof(struct fverbs_reply) + sizeof(a));
	memcpy(&a, (uint8_t *)reply + sizeof(struct fverbs_reply), sizeof(a));
	op.channel = a.id;
}

static void make_qps(void)
{
	const struct env_qp_opts opts = { .entries = ENTRIES };

	env_qp_open(&near.app, &near.cq, &opts, &near.qp);
	env_qp_open(&far.app, &far.cq, &opts, &far.qp);
	env_connect(&near.qp, &far.qp);
	op.made = env.now;
}

static void unmake_qps(void)
{
	env_qp_close(&near.qp);
	env_qp_close(&far.qp);
	memset(near.app.shm + near.shm_next, 0, near.app.shm_next - near.shm_next);
	memset(far.app.shm + far.shm_next, 0, far.app.shm_next - far.shm_next);
	near.app.shm_next = near.shm_next;
	far.app.shm_next = far.shm_next;
	near.app.slots = far.app.slots = 0;
}

void good_open(void)
{
	enum { ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };

	memset(&op, 0, sizeof(op));
	env_app_open_as(&near.app, &env.host[0], TENANT_MEMORY, 1);
	env_app_open_as(&far.app, &env.host[1], TENANT_MEMORY, 1);
	near.mr = env_reg(&near.app, 0, TENANT_MEMORY, ACCESS);
	far.mr = env_reg(&far.app, 0, TENANT_MEMORY, ACCESS);
	env_cq_open(&near.app, &near.cq, 2 * ENTRIES);
	env_cq_open(&far.app, &far.cq, 2 * ENTRIES);
	near.shm_next = near.app.shm_next;
	far.shm_next = far.app.shm_next;
	memset(near.shadow, 0, sizeof(near.shadow));
	memset(far.shadow, 0, sizeof(far.shadow));
	open_channel();
	make_qps();
}

static void begin(void)
{
	struct fverbs_sge from = { (uintptr_t)near.app.memory + place(), 8, near.mr.lkey };
	struct fverbs_sge to = { (uintptr_t)far.app.memory + RECV_FROM + place(), 8, far.mr.lkey };
	struct fverbs_send_wqe w = { .wr_id = 2 * op.number, .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1,
				     .flags = IBV_SEND_SIGNALED, .rkey = far.mr.rkey,
				     .remote_addr = (uintptr_t)far.app.memory + place() };

	listen_anywhere();
	memcpy(near.app.memory + place(), &op.number, 8);
	memcpy(near.shadow + place(), &op.number, 8);
	env_post_recv(&far.qp, op.number, &to, 1);
	env_post_send(&near.qp, &w, &from);
	w.wr_id++;
	w.opcode = IBV_WR_SEND;
	env_post_send(&near.qp, &w, &from);
	op.busy = true;
	op.since = env.now;
	op.rounds = op.done = 0;
}

static void end(void)
{
	struct fverbs_cm_req q = { .id = op.id };

	memcpy(far.shadow + place(), &op.number, 8);
	memcpy(far.shadow + RECV_FROM + place(), &op.number, 8);
	cm(&q, FVERBS_CM_DESTROY_ID);
	op.busy = false;
	op.number++;
	if (op.keeps || env.now - op.made < REMAKE_NS)
		return;
	unmake_qps();
	make_qps();
}

static void poll(void)
{
	struct fverbs_cqe c;

	while (env_poll(&near.cq, &c) || env_poll(&far.cq, &c)) {
		if (c.status != IBV_WC_SUCCESS)
			fprintf(stderr, "operation %llu ends with status %u\n", (unsigned long long)op.number,
				c.status);
		CHECK(c.status == IBV_WC_SUCCESS);
		CHECK(c.wr_id == op.number || c.wr_id / 2 == op.number);
		op.done++;
	}
	CHECK(op.done <= DONE);
}

void good_go_on(void)
{
	if (!op.busy) {
		begin();
		return;
	}
	op.rounds++;
	poll();
	if (op.done == DONE) {
		end();
		return;
	}
	CHECK(op.rounds <= ROUNDS_MAX);
	CHECK(env.now - op.since <= OPERATION_MAX_NS);
}

void good_keep(bool keep)
{
	op.keeps = keep;
}

bool good_is_idle(void)
{
	return !op.busy;
}

void good_check(void)
{
	/* These are on their way, or have arrived. */
	if (op.busy) {
		memcpy(far.shadow + place(), far.app.memory + place(), 8);
		memcpy(far.shadow + RECV_FROM + place(), far.app.memory + RECV_FROM + place(), 8);
	}
	CHECK(!memcmp(near.app.memory, near.shadow, TENANT_MEMORY));
	CHECK(!memcmp(far.app.memory, far.shadow, TENANT_MEMORY));
	CHECK(near.app.nevents == 0 && far.app.nevents == 0);
}

bool good_has(struct env_host *h, uint32_t cid)
{
	const struct env_qp *qp = h == near.app.host ? &near.qp : &far.qp;
	struct rdma_link *link = h->conns[cid].core ? rdma_link_of(h->r, h->conns[cid].core) : NULL;

	return link && rdma_link_qp(link) && rdma_qp_num(rdma_link_qp(link)) == qp->num;
}

uint32_t good_qpn(void)
{
	return far.qp.num;
}

uint32_t good_key(void)
{
	return far.mr.rkey;
}

uint8_t *good_memory(void)
{
	return far.app.memory;
}

void good_close(void)
{
	env_app_close(&near.app);
	env_app_close(&far.app);
}
