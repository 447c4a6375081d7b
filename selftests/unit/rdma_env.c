// SPDX-License-Identifier: BSD-2-Clause
/* Time, connections and the packets that arrive, in rdma_env.h. */
#include "rdma_env_parts.h"

#include <stdlib.h>
#include <string.h>

struct env env;

void env_open(uint64_t seed)
{
	memset(&env, 0, sizeof(env));
	env.random = seed * 0x9e3779b97f4a7c15ULL + 1;
	env.now = 1000000000;
	env_wire_open();
	env_rules_open();
	for (int i = 0; i < ENV_HOSTS; i++)
		env_host_open(&env.host[i], i);
}

static void end_conn(struct env_host *h, uint32_t cid, const char *why)
{
	struct env_conn *c = &h->conns[cid];
	struct fcore_conn *core = c->core;

	h->ending = true;
	rdma_ulp_ops.conn_down(h->r, cid, why);
	h->ending = false;
	if (core)
		fcore_conn_close(core, kCmplDeadConn);
	rdma_ulp_ops.conn_gone(h->r, cid);
	c->core = NULL;
	c->peer_cid = 0;
	c->hung = c->dirty = false;
}

void env_end_conn(struct env_host *h, uint32_t cid)
{
	end_conn(h, cid, "it ends");
}

void env_close(void)
{
	for (int i = 0; i < ENV_HOSTS; i++) {
		struct env_host *h = &env.host[i];

		for (uint32_t cid = 1; cid < ENV_CONNS; cid++)
			if (h->conns[cid].core)
				end_conn(h, cid, "the test ends");
		rdma_destroy(h->r);
		assert_int_equal(h->frames, 0);
		fcore_destroy(h->core);
	}
}

/* ---- connections ---- */

static void open_conn(struct env_host *h, uint32_t cid, struct env_host *peer, uint32_t peer_cid,
		      bool ordered)
{
	struct env_conn *c = &h->conns[cid];
	struct fcore_params p;

	fcore_params_default(&p);
	p.ordered = ordered;
	p.rto_ns = 100000;
	memset(&c->shared, 0, sizeof(c->shared));
	c->shared.id.cid = cid;
	c->shared.id.peer_cid = peer_cid;
	c->peer_host = (uint32_t)peer->index;
	c->peer_cid = peer_cid;
	c->ordered = ordered;
	c->hung = c->dirty = false;
	c->core = fcore_conn_open(h->core, cid, &c->shared, &p, env.now);
	assert_non_null(c->core);
}

static void come_up(struct env_host *h, uint32_t cid, const struct ulp_ends *ends,
		    const struct ulp_data *data)
{
	const struct ulp_conn up = { .core = h->conns[cid].core, .cid = cid, .max_len = ENV_MAX_LEN,
				     .ends = *ends, .data = *data };

	assert_int_equal(rdma_ulp_ops.conn_up(h->r, &up), 0);
}

static void answer_dial(struct env_host *h, const struct ulp_dial *d, uint32_t cid)
{
	struct env_host *peer = &env.host[d->ends.remote[3] - 1];
	struct ulp_request req = { .ends = d->ends, .peer = "", .data = d->data };
	struct ulp_data reply = { 0 };
	char err[256] = "";

	if (h->conns[cid].hung) {
		end_conn(h, cid, "hung up");
		return;
	}
	if (h->deaf) {
		rdma_ulp_ops.refused(h->r, cid, "nobody there");
		return;
	}
	memcpy(req.ends.local, d->ends.remote, 16);
	memcpy(req.ends.remote, d->ends.local, 16);
	req.cid = env_new_cid(peer);
	peer->conns[req.cid].peer_cid = UINT32_MAX;
	if (rdma_ulp_ops.accept(peer->r, &req, &reply, err, sizeof(err))) {
		peer->conns[req.cid].peer_cid = 0;
		rdma_ulp_ops.refused(h->r, cid, err);
		return;
	}
	open_conn(h, cid, peer, req.cid, d->ends.ordered);
	open_conn(peer, req.cid, h, cid, d->ends.ordered);
	if (env.foreign)
		req.data.bytes[3] = reply.bytes[3] = 0;
	come_up(peer, req.cid, &req.ends, &req.data);
	come_up(h, cid, &d->ends, &reply);
}

static void serve_dials(struct env_host *h)
{
	while (h->ndials) {
		struct ulp_dial d = h->dials[0].dial;
		uint32_t cid = h->dials[0].cid;

		memmove(&h->dials[0], &h->dials[1], --h->ndials * sizeof(h->dials[0]));
		answer_dial(h, &d, cid);
	}
}

/* Who hangs up ends the other end, too; both have had a round to send what they owed. */
static void serve_hangups(struct env_host *h)
{
	for (uint32_t cid = 1; cid < ENV_CONNS; cid++) {
		struct env_conn *c = &h->conns[cid];
		struct env_host *peer = &env.host[c->peer_host];
		uint32_t other = c->peer_cid;

		if (!c->hung || other == UINT32_MAX)
			continue;
		if (c->core && peer->conns[other].core)
			peer->conns[other].hung = true;
		end_conn(h, cid, "hung up");
	}
}

/* ---- packets ---- */

static void answer(struct env_conn *c, uint8_t flow)
{
	uint8_t buf[FALCON_MAX_HDR_LEN];
	struct falcon_ack a;

	falcon_ack_compose(&c->shared, flow, &a);
	env_send(c, flow, buf, falcon_ack_pack(&a, buf));
}

static void receive_ack(struct env_conn *c, const struct env_packet *p)
{
	struct falcon_ack a;

	assert_int_equal(falcon_ack_unpack(p->bytes, p->bytes + p->len, &a), FALCON_WIRE_OK);
	switch (falcon_rx_ack(&c->shared, p->flow, &a, env.now)) {
	case FALCON_V_rx_nack:
		fcore_nacked(c->core, &a, env.now);
		c->dirty = true;
		break;
	case FALCON_V_ack_consumed:
	case FALCON_V_nack_consumed:
		c->dirty = true;
		break;
	default:
		break;
	}
}

static void deliver(struct env_host *h, struct env_conn *c, const struct env_packet *p,
		    const struct falcon_hdr *hdr)
{
	uint32_t off = falcon_hdr_len(hdr->type);
	uint8_t *frame = malloc(p->len);

	memcpy(frame, p->bytes, p->len);
	h->frames++;
	fcore_receive(c->core, &(struct fcore_rx){ .hdr = *hdr, .payload = frame + off,
						   .len = p->len - off, .frame = frame,
						   .flow = p->flow, .now = env.now });
}

static void receive(const struct env_packet *p)
{
	struct env_host *h = &env.host[p->host];
	struct env_conn *c = &h->conns[p->cid];
	const struct falcon_base_hdr *base = (const void *)p->bytes;
	struct falcon_hdr hdr;

	if (!c->core)
		return;
	if (falcon_type_is_ack(falcon_wire_type(base->func_type))) {
		receive_ack(c, p);
		return;
	}
	assert_int_equal(falcon_hdr_unpack(p->bytes, p->bytes + p->len, &hdr), FALCON_WIRE_OK);
	/* Of a connection that had this CID before. */
	if (hdr.cid != c->shared.id.cid)
		return;
	c->dirty |= falcon_piggyback(&c->shared, hdr.rdbpsn, hdr.rrbpsn) != 0;
	switch (falcon_rx_window(&c->shared, &hdr)) {
	case FALCON_V_rx_data:
	case FALCON_V_rx_request:
	case FALCON_V_rx_resync:
	case FALCON_V_rx_resync_dup:
		deliver(h, c, p, &hdr);
		break;
	default:
		answer(c, p->flow);
		break;
	}
}

/* ---- time ---- */

static uint64_t next_event(void)
{
	uint64_t next = env.in_flight ? env.flight[0].at : env.now + 1000000;

	for (int i = 0; i < ENV_HOSTS; i++) {
		uint64_t t = fcore_next_deadline(env.host[i].core, env.now);
		uint64_t u = rdma_ulp_ops.deadline(env.host[i].r);

		t = u < t ? u : t;
		t = t <= env.now ? env.now + 500 : t;
		next = t < next ? t : next;
	}
	return next;
}

static void host_round(struct env_host *h)
{
	for (uint32_t cid = 1; cid < ENV_CONNS; cid++) {
		struct env_conn *c = &h->conns[cid];

		if (c->core && c->dirty)
			fcore_acked(c->core, env.now);
		c->dirty = false;
	}
	if (!h->still)
		rdma_ulp_ops.pump(h->r, env.now);
	fcore_run(h->core, env.now, 64);
}

void env_step(void)
{
	env.now = next_event();
	while (env.in_flight && env.flight[0].at <= env.now) {
		struct env_packet p = env_pop();

		receive(&p);
	}
	for (int i = 0; i < ENV_HOSTS; i++)
		host_round(&env.host[i]);
	for (int i = 0; i < ENV_HOSTS; i++) {
		serve_dials(&env.host[i]);
		serve_hangups(&env.host[i]);
	}
}

void env_steps(unsigned int n)
{
	while (n--)
		env_step();
}

bool env_run(bool (*done)(void *arg), void *arg, unsigned int limit)
{
	while (!done(arg)) {
		if (!limit--)
			return false;
		env_step();
	}
	return true;
}
