// SPDX-License-Identifier: BSD-2-Clause
#include "traffic.h"

#include "falcon/receive/window.h"

enum {
	PS_PER_PACKET = 1000000,
	TRAFFIC_RSNS = 100,	/* so few that a packet often has one near the next */
};

/* xorshift64 */
uint32_t traffic_random(struct traffic *t, uint32_t n)
{
	t->rng ^= t->rng << 13;
	t->rng ^= t->rng >> 7;
	t->rng ^= t->rng << 17;
	return (uint32_t)(t->rng >> 33) % n;
}

static uint32_t random32(struct traffic *t)
{
	return traffic_random(t, 0x10000) << 16 | traffic_random(t, 0x10000);
}

static bool one_in(struct traffic *t, uint32_t n)
{
	return traffic_random(t, n) == 0;
}

/* A PSN for a window of |size| at |base|: mostly inside, at times around it, rarely anywhere. */
static uint32_t pick_psn(struct traffic *t, uint32_t base, uint32_t size)
{
	if (one_in(t, 50))
		return random32(t);
	if (one_in(t, 6))
		return base - 40 + traffic_random(t, size + 80);
	return base + traffic_random(t, size / (1 + traffic_random(t, 8)));
}

/* A base to acknowledge: between what is known and what was sent, at times beyond either. */
static uint32_t pick_base(struct traffic *t, uint32_t base, uint32_t next)
{
	if (one_in(t, 12))
		return base - 3 + traffic_random(t, next - base + 7);
	return base + traffic_random(t, 1 + (next - base) / 4);
}

static size_t make_reliable(struct traffic *t, const struct falcon_conn *c, uint8_t *out)
{
	static const uint8_t types[] = {
		FALCON_PUSH_DATA, FALCON_PUSH_DATA, FALCON_PULL_DATA, FALCON_PULL_DATA,
		FALCON_PULL_REQUEST, FALCON_PULL_REQUEST, FALCON_RESYNC,
	};
	static const uint8_t replaced[] = { FALCON_PULL_REQUEST, FALCON_PULL_DATA,
					    FALCON_PUSH_DATA, FALCON_EACK };
	size_t payload = traffic_random(t, one_in(t, 10) ? 1400 : 64);
	struct falcon_hdr h = {
		.cid = c->id.cid,
		.type = types[traffic_random(t, sizeof(types))],
		.proto = (uint8_t)traffic_random(t, 8),
		.ar = (uint8_t)traffic_random(t, 2),
		.function = one_in(t, 40) || c->id.rx_function == FALCON_FUNCTION_ANY
				    ? random32(t) & FALCON_FUNCTION_MASK : c->id.rx_function,
		.request_len = (uint16_t)(payload + one_in(t, 40)),
		.resync_code = (uint8_t)(1 + traffic_random(t, 8)),
		.resync_type = replaced[traffic_random(t, 3 + one_in(t, 8))],
		.rdbpsn = pick_base(t, c->tx_acked.data_base, c->cc.data_next),
		.rrbpsn = pick_base(t, c->tx_acked.req_base, c->cc.req_next),
		.rsn = one_in(t, 2) ? traffic_random(t, TRAFFIC_RSNS) : random32(t),
	};

	if (h.type == FALCON_RESYNC)
		payload = one_in(t, 20);
	h.psn = falcon_in_req_window(h.type, h.resync_type)
			? pick_psn(t, c->rx_acked.req_base, FALCON_REQ_WINDOW)
			: pick_psn(t, c->rx_acked.data_base, FALCON_DATA_WINDOW);
	return packet_reliable(&h, payload, out);
}

/* Random bits below |limit| in a bitmap of |words| words; rarely also above. */
static void random_bitmap(struct traffic *t, uint32_t *bitmap, uint32_t words, uint32_t limit)
{
	if (one_in(t, 30))
		limit = words * 32;
	for (uint32_t n = traffic_random(t, 20); n && limit; n--) {
		uint32_t bit = traffic_random(t, limit < words * 32 ? limit : words * 32);

		bitmap[bit / 32] |= 1U << (bit % 32);
	}
}

static size_t make_ack(struct traffic *t, const struct falcon_conn *c, uint8_t *out)
{
	static const uint8_t types[] = { FALCON_BACK, FALCON_EACK, FALCON_EACK, FALCON_NACK };
	struct falcon_ack a = {
		.cid = c->id.cid,
		.type = types[traffic_random(t, sizeof(types))],
		.hops = (uint8_t)traffic_random(t, 16),
		.buffer_level = (uint8_t)traffic_random(t, 32),
		.own = (uint8_t)(one_in(t, 8) ? traffic_random(t, 4) : 0),
		.rdbpsn = pick_base(t, c->tx_acked.data_base, c->cc.data_next),
		.rrbpsn = pick_base(t, c->tx_acked.req_base, c->cc.req_next),
		.t1 = random32(t),
		.t2 = random32(t),
		.ecn = traffic_random(t, 0x4000),
		.rue_info = random32(t),
		.nack_psn = random32(t),
		.nack_code = (uint8_t)(one_in(t, 2) ? 1 : traffic_random(t, 10)),
		.rnr = (uint8_t)traffic_random(t, 32),
	};

	random_bitmap(t, a.data_ack, 4, c->cc.data_next - a.rdbpsn);
	random_bitmap(t, a.data_rx, 4, c->cc.data_next - a.rdbpsn);
	random_bitmap(t, a.req, 2, c->cc.req_next - a.rrbpsn);
	return falcon_ack_pack(&a, out);
}

size_t traffic_frame(struct traffic *t, const struct falcon_conn *c, uint8_t *frame)
{
	uint8_t falcon[2048];
	struct packet_shape s;
	size_t len;

	/* A mutated packet may have carried the peer's time away; go on from there. */
	if (c->rx.remote_time && (int64_t)(c->rx.remote_time - t->clock) > 0)
		t->clock = c->rx.remote_time;
	t->clock += traffic_random(t, PS_PER_PACKET);
	packet_shape_of(&c->id, t->clock, &s);
	/* Late packets, at times too late for the replay margin. */
	if (one_in(t, 8))
		s.iv -= traffic_random(t, 4 * PS_PER_PACKET);
	if (one_in(t, 10))
		s.ecn = (uint8_t)traffic_random(t, 4);
	s.ttl = (uint8_t)(FALCON_DEFAULT_TTL - traffic_random(t, 20));
	s.vlans = one_in(t, 8) ? traffic_random(t, FALCON_MAX_VLANS + 1) : 0;
	s.vc = one_in(t, 4);
	if (!one_in(t, 4)) {
		s.flow = (uint8_t)traffic_random(t, FALCON_MAX_FLOWS);
		s.path = (uint16_t)random32(t);
	}
	if (one_in(t, 100))
		s.spi ^= 1U << traffic_random(t, 32);
	len = one_in(t, 4) ? make_ack(t, c, falcon) : make_reliable(t, c, falcon);
	if (one_in(t, 100))
		len = traffic_random(t, (uint32_t)len + 1);
	return packet_build(&s, falcon, len, frame);
}

/* Where most decisions are made: the headers. */
static size_t pick_offset(struct traffic *t, size_t len)
{
	return traffic_random(t, one_in(t, 4) || len < 110 ? (uint32_t)len : 110);
}

static void mutate_once(struct traffic *t, uint8_t *frame, size_t *len)
{
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xfe, 0xff };
	size_t off = pick_offset(t, *len), n;

	switch (traffic_random(t, 6)) {
	case 0:
	case 1:
		frame[off] ^= (uint8_t)(1 << traffic_random(t, 8));
		break;
	case 2:
		frame[off] = edges[traffic_random(t, sizeof(edges))];
		break;
	case 3:
		frame[off] = (uint8_t)traffic_random(t, 256);
		break;
	case 4:
		/* A stretch of the frame over another. */
		n = traffic_random(t, 8);
		if (off + n <= *len)
			memmove(frame + off, frame + traffic_random(t, (uint32_t)(*len - n)), n);
		break;
	default:
		n = one_in(t, 2) ? off : *len + traffic_random(t, 64);
		if (n >= ETH_HLEN && n <= PACKET_MAX) {
			if (n > *len)
				memset(frame + *len, 0xa5, n - *len);
			*len = n;
		}
	}
}

size_t traffic_mutate(struct traffic *t, uint8_t *frame, size_t len)
{
	for (uint32_t n = 1 + traffic_random(t, 4); n; n--)
		mutate_once(t, frame, &len);
	if (!one_in(t, 3))
		packet_fix_csum(frame, len);
	return len;
}

static void acknowledge(struct traffic *t, const __u64 *rx, __u64 *ack, uint32_t words,
			uint32_t window, uint32_t *base)
{
	for (uint32_t i = 0; i < window; i++)
		if (falcon_ring_test(rx, words, *base + i) && !one_in(t, 3))
			falcon_ring_set(ack, words, *base + i);
	*base = falcon_ring_first_clear(ack, words, *base);
}

void traffic_agent(struct traffic *t, struct falcon_conn *c)
{
	acknowledge(t, c->rx.data_rx, c->rx_acked.data_ack, FALCON_DATA_WORDS, FALCON_DATA_WINDOW,
		    &c->rx_acked.data_base);
	acknowledge(t, c->rx.req_rx, c->rx_acked.req_ack, FALCON_REQ_WORDS, FALCON_REQ_WINDOW,
		    &c->rx_acked.req_base);
	c->rx_acked.rue_info = random32(t) & 0x3fffff;
	c->rx_acked.zone = one_in(t, 4) ? traffic_random(t, FALCON_ZONE_CLOSED + 1) : 0;
	c->rx_acked.next_rsn = traffic_random(t, TRAFFIC_RSNS);
	if (c->cc.data_next - c->tx_acked.data_base < 100)
		c->cc.data_next += traffic_random(t, 30);
	if (c->cc.req_next - c->tx_acked.req_base < 50)
		c->cc.req_next += traffic_random(t, 10);
}

bool traffic_unclaim(struct traffic *t, const struct falcon_conn *c, uint32_t *psn)
{
	*psn = c->rx_acked.data_base + traffic_random(t, FALCON_DATA_WINDOW);
	return falcon_ring_test(c->rx.data_rx, FALCON_DATA_WORDS, *psn) &&
	       !falcon_ring_test(c->rx_acked.data_ack, FALCON_DATA_WORDS, *psn);
}
