// SPDX-License-Identifier: BSD-2-Clause
#include "rdma_link_env.h"

struct env_host env_a, env_b;
struct fcore_conn env_cores[ENV_CIDS];

uint32_t fcore_conn_cid(const struct fcore_conn *c)
{
	return c->cid;
}

const struct rdma_qp_init *rdma_qp_parts(const struct rdma_qp *qp)
{
	return &qp->init;
}

uint32_t rdma_qp_num(const struct rdma_qp *qp)
{
	return qp->num;
}

static void push(struct env_host *h, const struct env_msg *m)
{
	assert_true(h->out->tail - h->out->head < ENV_QUEUE);
	h->out->msgs[h->out->tail++ % ENV_QUEUE] = *m;
}

static int dial(void *agent, const struct ulp_dial *d, char *err, size_t errlen)
{
	struct env_host *h = agent;
	struct env_conn *c = &h->conns[h->ncids + 1];

	if (h->dial_error) {
		snprintf(err, errlen, "the test forbids it");
		return h->dial_error;
	}
	assert_true(h->ncids + 1 < ENV_CIDS);
	assert_int_equal(d->proto, FALCON_PROTO_RDMA);
	h->dials++;
	*c = (struct env_conn){ .used = true, .ends = d->ends, .data = d->data };
	return (int)++h->ncids;
}

static void hangup(void *agent, uint32_t cid, const char *why)
{
	struct env_host *h = agent;
	struct env_conn *c = &h->conns[cid];
	struct env_msg m = { .type = CLOSE, .src = cid, .dst = c->peer };

	assert_true(c->used);
	snprintf(m.text, sizeof(m.text), "%s", why);
	if (!c->hung && (c->sent || c->peer))
		push(h, &m);
	c->hung = true;
}

static const struct ulp_host host = { .dial = dial, .hangup = hangup };

static void make(struct env_host *h, struct env_host *peer, struct env_queue *out, const char *v4,
		 const char *v6)
{
	struct falcon_addr addr = {};

	memset(h, 0, sizeof(*h));
	h->peer = peer;
	h->out = out;
	h->r.host = (struct rdma_host){ .ulp = &host, .agent = h };
	h->r.now = 1000;
	h->r.ndevices = 1;
	h->r.devices[0].ngids = 2;
	inet_pton(AF_INET, v4, addr.b);
	link_gid(AF_INET, &addr, h->r.devices[0].gids[0].raw);
	inet_pton(AF_INET6, v6, h->r.devices[0].gids[1].raw);
	h->ctx.r = &h->r;
	rdma_join(&h->r, NULL);
	assert_int_equal(rdma_links_open(&h->r), 0);
}

void env_open(void)
{
	static struct env_queue to_b, to_a;

	memset(&to_a, 0, sizeof(to_a));
	memset(&to_b, 0, sizeof(to_b));
	make(&env_a, &env_b, &to_b, "10.0.0.1", "fd00::1");
	make(&env_b, &env_a, &to_a, "10.0.0.2", "fd00::2");
	for (uint32_t i = 0; i < ENV_CIDS; i++)
		env_cores[i].cid = i;
}

void env_close(void)
{
	rdma_links_close(&env_a.r);
	rdma_links_close(&env_b.r);
}

void env_path(const struct env_host *to, unsigned int gid, struct fverbs_ah_attr *ah)
{
	*ah = (struct fverbs_ah_attr){ .is_global = 1, .sgid_index = (uint8_t)gid };
	memcpy(ah->dgid, to->r.devices[0].gids[gid].raw, 16);
}

void env_qp(struct env_host *h, struct rdma_qp *qp, uint32_t num, uint32_t dest)
{
	*qp = (struct rdma_qp){ .init.ctx = &h->ctx, .num = num, .dest = dest,
				.modes = RDMA_LINK_ORDERED };
}

static void up(void *owner, struct rdma_link *link)
{
	struct rdma_qp *qp = owner;

	assert_ptr_equal(qp->link, link);
	assert_non_null(rdma_link_core(link));
	qp->max_len = rdma_link_max_len(link);
	qp->ups++;
}

static void resized(void *owner, struct rdma_link *link)
{
	struct rdma_qp *qp = owner;

	assert_ptr_equal(qp->link, link);
	qp->max_len = rdma_link_max_len(link);
	qp->resizes++;
}

static void down(void *owner, struct rdma_link *link, const char *why)
{
	struct rdma_qp *qp = owner;

	assert_ptr_equal(qp->link, link);
	assert_null(rdma_link_core(link));
	qp->downs++;
	snprintf(qp->why, sizeof(qp->why), "%s", why);
	env_put(qp);
}

static const struct rdma_link_ops ops = { .up = up, .resized = resized, .down = down };

bool env_rtr(struct rdma_qp *qp, const struct env_host *to, uint64_t timeout)
{
	struct fverbs_ah_attr ah;

	env_path(to, 0, &ah);
	qp->link = rdma_link_connect(qp, &ah, qp->dest, qp->modes, timeout, &ops, qp, qp->why,
				     sizeof(qp->why));
	return qp->link;
}

void env_put(struct rdma_qp *qp)
{
	if (qp->link)
		rdma_link_put(qp->link);
	qp->link = NULL;
}

bool env_flush(struct env_host *h)
{
	for (uint32_t cid = 1; cid <= h->ncids; cid++) {
		struct env_conn *c = &h->conns[cid];
		struct env_msg m = { .type = OPEN, .src = cid, .data = c->data };

		if (!c->used || c->hung || c->sent || c->peer)
			continue;
		m.ordered = c->ends.ordered;
		m.family = c->ends.family;
		m.from = c->ends.local;
		m.to = c->ends.remote;
		push(h, &m);
		c->sent = true;
		return true;
	}
	return false;
}

static void bring_up(struct env_host *h, uint32_t cid, const struct ulp_data *data)
{
	struct env_conn *c = &h->conns[cid];
	struct ulp_conn up = { .core = &env_cores[cid], .cid = cid, .max_len = 1400,
			       .ends = c->ends, .data = *data };

	c->up = true;
	assert_int_equal(rdma_links_conn_up(&h->r, &up), 0);
}

static void on_open(struct env_host *h, const struct env_msg *m)
{
	struct ulp_request req = { .peer = "", .cid = h->ncids + 1, .data = m->data };
	struct env_msg answer = { .type = ANSWER, .dst = m->src, .src = req.cid };

	req.ends.family = m->family;
	req.ends.ordered = m->ordered;
	req.ends.local = m->to;
	req.ends.remote = m->from;
	if (h->deaf || rdma_links_accept(&h->r, &req, &answer.data, answer.text,
					 sizeof(answer.text)) < 0) {
		if (h->deaf)
			snprintf(answer.text, sizeof(answer.text), "%s", h->deaf);
		assert_int_not_equal(answer.text[0], 0);
		answer.type = REJECT;
		answer.src = 0;
		return push(h, &answer);
	}
	h->conns[++h->ncids] = (struct env_conn){ .used = true, .peer = m->src, .ends = req.ends,
						  .data = m->data };
	push(h, &answer);
}

static void on_close(struct env_host *h, const struct env_msg *m)
{
	for (uint32_t cid = 1; cid <= h->ncids; cid++)
		if (h->conns[cid].peer == m->src && !h->conns[cid].hung)
			env_lose(h, cid, m->text);
}

bool env_deliver(struct env_host *h)
{
	struct env_host *to = h->peer;
	struct env_msg m;
	struct env_conn *c;

	if (h->out->head == h->out->tail)
		return false;
	m = h->out->msgs[h->out->head++ % ENV_QUEUE];
	c = &to->conns[m.dst];
	switch (m.type) {
	case OPEN: on_open(to, &m); break;
	case CLOSE: on_close(to, &m); break;
	case REJECT:
		if (!c->hung)
			rdma_links_refused(&to->r, m.dst, m.text);
		break;
	case ANSWER:
		if (c->hung)
			break;
		c->peer = m.src;
		push(to, &(struct env_msg){ .type = READY, .src = m.dst, .dst = m.src });
		bring_up(to, m.dst, &m.data);
		break;
	case READY:
		if (!c->hung)
			bring_up(to, m.dst, &c->data);
		break;
	}
	return true;
}

void env_settle(uint64_t now)
{
	bool more = true;

	env_a.r.now = env_b.r.now = now;
	while (more) {
		rdma_links_run(&env_a.r);
		rdma_links_run(&env_b.r);
		more = env_flush(&env_a) | env_flush(&env_b);
		more |= env_deliver(&env_a) | env_deliver(&env_b);
	}
}

void env_lose(struct env_host *h, uint32_t cid, const char *why)
{
	struct env_conn *c = &h->conns[cid];

	c->up = false;
	rdma_links_conn_down(&h->r, cid, why);
	c->hung = true;
}

unsigned int env_live(const struct env_host *h)
{
	unsigned int n = 0;

	for (uint32_t cid = 1; cid <= h->ncids; cid++)
		n += h->conns[cid].used && !h->conns[cid].hung;
	return n;
}
