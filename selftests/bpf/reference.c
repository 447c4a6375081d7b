// SPDX-License-Identifier: BSD-2-Clause
#include "reference.h"

#include "falcon/receive/receive.h"

enum { RUE_RECORD = sizeof(struct falcon_rue_event) + 8 };	/* with the ring's header */

static uint64_t sum16(const uint8_t *p, size_t len, uint64_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i & 1 ? p[i] : (uint64_t)p[i] << 8;
	return sum;
}

static bool csum_good(const uint8_t *frame, const struct falcon_frame *f)
{
	const uint8_t *l3 = frame + f->l3_off;
	uint64_t sum = (uint64_t)f->udp_len + IPPROTO_UDP;

	sum = f->ipv6 ? sum16(l3 + 8, 32, sum) : sum16(l3 + 12, 8, sum);
	sum = sum16(frame + f->udp_off, f->udp_len, sum);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return f->udp_check && sum == 0xffff;
}

/* A frame on its way through the receive sequence. */
struct walk {
	struct falcon_receive rx;
	struct reference *ref;
	struct reference_result *result;
	const uint8_t *frame;
};

static enum falcon_verdict deliverable(const struct reference *ref, const struct falcon_frame *f)
{
	if (!ref->agent)
		return FALCON_V_drop_no_agent;
	return (uint32_t)f->udp_off + f->udp_len > ref->max_frame ? FALCON_V_drop_too_big
								  : FALCON_V_rx_data;
}

static enum falcon_verdict reserve(struct reference *ref)
{
	if (ref->credits <= 0)
		return FALCON_V_drop_no_credit;
	ref->credits--;
	return FALCON_V_rx_data;
}

static enum falcon_verdict steer(struct reference *ref, const struct falcon_frame *f)
{
	enum falcon_verdict v = deliverable(ref, f);

	if (v == FALCON_V_rx_data)
		v = reserve(ref);
	return v == FALCON_V_rx_data ? FALCON_V_steered : v;
}

/* The event policy with P1 decided by the threshold alone: tests set it to 0 or to the maximum. */
static void rue(struct reference *ref, struct falcon_conn *c, const struct falcon_ack *a)
{
	uint32_t total = falcon_ack_total(a);
	int32_t acked = falcon_seq_diff(total, c->cc_event.last_acked);
	uint32_t *used = &ref->rue_used[c->id.shard];

	if (acked < 0)
		acked = 0;
	if (!falcon_rue_wants(*used, ref->config.rue_threshold,
			      ref->config.rue_p1_ns != UINT64_MAX,
			      (uint32_t)acked >= ref->config.rue_p2_packets) ||
	    *used + RUE_RECORD > FALCON_RUE_RING_BYTES) {
		c->cc_event.suppressed++;
		return;
	}
	*used += RUE_RECORD;
	if (acked)
		c->cc_event.last_acked = total;
	c->cc_event.events++;
}

FALCON_INLINE const void *falcon_hook_frame(void *at, const struct falcon_receive *r)
{
	(void)r;
	return ((const struct walk *)at)->frame;
}

FALCON_INLINE const void *falcon_hook_end(void *at, const struct falcon_receive *r)
{
	return ((const struct walk *)at)->frame + r->frame.udp_off + r->frame.udp_len;
}

FALCON_INLINE enum falcon_verdict falcon_hook_whole(void *at, struct falcon_receive *r)
{
	struct walk *w = at;

	if (r->frame.encap != FALCON_PSP_CLEAR)
		return steer(w->ref, &r->frame);
	if (r->conn->id.flags & FALCON_CONN_NO_CSUM)
		return FALCON_V_rx_data;
	return csum_good(w->frame, &r->frame) ? FALCON_V_rx_data : FALCON_V_drop_csum;
}

FALCON_INLINE enum falcon_verdict falcon_hook_deliverable(void *at, struct falcon_receive *r)
{
	return deliverable(((struct walk *)at)->ref, &r->frame);
}

/* No connection of these tests has requests for XDP. */
FALCON_INLINE enum falcon_verdict falcon_hook_execute(void *at, struct falcon_receive *r)
{
	(void)at;
	(void)r;
	return FALCON_V_rx_data;
}

FALCON_INLINE enum falcon_verdict falcon_hook_reserve(void *at, struct falcon_receive *r)
{
	(void)r;
	return reserve(((struct walk *)at)->ref);
}

FALCON_INLINE void falcon_hook_unreserve(void *at, struct falcon_receive *r)
{
	(void)r;
	((struct walk *)at)->ref->credits++;
}

static void mark_dirty(struct walk *w)
{
	w->ref->dirty |= 1ULL << (w->rx.frame.cid % 64);
}

FALCON_INLINE void falcon_hook_noted(void *at, struct falcon_receive *r, bool moved)
{
	(void)r;
	if (moved)
		mark_dirty(at);
}

FALCON_INLINE void falcon_hook_acked(void *at, struct falcon_receive *r, const struct falcon_ack *a,
				     enum falcon_verdict v)
{
	struct walk *w = at;

	(void)v;
	w->result->ack = *a;
	rue(w->ref, r->conn, a);
	mark_dirty(w);
}

/* falcon_sadb as the tests fill it: the current and previous SPIs of connections in ESP. */
static bool find_sa(const struct reference *ref, struct falcon_frame *f)
{
	for (uint32_t cid = 0; cid < ref->nconns; cid++) {
		const struct falcon_conn_id *id = &ref->conns[cid].id;

		if (!falcon_encap_is_esp(id->encap) ||
		    (id->cur_spi != f->spi && id->prev_spi != f->spi))
			continue;
		f->cid = cid;
		return true;
	}
	return false;
}

/* Everything up to the verdict, of a frame that parsed. */
static enum falcon_verdict decide(struct walk *w)
{
	const uint32_t mode = FALCON_CONN_ALIVE | FALCON_CONN_CLEAR | FALCON_CONN_STEER;
	struct reference *ref = w->ref;

	if (w->rx.frame.cid >= ref->nconns)
		return FALCON_V_drop_cid;
	w->rx.config = &ref->config;
	w->rx.conn = &ref->conns[w->rx.frame.cid];
	if ((w->rx.conn->id.flags & mode) == mode)
		return steer(ref, &w->rx.frame);
	return falcon_receive(w, &w->rx);
}

enum falcon_verdict reference_rx(struct reference *ref, const uint8_t *frame, size_t len,
				 uint64_t now, struct reference_result *r)
{
	struct walk w = { .rx.now = now, .ref = ref, .result = r, .frame = frame };
	enum falcon_verdict v = falcon_parse_frame(frame, frame + len, &w.rx.frame);

	memset(r, 0, sizeof(*r));
	if (falcon_encap_is_esp(w.rx.frame.encap) && !find_sa(ref, &w.rx.frame))
		v = FALCON_V_pass_spi;
	if (v == FALCON_V_rx_data)
		v = decide(&w);
	/* This host does not forward. */
	if ((v == FALCON_V_drop_cid || v == FALCON_V_drop_address) && memcmp(frame, ref->mac, ETH_ALEN))
		v = FALCON_V_pass_other;
	r->frame = w.rx.frame;
	r->hdr = w.rx.hdr;
	r->claimed = falcon_verdict_claims(v);
	if (falcon_verdict_answers(v))
		falcon_ack_told(w.rx.conn, r->frame.flow,
				falcon_rx_answer(w.rx.conn, &ref->config, v, r->frame.flow, &r->hdr,
						 &r->ack));
	return r->verdict = v;
}
