// SPDX-License-Identifier: BSD-2-Clause
/* From the core's packets to frames on a socket. */
#include "agent/shard/shard.h"

#include <errno.h>
#include <string.h>

#include "agent/shard/conn.h"
#include "agent/shard/loopback.h"
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
