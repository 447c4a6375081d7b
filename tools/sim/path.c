// SPDX-License-Identifier: BSD-2-Clause
/*
 * How large packets may be, on ways that change: what user/agent/conn/path.c and neigh.c make of it.
 *
 * Of its own link an agent knows the MTU, and what peers say of theirs; what lies between, the core searches.
 * What it finds is told to the peer, and upper layers keep to the least of all. A host that moves to another
 * address of its link is out of reach until its peers hear of it.
 */
#include "check.h"

enum {
	TELL_NS = 100000,	/* from agent to agent */
	SETTLED_S = 6,		/* a search is over by then: of two sizes that fail, and what delays it */
};

/* MTUs that paths have; the link's own comes last. */
static const uint16_t common_mtus[] = { 576, 768, 1024, 1280, 1400, 1500, 2000, 3000 };

enum {
	NCOMMON = sizeof(common_mtus) / sizeof(common_mtus[0]),
};

_Static_assert(sizeof(common_mtus) / sizeof(common_mtus[0]) < FCORE_PATH_SIZES, "and the link's");

static uint32_t payload_of(const struct endpoint *e, uint32_t mtu)
{
	return frame_max_payload(mtu, e->cfg->ipv6, secure_around(e));
}

uint32_t path_mtu(const struct sim *s, const struct sim_link_cfg *c)
{
	if (s->widened || (!c->mtu && !c->mtu_then))
		return UINT32_MAX;
	if (c->mtu_then && s->now - s->start >= c->mtu_at)
		return (uint32_t)c->mtu_then;
	return c->mtu ? (uint32_t)c->mtu : UINT32_MAX;
}

/* What both links allow, as far as the agent of |e| knows. */
static uint32_t link_mtu(const struct endpoint *e)
{
	return e->path.peer_mtu < e->host->mtu ? e->path.peer_mtu : e->host->mtu;
}

uint32_t path_link_len(const struct endpoint *e)
{
	return payload_of(e, link_mtu(e));
}

static uint32_t sizes_of(const struct endpoint *e, uint16_t len_of[FCORE_PATH_SIZES])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NCOMMON; i++)
		if (common_mtus[i] < link_mtu(e))
			len_of[n++] = (uint16_t)payload_of(e, common_mtus[i]);
	len_of[n++] = (uint16_t)path_link_len(e);
	return n;
}

static void search(struct endpoint *e)
{
	uint16_t len_of[FCORE_PATH_SIZES];
	uint32_t n = sizes_of(e, len_of);

	if (fcore_path_search(e->core, len_of, n, FALCON_PROTO_RAW, host_now(e->host)))
		abort();
	host_kick(e->host, e->sim->now);
}

static void tell(struct endpoint *e)
{
	if (e->cfg->path == SIM_PATH_AGREED)
		sim_at(e->sim, e->sim->now + TELL_NS, EV_TOLD, e->peer,
		       e->path.len << 16 | e->host->mtu);
}

/* Without a handshake the peer has no say. */
static bool known(const struct endpoint *e)
{
	return e->path.len && (e->cfg->path != SIM_PATH_AGREED || e->path.peer_len);
}

static void adopt(struct endpoint *e)
{
	uint32_t len = path_link_len(e);

	if (e->path.len && e->path.len < len)
		len = e->path.len;
	if (e->path.peer_len && e->path.peer_len < len)
		len = e->path.peer_len;
	e->path.most = len - SIM_ULP_HDR;
	sim_trace(e->sim, "path", e, e->path.len, e->path.peer_len, len);
	if (known(e) && !e->path.up) {
		e->path.up = true;
		ulp_begin(e);
	}
}

/* The largest of the sizes that the way to the peer carries now; 0: none. */
static uint32_t carried(const struct endpoint *e)
{
	const struct sim *s = e->sim;
	uint32_t mtu = path_mtu(s, &s->cfg->link[e->peer->host->index]), best = 0;
	uint16_t len_of[FCORE_PATH_SIZES];
	uint32_t n = sizes_of(e, len_of);

	for (uint64_t i = 0; i < s->cfg->leaves * s->cfg->spines; i++)
		if (path_mtu(s, &s->cfg->trunk[i]) < mtu)
			mtu = path_mtu(s, &s->cfg->trunk[i]);
	for (uint32_t i = 0; i < n; i++)
		if (len_of[i] <= payload_of(e, mtu < e->host->mtu ? mtu : e->host->mtu))
			best = len_of[i];
	return best;
}

/* Nothing that a search depends on has changed for longer than it takes. */
static bool settled(const struct endpoint *e)
{
	const struct sim *s = e->sim;
	uint64_t since = s->start + s->cfg->heal;

	for (uint64_t i = 0; i < s->cfg->hosts; i++) {
		if (s->cfg->link[i].mtu_at + s->start > since)
			since = s->cfg->link[i].mtu_at + s->start;
		if (s->hosts[i].changed_at > since)
			since = s->hosts[i].changed_at;
	}
	if (s->widened && s->widened_at > since)
		since = s->widened_at;
	return s->healed && s->now > since + SETTLED_S * SIM_S && !e->peer->fatal && e->peer->core;
}

/* RFC 8899: what was found is what the path carries. */
static void check_found(const struct endpoint *e, uint32_t len)
{
	if (e->sim->cfg->checks && settled(e) && len != carried(e))
		sim_fail(e->sim, e, "found that the path carries %u, not %u", len, carried(e));
}

void path_on_found(void *arg, struct fcore_conn *c, uint32_t len)
{
	struct endpoint *e = ep_of(c);

	(void)arg;
	check_found(e, len);
	e->sim->totals.searches++;
	if (!len && e->cfg->path != SIM_PATH_AGREED)
		return;
	/* Of a path that nothing was heard of: what every path carries. */
	if (!len)
		len = payload_of(e, link_mtu(e) < common_mtus[0] ? link_mtu(e) : common_mtus[0]);
	if (len == e->path.len)
		return;
	e->path.len = len;
	tell(e);
	adopt(e);
}

/* Our link or the peer's has another MTU. */
static void follow(struct endpoint *e)
{
	uint32_t len = path_link_len(e);

	if (e->path.len > len)
		e->path.len = len;
	search(e);
}

void path_told(struct endpoint *e, uint32_t what)
{
	uint32_t mtu = what & 0xffff;

	if (!e->core || e->fatal)
		return;
	e->path.peer_len = what >> 16;
	if (mtu != e->path.peer_mtu) {
		e->path.peer_mtu = mtu;
		follow(e);
	}
	adopt(e);
}

void path_changes(struct host *h, uint32_t mtu)
{
	h->mtu = mtu;
	h->changed_at = h->sim->now;
	for (uint32_t i = 0; i < h->neps; i++) {
		struct endpoint *e = h->ep[i];

		if (!e->core || e->fatal || !e->cfg->path)
			continue;
		follow(e);
		tell(e);
		adopt(e);
	}
}

void path_open(struct endpoint *e)
{
	if (!e->cfg->path)
		return;
	e->path.peer_mtu = (uint32_t)e->peer->host->cfg->mtu;
	e->path.most = path_link_len(e) - SIM_ULP_HDR;
	/* Only who has agreed with the peer waits for the search. */
	e->path.up = e->cfg->path != SIM_PATH_AGREED;
	search(e);
}

bool path_is_up(const struct endpoint *e)
{
	return !e->cfg->path || e->path.up;
}

void path_widen(struct sim *s)
{
	s->widened = true;
	s->widened_at = s->now;
}

void check_path(const struct endpoint *e)
{
	if (e->cfg->path && !e->fatal && e->peer->core && e->path.len != path_link_len(e))
		sim_fail(e->sim, e, "the path carries %u, and %u is all that is known", path_link_len(e),
			 e->path.len);
}

void check_probe(struct endpoint *e, const struct falcon_hdr *h, uint32_t len)
{
	uint16_t len_of[FCORE_PATH_SIZES];
	uint32_t n = sizes_of(e, len_of), i = 0;

	while (i < n && len_of[i] != len)
		i++;
	if (i == n || !h->ar || h->type != FALCON_PUSH_DATA)
		sim_fail(e->sim, e, "a probe of %u bytes, type %u", len, h->type);
	/* The peer takes it for one that it has acknowledged. */
	if (falcon_seq_diff(h->psn, e->shared->tx_acked.data_base) >= 0)
		sim_fail(e->sim, e, "a probe with PSN %u, which is not acknowledged", h->psn);
	check_stated(e, false, h->rdbpsn);
	check_stated(e, true, h->rrbpsn);
}

void route_moved(struct host *h, bool heard)
{
	struct sim *s = h->sim;

	sim_trace(s, "moved", NULL, h->index, heard, 0);
	h->station = 1;
	for (uint32_t i = 0; i < s->neps; i++)
		if ((heard ? s->ep[i].peer->host : s->ep[i].host) == h)
			set_route(&s->ep[i]);
}

void path_open_host(struct host *h)
{
	const struct sim_host_cfg *c = h->cfg;
	struct sim *s = h->sim;

	if (c->mtu && c->mtu_then)
		sim_at(s, s->now + c->mtu_at, EV_MTU, h, (uint32_t)c->mtu_then);
	if (!c->move_for)
		return;
	sim_at(s, s->now + c->move_at, EV_MOVE, h, false);
	sim_at(s, s->now + c->move_at + c->move_for, EV_MOVE, h, true);
}
