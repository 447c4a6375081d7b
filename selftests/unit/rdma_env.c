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

/* Before a connection that has ended is dialled again. */
#define REDIAL_NS 2000000ULL

struct ulp env_layer(struct env_host *h, unsigned int other)
{
	return other ? h->others[other - 1] : (struct ulp){ &rdma_ulp_ops, h->r };
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
	struct ulp u = env_layer(h, c->other);

	h->ending = true;
	u.ops->conn_down(u.self, cid, why);
	h->ending = false;
	if (core)
		fcore_conn_close(core, kCmplDeadConn);
	c->core = NULL;
	c->peer_cid = 0;
	c->hung = c->dirty = false;
	if (c->redial) {
		env_dial_later(h, cid, &c->dial, env.now + REDIAL_NS);
		return;
	}
	if (u.ops->conn_gone)
		u.ops->conn_gone(u.self, cid);
	c->other = 0;
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
	const struct ulp_conn up = { .core = h->conns[cid].core, .cid = cid, .owner = -1,
				     .max_len = h->conns[cid].other ? ENV_OTHER_MAX_LEN : ENV_MAX_LEN,
				     .ends = *ends, .data = *data };
	struct ulp u = env_layer(h, h->conns[cid].other);

	assert_int_equal(u.ops->conn_up(u.self, &up), 0);
}

void env_join_other(unsigned int other, uint32_t cid)
{
	const struct ulp_ends ends = { .family = AF_INET, .ordered = true };

	for (int i = 0; i < ENV_HOSTS; i++) {
		open_conn(&env.host[i], cid, &env.host[!i], cid, true);
		env.host[i].conns[cid].other = other;
	}
	for (int i = 0; i < ENV_HOSTS; i++)
		come_up(&env.host[i], cid, &ends, &(struct ulp_data){ 0 });
}

void env_leave_other(unsigned int other)
{
	for (int i = 0; i < ENV_HOSTS; i++) {
		struct env_host *h = &env.host[i];

		for (uint32_t cid = 1; cid < ENV_CONNS; cid++) {
			if (h->conns[cid].other != other)
				continue;
			h->conns[cid].redial = false;
			end_conn(h, cid, "the layer ends");
		}
		for (uint32_t k = 0; k < h->ndials;) {
			if (h->conns[h->dials[k].cid].peer_cid)
				k++;
			else
				h->dials[k] = h->dials[--h->ndials];
		}
	}
}

/* RDMA hangs up, which ends it; what others dial is dialled again. */
static void refuse(struct env_host *h, uint32_t cid, const char *why)
{
	if (h->conns[cid].other) {
		end_conn(h, cid, why);
		return;
	}
	h->conns[cid].peer_cid = cid;
	rdma_ulp_ops.refused(h->r, cid, why);
}

/* Which of |peer|'s layers answers |other| of the one that dials; -1: none. */
static int answers(struct env_host *peer, struct ulp from, unsigned int other)
{
	if (!other)
		return 0;
	for (int i = 0; i < ENV_OTHERS; i++)
		if (peer->others[i].ops && peer->others[i].ops->accept &&
		    peer->others[i].ops->proto == from.ops->proto)
			return i + 1;
	return -1;
}

static void answer_dial(struct env_host *h, const struct ulp_dial *d, uint32_t cid)
{
	uint32_t where = d->ends.remote.b[3] - 1U;
	struct ulp_request req = { .ends = d->ends, .peer = "", .data = d->data };
	struct env_conn *c = &h->conns[cid];
	struct ulp_data reply = { 0 };
	struct env_host *peer;
	char err[256] = "";
	struct ulp u;
	int other;

	if (c->hung) {
		end_conn(h, cid, "hung up");
		return;
	}
	/* Nobody has that address: it is dialled until it is hung up. */
	if (d->ends.family != AF_INET || where >= ENV_HOSTS) {
		c->peer_cid = cid;
		return;
	}
	if (h->deaf) {
		refuse(h, cid, "nobody there");
		return;
	}
	req.ends.local = d->ends.remote;
	req.ends.remote = d->ends.local;
	peer = &env.host[where];
	other = answers(peer, env_layer(h, c->other), c->other);
	req.cid = env_new_cid(peer);
	if (!req.cid || other < 0) {
		refuse(h, cid, "out of CIDs, or nobody is there");
		return;
	}
	u = env_layer(peer, (unsigned int)other);
	peer->conns[req.cid].peer_cid = UINT32_MAX;
	if (u.ops->accept(u.self, &req, &reply, err, sizeof(err))) {
		peer->conns[req.cid].peer_cid = 0;
		refuse(h, cid, err);
		return;
	}
	open_conn(h, cid, peer, req.cid, d->ends.ordered);
	open_conn(peer, req.cid, h, cid, d->ends.ordered);
	peer->conns[req.cid].other = (unsigned int)other;
	if (env.foreign)
		req.data.bytes[3] = reply.bytes[3] = 0;
	come_up(peer, req.cid, &req.ends, &req.data);
	come_up(h, cid, &d->ends, &reply);
}

static void serve_dials(struct env_host *h)
{
	for (uint32_t i = 0; i < h->ndials;) {
		struct ulp_dial d = h->dials[i].dial;
		uint32_t cid = h->dials[i].cid;

		if (h->dials[i].at > env.now) {
			i++;
			continue;
		}
		memmove(&h->dials[i], &h->dials[i + 1], (--h->ndials - i) * sizeof(h->dials[0]));
		answer_dial(h, &d, cid);
	}
}

static void serve_notes(void)
{
	/* Whatever they are answered with is sent in the next round. */
	for (uint32_t i = 0; i < env.nnotes; i++) {
		struct ulp_note note = env.notes[i], back = note;

		if (note.family != AF_INET || note.remote.b[3] - 1U >= ENV_HOSTS)
			continue;
		note.local = back.remote;
		note.remote = back.local;
		turn("a note", true);
		rdma_ulp_ops.note(env.host[note.local.b[3] - 1].r, &note, "");
		turn("a note", false);
	}
	env.nnotes = 0;
}

/* Who hangs up ends the other end, too; both have had a round to send what they owed. */
static void serve_hangups(struct env_host *h)
{
	bool hung = h->hung;

	h->hung = false;
	for (uint32_t cid = 1; hung && cid < ENV_CONNS; cid++) {
		struct env_conn *c = &h->conns[cid];
		struct env_host *peer = &env.host[c->peer_host];
		uint32_t other = c->peer_cid;

		if (!c->hung)
			continue;
		/* It is being dialled: later. */
		if (other == UINT32_MAX) {
			h->hung = true;
			continue;
		}
		if (c->core && peer->conns[other].core)
			peer->conns[other].hung = peer->hung = true;
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
	h->dirty = true;
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

	/* A test has let time pass meanwhile. */
	next = next < env.now ? env.now : next;
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
	for (uint32_t cid = 1; h->dirty && cid < ENV_CONNS; cid++) {
		struct env_conn *c = &h->conns[cid];

		if (c->core && c->dirty)
			fcore_acked(c->core, env.now);
		c->dirty = false;
	}
	h->dirty = false;
	turn("the RDMA layer", true);
	if (!h->still)
		rdma_ulp_ops.pump(h->r, env.now);
	turn("the RDMA layer", false);
	for (int i = 0; i < ENV_OTHERS; i++) {
		if (!h->others[i].ops)
			continue;
		turn(h->others[i].ops->name, true);
		h->others[i].ops->pump(h->others[i].self, env.now);
		turn(h->others[i].ops->name, false);
	}
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
