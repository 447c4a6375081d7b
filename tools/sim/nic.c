// SPDX-License-Identifier: BSD-2-Clause
/* Frames, and the sender's NIC: a rate, and a queue with back pressure. */
#include "sim.h"

#include <arpa/inet.h>
#include <string.h>

/* Preamble, frame check sequence and gap: what a frame takes on the wire beyond its bytes. */
enum {
	WIRE_OVERHEAD = 24,
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

void nic_send(struct host *h, struct frame *f)
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

/* As the agent stamps a probe of the path's size: no other packet of the connection has its T1. */
static uint64_t probe_iv(const struct endpoint *e, const struct frame_template *t, uint64_t at)
{
	const uint64_t unit = 1ULL << FALCON_TIME_SHIFT;
	uint64_t iv = host_clock(e->host, at) * FALCON_PS_PER_NS;

	if (t->last_iv && (int64_t)(iv - t->last_iv) <= 0)
		iv = t->last_iv + 1;
	iv = (iv | (unit - 1)) + 1;
	falcon_store(&e->shared->cc.probe_t1, falcon_time_of_iv(iv));
	return iv;
}

struct frame *nic_frame(const struct endpoint *e, const struct fcore_packet *p,
			struct frame_template *t)
{
	uint32_t len = t->len + p->hdr_len + p->ulp_hdr_len + p->payload_len;
	uint32_t absent = e->sim->cfg->data ? 0 : p->payload_len;
	uint64_t at = e->sim->now, iv;
	struct fcore_packet bare = *p;
	struct frame *f = pool_get(&e->sim->frames, sizeof(*f) + len - absent);

	if (e->host->cfg->nic_clock)
		at = departure(e->host, len) / PS_PER_NS;
	bare.payload_len -= absent;
	stray(e->host, &bare);
	f->len = len;
	iv = p->probe ? probe_iv(e, t, at) : host_clock(e->host, at) * FALCON_PS_PER_NS;
	f->stored = (uint32_t)frame_build(t, NULL, &bare, iv, f->data);
	if (absent)
		announce(t, f->data, absent);
	f->iv = t->last_iv;
	/* IVs of packets behind a probe are ahead of the clock. */
	f->sent = at + (f->iv - host_clock(e->host, at) * FALCON_PS_PER_NS) / PS_PER_NS;
	if (p->probe)
		t->last_iv = iv + (1ULL << FALCON_TIME_SHIFT) - 1;
	f->echoed = e->flow[p->flow].sent;
	f->label = label_of(t, f->data);
	f->src = (uint16_t)e->host->index;
	f->dst = (uint16_t)e->peer->host->index;
	f->hops = 0;
	f->incarnation = e->incarnation;
	f->corrupt = f->marked = false;
	return f;
}
