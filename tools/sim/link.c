// SPDX-License-Identifier: BSD-2-Clause
/*
 * The network: one switch, or leaves and spines between which ECMP chooses by flow label. A link is
 * a port (rate, finite queue, ECN) and the wire behind it (delay and everything bad).
 */
#include "hop.h"

#include <string.h>

enum {
	NOISE = 3000,		/* of streams of randomness, the first for bit errors */
};

static bool relieved(const struct sim *s)
{
	return s->healed && s->cfg->relief;
}

static uint32_t leaf_of(const struct sim *s, uint32_t host)
{
	return host / (uint32_t)(s->cfg->hosts / s->cfg->leaves);
}

static uint32_t up(const struct sim *s, uint32_t leaf, uint32_t spine)
{
	return (uint32_t)(s->cfg->hosts + leaf * s->cfg->spines) + spine;
}

static uint32_t down(const struct sim *s, uint32_t spine, uint32_t leaf)
{
	return (uint32_t)(s->cfg->hosts + s->cfg->leaves * s->cfg->spines +
			  spine * s->cfg->leaves) + leaf;
}

static void noise_open(const struct sim *s, struct noise *e, const struct sim_link_cfg *cfg, uint64_t stream)
{
	rng_seed(&e->rng, s->cfg->seed, stream);
	noise_begin(e, cfg->ber);
}

static void init(struct sim *s, uint32_t n, const struct sim_link_cfg *cfg, int leaf, int spine)
{
	struct link *l = &s->links[n];

	l->cfg = cfg;
	l->to_leaf = leaf;
	l->to_spine = spine;
	rng_seed(&l->rng, s->cfg->seed, 2000 + n);
	noise_open(s, &l->noise, cfg, NOISE + 2 * n);
	noise_open(s, &l->uplink, cfg, NOISE + 2 * n + 1);
}

/* Ports |n| and |back| are the ends of one link; they are the same where a NIC is the other end. */
static void join(struct sim *s, uint32_t n, uint32_t back)
{
	struct link *l = &s->links[n];

	if (!l->cfg->rifl)
		return;
	l->hop = s->links[back].hop = hop_open(s, l->cfg, n, back);
	s->links[back].dir = n != back;
}

void link_open(struct sim *s)
{
	const struct sim_cfg *c = s->cfg;

	s->nlinks = (uint32_t)(c->hosts + 2 * c->leaves * c->spines);
	s->links = calloc(s->nlinks, sizeof(*s->links));
	if (!s->links)
		abort();
	for (uint32_t h = 0; h < c->hosts; h++) {
		init(s, h, &c->link[h], -1, -1);
		join(s, h, h);
	}
	for (uint32_t leaf = 0; leaf < c->leaves; leaf++) {
		for (uint32_t spine = 0; spine < c->spines; spine++) {
			const struct sim_link_cfg *trunk = &c->trunk[leaf * c->spines + spine];

			init(s, up(s, leaf, spine), trunk, -1, (int)spine);
			init(s, down(s, spine, leaf), trunk, (int)leaf, -1);
			join(s, up(s, leaf, spine), down(s, spine, leaf));
		}
	}
}

void link_close(struct sim *s)
{
	for (uint32_t n = 0; n < s->nlinks; n++)
		if (s->links[n].dir == 0)
			hop_close(s->links[n].hop);
	free(s->links);
}

uint64_t link_damaged(const struct sim *s, uint32_t n)
{
	const struct link *l = &s->links[n];

	if (!l->hop)
		return l->stats.damaged;
	return hop_damaged(l->hop, l->dir) + (n < s->cfg->hosts ? hop_damaged(l->hop, !l->dir) : 0);
}

static uint64_t least_delay(const struct sim_link_cfg *c)
{
	return c->delay_then && c->delay_then < c->delay ? c->delay_then : c->delay;
}

uint64_t link_delay(const struct sim *s, uint32_t from, uint32_t to)
{
	const struct sim_cfg *c = s->cfg;
	uint64_t least = UINT64_MAX;

	if (!c->leaves || leaf_of(s, from) == leaf_of(s, to))
		return least_delay(&c->link[to]);
	for (uint32_t spine = 0; spine < c->spines; spine++) {
		uint64_t delay = least_delay(&c->trunk[leaf_of(s, from) * c->spines + spine]) +
				 least_delay(&c->trunk[leaf_of(s, to) * c->spines + spine]);

		least = delay < least ? delay : least;
	}
	return least + least_delay(&c->link[to]);
}

/* Nothing gets through |c|, and has not for |since|. */
static bool blacked_out(const struct sim *s, const struct sim_link_cfg *c, uint64_t since)
{
	uint64_t t = s->now - s->start;

	if (!c->blackout_for || t < c->blackout_at)
		return false;
	t -= c->blackout_at;
	if (c->blackout_every)
		t %= c->blackout_every;
	return t < c->blackout_for && t >= since;
}

/* ECMP at the leaf where |f| enters: the spine that the hash names, or the next that is not dead. */
static uint32_t choose_spine(const struct sim *s, const struct frame *f)
{
	const struct sim_cfg *c = s->cfg;
	uint64_t hash = rng_mix(c->seed ^ (uint64_t)f->label << 32 ^ (uint64_t)f->src << 16 ^ f->dst);
	uint32_t from = leaf_of(s, f->src), to = leaf_of(s, f->dst);
	uint32_t spine = (uint32_t)(hash % c->spines);

	for (uint32_t i = 0; c->reroute && !s->healed && i < c->spines; i++) {
		if (!blacked_out(s, &c->trunk[from * c->spines + spine], c->reroute) &&
		    !blacked_out(s, &c->trunk[to * c->spines + spine], c->reroute))
			break;
		spine = (spine + 1) % (uint32_t)c->spines;
	}
	return spine;
}

uint32_t link_first(const struct sim *s, const struct frame *f)
{
	if (!s->cfg->leaves || leaf_of(s, f->src) == leaf_of(s, f->dst))
		return f->dst;
	return up(s, leaf_of(s, f->src), choose_spine(s, f));
}

/* The byte |at| of an IPv4 header becomes |v|; the checksum follows it (RFC 1624). */
static void rewrite_ipv4(uint8_t *l3, size_t at, uint8_t v)
{
	struct iphdr *ip = (struct iphdr *)l3;
	uint32_t shift = at & 1 ? 0 : 8, sum = (uint16_t)~ntohs(ip->check);

	sum += (uint16_t)~((uint32_t)l3[at] << shift) + ((uint32_t)v << shift);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = htons((uint16_t)~((sum & 0xffff) + (sum >> 16)));
	l3[at] = v;
}

static void mark(struct link *l, struct frame *f)
{
	uint8_t *l3 = f->data + ETH_HLEN;

	if (l3[0] >> 4 == 4)
		rewrite_ipv4(l3, offsetof(struct iphdr, tos), l3[1] | FALCON_ECN_CE);
	else
		l3[1] |= FALCON_ECN_CE << 4;
	f->marked = true;
	l->stats.marked++;
}

/* Every switch is a router. */
static void decrement_ttl(struct frame *f)
{
	uint8_t *l3 = f->data + ETH_HLEN;

	f->hops++;
	if (l3[0] >> 4 == 4)
		rewrite_ipv4(l3, offsetof(struct iphdr, ttl),
			     (uint8_t)(l3[offsetof(struct iphdr, ttl)] - 1));
	else
		l3[offsetof(struct ipv6hdr, hop_limit)]--;
}

/*
 * Spoil a run of at most 15 bits of |f|, somewhere in [from, end). A run of that length never escapes
 * the checksum that covers those bytes, so that whoever accepts the frame has not looked.
 */
static void spoil(struct link *l, struct frame *f, uint32_t from, uint32_t end)
{
	uint32_t bit = (uint32_t)rng_below(&l->rng, (end - from - 2) * 8);
	uint32_t run = 1U << rng_below(&l->rng, 15), pattern;

	pattern = (run | 1U | (uint32_t)rng_below(&l->rng, run)) << (bit % 8);
	for (uint32_t i = 0; i < 3; i++)
		if (from + bit / 8 + i < end)
			f->data[from + bit / 8 + i] ^= (uint8_t)(pattern >> (8 * i));
	f->corrupt = true;
	l->stats.corrupted++;
}

/* UDP's checksum covers all from the addresses on, IPv4's its header, a seal what comes after UDP's. */
static void corrupt(struct link *l, struct frame *f)
{
	bool ipv4 = f->data[ETH_HLEN] >> 4 == 4;
	uint32_t l4 = ETH_HLEN + (ipv4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	uint32_t from = f->key ? l4 + sizeof(struct udphdr) : ETH_HLEN + (ipv4 ? 12 : 8);

	if (f->corrupt)
		return;
	if (rng_chance(&l->rng, l->cfg->corrupt))
		spoil(l, f, from, f->stored);
	else if (ipv4 && rng_chance(&l->rng, l->cfg->corrupt_ip))
		spoil(l, f, ETH_HLEN, ETH_HLEN + sizeof(struct iphdr));
}

/* |f| comes out of the wire at |at|, or as much later as the wire adds to its delay. */
static void emerge(struct sim *s, struct link *l, struct frame *f, uint64_t at)
{
	const struct sim_link_cfg *c = l->cfg;
	uint64_t delay = 0;

	if (c->jitter && !s->healed)
		delay += rng_below(&l->rng, c->jitter + 1);
	if (!s->healed && rng_chance(&l->rng, c->reorder)) {
		delay += rng_below(&l->rng, c->reorder_by + 1);
		l->stats.reordered++;
	}
	if (l->to_spine >= 0)
		sim_at(s, at + delay, EV_PORT, f,
		       down(s, (uint32_t)l->to_spine, leaf_of(s, f->dst)));
	else if (l->to_leaf >= 0)
		sim_at(s, at + delay, EV_PORT, f, f->dst);
	else
		sim_at(s, at + delay, EV_ARRIVE, f, 0);
}

void link_out(struct sim *s, uint32_t n, struct frame *f, uint64_t at)
{
	emerge(s, &s->links[n], f, at);
}

static uint64_t delay_now(const struct sim *s, const struct sim_link_cfg *c)
{
	return c->delay_then && s->now - s->start >= c->delay_at ? c->delay_then : c->delay;
}

/* On the wire: |f| leaves the port at |at|. */
static void wire(struct sim *s, struct link *l, struct frame *f, uint64_t at)
{
	if (l->hop)
		hop_send(l->hop, l->dir, f);
	else
		emerge(s, l, f, at + delay_now(s, l->cfg));
}

static void lose(struct sim *s, struct frame *f, uint64_t *counter)
{
	(*counter)++;
	sim_trace(s, "lost", NULL, f->src, f->dst, f->len);
	pool_put(&s->frames, f);
}

static struct frame *copy(struct sim *s, const struct frame *f)
{
	struct frame *d = pool_get(&s->frames, sizeof(*d) + f->stored);

	memcpy(d, f, sizeof(*d) + f->stored);
	return d;
}

/* The wire of |l| eats |f|. */
static bool is_lost(const struct sim *s, struct link *l, const struct frame *f)
{
	const struct sim_link_cfg *c = l->cfg;
	uint64_t nth = l->stats.packets - 1 - c->drop_from;

	if (c->drop_mask && nth < 64 && c->drop_mask >> nth & 1)
		return true;
	if (c->burst)
		l->bad = rng_chance(&l->rng, l->bad ? SIM_PPM - c->burst_end : c->burst);
	if (c->ber && !l->hop && noise_hits(&l->noise, c->ber, f->len)) {
		l->stats.damaged++;
		return true;
	}
	return blacked_out(s, c, 0) || rng_chance(&l->rng, c->loss) ||
	       (l->bad && rng_chance(&l->rng, c->burst_loss));
}

/* Through the port: when |f| has left it, ns. A RIFL link has slots of its own. */
static uint64_t serve(struct sim *s, struct link *l, const struct frame *f)
{
	uint64_t now = s->now * 1000;

	if (l->hop)
		return s->now;
	if (l->busy_ps < now || relieved(s))
		l->busy_ps = now;
	l->busy_ps += wire_ps(relieved(s) ? 0 : l->cfg->rate, f->len);
	return (l->busy_ps + 999) / 1000;
}

static uint64_t waiting(const struct sim *s, const struct link *l)
{
	if (l->hop)
		return hop_queued(l->hop, l->dir);
	return backlog(relieved(s) ? 0 : l->cfg->rate, l->busy_ps, s->now);
}

/* A stranger has seen |f|, and sends it again some time later. */
static void replay(struct sim *s, struct link *l, const struct frame *f, uint64_t at)
{
	struct frame *again = copy(s, f);

	s->totals.replayed++;
	emerge(s, l, again, at + delay_now(s, l->cfg) + rng_below(&l->rng, l->cfg->replay_by + 1));
}

void link_uplink(struct sim *s, struct frame *f)
{
	struct link *l = &s->links[f->src];

	if (l->hop) {
		hop_send(l->hop, !l->dir, f);
	} else if (!s->healed && noise_hits(&l->uplink, l->cfg->ber, f->len)) {
		l->stats.damaged++;
		lose(s, f, &l->stats.lost);
	} else {
		link_port(s, f, link_first(s, f));
	}
}

void link_port(struct sim *s, struct frame *f, uint32_t n)
{
	struct link *l = &s->links[n];
	const struct sim_link_cfg *c = l->cfg;
	uint64_t queued = waiting(s, l), at;
	bool faulty = !s->healed;

	l->stats.packets++;
	l->stats.bytes += f->len;
	l->stats.queued += queued;
	if (queued > l->stats.max_queued)
		l->stats.max_queued = queued;
	s->totals.packets++;
	decrement_ttl(f);
	if (c->queue && queued + f->len > c->queue) {
		lose(s, f, &l->stats.queue_full);
		return;
	}
	if (f->len - ETH_HLEN > path_mtu(s, c)) {
		lose(s, f, &l->stats.too_large);
		return;
	}
	if (faulty && is_lost(s, l, f)) {
		lose(s, f, &l->stats.lost);
		return;
	}
	if (c->ecn && queued >= c->ecn)
		mark(l, f);
	at = serve(s, l, f);
	if (faulty && rng_chance(&l->rng, c->duplicate)) {
		l->stats.duplicated++;
		wire(s, l, copy(s, f), at);
	}
	if (faulty && rng_chance(&l->rng, c->replay))
		replay(s, l, f, at);
	if (faulty)
		corrupt(l, f);
	wire(s, l, f, at);
}
