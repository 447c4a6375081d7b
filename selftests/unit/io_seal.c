// SPDX-License-Identifier: BSD-2-Clause
/* user/io/frame.c: sealed frames, in PSP and ESP, transport and tunnel mode. */
#include "psp_seal.h"

#include "io/frame.h"

enum { PAYLOAD = 700, CID = 0x123456 };

static const uint8_t encaps[] = {
	FALCON_PSP_AES_GCM_128, FALCON_PSP_AES_GCM_256, FALCON_PSP_GMAC_128,
	FALCON_PSP_GMAC_256,	FALCON_ESP_AES_GCM_128, FALCON_ESP_AES_GCM_256,
};

struct shape {
	uint8_t encap;
	bool ipv6, vc, tunnel, inner_ipv6;
};

static struct frame_route route(const struct shape *s)
{
	struct frame_route r = {
		.ipv6 = s->ipv6,
		.src_addr = { { 10, 250, 0, 1, 7, 7 } },
		.dst_addr = { { 10, 250, 0, 2, 9, 9 } },
		.encap = s->encap,
		.spi = 0xdead,
		.vc = s->vc,
		.cookie = 0x1122334455667788,
		.tunnel = s->tunnel,
		.inner_ipv6 = s->inner_ipv6,
		.inner_src = { { 192, 168, 1, 1, 5 } },
		.inner_dst = { { 192, 168, 2, 2, 6 } },
	};

	return r;
}

static struct fcore_packet push(const uint8_t *payload, uint32_t len)
{
	struct fcore_packet p = { .payload = payload, .payload_len = len, .flow = 3 };
	struct falcon_hdr h = {
		.cid = CID, .type = FALCON_PUSH_DATA, .request_len = (uint16_t)len, .psn = 9,
	};

	p.hdr_len = falcon_hdr_pack(&h, p.hdr);
	return p;
}

static bool holds(const uint8_t *frame, uint32_t len, const uint8_t *what, uint32_t n)
{
	return memmem(frame, len, what, n) != NULL;
}

static void check_inner(const struct shape *s, const uint8_t *frame, const struct falcon_frame *f)
{
	const uint8_t *inner = frame + f->falcon_off - f->inner_len;
	uint32_t sum = 0;

	assert_int_equal(f->inner_len, !s->tunnel ? 0 : s->inner_ipv6 ? 40 : 20);
	if (!s->tunnel)
		return;
	if (s->inner_ipv6) {
		assert_int_equal(inner[4] << 8 | inner[5], f->falcon_len);
		return;
	}
	assert_int_equal(inner[2] << 8 | inner[3], 20 + f->falcon_len);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)inner[i] << 8 | inner[i + 1];
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
}

/* What the frame's headers show; of ESP, nothing of what is behind them. */
static void check_clear(const struct shape *s, const struct frame_route *r,
			const struct falcon_frame *f)
{
	bool esp = falcon_encap_is_esp(s->encap);

	assert_int_equal(f->spi, PAIR_SPI);
	assert_int_equal(f->iv, 7000);
	assert_int_equal(f->flow, 3);
	assert_int_equal(f->encap, falcon_encap_seen(s->encap));
	assert_int_equal(f->cookie, s->vc && !esp ? r->cookie : 0);
	assert_int_equal(f->cid, esp ? 0 : CID);
	assert_int_equal(f->udp_check, 0);
}

/* Open the frame, and find in |f| what ESP has hidden. */
static void check_open(struct sa *open, uint8_t *frame, struct falcon_frame *f)
{
	uint8_t next = 0, *p = frame + f->sec_off;
	uint32_t hdr = falcon_sec_len(f);
	int n = sa_open(open, p, f->udp_len - 8u, &next);

	assert_true(n > 0);
	assert_true(falcon_parse_inner(next, p + hdr, p + n, f));
	f->falcon_off = (uint16_t)(f->sec_off + hdr + f->inner_len);
	f->falcon_len = (uint16_t)(n - (int)hdr - f->inner_len);
}

static void check_shape(const struct shape *s, uint32_t len)
{
	struct psp_pair pair = pair_new(s->encap);
	struct frame_route r = route(s);
	struct frame_template t = {};
	uint8_t payload[PAYLOAD], out[2048];
	struct fcore_packet p = push(payload, len);
	struct falcon_frame f;
	struct falcon_hdr h;
	uint64_t seed = 5;
	int n;

	for (uint32_t i = 0; i < PAYLOAD; i++)
		payload[i] = (uint8_t)unit_random(&seed);
	frame_template_init(&t, &r);
	n = frame_build(&t, pair.seal, &p, 7000, out);
	assert_true(n > 0);
	assert_int_equal(falcon_parse_frame(out, out + n, &f), FALCON_V_rx_data);
	check_clear(s, &r, &f);
	assert_int_equal(holds(out, (uint32_t)n, payload, 8), !falcon_encrypts(s->encap));
	check_open(pair.open, out, &f);
	assert_int_equal(f.falcon_len, sizeof(struct falcon_push_hdr) + len);
	check_inner(s, out, &f);
	assert_int_equal(falcon_hdr_unpack(out + f.falcon_off, out + f.falcon_off + f.falcon_len, &h),
			 FALCON_WIRE_OK);
	assert_int_equal(h.cid, CID);
	assert_int_equal(h.psn, 9);
	assert_memory_equal(out + f.falcon_off + sizeof(struct falcon_push_hdr), payload, len);
	pair_free(&pair);
}

static void frame_build__sealed_frames_parse_and_open(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(encaps) * 16; i++) {
		unsigned int bits = i / ARRAY_SIZE(encaps);
		const struct shape s = {
			.encap = encaps[i % ARRAY_SIZE(encaps)],
			.ipv6 = bits & 1,
			.vc = bits & 2,
			.tunnel = bits & 4,
			.inner_ipv6 = bits & 8,
		};

		/* All lengths of ESP's padding. */
		for (uint32_t less = 0; less < 4; less++)
			check_shape(&s, PAYLOAD - less);
	}
}

/* As much as an MTU is said to leave room for does fit, whatever the padding. */
static void frame_max_payload__fits(void **state)
{
	uint8_t payload[PAYLOAD] = {}, out[2048];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(encaps) * 16; i++) {
		unsigned int bits = i / ARRAY_SIZE(encaps);
		const struct shape s = { .encap = encaps[i % ARRAY_SIZE(encaps)], .ipv6 = bits & 1,
					 .tunnel = bits & 2 };
		uint32_t mtu = 600 + bits / 4;
		uint32_t max = frame_max_payload(mtu, s.ipv6,
						 frame_around(s.encap, false, s.tunnel ? 20 : 0));
		struct psp_pair pair = pair_new(s.encap);
		struct fcore_packet p = push(payload, max);
		struct frame_template t = {};
		struct frame_route r = route(&s);
		int n;

		frame_template_init(&t, &r);
		n = frame_build(&t, pair.seal, &p, 7000, out);
		assert_in_range(n, ETH_HLEN + mtu - FALCON_ESP_PAD_MAX, ETH_HLEN + mtu);
		pair_free(&pair);
	}
}

static void frame_build__nothing_leaves_without_a_key(void **state)
{
	const struct shape shape = { .encap = FALCON_PSP_AES_GCM_128 };
	struct psp_pair pair = pair_new(FALCON_PSP_AES_GCM_128);
	struct psp_pair other = pair_new(FALCON_PSP_AES_GCM_256);
	struct psp_pair esp = pair_new(FALCON_ESP_AES_GCM_128);
	struct frame_route r = route(&shape);
	struct frame_template t = {}, unset = {};
	uint8_t payload[8] = {}, out[256];
	struct fcore_packet p = push(payload, sizeof(payload));

	(void)state;
	frame_template_init(&t, &r);
	assert_int_equal(frame_build(&t, NULL, &p, 1, out), SA_ERR_DIRECTION);
	assert_int_equal(frame_build(&t, pair.open, &p, 1, out), SA_ERR_DIRECTION);
	assert_int_equal(frame_build(&t, other.seal, &p, 1, out), SA_ERR_VERSION);
	assert_int_equal(frame_build(&t, esp.seal, &p, 1, out), SA_ERR_VERSION);
	/* A template that was never initialized is not a clear one. */
	assert_true(frame_build(&unset, NULL, &p, 1, out) < 0);
	pair_free(&pair);
	pair_free(&other);
	pair_free(&esp);
}

/* The clock stands, goes back, and leaps: IVs grow, and the same packet never looks the same. */
static void iv_grows(uint8_t encap)
{
	static const uint64_t clock[] = { 5000, 5000, 4000, 0, UINT64_MAX / 2, 6000, 6000 };
	const struct shape shape = { .encap = encap };
	struct psp_pair pair = pair_new(encap);
	struct frame_route r = route(&shape);
	struct frame_template t = {};
	uint8_t payload[8] = {}, out[256];
	struct fcore_packet p = push(payload, sizeof(payload));
	struct falcon_frame f;
	uint64_t last = 0;

	frame_template_init(&t, &r);
	for (unsigned int i = 0; i < sizeof(clock) / sizeof(clock[0]); i++) {
		int n = frame_build(&t, pair.seal, &p, clock[i], out);

		assert_true(n > 0);
		/* A new route, as after a change of the neighbour, starts nothing over. */
		frame_template_init(&t, &r);
		assert_int_equal(falcon_parse_frame(out, out + n, &f), FALCON_V_rx_data);
		assert_true(f.iv > last);
		last = f.iv;
	}
	pair_free(&pair);
}

static void frame_build__iv_grows_whatever_the_clock_does(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(encaps); i++)
		iv_grows(encaps[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_build__sealed_frames_parse_and_open),
		cmocka_unit_test(frame_max_payload__fits),
		cmocka_unit_test(frame_build__nothing_leaves_without_a_key),
		cmocka_unit_test(frame_build__iv_grows_whatever_the_clock_does),
	};

	return unit_run(tests);
}
