// SPDX-License-Identifier: BSD-2-Clause
/*
 * Each kind of what users are charged for, exhausted by one user while another goes on: the first is refused,
 * with a sentence, whatever he makes of that kind; the other is not; and when the first has left he holds
 * nothing.
 *
 * Over the agent's own accounts, RDMA side and upper layer. Processes are not looked at, so that both users
 * are this one; it is the test that takes connections away (net/users.t.sh has the agent do so).
 */
#include "agent_rdma_env.h"

#include <rdma/rdma_cma.h>

#include <falcon/abi/rdmacm.h>
#include <agent/conn/users.h>
#include <agent/rdma/proc.h>
#include <ulp/rdma/objects.h>

#include "agent/agent.h"
#include "agent/config/config.h"
#include "agent/conn/conn.h"
#include "agent/net/neigh.h"
#include "agent/rdma/priv.h"
#include "falcon/abi/verbs.h"
#include "falcon/abi/verbs_shm.h"
#include "ulp/ulp.h"

enum {
	MAKERS = 8,			/* of a kind, at most */
	ROUNDS = 2,			/* of each maker, until the kind is exhausted */
	CONNS = 64,
	APPS = 8,			/* that a user attaches beside his first */
	FIRST_RING = 1 << 16,		/* bytes into the area */
	ENTRIES = 4,			/* of rings */
	SGES = 2,
};

static const uint64_t SECOND = 1000000000;

struct tenant {
	uid_t uid;
	struct app app, more[APPS];
	unsigned int napps;		/* in |more| */
	uint64_t next_ring;		/* bytes into the area */
	uint32_t pd, cq, xrcd, cm_channel;
	uint32_t xrc_qpn;		/* of a queue pair that receives for |xrcd| */
	uint32_t slots, hosts;		/* given */
	char said[512];			/* the sentence of the latest refusal */
};

static struct quota_section sections[2];
static struct tenant alice, bob;
static struct agent_conn conns[CONNS];
static uint64_t now;

/* ---- what the agent has around ---------------------------------------------------------------- */

static int dial(void *arg, const struct ulp_dial *d, char *err, size_t errlen)
{
	static uint32_t last_cid;

	(void)arg, (void)d, (void)err, (void)errlen;
	return (int)++last_cid;
}

static void hangup(void *arg, uint32_t cid, const char *why)
{
	(void)arg, (void)cid, (void)why;
}

const struct ulp_host shard_ulp_host = { .dial = dial, .hangup = hangup };

int rdma_proc_open(struct rdma_proc **out, pid_t pid, uid_t uid, int sock, char *err, size_t errlen)
{
	int *fd = malloc(sizeof(*fd));

	(void)pid, (void)uid, (void)sock, (void)err, (void)errlen;
	*fd = eventfd(0, EFD_CLOEXEC);
	*out = (struct rdma_proc *)(void *)fd;
	return 0;
}

int rdma_proc_memory(struct rdma_proc *p, int fd, char *err, size_t errlen)
{
	(void)p, (void)fd, (void)err, (void)errlen;
	return 1;
}

void rdma_proc_close(struct rdma_proc *p)
{
	close(*(int *)(void *)p);
	free(p);
}

int rdma_proc_fd(const struct rdma_proc *p)
{
	return *(const int *)(const void *)p;
}

ssize_t rdma_proc_read(struct rdma_proc *p, const struct iovec *local, unsigned int nlocal,
		       const struct iovec *remote, unsigned int nremote)
{
	(void)p, (void)local, (void)nlocal, (void)remote, (void)nremote;
	return -ESRCH;
}

ssize_t rdma_proc_write(struct rdma_proc *p, const struct iovec *local, unsigned int nlocal,
			const struct iovec *remote, unsigned int nremote)
{
	return rdma_proc_read(p, local, nlocal, remote, nremote);
}

/* All addresses are this host's. */
int neigh_resolve(struct neigh *n, int family, const struct falcon_addr *dst, struct neigh_entry *out)
{
	(void)n, (void)family, (void)dst;
	*out = (struct neigh_entry){ .local = true };
	return 0;
}

void neigh_release(struct neigh_entry *e)
{
	(void)e;
}

int agent_conn_add(struct agent *a, const struct conn_config *cfg, uid_t owner, char *err,
		   size_t errlen)
{
	struct agent_conn *c = conns;

	(void)err, (void)errlen;
	while (c->agent)
		assert_true(++c < conns + CONNS);
	c->agent = a;
	c->cfg = *cfg;
	c->owner = owner;
	return 0;
}

/* The one that user_conn_add() has just added. */
struct agent_conn *agent_conn_named(const struct agent *a, const char *name)
{
	struct agent_conn *c = conns;

	(void)a, (void)name;
	while (!c->agent || c->owned)
		c++;
	return c;
}

/* ---- users ---------------------------------------------------------------------------------------- */

/* A command, with |fd|, which is closed, or -1. The errno value of its answer, which goes to |out|. */
static int ask(struct tenant *t, uint16_t op, const void *req, size_t len, int fd, void *out, size_t outlen)
{
	const struct fverbs_cmd cmd = { .op = op };
	const struct iovec iov[] = { { (void *)&cmd, sizeof(cmd) }, { (void *)req, len } };
	struct {
		struct fverbs_reply head;
		uint8_t body[FVERBS_MSG_MAX];
	} reply = {};

	assert_int_equal(fdpass_send(t->app.command, iov, 2, &fd, fd >= 0, 0), sizeof(cmd) + len);
	if (fd >= 0)
		close(fd);
	process();
	settle();
	assert_true(recv(t->app.command, &reply, sizeof(reply), MSG_DONTWAIT) >= (ssize_t)sizeof(reply.head));
	if (!reply.head.error && outlen)
		memcpy(out, reply.body, outlen);
	else if (reply.head.error)
		memcpy(t->said, reply.body, sizeof(t->said) - 1);
	return (int)reply.head.error;
}

static struct fverbs_place ring(struct tenant *t, size_t stride)
{
	struct fverbs_place p = { .entries = ENTRIES, .stride = (uint32_t)stride, .offset = t->next_ring };

	t->next_ring += RDMA_RING_HDR + ENTRIES * stride;
	assert_true(t->next_ring <= AREA);
	return p;
}

static struct fverbs_place recv_ring(struct tenant *t)
{
	return ring(t, FVERBS_STRIDE(sizeof(struct fverbs_recv_wqe), SGES * sizeof(struct fverbs_sge)));
}

/* An end of a new pair of sockets, whose other end nobody needs. */
static int socket_end(void)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	close(pair[0]);
	return pair[1];
}

/* ---- one more, of each kind: 0, or the errno value with a sentence in |said| ---- */

static int add_client(struct tenant *t)
{
	struct app *app = &t->more[t->napps];
	int rc;

	assert_true(t->napps < APPS);
	prepare(app);
	rc = attach_as(app, getpid(), t->uid, 4);
	t->napps += rc == 0;
	if (rc < 0) {
		drop(app);
		snprintf(t->said, sizeof(t->said), "%s", refusal);
	}
	return -rc;
}

static int add_connection(struct tenant *t)
{
	const struct conn_config cfg = { .security = CONFIG_SECURITY_PSP };
	json_t *req = json_pack("{s:s}", "op", "conn-add");
	int rc = user_conn_add(&agent, t->uid, req, &cfg, t->said, sizeof(t->said));

	json_decref(req);
	return -rc;
}

static int add_region(struct tenant *t)
{
	const struct fverbs_reg_mr req = { .pd = t->pd, .addr = 4096, .iova = 4096, .length = AREA };

	return ask(t, FVERBS_REG_MR, &req, sizeof(req), -1, NULL, 0);
}

static int add_window(struct tenant *t)
{
	const struct fverbs_alloc_mw req = { .pd = t->pd, .type = IBV_MW_TYPE_2 };

	return ask(t, FVERBS_ALLOC_MW, &req, sizeof(req), -1, NULL, 0);
}

static int add_area(struct tenant *t)
{
	return ask(t, FVERBS_ADD_AREA, NULL, 0, make_area(), NULL, 0);
}

static int add_pd(struct tenant *t)
{
	const struct fverbs_handle req = {};
	struct fverbs_handle h;
	int rc = ask(t, FVERBS_ALLOC_PD, &req, sizeof(req), -1, &h, sizeof(h));

	t->pd = rc || t->pd ? t->pd : h.handle;
	return rc;
}

static int add_cq(struct tenant *t)
{
	const struct fverbs_create_cq req = { .place = ring(t, sizeof(struct fverbs_cqe)) };
	struct fverbs_handle h;
	int rc = ask(t, FVERBS_CREATE_CQ, &req, sizeof(req), -1, &h, sizeof(h));

	t->cq = rc || t->cq ? t->cq : h.handle;
	return rc;
}

static int add_xrcd(struct tenant *t)
{
	const struct fverbs_open_xrcd req = { .oflags = O_CREAT };
	struct fverbs_handle h;
	int rc = ask(t, FVERBS_OPEN_XRCD, &req, sizeof(req), -1, &h, sizeof(h));

	t->xrcd = rc || t->xrcd ? t->xrcd : h.handle;
	return rc;
}

static int add_ah(struct tenant *t, uint8_t host)
{
	struct fverbs_create_ah req = { .pd = t->pd, .attr.is_global = 1 };
	const uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 0, (uint8_t)(t->uid & 0xff), host };

	memcpy(req.attr.dgid, gid, sizeof(gid));
	return ask(t, FVERBS_CREATE_AH, &req, sizeof(req), -1, NULL, 0);
}

/* All to one host: they share its link. */
static int add_handle(struct tenant *t)
{
	return add_ah(t, 255);
}

static int add_link(struct tenant *t)
{
	return add_ah(t, (uint8_t)++t->hosts);
}

static int add_qp(struct tenant *t)
{
	const struct fverbs_create_qp req = {
		.sq = ring(t, FVERBS_STRIDE(sizeof(struct fverbs_send_wqe),
					    SGES * sizeof(struct fverbs_sge))),
		.rq = recv_ring(t), .pd = t->pd, .send_cq = t->cq, .recv_cq = t->cq, .slot = t->slots++,
		.type = IBV_QPT_RC, .max_send_wr = ENTRIES, .max_recv_wr = ENTRIES, .max_send_sge = SGES,
		.max_recv_sge = SGES,
	};

	return ask(t, FVERBS_CREATE_QP, &req, sizeof(req), -1, NULL, 0);
}

static int add_xrc_qp(struct tenant *t)
{
	const struct fverbs_create_qp req = { .type = IBV_QPT_XRC_RECV, .xrcd_plus_1 = t->xrcd + 1 };
	struct fverbs_handle_num h;
	int rc = ask(t, FVERBS_CREATE_QP, &req, sizeof(req), -1, &h, sizeof(h));

	t->xrc_qpn = rc || t->xrc_qpn ? t->xrc_qpn : h.num;
	return rc;
}

static int open_xrc_qp(struct tenant *t)
{
	const struct fverbs_open_qp req = { .xrcd = t->xrcd, .qp_num = t->xrc_qpn };

	return ask(t, FVERBS_OPEN_QP, &req, sizeof(req), -1, NULL, 0);
}

static int add_srq(struct tenant *t)
{
	const struct fverbs_create_srq req = { .place = recv_ring(t), .pd = t->pd, .type = IBV_SRQT_BASIC,
					       .max_wr = ENTRIES, .max_sge = SGES };

	return ask(t, FVERBS_CREATE_SRQ, &req, sizeof(req), -1, NULL, 0);
}

static int add_channel(struct tenant *t)
{
	return ask(t, FVERBS_CREATE_CHANNEL, NULL, 0, socket_end(), NULL, 0);
}

static int add_cm_channel(struct tenant *t)
{
	const struct fverbs_cm_req req = { .what = FVERBS_CM_OPEN_CHANNEL };
	struct fverbs_cm_answer a;
	int rc = ask(t, FVERBS_CM, &req, sizeof(req), socket_end(), &a, sizeof(a));

	t->cm_channel = rc || t->cm_channel ? t->cm_channel : a.id;
	return rc;
}

static int add_cm_id(struct tenant *t)
{
	const struct fverbs_cm_req req = { .what = FVERBS_CM_CREATE_ID, .channel = t->cm_channel,
					   .ps = RDMA_PS_TCP, .qp_type = IBV_QPT_RC };

	return ask(t, FVERBS_CM, &req, sizeof(req), -1, NULL, 0);
}

/* What can be made of each kind. */
static const struct kind_case {
	int (*make[MAKERS])(struct tenant *t);
	uint64_t amount;		/* that each charges; 0: 1 */
} cases[] = {
	[QUOTA_CLIENTS] = { { add_client } },
	[QUOTA_CONNECTIONS] = { { add_connection } },
	[QUOTA_QPS] = { { add_qp, add_xrc_qp, add_srq } },
	[QUOTA_MRS] = { { add_region, add_window } },
	[QUOTA_MEMORY] = { { add_area, add_region, add_client }, AREA },
	[QUOTA_LINKS] = { { add_link } },
	[QUOTA_CM_IDS] = { { add_cm_id } },
	[QUOTA_CHANNELS] = { { add_channel, add_cm_channel } },
	[QUOTA_OBJECTS] = { { add_pd, add_cq, add_xrcd, add_handle, open_xrc_qp, add_area } },
};
_Static_assert(ARRAY_SIZE(cases) == QUOTA_KINDS, "each kind has a case");

static unsigned int makers(enum quota_kind kind)
{
	unsigned int n = 0;

	while (n < MAKERS && cases[kind].make[n])
		n++;
	assert_true(n > 0);
	return n;
}

/* ---- the stage ------------------------------------------------------------------------------------- */

/* A user with an application that has one of what others are made of. */
static void come(struct tenant *t, uid_t uid)
{
	struct fverbs_reply reply;

	*t = (struct tenant){ .uid = uid, .next_ring = FIRST_RING };
	prepare(&t->app);
	assert_int_equal(attach_as(&t->app, getpid(), uid, 4), 0);
	send_hello(&t->app);
	process();
	assert_true(recv(t->app.command, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC) > 0);
	assert_int_equal(reply.error, 0);
	assert_int_equal(add_pd(t) + add_cq(t) + add_xrcd(t) + add_xrc_qp(t) + add_cm_channel(t), 0);
	assert_int_equal(add_handle(t), 0);
}

/* As when a user's programs end, and a while has passed: links of address handles are kept for 30 s. */
static void leave(struct tenant *t)
{
	drop(&t->app);
	while (t->napps)
		drop(&t->more[--t->napps]);
	for (struct agent_conn *c = conns; c < conns + CONNS; c++) {
		if (!c->owned || c->owner != t->uid)
			continue;
		quota_uncharge(agent.quota, t->uid, QUOTA_CONNECTIONS, 1);
		*c = (struct agent_conn){};
	}
	process();
	settle();
	for (int i = 0; i < 2; i++)
		rdma_ulp_ops.pump(agent.plane.shards[0].rdma->layer, now += 40 * SECOND);
}

static void open_agent(unsigned int nsections)
{
	char err[256];

	memset(&agent, 0, sizeof(agent));
	agent.plane.config = &agent.config;
	agent.plane.shards[0].plane = &agent.plane;
	agent.plane.shards[0].agent = &agent;
	agent.plane.nshards = 1;
	watched = 0;
	for (int i = 0; i < 2; i++) {
		snprintf(sections[i].name, sizeof(sections[i].name), "%u", i ? BOB : ALICE);
		for (int k = 0; k < QUOTA_KINDS; k++)
			sections[i].limit[k] = UINT64_MAX;
	}
	assert_int_equal(quota_open(&agent.quota, sections, nsections, err, sizeof(err)), 0);
	assert_int_equal(agent_rdma_open(&agent.plane.shards[0]), 0);
	come(&alice, ALICE);
	come(&bob, BOB);
}

static void close_agent(void)
{
	for (int k = 0; k < QUOTA_KINDS; k++) {
		assert_int_equal(quota_held(agent.quota, ALICE, (enum quota_kind)k), 0);
		assert_int_equal(quota_held(agent.quota, BOB, (enum quota_kind)k), 0);
	}
	assert_int_equal(watched, 0);
	agent_rdma_close(&agent.plane.shards[0]);
	quota_close(agent.quota);
}

/* |t| makes what there is of |kind|, in turn, |times| times; then he may have no more of it, for |why|. */
static void exhaust(struct tenant *t, enum quota_kind kind, unsigned int times, const char *why)
{
	const struct kind_case *c = &cases[kind];
	unsigned int n = makers(kind);

	for (unsigned int i = 0; i < times; i++)
		assert_int_equal(c->make[i % n](t), 0);
	for (unsigned int i = 0; i < n; i++) {
		uint64_t held = quota_held(agent.quota, t->uid, kind);

		assert_int_equal(c->make[i](t), EDQUOT);
		assert_non_null(strstr(t->said, quota_kind_name(kind)));
		assert_non_null(strstr(t->said, why));
		assert_int_equal(quota_held(agent.quota, t->uid, kind), held);
	}
}

static void goes_on(struct tenant *t, enum quota_kind kind)
{
	for (unsigned int i = 0; i < makers(kind); i++)
		assert_int_equal(cases[kind].make[i](t), 0);
}

static uint64_t amount(enum quota_kind kind)
{
	return cases[kind].amount ? cases[kind].amount : 1;
}

/* By the limit of a section. */
static void limits(void **state)
{
	(void)state;
	for (int k = 0; k < QUOTA_KINDS; k++) {
		enum quota_kind kind = (enum quota_kind)k;
		unsigned int times = ROUNDS * makers(kind);

		open_agent(2);
		sections[0].limit[k] = quota_held(agent.quota, ALICE, kind) + times * amount(kind);
		exhaust(&alice, kind, times, "([user 4000001]), and holds");
		goes_on(&bob, kind);
		leave(&alice);
		for (int held = 0; held < QUOTA_KINDS; held++)
			assert_int_equal(quota_held(agent.quota, ALICE, (enum quota_kind)held), 0);
		goes_on(&bob, kind);
		leave(&bob);
		close_agent();
	}
}

/* Without sections, of what the host has once: as much is left for others as one has. */
static void shares(void **state)
{
	(void)state;
	for (int k = 0; k < QUOTA_KINDS; k++) {
		enum quota_kind kind = (enum quota_kind)k;
		unsigned int times = ROUNDS * makers(kind);
		uint64_t his, others;

		/* Users without section add none. */
		if (kind == QUOTA_CONNECTIONS)
			continue;
		open_agent(0);
		his = quota_held(agent.quota, ALICE, kind) + times * amount(kind);
		others = quota_held(agent.quota, BOB, kind);
		quota_set_room(agent.quota, kind, 2 * his + others);
		exhaust(&alice, kind, times, "one more, and fewer were left for others");
		goes_on(&bob, kind);
		leave(&alice);
		goes_on(&bob, kind);
		leave(&bob);
		close_agent();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(limits), cmocka_unit_test(shares) };

	return unit_run(tests);
}
