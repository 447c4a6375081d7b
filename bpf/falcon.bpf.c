// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * falcon_rx: the receive side of Falcon's packet delivery sublayer (Falcon 9.2) in XDP.
 *
 * A packet is first decided upon, which includes every change of state, and then acted upon:
 * left to the kernel, dropped, handed to the agent, or turned round as an ACK or NACK. Each packet
 * ends in exactly one verdict and moves exactly that counter.
 */
#include "falcon_csum.h"
#include "falcon_deliver.h"
#include "falcon_exec.h"
#include "falcon_maps.h"
#include "falcon_notify.h"
#include "falcon_others.h"
#include "falcon_turn.h"
#include "falcon_work.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/*
 * Cut off what lies behind the datagram (padding, a trailer), so that from here on the end of the
 * frame is the end of the Falcon packet.
 */
FALCON_INLINE bool falcon_trim(struct xdp_md *ctx, const struct falcon_frame *f)
{
	int excess = (int)falcon_frame_len(ctx) - f->udp_off - f->udp_len;

	return excess == 0 || bpf_xdp_adjust_tail(ctx, -excess) == 0;
}

/* The connection of an ESP packet, by its SPI; false if it is not ours. */
FALCON_INLINE bool falcon_find_sa(struct falcon_work *w)
{
	const __u32 *cid = bpf_map_lookup_elem(&falcon_sadb, &w->rx.frame.spi);

	if (cid)
		w->rx.frame.cid = *cid;
	return cid;
}

/*
 * Parse and find the connection. FALCON_V_rx_data to go on. |parts|: the frame is in several buffers, of
 * which only the first can be seen here, and taken by a socket.
 */
static __noinline enum falcon_verdict falcon_classify(struct xdp_md *ctx, struct falcon_work *w, bool parts)
{
	__u32 zero = 0;
	enum falcon_verdict v;

	v = falcon_parse_frame(falcon_data(ctx), falcon_data_end(ctx), &w->rx.frame);
	if (falcon_encap_is_esp(w->rx.frame.encap) && !falcon_find_sa(w))
		return FALCON_V_pass_spi;
	if (parts && !falcon_verdict_passes(v))
		return FALCON_V_drop_too_big;
	if (v != FALCON_V_rx_data)
		return v;
	if (!falcon_trim(ctx, &w->rx.frame))
		return FALCON_V_drop_ip_length;
	w->rx.config = bpf_map_lookup_elem(&falcon_config, &zero);
	w->rx.conn = bpf_map_lookup_elem(&falcon_conns, &w->rx.frame.cid);
	if (!w->rx.config || !w->rx.conn)
		return FALCON_V_drop_cid;
	w->rx.now = bpf_ktime_get_ns();
	return FALCON_V_rx_data;
}

/* To the agent, which runs the receive path from here on. */
FALCON_INLINE enum falcon_verdict falcon_steer(struct xdp_md *ctx, struct falcon_work *w)
{
	enum falcon_verdict v = falcon_reserve(ctx, w);

	return v == FALCON_V_rx_data ? FALCON_V_steered : v;
}

FALCON_INLINE const void *falcon_hook_frame(void *at, const struct falcon_receive *r)
{
	(void)r;
	return falcon_data(at);
}

/* The frame ends with the packet: falcon_trim(). */
FALCON_INLINE const void *falcon_hook_end(void *at, const struct falcon_receive *r)
{
	(void)r;
	return falcon_data_end(at);
}

/* If the packet is to be decrypted, only the agent can tell. */
FALCON_INLINE enum falcon_verdict falcon_hook_whole(void *at, struct falcon_receive *r)
{
	if (r->frame.encap != FALCON_PSP_CLEAR)
		return falcon_steer(at, falcon_work(r));
	if (falcon_load(&r->conn->id.flags) & FALCON_CONN_NO_CSUM)
		return FALCON_V_rx_data;
	return falcon_csum_good(at, &r->frame) ? FALCON_V_rx_data : FALCON_V_drop_csum;
}

FALCON_INLINE enum falcon_verdict falcon_hook_deliverable(void *at, struct falcon_receive *r)
{
	return falcon_find_socket(at, falcon_work(r));
}

FALCON_INLINE enum falcon_verdict falcon_hook_execute(void *at, struct falcon_receive *r)
{
	return falcon_execute(at, falcon_work(r));
}

FALCON_INLINE enum falcon_verdict falcon_hook_reserve(void *at, struct falcon_receive *r)
{
	return falcon_reserve_room(at, falcon_work(r));
}

FALCON_INLINE void falcon_hook_unreserve(void *at, struct falcon_receive *r)
{
	(void)at;
	falcon_credit_return(falcon_work(r));
}

FALCON_INLINE void falcon_hook_noted(void *at, struct falcon_receive *r, bool moved)
{
	struct falcon_work *w = falcon_work(r);

	(void)at;
	if (r->frame.ecn == FALCON_ECN_CE)
		w->counters->ce_marked++;
	if (moved && !falcon_exec_quiet(r->conn))
		falcon_mark_dirty(w);
}

FALCON_INLINE void falcon_hook_acked(void *at, struct falcon_receive *r, const struct falcon_ack *a,
				     enum falcon_verdict v)
{
	struct falcon_work *w = falcon_work(r);
	/* A NACK, and what an EACK says of losses, the agent looks at. */
	bool quiet = a->type == FALCON_BACK && falcon_exec_quiet(r->conn);

	(void)at;
	(void)v;
	if (falcon_rue_ack(w, a, quiet) || !quiet)
		falcon_mark_dirty(w);
}

/* Everything up to the verdict, of what is for this host. */
FALCON_INLINE enum falcon_verdict falcon_decide(struct xdp_md *ctx, struct falcon_work *w, bool parts)
{
	const __u32 mode = FALCON_CONN_ALIVE | FALCON_CONN_CLEAR | FALCON_CONN_STEER;
	enum falcon_verdict v = falcon_classify(ctx, w, parts);

	if (v != FALCON_V_rx_data)
		return v;
	if ((falcon_load(&w->rx.conn->id.flags) & mode) == mode)
		return falcon_steer(ctx, w);
	return falcon_receive(ctx, &w->rx);
}

/* Turn the frame round as verdict |v| asks, or leave the answer to the agent. Returns the XDP action. */
static __noinline int falcon_answer(struct xdp_md *ctx, struct falcon_work *w, enum falcon_verdict v)
{
	falcon_meta_drop(ctx);
	if (falcon_turn(ctx, w, v)) {
		w->counters->xdp_tx++;
		return XDP_TX;
	}
	/* A driver that gives frames no tailroom, and a short frame: an EACK is longer. */
	falcon_rx_owe_answer(w->rx.conn, w->rx.frame.flow);
	falcon_mark_dirty(w);
	return XDP_DROP;
}

/*
 * Send the response that the Falcon packet has become. If that fails it is lost, and sent again by the
 * agent.
 */
static __noinline int falcon_respond(struct xdp_md *ctx, struct falcon_work *w)
{
	falcon_meta_drop(ctx);
	if (!falcon_turn_around(ctx, w, falcon_frame_len(ctx) - w->rx.frame.udp_off))
		return XDP_DROP;
	w->counters->xdp_tx++;
	return XDP_TX;
}

/* What is left to do for a request that was carried out. Returns the XDP action. */
FALCON_INLINE int falcon_act_on_executed(struct xdp_md *ctx, struct falcon_work *w, enum falcon_verdict v)
{
	int action = XDP_DROP;

	if (w->scratch->next == FALCON_NEXT_RESPONSE)
		return falcon_respond(ctx, w);
	if (w->scratch->next == FALCON_NEXT_ACK) {
		action = falcon_answer(ctx, w, v);
		w->counters->xdp_acked += action == XDP_TX;
	}
	return action;
}

/* Do what |*v| means; it becomes a drop verdict if that cannot be done. Returns the XDP action. */
FALCON_INLINE int falcon_act(struct xdp_md *ctx, struct falcon_work *w, enum falcon_verdict *v)
{
	int action = XDP_DROP;

	if (falcon_verdict_passes(*v))
		return XDP_PASS;
	if (falcon_verdict_delivers(*v)) {
		action = falcon_deliver(ctx, w, *v);
		if (action != XDP_REDIRECT)
			*v = FALCON_V_drop_no_agent;
	} else if (falcon_verdict_answers(*v)) {
		action = falcon_answer(ctx, w, *v);
		if (action != XDP_TX)
			*v = FALCON_V_drop_no_room;
	} else if (falcon_verdict_executed(*v)) {
		action = falcon_act_on_executed(ctx, w, *v);
	}
	return action;
}

/* Whether the verdict is reached before it is known that the packet is for this host. */
FALCON_INLINE bool falcon_perhaps_of_others(enum falcon_verdict v)
{
	return v == FALCON_V_drop_cid || v == FALCON_V_drop_address || v == FALCON_V_drop_too_big;
}

FALCON_INLINE int falcon_run(struct xdp_md *ctx, bool parts)
{
	struct falcon_work w = {};
	enum falcon_verdict v;
	__u32 zero = 0;
	int action;

	w.counters = bpf_map_lookup_elem(&falcon_counters, &zero);
	w.scratch = falcon_scratch_get();
	if (!w.counters || !w.scratch)
		return XDP_PASS;
	w.scratch->next = FALCON_NEXT_NOTHING;
	v = falcon_decide(ctx, &w, parts);
	if (falcon_perhaps_of_others(v) && falcon_of_others(ctx, &w.rx.frame))
		v = FALCON_V_pass_other;
	action = falcon_act(ctx, &w, &v);
	/* What the compiler knows of it by now, old verifiers do not: the comparison has to stay. */
	falcon_opaque(v);
	if (v < FALCON_VERDICT_COUNT)
		((__u64 *)w.counters)[v]++;
	return action;
}

SEC("xdp")
int falcon_rx(struct xdp_md *ctx)
{
	return falcon_run(ctx, false);
}

/* For interfaces whose MTU is more than fits one buffer: frames may have several. */
SEC("xdp.frags")
int falcon_rx_frags(struct xdp_md *ctx)
{
	return falcon_run(ctx, bpf_xdp_get_buff_len(ctx) > falcon_frame_len(ctx));
}
