// SPDX-License-Identifier: BSD-2-Clause
/* The way to a connection's peer: the port, one of its queues, and the template of its frames. */
#include "agent/conn/route.h"

#include <string.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/net/port.h"

static struct xsk *shard_xsk(const struct shard *s, const struct port *p, uint32_t cid)
{
	uint32_t all = s->agent->plane.nshards, own = (p->nqueues - s->index + all - 1) / all;

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
		if (c->route.mtu > XSK_MAX_MTU)
			c->route.mtu = XSK_MAX_MTU;
	}
	if (way) {
		r.port = port_by_ifindex(c->agent->plane.ports, c->agent->plane.nports,
					 (uint32_t)c->route.ifindex);
		r.routed = r.port && c->route.reachable;
	}
	if (r.routed && !c->loop)
		make_template(c, &r.tmpl);
	call_run(&c->shard->call, take_route, &r);
}
