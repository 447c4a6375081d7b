// SPDX-License-Identifier: BSD-2-Clause
/* user/io/frame.c: what it builds must be what include/falcon/receive/parse.h accepts. */
#include "unit.h"

#include <string.h>

#include "io/frame.h"

static struct frame_route route(bool ipv6)
{
	struct frame_route r = {
		.ipv6 = ipv6,
		.src_mac = { 2, 0, 0, 0, 0, 1 },
		.dst_mac = { 2, 0, 0, 0, 0, 2 },
		.src_addr = { { 10, 250, 0, 1, 7, 7 } },
		.dst_addr = { { 10, 250, 0, 2, 9, 9 } },
		.encap = FALCON_PSP_CLEAR,
		.spi = 0x80000001,
	};

	return r;
}

static struct fcore_packet push(const void *payload, uint32_t len)
{
	struct fcore_packet p = { .payload = payload, .payload_len = len };
	struct falcon_hdr h = {
		.cid = 0x123456, .type = FALCON_PUSH_DATA, .request_len = (uint16_t)len, .psn = 9,
	};

	p.hdr_len = falcon_hdr_pack(&h, p.hdr);
	p.type = h.type;
	return p;
}

static void check_parses(bool ipv6, uint32_t len)
{
	static uint8_t payload[3500], out[4096];
	struct frame_route r = route(ipv6);
	struct frame_template t = {};
	struct fcore_packet p = push(payload, len);
	struct falcon_frame f;
	struct falcon_hdr h;
	uint64_t seed = len + 1;
	uint32_t n;

	for (uint32_t i = 0; i < len; i++)
		payload[i] = (uint8_t)unit_random(&seed);
	frame_template_init(&t, &r);
	n = (uint32_t)frame_build(&t, NULL, &p, 5000 * FALCON_PS_PER_NS, out);
	assert_int_equal(falcon_parse_frame(out, out + n, &f), FALCON_V_rx_data);
	assert_int_equal(f.ipv6, ipv6);
	assert_int_equal(f.ttl, FALCON_DEFAULT_TTL);
	assert_int_equal(f.ecn, FALCON_ECN_ECT0);
	assert_int_equal(f.encap, FALCON_PSP_CLEAR);
	assert_int_equal(f.spi, r.spi);
	assert_int_equal(f.iv, 5000 * FALCON_PS_PER_NS);
	assert_int_equal(f.cid, 0x123456);
	assert_true(frame_checksum_ok(out, &f));
	assert_int_equal(falcon_hdr_unpack(out + f.falcon_off, out + n, &h), FALCON_WIRE_OK);
	assert_int_equal(h.psn, 9);
	assert_memory_equal(out + n - len, payload, len);
}

static void frame_build__parses_at_every_length(void **state)
{
	(void)state;
	for (uint32_t len = 0; len < 70; len++) {
		check_parses(false, len);
		check_parses(true, len);
	}
	check_parses(false, 1404);
	check_parses(true, 3401);
}

static void frame_build__iv_grows_when_the_clock_does_not(void **state)
{
	struct frame_route r = route(false);
	struct frame_template t = {};
	struct fcore_packet p = push(NULL, 0);
	struct falcon_frame f;
	uint8_t out[256];
	uint64_t last = 0;

	(void)state;
	frame_template_init(&t, &r);
	for (int i = 0; i < 4; i++) {
		uint64_t clock = i < 3 ? 1000 : 10;
		uint32_t n = (uint32_t)frame_build(&t, NULL, &p, clock, out);

		assert_int_equal(falcon_parse_frame(out, out + n, &f), FALCON_V_rx_data);
		assert_true(f.iv > last);
		last = f.iv;
		if (i == 1)
			frame_template_init(&t, &r);
	}
}

/* T1 is part of the IV: one that stood still until the clock came round would end all round-trip times. */
static void frame_build__iv_follows_a_clock_that_wraps(void **state)
{
	static const uint64_t clocks[] = { 1ULL << 63, UINT64_MAX - 7, 0, 4000, 3000 };
	static const uint64_t ivs[] = { 1ULL << 63, UINT64_MAX - 7, 0, 4000, 4001 };
	struct frame_route r = route(false);
	struct frame_template t = {};
	struct fcore_packet p = push(NULL, 0);
	struct falcon_frame f;
	uint8_t out[256];

	(void)state;
	frame_template_init(&t, &r);
	for (int i = 0; i < 5; i++) {
		uint32_t n = (uint32_t)frame_build(&t, NULL, &p, clocks[i], out);

		assert_int_equal(falcon_parse_frame(out, out + n, &f), FALCON_V_rx_data);
		assert_true(f.iv == ivs[i]);
	}
}

static void frame_checksum_ok__sees_every_flipped_byte(void **state)
{
	struct frame_route r = route(false);
	struct frame_template t = {};
	uint8_t out[256];
	struct fcore_packet p = push("falcon", 6);
	struct falcon_frame f;
	uint32_t n;

	(void)state;
	frame_template_init(&t, &r);
	n = (uint32_t)frame_build(&t, NULL, &p, 1, out);
	assert_int_equal(falcon_parse_frame(out, out + n, &f), FALCON_V_rx_data);
	for (uint32_t i = (uint32_t)f.udp_off - 8; i < n; i++) {
		/* The two length fields are not read from the frame again. */
		if (i == f.udp_off + 4U || i == f.udp_off + 5U)
			continue;
		out[i] ^= 0x5a;
		assert_false(frame_checksum_ok(out, &f));
		out[i] ^= 0x5a;
	}
	f.udp_check = 0;
	assert_false(frame_checksum_ok(out, &f));
}

static void frame_build__ipv4_header_checksum(void **state)
{
	struct frame_route r = route(false);
	struct frame_template t = {};
	struct fcore_packet p = push("x", 1);
	uint8_t out[256];
	uint32_t sum = 0;

	(void)state;
	frame_template_init(&t, &r);
	frame_build(&t, NULL, &p, 1, out);
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)out[14 + i] << 8 | out[15 + i];
	sum = (sum & 0xffff) + (sum >> 16);
	assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
}

static void frame_max_payload__leaves_nothing_unused(void **state)
{
	uint32_t clear = frame_around(FALCON_PSP_CLEAR, false, 0);

	(void)state;
	assert_int_equal(clear, 16);
	assert_int_equal(frame_around(FALCON_PSP_AES_GCM_128, false, 0), 16 + 16);
	assert_int_equal(frame_around(FALCON_PSP_GMAC_256, true, 40), 16 + 8 + 40 + 16);
	assert_int_equal(frame_max_payload(1500, false, clear), 1500 - 20 - 8 - 16 - 28);
	assert_int_equal(frame_max_payload(1500, true, clear), 1500 - 40 - 8 - 16 - 28);
	assert_int_equal(frame_max_payload(1500, true, 80), 1500 - 40 - 8 - 80 - 28);
	assert_int_equal(frame_max_payload(72, false, clear), 0);
	assert_int_equal(frame_max_payload(0, true, clear), 0);
}

/* Tags stand where the receiver, XDP among them, looks for them. */
static void frame_build__vlan_tags(void **state)
{
	static const uint8_t tags[] = { 0x88, 0xa8, 0x00, 0x07, 0x81, 0x00, 0x60, 0x64 };
	uint8_t out[512];

	(void)state;
	for (uint32_t n = 0; n <= FALCON_MAX_VLANS; n++) {
		struct frame_template t = {};
		struct frame_route r = route(n & 1);
		struct fcore_packet p = push("tagged", 6);
		uint32_t len, tags_len = n * FALCON_VLAN_TAG_LEN;
		struct falcon_frame f;

		r.tags_len = tags_len;
		memcpy(r.tags, tags, tags_len);
		frame_template_init(&t, &r);
		len = (uint32_t)frame_build(&t, NULL, &p, 5000, out);
		assert_int_equal(len, t.len + p.hdr_len + 6);
		assert_memory_equal(out, r.dst_mac, 6);
		assert_memory_equal(out + 6, r.src_mac, 6);
		assert_memory_equal(out + 12, tags, tags_len);
		assert_int_equal(falcon_parse_frame(out, out + len, &f), FALCON_V_rx_data);
		assert_int_equal(f.l3_off, ETH_HLEN + tags_len);
		assert_int_equal(f.ipv6, n & 1);
		assert_true(frame_checksum_ok(out, &f));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_build__parses_at_every_length),
		cmocka_unit_test(frame_build__iv_grows_when_the_clock_does_not),
		cmocka_unit_test(frame_build__iv_follows_a_clock_that_wraps),
		cmocka_unit_test(frame_checksum_ok__sees_every_flipped_byte),
		cmocka_unit_test(frame_build__ipv4_header_checksum),
		cmocka_unit_test(frame_max_payload__leaves_nothing_unused),
		cmocka_unit_test(frame_build__vlan_tags),
	};

	return unit_run(tests);
}
