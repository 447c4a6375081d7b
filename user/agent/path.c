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
 * Without a handshake the peer may not be there yet. Such a connection is up at once, at its link's size.
 */
#include <errno.h>
#include <stdio.h>

#include "agent/agent.h"
#include "agent/log.h"
#include "falcon/types.h"

/*
 * MTUs that paths have: the least that IPv6 asks for, and those that common tunnels leave of common
 * links. The link's own comes last.
 */
static const uint16_t common_mtus[] = { 1280, 1380, 1400, 1420, 1440, 1450, 1460, 1472, 1480, 1492, 1500 };
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

int agent_path_limit(struct agent_conn *c, char *err, size_t errlen)
{
	uint32_t mtu = c->route.mtu;

	if (c->peer.params.mtu && c->peer.params.mtu < mtu)
		mtu = c->peer.params.mtu;
	if (mtu > XSK_MAX_FRAME - ETH_HLEN)
		mtu = XSK_MAX_FRAME - ETH_HLEN;
	c->mtu = mtu;
	c->max_len = payload_of(c, mtu);
	c->path_len = c->peer_path_len = 0;
	if (c->max_len >= PATH_MIN_LEN)
		return 0;
	snprintf(err, errlen, "an MTU of %u leaves connection %s too little room for payload", mtu,
		 c->cfg.name);
	return -EMSGSIZE;
}

static bool peer_tells(const struct agent_conn *c)
{
	return c->peer.params.features & CM_FEATURE_PATH;
}

/* Both directions are known, as far as they can be. */
static void go_up(struct agent_conn *c)
{
	uint32_t len;

	if (c->state != AGENT_CONN_RECEIVING || !c->path_len || (peer_tells(c) && !c->peer_path_len))
		return;
	len = c->path_len;
	if (c->peer_path_len && c->peer_path_len < len)
		len = c->peer_path_len;
	if (len > c->max_len)
		len = c->max_len;
	c->mtu -= c->max_len - len;
	c->max_len = len;
	if (agent_conn_go_up(c) < 0)
		agent_conn_fail(c, "out of memory");
}

void agent_path_search(struct agent_conn *c)
{
	uint16_t len_of[FCORE_PATH_SIZES];
	uint32_t n = 0;

	for (uint32_t i = 0; i < sizeof(common_mtus) / sizeof(common_mtus[0]); i++)
		if (common_mtus[i] < c->mtu)
			len_of[n++] = (uint16_t)payload_of(c, common_mtus[i]);
	len_of[n++] = (uint16_t)c->max_len;
	if (fcore_path_search(c->core, len_of, n, c->ulp->ops->proto, c->agent->now) < 0)
		agent_path_found(c, c->max_len);
}

void agent_path_found(struct agent_conn *c, uint32_t len)
{
	if (c->state == AGENT_CONN_UP) {
		if (len < c->max_len)
			agent_conn_fail(c, "the path's MTU has shrunk");
		return;
	}
	if (len < c->max_len)
		log_info("the path carries less than the links conn=%s cid=%u payload=%u of=%u",
			 c->cfg.name, c->cfg.local_cid, len, c->max_len);
	c->path_len = len;
	if (peer_tells(c))
		cm_tell_path(c->agent->cm, c->cfg.local_cid, len);
	go_up(c);
}

void agent_path_told(struct agent_conn *c, uint32_t len)
{
	/* A peer that says less has its pull data lost on the way, and none but its own. */
	c->peer_path_len = len < PATH_MIN_LEN ? PATH_MIN_LEN : len;
	go_up(c);
}
