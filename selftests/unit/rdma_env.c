// SPDX-License-Identifier: BSD-2-Clause
/* Time, connections and the packets that arrive, in rdma_env.h. */
#include "rdma_env_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

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

static struct ulp layer(struct env_host *h, bool other)
{
	return other ? h->other : (struct ulp){ &rdma_ulp_ops, h->r };
}

static void turn(const char *what, bool begins)
{
	if (env.turn)
		env.turn(what, begins);
}

static void end_conn(struct env_host *h, uint32_t cid, const char *why)
{
	struct env_conn *c = &h->conns[cid];
	struct fcore_conn *core = c->core;
	struct ulp u = layer(h, c->other);

	h->ending = true;
	u.ops->conn_down(u.self, cid, why);
	h->ending = false;
	if (core)
		fcore_conn_close(core, kCmplDeadConn);
	u.ops->conn_gone(u.self, cid);
	c->core = NULL;
	c->other = false;
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
				     .owner = -1, .ends = *ends, .data = *data };
	struct ulp u = layer(h, h->conns[cid].other);

	assert_int_equal(u.ops->conn_up(u.self, &up), 0);
}

void env_join_other(uint32_t cid)
{
	const struct ulp_ends ends = { .family = AF_INET, .ordered = true };

	for (int i = 0; i < ENV_HOSTS; i++) {
		open_conn(&env.host[i], cid, &env.host[!i], cid, true);
		env.host[i].conns[cid].other = true;
	}
	for (int i = 0; i < ENV_HOSTS; i++)
		come_up(&env.host[i], cid, &ends, &(struct ulp_data){ 0 });
}

/* The layer hangs up, which ends it. */
static void refuse(struct env_host *h, uint32_t cid, const char *why)
{
	h->conns[cid].peer_cid = cid;
	rdma_ulp_ops.refused(h->r, cid, why);
}

static void answer_dial(struct env_host *h, const struct ulp_dial *d, uint32_t cid)
{
	uint32_t where = d->ends.remote[3] - 1U;
	struct ulp_request req = { .ends = d->ends, .peer = "", .data = d->data };
	struct ulp_data reply = { 0 };
	struct env_host *peer;
	char err[256] = "";

	if (h->conns[cid].hung) {
		end_conn(h, cid, "hung up");
		return;
	}
	/* Nobody has that address: it is dialled until it is hung up. */
	if (d->ends.family != AF_INET || where >= ENV_HOSTS) {
		h->conns[cid].peer_cid = cid;
		return;
	}
	if (h->deaf) {
		refuse(h, cid, "nobody there");
		return;
	}
	memcpy(req.ends.local, d->ends.remote, 16);
	memcpy(req.ends.remote, d->ends.local, 16);
	peer = &env.host[where];
	req.cid = env_new_cid(peer);
	if (!req.cid) {
		refuse(h, cid, "out of CIDs");
		return;
	}
	peer->conns[req.cid].peer_cid = UINT32_MAX;
	if (rdma_ulp_ops.accept(peer->r, &req, &reply, err, sizeof(err))) {
		peer->conns[req.cid].peer_cid = 0;
		refuse(h, cid, err);
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

static void serve_notes(void)
{
	/* Whatever they are answered with is sent in the next round. */
	for (uint32_t i = 0; i < env.nnotes; i++) {
		struct ulp_note note = env.notes[i], back = note;

		if (note.family != AF_INET || note.remote[3] - 1U >= ENV_HOSTS)
			continue;
		memcpy(note.local, back.remote, 16);
		memcpy(note.remote, back.local, 16);
		turn("a note", true);
		rdma_ulp_ops.note(env.host[note.local[3] - 1].r, &note, "");
		turn("a note", false);
	}
	env.nnotes = 0;
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
	turn("the RDMA layer", true);
	if (!h->still)
		rdma_ulp_ops.pump(h->r, env.now);
	turn("the RDMA layer", false);
	turn("the other layer", true);
	if (h->other.ops)
		h->other.ops->pump(h->other.self, env.now);
	turn("the other layer", false);
	turn("the core", true);
	fcore_run(h->core, env.now, 64);
	turn("the core", false);
}

void env_step(void)
{
	env.now = next_event();
	while (env.in_flight && env.flight[0].at <= env.now) {
		struct env_packet p = env_pop();

		turn("a packet", true);
		receive(&p);
		turn("a packet", false);
	}
	for (int i = 0; i < ENV_HOSTS; i++)
		host_round(&env.host[i]);
	for (int i = 0; i < ENV_HOSTS; i++) {
		serve_dials(&env.host[i]);
		serve_hangups(&env.host[i]);
	}
	serve_notes();
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
