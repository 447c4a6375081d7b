// SPDX-License-Identifier: BSD-2-Clause
/*
 * The exchange between two connection managers. Notes get lost with a session, so whatever needs an
 * answer is sent again every RCM_RESEND_MS until it comes, RCM_TRIES times, and what comes twice is
 * answered twice.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#include "falcon/wire/wire.h"
#include "ulp/rdma/cm.h"

void rcm_later(struct rdma *r, uint64_t at)
{
	if (at < r->cm->next_at)
		r->cm->next_at = at;
}

/* Messages go with the next round: this may be the middle of one that has come. */
void rcm_send(struct rdma *r, const struct fverbs_cm_addr *from,
	      const struct fverbs_cm_addr *to, const struct rcm_msg *m)
{
	struct rcm_out *out = r->cm->nout < RCM_OUT_MAX ? calloc(1, sizeof(*out)) : NULL;

	if (!out)
		return;
	out->note.family = to->family;
	memcpy(out->note.local.b, from->addr, 16);
	memcpy(out->note.remote.b, to->addr, 16);
	out->note.len = rcm_pack(m, out->note.data);
	STAILQ_INSERT_TAIL(&r->cm->out, out, entry);
	r->cm->nout++;
	rcm_later(r, 0);
}

void rcm_hush(struct rcm_id *id)
{
	id->tries = 0;
	rcm_set_time(id, UINT64_MAX);
}

void rcm_say_again(struct rcm_id *id)
{
	/* A request that was taken back, and comes again late, has had no answer. */
	if (!id->last.type)
		return;
	rcm_send(id->r, &id->src, &id->dst, &id->last);
	if (!id->tries)
		return;
	id->tries--;
	rcm_set_time(id, id->r->now + RCM_RESEND_MS * 1000000ULL);
}

/* Send a message of |type|, |tries| times until rcm_hush(); 0: once. */
static void say(struct rcm_id *id, enum rcm_type type, uint16_t reason, uint32_t tries)
{
	id->last = (struct rcm_msg){
		.type = (uint8_t)type,
		.qp_type = id->qp_type,
		.src_id = id->number,
		.dst_id = id->peer,
		.ps = id->ps,
		.src_port = ntohs(id->src.port),
		.dst_port = ntohs(id->dst.port),
		.reason = reason,
		.param = id->local,
	};
	rcm_hush(id);
	id->tries = tries;
	rcm_say_again(id);
}

/* ---- what the application wants ---- */

int rcm_connect(struct rcm_id *id, const struct fverbs_cm_param *p)
{
	if (id->state != RCM_ROUTE_RESOLVED)
		return -EINVAL;
	id->local = *p;
	id->state = RCM_REQ_SENT;
	say(id, id->datagram ? RCM_SIDR_REQ : RCM_REQ, 0, RCM_TRIES);
	return 0;
}

int rcm_accept(struct rcm_id *id, const struct fverbs_cm_param *p)
{
	if (id->state == RCM_REP_RCVD) {
		id->state = RCM_CONNECTED;
		say(id, RCM_RTU, 0, 0);
		return 0;
	}
	if (id->state != RCM_REQ_RCVD)
		return -EINVAL;
	rcm_answered(id);
	id->local = *p;
	if (id->datagram) {
		id->state = RCM_DONE;
		say(id, RCM_SIDR_REP, 0, 0);
		return 0;
	}
	id->state = RCM_REP_SENT;
	say(id, RCM_REP, 0, RCM_TRIES);
	return 0;
}

static void refuse(struct rcm_id *id, uint16_t reason)
{
	say(id, id->datagram ? RCM_SIDR_REP : RCM_REJ, reason, 0);
	id->state = RCM_DONE;
}

int rcm_reject(struct rcm_id *id, const struct fverbs_cm_param *p, uint16_t reason)
{
	if (id->state != RCM_REQ_RCVD && id->state != RCM_REP_RCVD)
		return -EINVAL;
	rcm_answered(id);
	id->local = *p;
	if (id->datagram)
		reason = RCM_SIDR_REJECT;
	refuse(id, reason ? reason : RCM_REJ_CONSUMER);
	return 0;
}

int rcm_disconnect(struct rcm_id *id)
{
	switch (id->state) {
	case RCM_CONNECTED:
	case RCM_REP_SENT:
	case RCM_REP_RCVD:
		id->local = (struct fverbs_cm_param){};
		id->state = RCM_DREQ_SENT;
		say(id, RCM_DREQ, 0, RCM_TRIES / 2);
		return 0;
	case RCM_DREQ_RCVD:
		/* Its queue pair is given up already; of none there is nothing to wait for. */
		id->local = (struct fverbs_cm_param){};
		rcm_set_time(id, 0);
		return 0;
	case RCM_DREQ_SENT:
	case RCM_DONE:
		return 0;
	default:
		return -EINVAL;
	}
}

void rcm_leave(struct rcm_id *id)
{
	id->local = (struct fverbs_cm_param){};
	switch (id->state) {
	case RCM_REQ_SENT:
		if (!id->datagram)
			say(id, RCM_REJ, RCM_REJ_CONSUMER, 0);
		break;
	case RCM_REQ_RCVD:
	case RCM_REP_RCVD:
		rcm_answered(id);
		refuse(id, id->datagram ? RCM_SIDR_REJECT : RCM_REJ_CONSUMER);
		break;
	case RCM_REP_SENT:
	case RCM_CONNECTED:
		say(id, RCM_DREQ, 0, 0);
		break;
	default:
		break;
	}
}
