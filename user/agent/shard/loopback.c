// SPDX-License-Identifier: BSD-2-Clause
#include "agent/shard/loopback.h"

#include <errno.h>

#include "agent/shard/plane.h"
#include "agent/shard/conn.h"
#include "agent/shard/loopq.h"
#include "agent/shard/shard.h"

enum loopback_const {
	LOOPBACK_BURST = 64,		/* packets a turn */
};

int loopback_transmit(struct agent_conn *c, const struct fcore_packet *p, uint64_t iv)
{
	struct loopq_frame *f = loopq_frame_of(c->shard->loopq, p);

	if (!f)
		return -EAGAIN;
	f->cid = c->cfg.remote_cid;
	f->incarnation = c->ours.incarnation;
	f->iv = iv;
	if (c->twin_shard == c->shard->index)
		loopq_send(f);
	else
		handover_add(c->shard, c->twin_shard, &f->handle);
	return 0;
}

/* As steer.c has it when all that a stranger could have forged has been checked. */
static void deliver(struct shard *s, struct loopq_frame *f)
{
	struct agent_conn *c = s->conns[f->cid];
	const struct falcon_frame frame = {
		.falcon_len = f->len,
		.ttl = FALCON_DEFAULT_TTL,
		.iv = f->iv,
		.cid = f->cid,
		.type = f->type,
		.flow = f->flow,
	};
	const struct xsk_rx_item it = { .frame = &f->handle, .data = f->data, .len = f->len };
	bool kept = false;

	if (c && c->core && c->loop && c->ours.incarnation == f->incarnation)
		agent_checked(c, &frame, s->now, &it, &kept);
	if (!kept)
		loopback_release(s, &f->handle);
}

void loopback_deliver(struct shard *s, struct xsk_frame *f)
{
	deliver(s, (struct loopq_frame *)f);
}

uint32_t loopback_run(struct shard *s)
{
	struct loopq_frame *f;
	uint32_t n = 0;

	while (s->loopq && n < LOOPBACK_BURST && (f = loopq_take(s->loopq))) {
		deliver(s, f);
		n++;
	}
	return n;
}

bool loopback_waiting(const struct shard *s)
{
	return s->loopq && (!loopq_empty(s->loopq) || loopq_refillable(s->loopq));
}

void loopback_release(struct shard *s, struct xsk_frame *f)
{
	struct loopq_frame *frame = (struct loopq_frame *)f;

	if (frame->shard == s->index)
		loopq_put(frame);
	else if (loopq_return(frame))
		call_nudge(&s->plane->shards[frame->shard].call);
}
