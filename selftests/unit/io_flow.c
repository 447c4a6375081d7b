// SPDX-License-Identifier: BSD-2-Clause
/* Flow and path of a packet on the wire: what user/io/frame.c writes, parse.h finds again. */
#include "unit.h"

#include <string.h>

#include "io/frame.h"

enum { VLAN_LEN = 4, PATHS = 200 };

static void make_template(struct frame_template *t, bool ipv6)
{
	const struct frame_route r = {
		.ipv6 = ipv6,
		.src_addr = { { 10, 250, 0, 1, 7, 7 } },
		.dst_addr = { { 10, 250, 0, 2, 9, 9 } },
		.encap = FALCON_PSP_CLEAR,
		.spi = 1,
	};

	memset(t, 0, sizeof(*t));
	frame_template_init(t, &r);
}

static uint32_t build(struct frame_template *t, uint8_t flow, uint16_t path, uint8_t *out)
{
	struct fcore_packet p = { .payload = "falcon", .payload_len = 6, .flow = flow, .path = path };
	const struct falcon_hdr h = { .cid = 7, .type = FALCON_PUSH_DATA, .request_len = 6 };

	p.hdr_len = falcon_hdr_pack(&h, p.hdr);
	return (uint32_t)frame_build(t, NULL, &p, 1000, out);
}

static uint32_t label_of(const uint8_t *frame, const struct falcon_frame *f)
{
	const uint8_t *ip = frame + f->l3_off;

	return (uint32_t)(ip[1] & 0xf) << 16 | (uint32_t)ip[2] << 8 | ip[3];
}

static uint32_t port_of(const uint8_t *frame, const struct falcon_frame *f)
{
	return (uint32_t)frame[f->udp_off] << 8 | frame[f->udp_off + 1];
}

static void check_flow(bool ipv6, uint8_t flow, uint16_t path)
{
	struct frame_template t;
	struct falcon_frame f;
	uint8_t out[256];
	uint32_t n;

	make_template(&t, ipv6);
	n = build(&t, flow, path, out);
	assert_int_equal(falcon_parse_frame(out, out + n, &f), FALCON_V_rx_data);
	assert_int_equal(f.flow, flow);
	assert_true(frame_checksum_ok(out, &f));
	assert_int_equal(port_of(out, &f), 0xc000 + (path & 0x3ff) * 16 + flow);
	if (ipv6)
		assert_int_equal(label_of(out, &f), (path ? path : 0xffff) * 16 + flow);
	/* Version, traffic class with ECT(0), hop limit: untouched by what was added. */
	assert_int_equal(f.ecn, FALCON_ECN_ECT0);
	assert_int_equal(f.ttl, FALCON_DEFAULT_TTL);
}

static void frame_build__every_flow_both_families(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < PATHS; i++)
		for (uint8_t flow = 0; flow < FALCON_MAX_FLOWS; flow++) {
			check_flow(false, flow, (uint16_t)unit_random(&seed));
			check_flow(true, flow, (uint16_t)unit_random(&seed));
		}
}

/* RFC 6437: label 0 says that a packet has none. */
static void frame_build__label_is_never_zero(void **state)
{
	(void)state;
	check_flow(true, 0, 0);
	assert_int_not_equal(falcon_flow_label(0, 0), 0);
	assert_int_not_equal(falcon_flow_label(0, 0x10000), 0);
}

/* The same packet on two flows differs in nothing but label, port, checksum. */
static void frame_build__flows_differ_in_label_and_port_only(void **state)
{
	uint8_t a[256], b[256];
	struct frame_template t;
	struct falcon_frame f;

	(void)state;
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		uint32_t n;

		make_template(&t, ipv6);
		n = build(&t, 0, 0, a);
		t.last_iv = 0;
		assert_int_equal(build(&t, 15, 0x00ff, b), n);
		assert_int_equal(falcon_parse_frame(b, b + n, &f), FALCON_V_rx_data);
		if (ipv6)
			memcpy(b + f.l3_off, a + f.l3_off, 4);
		memcpy(b + f.udp_off, a + f.udp_off, 2);
		memcpy(b + f.udp_off + 6, a + f.udp_off + 6, 2);
		assert_memory_equal(a, b, n);
	}
}

/* Put |vlans| tags into |in|. Returns the length. */
static uint32_t tag(const uint8_t *in, uint32_t len, unsigned int vlans, uint8_t *out)
{
	uint8_t *p = out + 12;

	memcpy(out, in, 12);
	for (unsigned int i = 0; i < vlans; i++, p += VLAN_LEN) {
		uint16_t word[2] = { htons(i + 1 < vlans ? ETH_P_8021AD : ETH_P_8021Q), htons(5) };

		memcpy(p, word, sizeof(word));
	}
	memcpy(p, in + 12, len - 12);
	return len + vlans * VLAN_LEN;
}

/* Over IPv6 the label alone says the flow, over IPv4 the port, however deep in tags. */
static void parse__flow_behind_vlans(void **state)
{
	uint8_t plain[256], out[256 + FALCON_MAX_VLANS * VLAN_LEN];
	struct frame_template t;
	struct falcon_frame f;

	(void)state;
	for (unsigned int vlans = 0; vlans <= FALCON_MAX_VLANS; vlans++)
		for (int ipv6 = 0; ipv6 < 2; ipv6++)
			for (uint8_t flow = 0; flow < FALCON_MAX_FLOWS; flow++) {
				uint32_t n;

				make_template(&t, ipv6);
				n = build(&t, flow, 0, plain);
				n = tag(plain, n, vlans, out);
				assert_int_equal(falcon_parse_frame(out, out + n, &f),
						 FALCON_V_rx_data);
				assert_int_equal(f.l3_off, ETH_HLEN + vlans * VLAN_LEN);
				assert_int_equal(f.flow, flow);
				if (ipv6)
					out[f.udp_off + 1] ^= 0xf;
				assert_int_equal(falcon_parse_frame(out, out + n, &f),
						 FALCON_V_rx_data);
				assert_int_equal(f.flow, flow);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_build__every_flow_both_families),
		cmocka_unit_test(frame_build__label_is_never_zero),
		cmocka_unit_test(frame_build__flows_differ_in_label_and_port_only),
		cmocka_unit_test(parse__flow_behind_vlans),
	};

	return unit_run(tests);
}
