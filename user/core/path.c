/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The largest packet that the path carries: packetization layer path MTU discovery (RFC 8899).
 *
 * A probe is a Push Data packet of the size in question, filled with zeros, whose PSN is just below the
 * transmitter's window. The receiver has acknowledged that PSN, or takes it for acknowledged: it discards
 * the packet and answers with an ACK (Falcon 9.2.2.4). Neither the probe nor its loss changes anything at
 * either end, so probes are outside of congestion control. The T1 of an ACK is that of the packet which it
 * answers (7.7.1): transmit() gives a probe a T1 of its own, and the receive path looks for it.
 *
 * The search tries the link's size first, which is what most paths carry. If that fails, it climbs from
 * the smallest size to the first that fails. A size has failed when FC_PATH_PROBES probes of it were not
 * answered. A search that hears nothing at all has learned nothing: the path may be down, or the peer not
 * there yet. It is repeated when the first ACK comes; and every PATH_RAISE while the path carries less than
 * the link, since it may have grown (RFC 8899 5.1.1).
 */
#include "core/parts.h"

#include <errno.h>

enum path_const {
	PATH_WAIT_MIN = 50000000,	/* ns, for the answer to the first probe of a size; it doubles */
	PATH_WAIT_RTTS = 3,		/* and at least so many smoothed round trips */
	PATH_AGAIN = 1000000,		/* ns, until a probe that found no room is tried again */
};

#define PATH_RAISE 600000000000ULL	/* ns */

static const uint8_t padding[FCORE_PATH_MAX_LEN];

/* The timer has something to do at |due|. */
static void wait_until(struct fcore_conn *c, uint64_t due)
{
	c->path.due = due;
	fc_arm(c, FC_TIMER_PATH, due);
}

static void try_size(struct fcore_conn *c, uint32_t index, uint64_t now)
{
	c->path.trying = (uint8_t)index;
	c->path.probes = 0;
	wait_until(c, now);
}

/* The owner may close |c| on hearing it. */
static void finish(struct fcore_conn *c, uint64_t now)
{
	struct fc_path *p = &c->path;

	p->searching = false;
	if (p->found)
		p->len = p->len_of[p->found - 1];
	if (p->found < p->sizes)
		wait_until(c, now + PATH_RAISE);
	c->core->ops.on_path(c->core->arg, c, p->len);
}

static void size_failed(struct fcore_conn *c, uint64_t now)
{
	struct fc_path *p = &c->path;

	if (p->climbing || p->sizes == 1) {
		finish(c, now);
		return;
	}
	p->climbing = true;
	try_size(c, 0, now);
}

/* Begin at the link's size. */
static void search(struct fcore_conn *c, uint64_t now)
{
	struct fc_path *p = &c->path;

	p->searching = true;
	p->climbing = false;
	p->found = 0;
	try_size(c, p->sizes - 1U, now);
}

/* 0 or -EAGAIN. */
static int send_probe(struct fcore_conn *c)
{
	struct fc_path *p = &c->path;
	uint32_t len = p->len_of[p->trying];
	struct falcon_hdr h = {
		.cid = c->shared->id.peer_cid,
		.function = c->params.function,
		.proto = p->proto,
		.type = FALCON_PUSH_DATA,
		.ar = true,
		.rdbpsn = falcon_load(&c->shared->rx_acked.data_base),
		.rrbpsn = falcon_load(&c->shared->rx_acked.req_base),
		.psn = c->data.base - 1,
		.rsn = c->init_base - 1,
		.request_len = (__u16)len,
	};
	struct fcore_packet probe = {
		.payload = padding,
		.payload_len = len,
		.type = FALCON_PUSH_DATA,
		.flow = c->flow[0].index,
		.path = c->flow[0].path,
		.probe = true,
	};

	probe.hdr_len = falcon_hdr_pack(&h, probe.hdr);
	falcon_store(&c->shared->cc.probe_t1, 0U);
	fc_exec_listen(c);
	return c->core->ops.transmit(c->core->arg, c, &probe);
}

void fc_path_timeout(struct fcore_conn *c, uint64_t now)
{
	struct fc_path *p = &c->path;
	uint64_t wait = c->flow[0].srtt * PATH_WAIT_RTTS;

	if (!p->sizes || c->dead)
		return;
	if (now < p->due) {
		wait_until(c, p->due);
		return;
	}
	if (!p->searching) {
		if (p->found < p->sizes)
			search(c, now);
		return;
	}
	if (p->probes == FC_PATH_PROBES) {
		size_failed(c, now);
		return;
	}
	if (send_probe(c)) {
		wait_until(c, now + PATH_AGAIN);
		return;
	}
	c->stats.tx_path_probes++;
	wait = wait > PATH_WAIT_MIN ? wait : PATH_WAIT_MIN;
	wait_until(c, now + (wait << p->probes++));
}

void fc_path_acked(struct fcore_conn *c, uint64_t now)
{
	struct fc_path *p = &c->path;
	uint32_t t1 = falcon_load(&c->shared->cc.probe_t1);
	bool first = !p->heard;

	p->heard = true;
	if (first && p->sizes && !p->searching)
		search(c, now);
	if (!p->searching || !t1 || falcon_load(&c->shared->tx_acked.probe_seen) != t1)
		return;
	falcon_store(&c->shared->cc.probe_t1, 0U);
	p->found = (uint8_t)(p->trying + 1);
	if (p->found == p->sizes)
		finish(c, now);
	else
		try_size(c, p->found, now);
}

/* Bytes after the Falcon header. */
static uint32_t payload_len(const struct fcore_conn *c, uint32_t psn, const struct fc_ctx *ctx)
{
	const struct fc_itxn *t = &c->itxn[ctx->rsn & FC_TXN_MASK];
	const struct fc_resp *r = &c->resp[psn & (FALCON_DATA_WINDOW - 1)];

	if (ctx->flags & FC_CTX_RESYNC || ctx->type == FALCON_PULL_REQUEST)
		return 0;
	return ctx->type == FALCON_PULL_DATA ? r->hdr_len + r->len : t->hdr_len + t->len;
}

void fc_path_stuck(struct fcore_conn *c, uint64_t now)
{
	const struct fc_win *w = &c->data;
	const struct fc_ctx *ctx = &w->ctx[w->base & (w->size - 1)];
	struct fc_path *p = &c->path;

	/* What is lost during a search is looked at when that has ended. */
	if (!p->sizes || p->searching || w->base == w->next || !ctx->lost ||
	    falcon_ring_test(w->rx_ring, w->words, w->base) ||
	    (p->stuck == w->base && p->stuck_lost == ctx->lost))
		return;
	p->stuck = w->base;
	p->stuck_lost = ctx->lost;
	fc_path_suspect(c, w->base, ctx, ctx->lost, now);
}

void fc_path_suspect(struct fcore_conn *c, uint32_t psn, const struct fc_ctx *ctx, uint32_t times,
		     uint64_t now)
{
	const struct fc_path *p = &c->path;
	uint32_t len = payload_len(c, psn, ctx);

	if (!p->sizes || p->searching)
		return;
	/*
	 * Where many packets are lost, the search may be wrong: such a packet has more tries, too. And what
	 * has become of the path during one search, the next will find.
	 */
	if (p->len && len > p->len && times >= FC_PATH_HOPELESS)
		fc_fail(c, "the path carries less than a packet under way has");
	else if (times % FC_PATH_SUSPICION == 0 && len > p->len_of[0])
		search(c, now);
}

int fcore_path_search(struct fcore_conn *c, const uint16_t *len_of, uint32_t sizes, uint8_t proto,
		      uint64_t now)
{
	struct fc_path *p = &c->path;

	if (!sizes || sizes > FCORE_PATH_SIZES || len_of[sizes - 1] > FCORE_PATH_MAX_LEN ||
	    !c->core->ops.on_path)
		return -EINVAL;
	memcpy(p->len_of, len_of, sizes * sizeof(*len_of));
	p->sizes = (uint8_t)sizes;
	p->proto = proto;
	p->len = fc_min(p->len, len_of[sizes - 1]);
	search(c, now);
	return 0;
}
