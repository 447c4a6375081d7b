// SPDX-License-Identifier: BSD-2-Clause
/*
 * How large packets may be on a connection: what links, buffers and headers leave, and what the path
 * carries of it.
 *
 * The links of both ends say little of what lies between them: a tunnel, a router with a smaller link. Both
 * ends send with Don't Fragment set, and believe no ICMP. So each end has the core search its direction of
 * the path when the peer is ready to receive, and tells the peer what it has found, since it is the
 * initiator that chooses how large pull data are. With both results the connection goes up. A peer of
 * another make, or of an older version, tells nothing: there the own result stands for both directions.
 *
 * Without a handshake the peer may not be there yet. Such a connection is up at once, at its link's size, and
 * believes a search only once something was answered.
 *
 * Links and path may change while the connection is up. Then the search is repeated, the peer is told, and
 * the upper layer goes on with packets of another size; the core ends the connection if a packet that is
 * under way has become too large to arrive.
 */
#include "agent/conn/path.h"

#include <errno.h>
#include <stdio.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/setup.h"
#include "base/log.h"
#include "falcon/types.h"

/*
 * MTUs that paths have: the least that IPv6 asks for, those that common tunnels leave of common links, and
 * what Intel's drivers put into one buffer, of a larger link. The link's own comes last.
 */
static const uint16_t common_mtus[] = { 1280, 1380, 1400, 1420, 1440, 1450, 1460, 1472, 1480, 1492, 1500,
					3046 };
_Static_assert(sizeof(common_mtus) / sizeof(common_mtus[0]) < FCORE_PATH_SIZES, "and the link's");

/*
 * Bytes of payload that a connection has at least: what IPv4 asks of every link, 576 bytes, leaves more. An
 * upper layer that is left with next to nothing would be busy with headers for ever.
 */
enum { PATH_MIN_LEN = 256 };

static uint32_t payload_of(const struct agent_conn *c, uint32_t mtu)
{
	return frame_max_payload(mtu, c->cfg.family == AF_INET6,
				 frame_around(c->sec.encap, c->sec.peer_pcid != 0,
					      sec_inner_len(&c->sec)));
}

/* What both links and our buffers allow, bytes. */
static uint32_t link_mtu(const struct agent_conn *c)
{
	uint32_t mtu = c->route.mtu, room = XSK_MAX_FRAME - ETH_HLEN - c->route.tags_len;

	if (c->peer.params.mtu && c->peer.params.mtu < mtu)
		mtu = c->peer.params.mtu;
	return mtu < room ? mtu : room;
}

/* By what is known of links and path, both ways. */
static uint32_t least_len(const struct agent_conn *c)
{
	uint32_t len = payload_of(c, c->link_mtu);

	if (c->path_len && c->path_len < len)
		len = c->path_len;
	if (c->peer_path_len && c->peer_path_len < len)
		len = c->peer_path_len;
	return len;
}

static void adopt(struct agent_conn *c)
{
	c->max_len = least_len(c);
	c->mtu = c->link_mtu - (payload_of(c, c->link_mtu) - c->max_len);
}

int agent_path_limit(struct agent_conn *c, char *err, size_t errlen)
{
	c->link_mtu = link_mtu(c);
	c->path_sought = false;
	c->path_len = c->peer_path_len = 0;
	adopt(c);
	if (c->max_len >= PATH_MIN_LEN)
		return 0;
	snprintf(err, errlen, "an MTU of %u leaves connection %s too little room for payload",
		 c->link_mtu, c->cfg.name);
	return -EMSGSIZE;
}

static bool peer_tells(const struct agent_conn *c)
{
	return c->peer.params.features & CM_FEATURE_PATH;
}

static void tell(struct agent_conn *c)
{
	const struct cm_path path = { .len = c->path_len, .mtu = c->route.mtu };

	if (peer_tells(c) && path.len)
		cm_tell_path(c->agent->cm, c->cfg.local_cid, &path);
}

/* Up, once both directions are known, as far as they can be. */
static void go_up(struct agent_conn *c)
{
	if (!c->path_len || (peer_tells(c) && !c->peer_path_len))
		return;
	adopt(c);
	if (agent_conn_go_up(c) < 0)
		agent_conn_fail(c, "out of memory");
}

/* In a call. */
static void tell_resized(void *arg)
{
	struct agent_conn *c = arg;

	c->ulp->ops->conn_resized(c->ulp->self, c->cfg.local_cid, c->max_len);
}

/* The upper layer goes on with larger or smaller packets, or has to start over. */
static void resize(struct agent_conn *c)
{
	const struct ulp_ops *ops = c->ulp->ops;
	uint32_t len = least_len(c);

	if (len == c->max_len || (len > c->max_len && !ops->conn_resized))
		return;
	if (!ops->conn_resized) {
		agent_conn_fail(c, "the path's MTU has shrunk");
		return;
	}
	adopt(c);
	log_info("connection resized conn=%s cid=%u mtu=%u max_len=%u", c->cfg.name, c->cfg.local_cid,
		 c->mtu, c->max_len);
	agent_conn_call(c, tell_resized);
}

static void changed(struct agent_conn *c)
{
	if (c->state == AGENT_CONN_RECEIVING)
		go_up(c);
	else if (c->state == AGENT_CONN_UP)
		resize(c);
}

/* The sizes that a search tries. */
struct search {
	struct agent_conn *conn;
	uint16_t len_of[FCORE_PATH_SIZES];
	uint32_t n;
};

/* In a call. */
static void search(void *arg)
{
	const struct search *s = arg;
	struct agent_conn *c = s->conn;

	fcore_path_search(c->core, s->len_of, s->n, c->ulp->ops->proto, c->shard->now);
}

void agent_path_search(struct agent_conn *c)
{
	struct search s = { .conn = c };

	for (uint32_t i = 0; i < sizeof(common_mtus) / sizeof(common_mtus[0]); i++)
		if (common_mtus[i] < c->link_mtu)
			s.len_of[s.n++] = (uint16_t)payload_of(c, common_mtus[i]);
	s.len_of[s.n++] = (uint16_t)payload_of(c, c->link_mtu);
	c->path_sought = true;
	call_run(&c->shard->call, search, &s);
}

/* A path that nothing was heard of: what every path carries. */
static uint32_t least_of_all(const struct agent_conn *c)
{
	return payload_of(c, c->link_mtu < common_mtus[0] ? c->link_mtu : common_mtus[0]);
}

void agent_path_found(struct agent_conn *c, uint32_t len)
{
	/* Without a handshake the peer is perhaps not there yet. */
	if (!len && !c->cfg.handshake)
		return;
	if (!len)
		len = least_of_all(c);
	if (len == c->path_len)
		return;
	if (len < payload_of(c, c->link_mtu))
		log_info("the path carries less than the links conn=%s cid=%u payload=%u of=%u",
			 c->cfg.name, c->cfg.local_cid, len, payload_of(c, c->link_mtu));
	c->path_len = len;
	tell(c);
	changed(c);
}

void agent_path_told(struct agent_conn *c, const struct cm_path *path)
{
	if (!c->core)
		return;
	/* A peer that says less has its pull data lost on the way, and none but its own. */
	c->peer_path_len = path->len < PATH_MIN_LEN ? PATH_MIN_LEN : path->len;
	if (path->mtu)
		c->peer.params.mtu = path->mtu;
	agent_path_follow(c);
	changed(c);
}

void agent_path_follow(struct agent_conn *c)
{
	uint32_t mtu = link_mtu(c), len = payload_of(c, mtu);

	if (!c->routed || mtu == c->link_mtu)
		return;
	if (len < PATH_MIN_LEN) {
		agent_conn_fail(c, "the link's MTU leaves too little room for payload");
		return;
	}
	c->link_mtu = mtu;
	if (c->path_len > len)
		c->path_len = len;
	if (c->path_sought)
		agent_path_search(c);
	tell(c);
	changed(c);
}
