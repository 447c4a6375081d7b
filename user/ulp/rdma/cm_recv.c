// SPDX-License-Identifier: BSD-2-Clause
/* What the peer's connection manager says, and what is due. */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/wire/wire.h"
#include "ulp/rdma/cm.h"

int rdma_cm_open(struct rdma *r)
{
	r->cm = calloc(1, sizeof(*r->cm));
	if (!r->cm)
		return -ENOMEM;
	STAILQ_INIT(&r->cm->out);
	r->cm->next_at = UINT64_MAX;
	return 0;
}

static struct rcm_out *take_out(struct rdma_cm *cm)
{
	struct rcm_out *out = STAILQ_FIRST(&cm->out);

	if (!out)
		return NULL;
	STAILQ_REMOVE_HEAD(&cm->out, entry);
	cm->nout--;
	return out;
}

void rdma_cm_close(struct rdma *r)
{
	struct rcm_out *out;

	while ((out = take_out(r->cm)))
		free(out);
	free(r->cm);
	r->cm = NULL;
}

void rdma_cm_ctx_gone(struct rdma_ctx *ctx)
{
	struct rcm_channel *ch;

	while ((ch = LIST_FIRST(&ctx->cm_channels)))
		rcm_channel_free(ch);
}

/* ---- requests ---- */

static struct rcm_id *known_request(const struct rdma *r, const struct fverbs_cm_addr *to,
				    const struct fverbs_cm_addr *from, uint32_t peer)
{
	struct rcm_id *id;

	LIST_FOREACH(id, &r->cm->by_port[to->port], in_port)
		if (id->peer == peer && id->dst.port == from->port &&
		    rcm_same_addr(&id->dst, from) && rcm_same_addr(&id->src, to))
			return id;
	return NULL;
}

static struct rcm_id *child_of(struct rcm_id *listener, const struct rcm_msg *m,
			       const struct fverbs_cm_addr *to, const struct fverbs_cm_addr *from)
{
	struct rcm_id *id;
	char err[128];

	if (listener->children >= listener->backlog)
		return NULL;
	if (rcm_id_new(listener->channel, listener->ps, listener->qp_type, &id, err, sizeof(err)) < 0)
		return NULL;
	id->src = *to;
	id->dst = *from;
	id->peer = m->src_id;
	id->remote = m->param;
	id->timeout = listener->timeout;
	id->state = RCM_REQ_RCVD;
	if (rcm_find_device(id) < 0) {
		id->state = RCM_DONE;
		rcm_id_free(id);
		return NULL;
	}
	rcm_list_port(id);
	rcm_ask(id, listener);
	return id;
}

static void on_request(struct rdma *r, const struct rcm_msg *m, const struct fverbs_cm_addr *to,
		       const struct fverbs_cm_addr *from)
{
	bool sidr = m->type == RCM_SIDR_REQ;
	struct rcm_msg no = {
		.type = sidr ? RCM_SIDR_REP : RCM_REJ,
		.dst_id = m->src_id,
		.ps = m->ps,
		.reason = sidr ? RCM_SIDR_UNSUPPORTED : RCM_REJ_INVALID_SERVICE,
	};
	struct rcm_id *listener, *id = known_request(r, to, from, m->src_id);

	if (id) {
		/* It has been answered, or will be. */
		if (id->state != RCM_REQ_RCVD)
			rcm_say_again(id);
		return;
	}
	listener = rcm_listener(r, m->ps, to);
	if (listener && listener->datagram == sidr) {
		id = child_of(listener, m, to, from);
		no.reason = sidr ? RCM_SIDR_REJECT : RCM_REJ_NO_RESOURCES;
	}
	if (id)
		rcm_event(listener, RDMA_CM_EVENT_CONNECT_REQUEST, 0, id);
	else
		rcm_send(r, to, from, &no);
}

/* ---- answers ---- */

static void finish(struct rcm_id *id, uint32_t event, int status)
{
	rcm_hush(id);
	id->state = RCM_DONE;
	rcm_event(id, event, status, NULL);
}

static void on_rep(struct rcm_id *id, const struct rcm_msg *m)
{
	if (id->state == RCM_CONNECTED && id->last.type == RCM_RTU)
		return rcm_say_again(id);
	if (id->state != RCM_REQ_SENT || id->datagram)
		return;
	rcm_hush(id);
	id->peer = m->src_id;
	id->remote = m->param;
	id->state = RCM_REP_RCVD;
	rcm_event(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL);
}

/* Who answers a request that is no more, or was never made, is not to wait. */
static void reject_stray_rep(struct rdma *r, const struct rcm_msg *m,
			     const struct fverbs_cm_addr *to, const struct fverbs_cm_addr *from)
{
	const struct rcm_msg rej = { .type = RCM_REJ, .src_id = m->dst_id, .dst_id = m->src_id,
				     .ps = m->ps, .reason = RCM_REJ_INVALID_ID };

	rcm_send(r, to, from, &rej);
}

static void on_rtu(struct rcm_id *id)
{
	if (id->state != RCM_REP_SENT)
		return;
	rcm_hush(id);
	id->state = RCM_CONNECTED;
	id->remote.private_data_len = 0;
	rcm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL);
}

/* The request |id| is taken back: accepting it will fail, if its application knows of it at all. */
static void withdraw(struct rcm_id *id)
{
	rcm_answered(id);
	id->state = RCM_DONE;
	if (rcm_is_unfetched(id))
		rcm_id_free(id);
}

static void on_rej(struct rcm_id *id, const struct rcm_msg *m)
{
	if (id->state == RCM_REQ_RCVD)
		return withdraw(id);
	if (id->state != RCM_REQ_SENT && id->state != RCM_REP_RCVD && id->state != RCM_REP_SENT)
		return;
	id->remote = m->param;
	finish(id, RDMA_CM_EVENT_REJECTED, m->reason);
}

static void on_sidr_rep(struct rcm_id *id, const struct rcm_msg *m)
{
	if (id->state != RCM_REQ_SENT || !id->datagram)
		return;
	id->peer = m->src_id;
	id->remote = m->param;
	if (m->reason)
		finish(id, RDMA_CM_EVENT_UNREACHABLE, m->reason);
	else
		finish(id, RDMA_CM_EVENT_ESTABLISHED, 0);
}

/*
 * The peer has disconnected, with a note that may have overtaken its last acknowledgments, or they were
 * lost. An application that hears of it gives its queue pair up: requests that the peer's application has
 * seen would be flushed, and completions that it has not polled yet thrown away. So both come first, for
 * which the peer's connection outlives its queue pair.
 */
static void drain(struct rcm_id *id)
{
	bool ended = id->drain.ended;

	if (rdma_qp_drain(id->r, id->local.qp_num, &id->drain) == RDMA_DRAIN_DONE)
		return finish(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	if (id->drain.ended && !ended)
		id->drain_until = id->r->now + RCM_DRAIN_POLLS_MS * 1000000ULL;
	if (id->r->now >= id->drain_until)
		return finish(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rcm_set_time(id, id->r->now + RCM_DRAIN_MS * 1000000ULL);
}

static void on_dreq(struct rdma *r, struct rcm_id *id, const struct rcm_msg *m,
		    const struct fverbs_cm_addr *to, const struct fverbs_cm_addr *from)
{
	const struct rcm_msg drep = { .type = RCM_DREP, .src_id = m->dst_id, .dst_id = m->src_id,
				      .ps = m->ps };

	rcm_send(r, to, from, &drep);
	if (!id || (id->state != RCM_CONNECTED && id->state != RCM_REP_SENT &&
		    id->state != RCM_REP_RCVD && id->state != RCM_DREQ_SENT))
		return;
	id->remote = m->param;
	if (id->state == RCM_DREQ_SENT)
		return finish(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	rcm_hush(id);
	id->state = RCM_DREQ_RCVD;
	id->drain_until = r->now + RCM_DRAIN_SENDS_MS * 1000000ULL;
	rdma_qp_drain_begin(r, id->local.qp_num, &id->drain);
	drain(id);
}

/* The id that |m| is for: its own numbers, between its own two addresses. */
static struct rcm_id *target(const struct rdma *r, const struct rcm_msg *m,
			     const struct fverbs_cm_addr *to, const struct fverbs_cm_addr *from)
{
	struct rcm_id *id = rcm_id_find(r, m->dst_id);

	if (!id || !rcm_same_addr(&id->src, to) || !rcm_same_addr(&id->dst, from) ||
	    (id->peer ? id->peer != m->src_id : id->state != RCM_REQ_SENT))
		return NULL;
	return id;
}

/* What one end offers as initiator the other needs as responder. */
static void swap_depths(struct fverbs_cm_param *p)
{
	uint8_t depth = p->initiator_depth;

	p->initiator_depth = p->responder_resources;
	p->responder_resources = depth;
}

/* False: it is no message. */
static bool read_note(const struct ulp_note *note, struct rcm_msg *m, struct fverbs_cm_addr *to,
		      struct fverbs_cm_addr *from)
{
	if (!rcm_unpack(note->data, note->len, m))
		return false;
	*to = *from = (struct fverbs_cm_addr){ .family = (uint16_t)note->family };
	memcpy(to->addr, note->local.b, 16);
	memcpy(from->addr, note->remote.b, 16);
	swap_depths(&m->param);
	to->port = htons(m->dst_port);
	from->port = htons(m->src_port);
	return true;
}

/* The layer whose request it is, a repeated one, or who listens there, best at that very address. */
static uint32_t find_member(const struct rdma_group *g, const struct rcm_msg *m,
			    const struct fverbs_cm_addr *to, const struct fverbs_cm_addr *from)
{
	const struct rcm_id *listener;
	uint32_t found = 0;
	bool any = false;

	for (uint32_t i = 0; i < g->n; i++)
		if (known_request(g->all[i], to, from, m->src_id))
			return i;
	for (uint32_t i = 0; i < g->n; i++) {
		listener = rcm_listener(g->all[i], m->ps, to);
		if (listener && !listener->any)
			return i;
		if (listener && !any) {
			found = i;
			any = true;
		}
	}
	return found;
}

int rdma_cm_note_for(const struct rdma *r, const struct ulp_note *note, bool all)
{
	struct fverbs_cm_addr to, from;
	struct rcm_msg m;

	if (!read_note(note, &m, &to, &from))
		return 0;
	if (m.dst_id)
		return (int)(m.dst_id >> RDMA_CM_ID_BITS);
	return all ? (int)find_member(r->group, &m, &to, &from) : -1;
}

void rdma_cm_note(struct rdma *r, const struct ulp_note *note)
{
	struct fverbs_cm_addr to, from;
	struct rcm_id *id;
	struct rcm_msg m;

	if (!read_note(note, &m, &to, &from))
		return;
	if (m.type == RCM_REQ || m.type == RCM_SIDR_REQ)
		return on_request(r, &m, &to, &from);
	/* Who takes a request back has not been told its number here. */
	if (m.type == RCM_REJ && !m.dst_id && m.src_id)
		id = known_request(r, &to, &from, m.src_id);
	else
		id = target(r, &m, &to, &from);
	if (m.type == RCM_DREQ)
		return on_dreq(r, id, &m, &to, &from);
	if (!id && m.type == RCM_REP)
		reject_stray_rep(r, &m, &to, &from);
	if (!id)
		return;
	switch (m.type) {
	case RCM_REP: return on_rep(id, &m);
	case RCM_RTU: return on_rtu(id);
	case RCM_REJ: return on_rej(id, &m);
	case RCM_SIDR_REP: return on_sidr_rep(id, &m);
	case RCM_DREP:
		if (id->state == RCM_DREQ_SENT)
			finish(id, RDMA_CM_EVENT_DISCONNECTED, 0);
		return;
	default: return;
	}
}

/* ---- what is due ---- */

/* The peer does not answer. */
static void expire(struct rcm_id *id)
{
	bool leaving = id->state == RCM_DREQ_SENT;

	if (id->state == RCM_DREQ_RCVD)
		return drain(id);
	memset(&id->remote, 0, sizeof(id->remote));
	finish(id, leaving ? RDMA_CM_EVENT_DISCONNECTED : RDMA_CM_EVENT_UNREACHABLE,
	       leaving ? 0 : -ETIMEDOUT);
}

static void flush(struct rdma *r)
{
	const struct ulp_host *host = r->host.ulp;
	struct rcm_out *out;
	char err[128];

	/* What cannot be sent now is asked for again. */
	while ((out = take_out(r->cm))) {
		if (host)
			host->note(r->host.agent, FALCON_PROTO_RDMA, &out->note, err, sizeof(err));
		free(out);
	}
}

uint32_t rdma_cm_run(struct rdma *r)
{
	struct rdma_cm *cm = r->cm;
	struct rcm_id *id, *next;
	uint32_t n = cm->nout;

	if (r->now < cm->next_at)
		return 0;
	cm->next_at = UINT64_MAX;
	for (id = LIST_FIRST(&cm->timed); id; id = next) {
		next = LIST_NEXT(id, in_timed);
		if (id->at > r->now) {
			rcm_later(r, id->at);
		} else {
			rcm_set_time(id, UINT64_MAX);
			if (id->tries)
				rcm_say_again(id);
			else
				expire(id);
			n++;
		}
	}
	flush(r);
	if (!rcm_settle(r))
		rcm_later(r, r->now + RCM_RETRY_MS * 1000000ULL);
	return n;
}

uint64_t rdma_cm_deadline(const struct rdma *r)
{
	return r->cm->next_at;
}
