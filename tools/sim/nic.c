// SPDX-License-Identifier: BSD-2-Clause
/* Frames, and the sender's NIC: a rate, and a queue with back pressure. */
#include "check.h"

#include <falcon/wire/esp.h>

#include <arpa/inet.h>
#include <string.h>

/* Preamble, frame check sequence and gap: what a frame takes on the wire beyond its bytes. */
enum {
	WIRE_OVERHEAD = 24,
	STAMP_LATE_NS = 2000,	/* by which the clock that stamps packets may be behind */
	PS_PER_NS = 1000,
};

uint64_t wire_ps(uint64_t rate, uint32_t len)
{
	return rate ? (uint64_t)(len + WIRE_OVERHEAD) * 8 * SIM_S * PS_PER_NS / rate : 0;
}

uint64_t backlog(uint64_t rate, uint64_t busy_ps, uint64_t now)
{
	uint64_t t = now * PS_PER_NS;

	if (busy_ps <= t)
		return 0;
	t = (busy_ps - t) / PS_PER_NS;
	if (t < 1 << 20)
		return t * (rate / 8) / SIM_S;
	return (uint64_t)((unsigned __int128)t * rate / (8 * SIM_S));
}

/* From the healing on, links and NICs may be infinitely fast. */
static uint64_t rate_of(const struct host *h)
{
	return h->sim->healed && h->sim->cfg->relief ? 0 : h->cfg->nic_rate;
}

static uint64_t queued(const struct host *h)
{
	return backlog(rate_of(h), h->nic_busy_ps, h->sim->now);
}

bool nic_full(const struct host *h)
{
	return h->cfg->nic_queue && rate_of(h) && queued(h) > h->cfg->nic_queue;
}

uint32_t nic_room(const struct host *h, uint32_t len)
{
	uint64_t bytes = queued(h);

	if (!h->cfg->nic_queue || !rate_of(h))
		return UINT32_MAX;
	return bytes > h->cfg->nic_queue ? 0 : (uint32_t)((h->cfg->nic_queue - bytes) / len) + 1;
}

uint64_t nic_relief(const struct host *h)
{
	uint64_t half = rate_of(h) ? h->cfg->nic_queue / 2 * 8 * SIM_S / rate_of(h) : 0;
	uint64_t busy = h->nic_busy_ps / PS_PER_NS;

	return busy > h->sim->now + half ? busy - half : h->sim->now + 1;
}

/* When a frame of |len| bytes that is handed over now will have left, ps. */
static uint64_t departure(const struct host *h, uint32_t len)
{
	uint64_t now = h->sim->now * PS_PER_NS, rate = rate_of(h);
	uint64_t from = rate && h->nic_busy_ps > now ? h->nic_busy_ps : now;

	return from + wire_ps(rate, len);
}

/* To the NIC of |h|. */
static void nic_send(struct host *h, struct frame *f)
{
	const struct sim_link_cfg *c = &h->sim->cfg->link[h->index];
	struct sim *s = h->sim;
	uint64_t at;

	h->nic_busy_ps = departure(h, f->len);
	h->tx_frames++;
	at = (h->nic_busy_ps + PS_PER_NS - 1) / PS_PER_NS;
	if (c->rifl || c->ber)
		sim_at(s, at, EV_UPLINK, f, 0);
	else
		sim_at(s, at, EV_PORT, f, link_first(s, f));
}

/* IPv4's checksum follows the length (RFC 1624). */
static void announce_ipv4(struct iphdr *ip, uint32_t more)
{
	uint32_t was = ntohs(ip->tot_len), is = was + more;
	uint32_t sum = (uint16_t)~ntohs(ip->check) + (uint16_t)~was + is;

	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = htons((uint16_t)~((sum & 0xffff) + (sum >> 16)));
	ip->tot_len = htons((uint16_t)is);
}

/* Let the headers announce |more| bytes that are not there. */
static void announce(const struct frame_template *t, uint8_t *data, uint32_t more)
{
	struct udphdr *udp = (void *)(data + t->udp_off);
	struct ipv6hdr *ip6 = (void *)(data + t->l3_off);

	if (t->ipv6)
		ip6->payload_len = htons((uint16_t)(ntohs(ip6->payload_len) + more));
	else
		announce_ipv4((void *)(data + t->l3_off), more);
	udp->len = htons((uint16_t)(ntohs(udp->len) + more));
}

static uint32_t label_of(const struct frame_template *t, const uint8_t *data)
{
	if (t->ipv6)
		return ntohl(*(const uint32_t *)(data + t->l3_off)) & 0xfffff;
	return ntohs(((const struct udphdr *)(data + t->udp_off))->source);
}

/* A stranger hashes what it likes into flow label or port. */
static void stray(struct host *h, struct fcore_packet *p)
{
	if (h->sim->healed || !rng_chance(&h->rng, h->cfg->stray_flow))
		return;
	p->flow = (uint8_t)rng_below(&h->rng, FALCON_MAX_FLOWS);
	p->path = (uint16_t)rng_next(&h->rng);
}

/* No IV is below this: those of clear packets only grow, and probes have a T1 of their own. */
static uint64_t lowest_iv(const struct endpoint *e, const struct frame_template *t)
{
	if (t->encap != FALCON_PSP_CLEAR)
		return e->iv_floor;
	return t->last_iv ? t->last_iv + 1 : 0;
}

/* As the agent stamps a probe of the path's size: no other packet of the connection has its T1. */
static uint64_t probe_iv(const struct endpoint *e, uint64_t iv)
{
	iv = (iv | ((1ULL << FALCON_TIME_SHIFT) - 1)) + 1;
	falcon_store(&e->shared->cc.probe_t1, falcon_time_of_iv(iv));
	return iv;
}

/* What seals packets takes any clock, also one that goes back. */
static uint64_t late_by(struct endpoint *e)
{
	uint64_t since = e->sim->now - e->sim->start;

	if (!secure_wanted(e->cfg) || rng_below(&e->rng, 8))
		return 0;
	return rng_below(&e->rng, since < STAMP_LATE_NS ? since + 1 : STAMP_LATE_NS);
}

/* The clock of |e| at |at|, as the IV of |p| follows it. */
static uint64_t stamp(struct endpoint *e, const struct fcore_packet *p,
		      const struct frame_template *t, uint64_t at)
{
	uint64_t iv = (host_clock(e->host, at) - late_by(e)) * FALCON_PS_PER_NS, least = lowest_iv(e, t);

	if (least && (int64_t)(iv - least) < 0)
		iv = least;
	return p->probe ? probe_iv(e, iv) : iv;
}

/* Of PSP's header and ESP's. */
static uint64_t iv_in(const struct frame_template *t, const uint8_t *data)
{
	const void *sec = data + t->sec_off;

	if (falcon_encap_is_esp(t->encap))
		return falcon_ntoh64(((const struct falcon_esp_hdr *)sec)->iv);
	return falcon_ntoh64(((const struct falcon_psp_hdr *)sec)->iv);
}

/* Whole ns of |ps|, which may be negative: the ns in which that is. */
static uint64_t ns_of(int64_t ps)
{
	return (uint64_t)((ps < 0 ? ps - (PS_PER_NS - 1) : ps) / PS_PER_NS);
}

/* What comes after a probe, of IV |iv|, has another T1. */
static void leave_behind(struct endpoint *e, struct frame_template *t, uint64_t iv)
{
	const uint64_t rest = (1ULL << FALCON_TIME_SHIFT) - 1;

	t->last_iv = iv + rest;
	e->iv_floor = iv + rest + 1;
}

/* A frame for packet |p| of |e|, that leaves now or when the NIC sends it; NULL if it cannot be sealed. */
static struct frame *make_frame(struct endpoint *e, const struct fcore_packet *p,
				struct frame_template *t)
{
	uint32_t len = t->len + p->hdr_len + p->ulp_hdr_len + p->payload_len;
	uint32_t absent = e->sim->cfg->data ? 0 : p->payload_len;
	uint64_t at = e->sim->now, iv;
	struct fcore_packet bare = *p;
	struct frame *f = pool_get(&e->sim->frames, sizeof(*f) + len - absent + FRAME_MAX_TRAILER);
	int stored;

	if (e->host->cfg->nic_clock)
		at = departure(e->host, len) / PS_PER_NS;
	bare.payload_len -= absent;
	stray(e->host, &bare);
	iv = stamp(e, p, t, at);
	stored = frame_build(t, secure_sa(e), &bare, iv, f->data);
	if (stored < 0) {
		pool_put(&e->sim->frames, f);
		secure_failed(e, stored);
		return NULL;
	}
	f->stored = (uint32_t)stored;
	f->len = f->stored + absent;
	if (absent)
		announce(t, f->data, absent);
	f->iv = iv_in(t, f->data);
	/* IVs of packets behind a probe are ahead of the clock. */
	f->sent = at + ns_of((int64_t)(f->iv - host_clock(e->host, at) * FALCON_PS_PER_NS));
	if (p->probe)
		leave_behind(e, t, iv);
	f->echoed = e->flow[p->flow].sent;
	f->label = label_of(t, f->data);
	f->src = (uint16_t)e->host->index;
	f->dst = (uint16_t)e->peer->host->index;
	f->from = e;
	f->key = 0;
	f->hops = 0;
	f->incarnation = e->incarnation;
	f->corrupt = f->marked = false;
	if (secure_wanted(e->cfg))
		check_sealed(e, f);
	return f;
}

void nic_transmit(struct endpoint *e, const struct fcore_packet *p, struct frame_template *t)
{
	struct frame *f = make_frame(e, p, t);

	if (f)
		nic_send(e->host, f);
}
