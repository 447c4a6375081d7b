/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Received packets, already claimed in the window: the acknowledged state (Falcon 9.2.2.4), and
 * who gets them.
 *
 * The core keeps rings of its own of what has arrived. The difference to the shared rings of what
 * has been claimed is what got lost between the two.
 */
#include "core/parts.h"

bool fc_rx_is_acked(const struct fcore_conn *c, bool req, uint32_t psn)
{
	const struct falcon_rx_acked *a = &c->shared->rx_acked;

	return falcon_seq_diff(psn, falcon_load(req ? &a->req_base : &a->data_base)) < 0 ||
	       falcon_acknowledged(c->shared, req, psn);
}

void fc_rx_ack_psn(struct fcore_conn *c, bool req, uint32_t psn)
{
	if (!fc_rx_is_acked(c, req, psn))
		falcon_rx_acknowledge(c->shared, req, psn);
}

static uint32_t bits_ahead(const __u64 *arrived, const __u64 *acked, uint32_t words, uint32_t base,
			   uint32_t n)
{
	uint32_t a[FALCON_DATA_WINDOW / 32], b[FALCON_DATA_WINDOW / 32], count = 0;

	falcon_ring_snapshot(arrived, words, base, a, n);
	falcon_ring_snapshot(acked, words, base, b, n);
	for (uint32_t i = 0; i < n; i++)
		count += (uint32_t)__builtin_popcount(a[i] | b[i]);
	return count;
}

uint32_t fc_rx_ahead(const struct fcore_conn *c)
{
	const struct falcon_rx_acked *a = &c->shared->rx_acked;

	return bits_ahead(c->arrived_data, a->data_ack, FALCON_DATA_WORDS,
			  falcon_load(&a->data_base), FALCON_DATA_WINDOW / 32) +
	       bits_ahead(c->arrived_req, a->req_ack, FALCON_REQ_WORDS, falcon_load(&a->req_base),
			  FALCON_REQ_WINDOW / 32);
}

/* Note the arrival of |rx|. False if it has arrived before, which a correct claim rules out. */
static bool arrive(struct fcore_conn *c, const struct falcon_hdr *h)
{
	bool req = falcon_in_req_window(h->type, h->resync_type);
	__u64 *ring = req ? c->arrived_req : c->arrived_data;
	uint32_t words = req ? FALCON_REQ_WORDS : FALCON_DATA_WORDS;

	if (falcon_ring_test(ring, words, h->psn))
		return false;
	falcon_ring_set(ring, words, h->psn);
	c->stats.rx_packets++;
	return true;
}

void fc_rx_release(struct fcore_conn *c, bool req, uint32_t psn)
{
	struct falcon_rx_state *rx = &c->shared->rx;

	if (req) {
		falcon_ring_release(c->arrived_req, FALCON_REQ_WORDS, psn);
		falcon_ring_release(rx->req_rx, FALCON_REQ_WORDS, psn);
	} else {
		falcon_ring_release(c->arrived_data, FALCON_DATA_WORDS, psn);
		falcon_ring_release(rx->data_rx, FALCON_DATA_WORDS, psn);
	}
}

void fc_rx_claim_again(struct fcore_conn *c, uint32_t psn)
{
	struct falcon_rx_state *rx = &c->shared->rx;

	if (fc_rx_is_acked(c, false, psn))
		return;
	/* If a repetition has claimed it meanwhile, that one finds that it has arrived already. */
	falcon_ring_claim(rx->data_rx, FALCON_DATA_WORDS, &c->shared->rx_acked.data_base,
			  FALCON_DATA_WINDOW, psn);
	if (falcon_ring_test(c->arrived_data, FALCON_DATA_WORDS, psn))
		return;
	falcon_ring_set(c->arrived_data, FALCON_DATA_WORDS, psn);
}

/*
 * One answer a packet is no storm, but a peer that is refused for long learns no more from the
 * hundredth NACK than from its timeouts: so many at once, and one for each interval after that.
 */
static bool may_nack(struct fcore_conn *c, uint64_t now)
{
	uint64_t earned = now > c->nack_from ? (now - c->nack_from) / FC_NACK_INTERVAL : 0;

	if (earned > FC_NACK_BURST)
		c->nack_from = now - FC_NACK_BURST * FC_NACK_INTERVAL;
	if (!earned)
		return false;
	c->nack_from += FC_NACK_INTERVAL;
	return true;
}

void fc_rx_refuse(struct fcore_conn *c, const struct fcore_rx *rx, enum falcon_nack_code code)
{
	bool req = falcon_in_req_window(rx->hdr.type, rx->hdr.resync_type);
	const struct falcon_ack nack = {
		.nack_psn = rx->hdr.psn,
		.nack_code = code,
		.nack_req_window = req,
	};

	fc_rx_release(c, req, rx->hdr.psn);
	c->stats.rx_discarded++;
	c->core->ops.frame_put(c->core->arg, rx->frame);
	/* If there is no room for it, the peer's timeout does what the NACK would have hastened. */
	if (may_nack(c, rx->now))
		fc_ack_send_nack(c, rx->flow, &nack);
	else
		c->stats.nacks_withheld++;
}

void fc_rx_accept(struct fcore_conn *c, const struct fcore_rx *rx, bool ar)
{
	fc_rx_ack_psn(c, falcon_in_req_window(rx->hdr.type, rx->hdr.resync_type), rx->hdr.psn);
	fc_ack_owe(c, rx->flow, rx->now, true, ar);
}

void fc_rx_discard(struct fcore_conn *c, const struct fcore_rx *rx)
{
	fc_rx_accept(c, rx, rx->hdr.ar);
	c->stats.rx_discarded++;
	c->core->ops.frame_put(c->core->arg, rx->frame);
}

static void resync(struct fcore_conn *c, const struct fcore_rx *rx)
{
	if (rx->hdr.resync_type != FALCON_PULL_DATA) {
		fc_tgt_resync(c, rx);
		return;
	}
	fc_rx_accept(c, rx, true);
	c->core->ops.frame_put(c->core->arg, rx->frame);
	fc_init_voided(c, rx->hdr.rsn);
}

/*
 * A Resync comes through also when its PSN is claimed but not acknowledged (Falcon 11). What it
 * relied on may have changed on its way: the claim may be open again (6.6.5), or its PSN
 * acknowledged and far behind. False in the latter case.
 */
static bool resync_holds(struct fcore_conn *c, const struct falcon_hdr *h)
{
	bool req = falcon_in_req_window(h->type, h->resync_type);
	struct falcon_rx_state *rx = &c->shared->rx;
	const struct falcon_rx_acked *a = &c->shared->rx_acked;

	if (fc_rx_is_acked(c, req, h->psn))
		return false;
	if (req)
		falcon_ring_claim(rx->req_rx, FALCON_REQ_WORDS, &a->req_base, FALCON_REQ_WINDOW,
				  h->psn);
	else
		falcon_ring_claim(rx->data_rx, FALCON_DATA_WORDS, &a->data_base,
				  FALCON_DATA_WINDOW, h->psn);
	return true;
}

/*
 * True if the packet is to be processed. A Resync for what has arrived and waits for the upper
 * layer is not, but acknowledges it: the initiator has given up.
 */
static bool admit(struct fcore_conn *c, const struct fcore_rx *rx)
{
	bool is_resync = rx->hdr.type == FALCON_RESYNC;

	if (c->dead)
		return false;
	if ((!is_resync || resync_holds(c, &rx->hdr)) && arrive(c, &rx->hdr))
		return true;
	if (is_resync)
		fc_rx_accept(c, rx, true);
	return false;
}

void fcore_receive(struct fcore_conn *c, const struct fcore_rx *rx)
{
	struct fc_ack *ack = &c->ack[rx->flow & (FALCON_MAX_FLOWS - 1)];
	struct fcore *core = c->core;

	ack->path = rx->path;
	ack->heard = true;
	if (!admit(c, rx)) {
		core->ops.frame_put(core->arg, rx->frame);
		return;
	}
	fc_enter(core);
	if (rx->hdr.type != FALCON_PULL_DATA)
		fc_exec_take(c);
	if (rx->hdr.type == FALCON_PULL_REQUEST && c->exec == FC_EXEC_OFFERED && c->responses)
		core->exec_chasing = true;
	switch (rx->hdr.type) {
	case FALCON_PUSH_DATA:
	case FALCON_PULL_REQUEST:
		fc_tgt_request(c, rx);
		break;
	case FALCON_PULL_DATA:
		fc_init_pull_data(c, rx);
		break;
	default:
		resync(c, rx);
		break;
	}
	fc_leave(core);
}

/* Release what of a ring's window was claimed and never arrived: what XDP has carried out does not. */
static uint32_t release_ring(__u64 *claimed, const __u64 *arrived, const __u64 *acked, uint32_t words,
			     uint32_t base, uint32_t window)
{
	uint32_t n = 0;

	for (uint32_t psn = base; psn != base + window; psn++) {
		if (falcon_ring_test(claimed, words, psn) && !falcon_ring_test(arrived, words, psn) &&
		    !falcon_ring_test(acked, words, psn)) {
			falcon_ring_release(claimed, words, psn);
			n++;
		}
	}
	return n;
}

void fcore_release_claims(struct fcore_conn *c)
{
	struct falcon_conn *s = c->shared;
	uint32_t n;

	/* XDP is not to be amid a request. */
	fc_exec_take(c);
	n = release_ring(s->rx.data_rx, c->arrived_data, s->rx_acked.data_ack, FALCON_DATA_WORDS,
			 s->rx_acked.data_base, FALCON_DATA_WINDOW);
	n += release_ring(s->rx.req_rx, c->arrived_req, s->rx_acked.req_ack, FALCON_REQ_WORDS,
			  s->rx_acked.req_base, FALCON_REQ_WINDOW);
	c->stats.claims_released += n;
}
