// SPDX-License-Identifier: BSD-2-Clause
/* user/io/frame.c: sealed frames, in every version, transport and tunnel mode. */
#include "psp_seal.h"

#include "io/frame.h"

enum { PAYLOAD = 700, CID = 0x123456 };

struct shape {
	uint8_t version;
	bool ipv6, vc, tunnel, inner_ipv6;
};

static struct frame_route route(const struct shape *s)
{
	struct frame_route r = {
		.ipv6 = s->ipv6,
		.src_addr = { 10, 250, 0, 1, 7, 7 },
		.dst_addr = { 10, 250, 0, 2, 9, 9 },
		.psp_version = s->version,
		.spi = 0xdead,
		.vc = s->vc,
		.cookie = 0x1122334455667788,
		.tunnel = s->tunnel,
		.inner_ipv6 = s->inner_ipv6,
		.inner_src = { 192, 168, 1, 1, 5 },
		.inner_dst = { 192, 168, 2, 2, 6 },
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

static void check_shape(const struct shape *s)
{
	struct psp_pair pair = pair_new(s->version);
	struct frame_route r = route(s);
	struct frame_template t = {};
	uint8_t payload[PAYLOAD], out[2048];
	struct fcore_packet p = push(payload, PAYLOAD);
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
	assert_int_equal(f.spi, PAIR_SPI);
	assert_int_equal(f.iv, 7000);
	assert_int_equal(f.cid, CID);
	assert_int_equal(f.flow, 3);
	assert_int_equal(f.psp_version, s->version);
	assert_int_equal(f.cookie, s->vc ? r.cookie : 0);
	assert_int_equal(f.udp_check, 0);
	assert_int_equal(f.falcon_len, sizeof(struct falcon_push_hdr) + PAYLOAD);
	check_inner(s, out, &f);
	assert_int_equal(holds(out, (uint32_t)n, payload, 8), !falcon_psp_encrypts(s->version));
	assert_true(psp_open(pair.open, out + f.psp_off, f.udp_len - 8u) > 0);
	assert_int_equal(falcon_hdr_unpack(out + f.falcon_off, out + f.falcon_off + f.falcon_len, &h),
			 FALCON_WIRE_OK);
	assert_int_equal(h.psn, 9);
	assert_memory_equal(out + f.falcon_off + sizeof(struct falcon_push_hdr), payload, PAYLOAD);
	pair_free(&pair);
}

static void frame_build__sealed_frames_parse_and_open(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < VERSIONS * 16; i++)
		check_shape(&(struct shape){
			.version = i % VERSIONS,
			.ipv6 = i & 4,
			.vc = i & 8,
			.tunnel = i & 16,
			.inner_ipv6 = i & 32,
		});
}

static void frame_build__nothing_leaves_without_a_key(void **state)
{
	const struct shape shape = { .version = FALCON_PSP_AES_GCM_128 };
	struct psp_pair pair = pair_new(FALCON_PSP_AES_GCM_128);
	struct psp_pair other = pair_new(FALCON_PSP_AES_GCM_256);
	struct frame_route r = route(&shape);
	struct frame_template t = {}, unset = {};
	uint8_t payload[8] = {}, out[256];
	struct fcore_packet p = push(payload, sizeof(payload));

	(void)state;
	frame_template_init(&t, &r);
	assert_int_equal(frame_build(&t, NULL, &p, 1, out), PSP_ERR_DIRECTION);
	assert_int_equal(frame_build(&t, pair.open, &p, 1, out), PSP_ERR_DIRECTION);
	assert_int_equal(frame_build(&t, other.seal, &p, 1, out), PSP_ERR_VERSION);
	/* A template that was never initialized is not a clear one. */
	assert_true(frame_build(&unset, NULL, &p, 1, out) < 0);
	pair_free(&pair);
	pair_free(&other);
}

/* The clock stands, goes back, and leaps: IVs grow, and the same packet never looks the same. */
static void frame_build__iv_grows_whatever_the_clock_does(void **state)
{
	static const uint64_t clock[] = { 5000, 5000, 4000, 0, UINT64_MAX / 2, 6000, 6000 };
	const struct shape shape = { .version = FALCON_PSP_AES_GCM_256 };
	struct psp_pair pair = pair_new(FALCON_PSP_AES_GCM_256);
	struct frame_route r = route(&shape);
	struct frame_template t = {};
	uint8_t payload[8] = {}, out[256];
	struct fcore_packet p = push(payload, sizeof(payload));
	struct falcon_frame f;
	uint64_t last = 0;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_build__sealed_frames_parse_and_open),
		cmocka_unit_test(frame_build__nothing_leaves_without_a_key),
		cmocka_unit_test(frame_build__iv_grows_whatever_the_clock_does),
	};

	return unit_run(tests);
}
