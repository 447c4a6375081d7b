// SPDX-License-Identifier: BSD-2-Clause
/*
 * Who is served (8.3; user/core/sched.c, flow.c): connections in turn, a quantum each, a connection's two
 * queues packet by packet, and of its flows the one with the most room, in turn among equals. Nobody who
 * could send has to look on while another is served twice.
 */
#include "check.h"

#include <core/parts.h>

/* |e| is in its host's round: it may have something to send. */
static bool waits(const struct endpoint *e)
{
	return e->core && !fc_list_empty(&e->core->link);
}

static uint8_t *passed_by(const struct endpoint *e)
{
	return e->host->passed + (size_t)e->nth * e->host->neps;
}

static void has_had_its_turn(const struct endpoint *e)
{
	memset(passed_by(e), 0, e->host->neps);
}

/* |e| is served; what the others have seen of it since they were. */
static void check_round(struct endpoint *e)
{
	struct host *h = e->host;

	for (uint32_t i = 0; i < h->neps; i++) {
		struct endpoint *other = h->ep[i];

		if (other == e || !waits(other)) {
			has_had_its_turn(other);
			continue;
		}
		if (!other->turn.refused && ++passed_by(other)[e->nth] > FC_QUANTUM)
			sim_fail(h->sim, e, "served again, while connection %u, side %u, waits",
				 other->index / 2, other->index % 2);
	}
}

/* As flow.c: packets that |f| may have on the wire beyond those that it has, in fractions. */
static int32_t room_of(const struct fc_flow *f)
{
	return (int32_t)f->share - (int32_t)(f->outstanding << FALCON_EV_fcwnd_fraction_WIDTH);
}

/* Where in the round of its connection's flows |flow| is. */
static uint32_t place_of(const struct fcore_conn *c, uint32_t flow)
{
	return (flow + c->nflows - c->last_flow - 1) % c->nflows;
}

/* Flows that nothing comes back from, or that have been idle, have rules of their own. */
static bool is_plain(const struct fcore_conn *c)
{
	for (uint32_t i = 0; i < c->nflows; i++)
		if (c->flow[i].silent || !c->flow[i].outstanding)
			return false;
	return true;
}

static void check_flow(struct endpoint *e, uint32_t flow)
{
	const struct fcore_conn *c = e->core;
	int32_t room = room_of(&c->flow[flow]);

	if (!is_plain(c))
		return;
	for (uint32_t i = 0; i < c->nflows; i++) {
		int32_t other = room_of(&c->flow[i]);

		if (fc_flow_paced(&c->flow[i], host_now(e->host)) || other < room)
			continue;
		if (other > room || place_of(c, i) < place_of(c, flow))
			sim_fail(e->sim, e, "flow %u taken with room for %d, flow %u has %d", flow, room, i,
				 other);
	}
}

void check_served(struct endpoint *e, const struct fcore_packet *p)
{
	if (!e->host->passed || !e->host->running || p->probe)
		return;
	check_round(e);
	if (e->cfg->flows > 1 && !falcon_type_is_ack(p->type))
		check_flow(e, p->flow);
}

/* The first packet of the queue of requests, or of responses, could go. */
static bool could_go(const struct fcore_conn *c, bool response)
{
	const struct fc_win *w = &c->data;

	if (response)
		return c->resp_head != c->resp_tail && fc_tx_fits(w, w->next);
	if (c->init_send == c->init_next)
		return false;
	if (c->itxn[c->init_send & FC_TXN_MASK].flags & FC_ITXN_PULL)
		w = &c->req;
	return fc_tx_fits(w, w->next) && w->orc < c->ncwnd;
}

void check_alternates(struct endpoint *e, bool response)
{
	struct turn *t = &e->turn;
	bool other = could_go(e->core, !response);

	if (t->any && t->response == response && t->other && other)
		sim_fail(e->sim, e, "two %s in a row, while a %s waits", response ? "responses" : "requests",
			 response ? "request" : "response");
	t->any = true;
	t->response = response;
	t->other = other;
}

void check_not_served(struct endpoint *e, bool chance)
{
	e->turn.any = false;
	if (chance && e->host->passed)
		has_had_its_turn(e);
	e->turn.refused = true;
}

void check_served_all(struct host *h)
{
	for (uint32_t i = 0; h->passed && i < h->neps; i++) {
		h->ep[i]->turn.refused = false;
		if (!waits(h->ep[i]))
			has_had_its_turn(h->ep[i]);
	}
}
