// SPDX-License-Identifier: BSD-2-Clause
/*
 * The receive path of Falcon 9.2.2 for frames that XDP has only redirected: those to be decrypted,
 * and with offload off all of them. They go through the same sequence as in XDP (falcon/receive.h).
 *
 * Of an encrypted packet XDP has checked what is in the clear. That is checked again here, since
 * meanwhile keys may have been rotated; then the packet is authenticated, and only after that does
 * it change anything.
 */
#include "agent/shard/shard.h"

#include "agent/shard/plane.h"
#include "agent/rue/rue.h"
#include "agent/shard/conn.h"
#include "falcon/receive/receive.h"

/* A frame on its way through the receive sequence. */
struct steered {
	struct falcon_receive rx;
	struct agent_conn *conn;
	const struct xsk_rx_item *item;
	bool kept;			/* the core took the frame over */
};

/*
 * Send the ACK or NACK that verdict |v| asks for, on that packet's flow, as XDP does by turning the
 * frame round: the way that it came. What could not be sent the core will: it is still owed.
 */
static void answer(struct agent_conn *c, const struct falcon_receive *r, enum falcon_verdict v)
{
	const struct falcon_frame *f = &r->frame;
	struct falcon_conn *shared = r->conn;
	struct falcon_ack ack;
	uint32_t acked = falcon_rx_answer(shared, r->config, v, f->flow, &r->hdr, &ack);
	struct fcore_packet p = { .type = ack.type, .flow = f->flow, .path = f->path };

	p.hdr_len = falcon_ack_pack(&ack, p.hdr);
	if (agent_transmit(c->shard, c->core, &p) == 0) {
		falcon_ack_told(shared, f->flow, acked);
		c->stats.rx_answered++;
		return;
	}
	falcon_fetch_or(&shared->rx.own, (__u32)ack.own);
	falcon_rx_owe_answer(shared, f->flow);
	shard_mark_dirty(c->shard, shared->id.cid);
}

void agent_give(struct agent_conn *c, const struct falcon_hdr *h, const struct falcon_meta *m,
		const struct xsk_rx_item *it)
{
	uint32_t hdr_len = falcon_hdr_len(h->type);
	struct fcore_rx rx = {
		.hdr = *h,
		.payload = it->data + m->falcon_off + hdr_len,
		.len = m->falcon_len - hdr_len,
		.frame = it->frame,
		.flow = m->flow,
		.path = m->path,
		.now = m->rx_ns,
	};

	fcore_receive(c->core, &rx);
}

/* A key carries only so much. */
static void look_at_key(struct agent_conn *c)
{
	const struct agent_options *o = &c->shard->plane->config->agent;

	if (c->noted.rekey || !sec_worn(&c->sec, o->key_packets, o->key_bytes))
		return;
	c->noted.rekey = true;
	news_of_conn(c, CONN_NEWS_REKEY, NULL);
}

/* Whole and from the peer: by the UDP checksum, or by authentication, which decrypts as well. */
FALCON_INLINE enum falcon_verdict falcon_hook_whole(void *at, struct falcon_receive *r)
{
	struct steered *s = at;
	enum falcon_verdict v;

	if (r->frame.encap != FALCON_PSP_CLEAR) {
		v = sec_open(&s->conn->sec, s->item->data, &r->frame);
		if (v == FALCON_V_rx_data)
			look_at_key(s->conn);
		return v;
	}
	if ((r->conn->id.flags & FALCON_CONN_NO_CSUM) || frame_checksum_ok(s->item->data, &r->frame))
		return FALCON_V_rx_data;
	return FALCON_V_drop_csum;
}

FALCON_INLINE const void *falcon_hook_frame(void *at, const struct falcon_receive *r)
{
	(void)r;
	return ((const struct steered *)at)->item->data;
}

FALCON_INLINE const void *falcon_hook_end(void *at, const struct falcon_receive *r)
{
	return ((const struct steered *)at)->item->data + r->frame.falcon_off + r->frame.falcon_len;
}

/* The agent has the frame already: delivering it takes nothing more. */
FALCON_INLINE enum falcon_verdict falcon_hook_deliverable(void *at, struct falcon_receive *r)
{
	(void)at;
	(void)r;
	return FALCON_V_rx_data;
}

/* Requests are the core's, and its upper layer's. */
FALCON_INLINE enum falcon_verdict falcon_hook_execute(void *at, struct falcon_receive *r)
{
	(void)at;
	(void)r;
	return FALCON_V_rx_data;
}

FALCON_INLINE enum falcon_verdict falcon_hook_reserve(void *at, struct falcon_receive *r)
{
	(void)at;
	(void)r;
	return FALCON_V_rx_data;
}

FALCON_INLINE void falcon_hook_unreserve(void *at, struct falcon_receive *r)
{
	(void)at;
	(void)r;
}

FALCON_INLINE void falcon_hook_noted(void *at, struct falcon_receive *r, bool moved)
{
	struct agent_conn *c = ((struct steered *)at)->conn;

	c->shard->stats.ce_marked += r->frame.ecn == FALCON_ECN_CE;
	if (moved)
		fcore_acked(c->core, r->now);
}

/* First the core, which completes the event with what it knows of the flow. */
FALCON_INLINE void falcon_hook_acked(void *at, struct falcon_receive *r, const struct falcon_ack *a,
				     enum falcon_verdict v)
{
	struct agent_conn *c = ((struct steered *)at)->conn;
	struct shard *s = c->shard;

	fcore_acked(c->core, s->now);
	if (c->core)
		agent_rue_ack(s, c, r->frame.flow, a, falcon_time_of_iv(r->frame.iv), r->now);
	if (c->core && v == FALCON_V_rx_nack)
		fcore_nacked(c->core, a, s->now);
}

static void give(struct steered *s)
{
	const struct falcon_frame *f = &s->rx.frame;
	const struct falcon_meta m = {
		.flow = f->flow,
		.falcon_off = f->falcon_off,
		.falcon_len = f->falcon_len,
		.path = f->path,
		.rx_ns = s->rx.now,
	};

	s->kept = true;
	agent_give(s->conn, &s->rx.hdr, &m, s->item);
}

/* Do what verdict |v| means. */
static void act(struct steered *s, enum falcon_verdict v)
{
	struct agent_conn *c = s->conn;

	/* What the packet acknowledged may have had the upper layer close the connection. */
	if (!c->core)
		return;
	if (falcon_verdict_delivers(v) && v != FALCON_V_rx_nack) {
		give(s);
	} else if (falcon_verdict_answers(v)) {
		answer(c, &s->rx, v);
	}
}

enum falcon_verdict agent_checked(struct agent_conn *c, const struct falcon_frame *f, uint64_t now,
				  const struct xsk_rx_item *it, bool *kept)
{
	struct steered s = {
		.rx = {
			.config = c->shard->plane->maps.config,
			.conn = fcore_conn_shared(c->core),
			.now = now,
			.frame = *f,
		},
		.conn = c,
		.item = it,
	};
	enum falcon_verdict v = falcon_receive_checked(&s, &s.rx);

	act(&s, v);
	*kept = s.kept;
	return v;
}

enum falcon_verdict agent_steered(struct agent_conn *c, const struct falcon_meta *m,
				  const struct xsk_rx_item *it, bool *kept)
{
	struct steered s = {
		.rx = {
			.config = c->shard->plane->maps.config,
			.conn = fcore_conn_shared(c->core),
			.now = m->rx_ns,
		},
		.conn = c,
		.item = it,
	};
	enum falcon_verdict v = falcon_parse_frame(it->data, it->data + it->len, &s.rx.frame);

	if (v != FALCON_V_rx_data)
		return v;
	/* Which connection an ESP packet is of, XDP knows by the SPI. */
	if (falcon_encap_is_esp(s.rx.frame.encap))
		s.rx.frame.cid = m->cid;
	if (s.rx.frame.cid != m->cid)
		return FALCON_V_drop_cid;
	v = falcon_receive(&s, &s.rx);
	act(&s, v);
	*kept = s.kept;
	return v;
}
