// SPDX-License-Identifier: BSD-2-Clause
/* From the core's packets to frames on a socket. */
#include "agent/shard/shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/loopback.h"
#include "agent/net/port.h"
#include "base/spin.h"

enum tx_const {
	TX_STAMPS = 4,		/* frames that share one reading of the clock */
};

/*
 * T1 is to be taken close to the wire: at the doorbell, not once a turn. A few frames later it is
 * still the same for all that RTTs are good for, and the clock is not free.
 */
static uint64_t stamp(struct shard *s)
{
	uint64_t iv;

	if (s->tx_stamps++ % TX_STAMPS == 0)
		s->tx_now = spin_clock();
	/*
	 * No two frames share an IV, whatever their associations: then a nonce is new even if a peer
	 * should give out the same key twice.
	 */
	iv = s->tx_now * FALCON_PS_PER_NS;
	s->tx_iv = iv > s->tx_iv ? iv : s->tx_iv + 1;
	return s->tx_iv;
}

/*
 * The IV of a probe of the path's size, whose T1 is its own: no packet before has it, none after it will.
 */
static uint64_t stamp_probe(struct shard *s, struct falcon_conn *shared)
{
	const uint64_t unit = 1ULL << FALCON_TIME_SHIFT;
	uint64_t iv = (stamp(s) | (unit - 1)) + 1;

	s->tx_iv = iv + unit - 1;
	falcon_store(&shared->cc.probe_t1, falcon_time_of_iv(iv));
	return iv;
}

/*
 * Bytes behind the datagram |out| of |len| bytes that receivers cut off, and in whose place their XDP can
 * write. Returns how many. Encrypted packets are not XDP's to answer.
 */
static uint32_t leave_room(const struct agent_conn *c, const struct fcore_packet *p, uint8_t *out,
			   uint32_t len)
{
	uint32_t room = p->room < XSK_MAX_FRAME - len ? p->room : XSK_MAX_FRAME - len;

	if (!room || c->sec.encap != FALCON_PSP_CLEAR)
		return 0;
	memset(out + len, 0, room);
	return room;
}

int agent_transmit(void *arg, struct fcore_conn *fc, const struct fcore_packet *p)
{
	struct agent_conn *c = fcore_conn_user(fc);
	uint8_t *out;
	uint64_t iv;
	int len;

	(void)arg;
	if (c->loop)
		return loopback_transmit(c, p, stamp(c->shard));
	if (!c->routed) {
		/* As good as lost on the way: the retransmission finds the route. */
		c->stats.tx_unrouted++;
		return 0;
	}
	out = xsk_tx_reserve(c->tx);
	if (!out)
		return -EAGAIN;
	iv = p->probe ? stamp_probe(c->shard, c->shared) : stamp(c->shard);
	len = frame_build(&c->tmpl, c->sec.tx, p, iv, out);
	if (len < 0) {
		/* Nothing may leave unsealed: the connection needs a new key, and so a new start. */
		c->stats.tx_unsealed++;
		news_of_conn(c, CONN_NEWS_FAILED, sa_strerror(len));
		return 0;
	}
	xsk_tx_commit(c->tx, (uint32_t)len + leave_room(c, p, out, (uint32_t)len));
	return 0;
}

static struct xsk *shard_xsk(const struct shard *s, const struct port *p, uint32_t cid)
{
	uint32_t all = s->agent->nshards, own = (p->nqueues - s->index + all - 1) / all;

	return &p->xsks[s->index + cid % own * all];
}

struct routing {
	struct agent_conn *conn;
	struct port *port;
	struct frame_template tmpl;
	bool routed;
};

/* In a call. */
static void take_route(void *arg)
{
	const struct routing *r = arg;
	struct agent_conn *c = r->conn;

	c->routed = r->routed;
	c->port = r->port;
	if (!r->routed || c->loop)
		return;
	/* All flows of a connection share a queue, one of its shard's, and thereby a doorbell. */
	c->tx = shard_xsk(c->shard, c->port, c->cfg.local_cid);
	c->tmpl = r->tmpl;
}

static void make_template(const struct agent_conn *c, struct frame_template *tmpl)
{
	struct frame_route r = {
		.ipv6 = c->cfg.family == AF_INET6,
		.spi = c->peer.security.spi,
		.encap = c->sec.encap,
		.vc = c->sec.peer_pcid != 0,
		.cookie = c->sec.peer_pcid,
		.tunnel = c->sec.tunnel,
		.inner_ipv6 = c->sec.inner_ipv6,
	};

	memcpy(r.src_mac, c->route.src_mac, sizeof(r.src_mac));
	memcpy(r.dst_mac, c->route.dst_mac, sizeof(r.dst_mac));
	memcpy(r.tags, c->route.tags, sizeof(r.tags));
	r.tags_len = c->route.tags_len;
	r.src_addr = c->cfg.local;
	r.dst_addr = c->cfg.remote;
	r.inner_src = c->sec.inner_local;
	r.inner_dst = c->sec.inner_peer;
	frame_template_init(tmpl, &r);
}

void agent_conn_route(struct agent_conn *c)
{
	struct routing r = { .conn = c, .port = c->port, .routed = c->loop };
	const struct neigh_entry *way = NULL;

	if (c->loop) {
		c->route.mtu = XSK_MAX_FRAME - ETH_HLEN;
	} else {
		way = remote_route(&c->agent->remotes, c->remote);
		c->route = way ? *way : (struct neigh_entry){};
	}
	if (way) {
		r.port = port_by_ifindex(c->agent->ports, c->agent->nports,
					 (uint32_t)c->route.ifindex);
		r.routed = r.port && c->route.reachable;
	}
	if (r.routed && !c->loop)
		make_template(c, &r.tmpl);
	call_run(&c->shard->call, take_route, &r);
}
