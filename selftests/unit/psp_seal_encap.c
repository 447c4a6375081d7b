// SPDX-License-Identifier: BSD-2-Clause
/* IP frames into PSP frames and back: every mode, header and crypt offset, and what is refused. */
#include "psp_seal.h"

#include "crypto/encap.h"

enum { ETH = 14, UDP = 8, ROOM = 70000, TCP_PROTO = 6, UDP_PROTO = 17, ICMP_PROTO = 1 };

struct shape {
	bool ipv6, tunnel, vc;
	uint8_t proto, options;	/* 4-byte words of IPv4 options */
	uint8_t offset;
	uint32_t payload;	/* behind the IP header */
};

static uint8_t clear[ROOM], sealed[ROOM], out[ROOM];

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

/* The sum that a sound IPv4 header has: 0xffff. */
static uint32_t ones_sum(const uint8_t *p, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < len; i += 2)
		sum += get16(p + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t ip_header_len(const struct shape *s)
{
	return s->ipv6 ? 40 : 20 + s->options * 4u;
}

/* Everything in the frame differs from its neighbours, so that what is misplaced shows. */
static uint32_t make_frame(const struct shape *s)
{
	uint32_t hdr = ip_header_len(s), len = ETH + hdr + s->payload;
	uint8_t *ip = clear + ETH;

	for (uint32_t i = 0; i < len; i++)
		clear[i] = (uint8_t)(i * 37 + (i >> 8) + 11);
	put16(clear + 12, s->ipv6 ? 0x86dd : 0x0800);
	if (s->ipv6) {
		ip[0] = 0x6a;
		put16(ip + 4, s->payload);
		ip[6] = s->proto;
		return len;
	}
	ip[0] = (uint8_t)(0x40 | hdr / 4);
	put16(ip + 2, hdr + s->payload);
	ip[9] = s->proto;
	put16(ip + 10, 0);
	put16(ip + 10, ~ones_sum(ip, hdr));
	return len;
}

static struct psp_encap encap_of(const struct shape *s)
{
	return (struct psp_encap){
		.tunnel = s->tunnel,
		.vc = s->vc,
		/* The one that counts, and others that must not. */
		.transport_offset = s->tunnel ? 63 : s->offset,
		.tunnel4_offset = s->tunnel && !s->ipv6 ? s->offset : 62,
		.tunnel6_offset = s->tunnel && s->ipv6 ? s->offset : 61,
		.cookie = 0x0102030405060708,
	};
}

static void check_outer(const struct shape *s, uint32_t len)
{
	uint32_t hdr = s->tunnel && !s->ipv6 ? 20 : ip_header_len(s);
	const uint8_t *ip = sealed + ETH, *udp = ip + hdr, *l4 = clear + ETH + ip_header_len(s);
	bool ports = s->payload >= 4 && (s->proto == UDP_PROTO || s->proto == TCP_PROTO);

	assert_memory_equal(sealed, clear, ETH);
	if (s->ipv6) {
		assert_int_equal(get16(ip + 4), len - ETH - 40);
		assert_int_equal(ip[6], UDP_PROTO);
		assert_memory_equal(ip, clear + ETH, 4);
		assert_memory_equal(ip + 7, clear + ETH + 7, 33);
	} else {
		assert_int_equal(ip[0], 0x40 | hdr / 4);
		assert_int_equal(get16(ip + 2), len - ETH);
		assert_int_equal(ip[9], UDP_PROTO);
		assert_int_equal(ones_sum(ip, hdr), 0xffff);
		assert_int_equal(ip[1], clear[ETH + 1]);
		assert_memory_equal(ip + 4, clear + ETH + 4, 5);
		assert_memory_equal(ip + 12, clear + ETH + 12, hdr - 12);
	}
	assert_int_equal(get16(udp), ports ? get16(l4) ^ get16(l4 + 2) : 1000);
	assert_int_equal(get16(udp + 2), 1000);
	assert_int_equal(get16(udp + 4), len - ETH - hdr);
	assert_int_equal(get16(udp + 6), 0);
	assert_int_equal(udp[UDP], s->tunnel ? (s->ipv6 ? 41 : 4) : s->proto);
	assert_int_equal(udp[UDP + 2], s->offset);
}

static void one_shape(struct psp_pair *p, const struct shape *s)
{
	uint32_t len = make_frame(s), data = s->payload + (s->tunnel ? ip_header_len(s) : 0);
	uint32_t outer = s->tunnel && !s->ipv6 ? 20 : ip_header_len(s);
	uint32_t want = ETH + outer + UDP + falcon_psp_len(s->vc) + data + FALCON_ICV_LEN;
	struct psp_encap e = encap_of(s);
	struct psp_frame f;
	int got = psp_encap(p->seal, &e, 1, clear, len, sealed, want);

	if (s->offset * 4u > data) {
		assert_int_equal(got, SA_ERR_OFFSET);
		return;
	}
	assert_int_equal(got, want);
	check_outer(s, want);
	assert_int_equal(psp_frame_find(sealed, want, &f), 0);
	assert_int_equal(f.psp_off, ETH + outer + UDP);
	assert_int_equal(f.psp_len, want - f.psp_off);
	assert_int_equal(f.ipv6, s->ipv6);
	assert_int_equal(psp_decap(p->open, sealed, &f, out, len), len);
	assert_memory_equal(out, clear, len);
}

static void shapes(void **state)
{
	static const uint8_t protos[] = { UDP_PROTO, TCP_PROTO, ICMP_PROTO };
	struct psp_pair p = pair_new(0);

	(void)state;
	for (unsigned int i = 0; i < 8 * ARRAY_SIZE(protos); i++) {
		struct shape s = {
			.ipv6 = i & 1, .tunnel = i & 2, .vc = i & 4, .proto = protos[i / 8],
		};

		if (s.ipv6 && !s.tunnel && s.proto == ICMP_PROTO)
			continue;
		for (s.offset = 0; s.offset < 64; s.offset++) {
			for (s.payload = 0; s.payload < 40; s.payload++)
				one_shape(&p, &s);
			for (s.payload = 203; s.payload < 260; s.payload += 7)
				one_shape(&p, &s);
			s.payload = 8999;
			one_shape(&p, &s);
		}
	}
	pair_free(&p);
}

/* Options stay in transport mode, and travel inside in tunnel mode. */
static void options(void **state)
{
	struct psp_pair p = pair_new(1);

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		struct shape s = { .tunnel = i & 1, .vc = i & 2, .proto = UDP_PROTO, .offset = 3 };

		for (s.options = 0; s.options <= 10; s.options++)
			for (s.payload = 0; s.payload < 30; s.payload += 5)
				one_shape(&p, &s);
	}
	pair_free(&p);
}

static int encap(struct sa *sa, bool tunnel, uint32_t len)
{
	const struct psp_encap e = { .tunnel = tunnel };

	return psp_encap(sa, &e, 1, clear, len, sealed, sizeof(sealed));
}

/* What is left out or refused leaves the IV for the next. */
static void refused(void **state)
{
	struct psp_pair p = pair_new(0);
	struct shape s = { .proto = UDP_PROTO, .payload = 20 };
	uint32_t len = make_frame(&s);

	(void)state;
	for (uint32_t n = 0; n < len; n++)
		assert_int_equal(encap(p.seal, n & 1, n), SA_ERR_TRUNCATED);
	put16(clear + 12, 0x0806);
	assert_int_equal(encap(p.seal, true, len), SA_ERR_NOT_IP);
	put16(clear + 12, 0x8100);
	assert_int_equal(encap(p.seal, false, len), SA_ERR_NOT_IP);
	make_frame(&s);
	clear[ETH] = 0x44;
	assert_int_equal(encap(p.seal, true, len), SA_ERR_LENGTH);
	clear[ETH] = 0x65;
	assert_int_equal(encap(p.seal, true, len), SA_ERR_LENGTH);
	clear[ETH] = 0x4f;
	assert_int_equal(encap(p.seal, true, len), SA_ERR_LENGTH);
	for (s.ipv6 = false; ; s.ipv6 = true) {
		for (unsigned int proto = 0; proto < 256; proto++) {
			bool ok = proto == TCP_PROTO || proto == UDP_PROTO ||
				  (!s.ipv6 && proto != 4 && proto != 41);

			s.proto = (uint8_t)proto;
			len = make_frame(&s);
			assert_int_equal(encap(p.seal, false, len) > 0, ok);
			assert_true(ok || encap(p.seal, false, len) == SA_ERR_PROTOCOL);
			assert_true(encap(p.seal, true, len) > 0);
		}
		if (s.ipv6)
			break;
	}
	assert_int_equal(sa_usage(p.seal).packets, 256 + 254 + 256 + 2);
	pair_free(&p);
}

/* Every sum that a header's words can come to, with all its carries. */
static void checksums(void **state)
{
	const struct shape s = { .proto = UDP_PROTO, .payload = 8, .options = 10 };
	const uint32_t hdr = ip_header_len(&s);
	struct psp_pair p = pair_new(0);
	uint32_t len = make_frame(&s);
	struct psp_frame f;

	(void)state;
	memset(clear + ETH + 20, 0xff, 40);
	for (uint32_t id = 0; id < 65536; id++) {
		int n;

		put16(clear + ETH + 4, id);
		n = encap(p.seal, false, len);
		assert_int_equal(n, len + UDP + 32);
		assert_int_equal(ones_sum(sealed + ETH, hdr), 0xffff);
		assert_int_equal(psp_frame_find(sealed, (uint32_t)n, &f), 0);
	}
	pair_free(&p);
}

/* Sizes at the end of what IP can say. */
static void longest(void **state)
{
	const uint32_t overhead = UDP + FALCON_PSP_HDR_LEN + FALCON_ICV_LEN;
	struct psp_pair p = pair_new(0);
	struct shape s = { .proto = UDP_PROTO, .payload = 65535 - 20 - overhead };

	(void)state;
	one_shape(&p, &s);
	s.payload++;
	assert_int_equal(encap(p.seal, false, make_frame(&s)), SA_ERR_LENGTH);
	s = (struct shape){ .ipv6 = true, .proto = UDP_PROTO, .payload = 65535 - overhead };
	one_shape(&p, &s);
	s.payload++;
	assert_int_equal(encap(p.seal, false, make_frame(&s)), SA_ERR_LENGTH);
	pair_free(&p);
}

/* Ethernet's padding of short frames is no part of the packet, on either side. */
static void padding(void **state)
{
	const struct shape s = { .proto = UDP_PROTO, .payload = 8 };
	struct psp_pair p = pair_new(0);
	uint32_t len = make_frame(&s);
	struct psp_frame f;
	int sealed_len;

	(void)state;
	memset(clear + len, 0, 18);
	sealed_len = encap(p.seal, false, len + 18);
	assert_int_equal(sealed_len, len + 40);
	assert_int_equal(psp_frame_find(sealed, (uint32_t)sealed_len + 9, &f), 0);
	assert_int_equal(psp_decap(p.open, sealed, &f, out, len - 1), SA_ERR_ROOM);
	assert_int_equal(encap(p.seal, false, len), len + 40);
	assert_int_equal(psp_decap(p.open, sealed, &f, out, len), len);
	assert_memory_equal(out, clear, len);
	pair_free(&p);
}

/* Frames that are not, or not wholly, PSP. */
static void find(void **state)
{
	const struct shape s = { .proto = UDP_PROTO, .payload = 20 };
	struct psp_pair p = pair_new(0);
	uint32_t len = make_frame(&s);
	struct psp_frame f;

	(void)state;
	assert_int_equal(psp_frame_find(clear, len, &f), SA_ERR_NOT_PSP);
	len = (uint32_t)encap(p.seal, false, len);
	for (uint32_t n = 0; n < len; n++)
		assert_int_equal(psp_frame_find(sealed, n, &f), SA_ERR_TRUNCATED);
	sealed[ETH + 8]++;
	assert_int_equal(psp_frame_find(sealed, len, &f), SA_ERR_CHECKSUM);
	sealed[ETH + 8]--;
	sealed[ETH + 20 + 5]++;
	assert_int_equal(psp_frame_find(sealed, len, &f), SA_ERR_LENGTH);
	sealed[ETH + 20 + 5]--;
	sealed[ETH + 20 + 3]++;
	assert_int_equal(psp_frame_find(sealed, len, &f), SA_ERR_NOT_PSP);
	pair_free(&p);
}

/* IPv6 in a tunnel over IPv4: the frame that comes out says what it holds. */
static void mixed_tunnel(void **state)
{
	struct psp_pair p = pair_new(0);
	uint8_t *psp = sealed + ETH + 20 + UDP;
	const struct shape s = { .proto = UDP_PROTO, .payload = 12 };
	uint32_t len = (uint32_t)encap(p.seal, true, make_frame(&s));
	struct psp_frame f;
	uint64_t iv;

	(void)state;
	assert_int_equal(psp_frame_find(sealed, len, &f), 0);
	psp[0] = 41;
	assert_int_equal(sa_next_iv(p.seal, 1, &iv), 0);
	iv = falcon_hton64(iv);
	memcpy(psp + 8, &iv, sizeof(iv));
	assert_true(psp_seal(p.seal, psp, f.psp_len - 16, f.psp_len) > 0);
	assert_int_equal(psp_decap(p.open, sealed, &f, out, sizeof(out)), ETH + 32);
	assert_int_equal(get16(out + 12), 0x86dd);
	pair_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),
		cmocka_unit_test(options),
		cmocka_unit_test(refused),
		cmocka_unit_test(checksums),
		cmocka_unit_test(longest),
		cmocka_unit_test(padding),
		cmocka_unit_test(find),
		cmocka_unit_test(mixed_tunnel),
	};

	return unit_run(tests);
}
