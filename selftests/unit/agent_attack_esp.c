// SPDX-License-Identifier: BSD-2-Clause
/*
 * What somebody on the wire may try against connections in ESP, as agent_attack.c does against those
 * in PSP: each attempt is refused for its own reason and changes nothing. Last, what the peer itself
 * may try, who has the key.
 */
#include "agent_attack.h"

enum { INNER_LEN = 20 };

static struct attack on = {
	.encap = FALCON_ESP_AES_GCM_128,
	.spi_off = 0,
	.iv_off = FALCON_ESP_IV_OFF,
	.min = 8 + FALCON_ESP_HDR_LEN + 8 + FALCON_ESP_TRAILER_LEN + 16,
	.word = 4,
	.reflected = FALCON_V_pass_spi,
	.not_ours = FALCON_V_pass_spi,
};

static enum falcon_verdict flip_wants(uint32_t bit, enum falcon_verdict v)
{
	/* Nobody's SPI, or another connection's. */
	if (bit < 32)
		return v == FALCON_V_drop_auth ? v : FALCON_V_pass_spi;
	/* An IV of long ago. */
	if (bit >= 64 && bit < 128 && v == FALCON_V_drop_replay)
		return v;
	return FALCON_V_drop_auth;
}

static void flipped(void **state)
{
	(void)state;
	flip_all(FALCON_ESP_AES_GCM_128, flip_wants);
	flip_all(FALCON_ESP_AES_GCM_256, flip_wants);
}

static void wrong_spi(void **state)
{
	struct stage_frame f;

	(void)state;
	stage_next(1, &f);
	set_spi(&on, &f, stage.shared[1].id.cur_spi ^ 0x80000000);
	refused(&f, FALCON_V_pass_spi);
	/* What falcon_sadb says is not enough: it has to be the connection's. */
	assert_int_equal(maps_sadb_add(&stage.a.plane.maps, 9999, 1), 0);
	set_spi(&on, &f, 9999);
	refused(&f, FALCON_V_drop_spi);
	maps_sadb_del(&stage.a.plane.maps, 9999);
	set_spi(&on, &f, 0);
	assert_int_equal(stage_receive(&f), FALCON_V_pass_not_falcon);
}

static void downgraded(void **state)
{
	(void)state;
	downgraded_to(FALCON_PSP_CLEAR);
	downgraded_to(FALCON_PSP_AES_GCM_128);
}

/* The peer of |cid| seals |len| bytes of |contents|, and says that they are |next_header|. */
static void seal_as(uint32_t cid, const void *contents, uint32_t len, uint8_t next_header,
		    struct stage_frame *f)
{
	struct stage_peer *p = &stage.peer[cid];
	uint32_t sec_off = p->tmpl.sec_off;
	int n;

	memcpy(f->data, p->tmpl.hdr, p->tmpl.len);
	p->clock += 1000;
	assert_int_equal(sa_stamp(p->sa, f->data + sec_off, p->clock), 0);
	memcpy(f->data + sec_off + FALCON_ESP_HDR_LEN, contents, len);
	n = sa_seal(p->sa, f->data + sec_off, FALCON_ESP_HDR_LEN + len, STAGE_FRAME - sec_off,
		    next_header);
	assert_true(n > 0);
	f->len = sec_off + (uint32_t)n;
	*(uint16_t *)(f->data + p->tmpl.udp_off + 4) = htons((uint16_t)(8 + n));
	*(uint16_t *)(f->data + ETH_HLEN + 2) = htons((uint16_t)(20 + 8 + n));
	fix_ip_sum(f);
}

/* An authentic packet is of its association's connection, and of no other. */
static void cid_within(void **state)
{
	struct falcon_hdr h = { .cid = 2, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	uint8_t falcon[64] = {};
	struct stage_frame f;
	uint32_t len = falcon_hdr_pack(&h, falcon);

	(void)state;
	seal_as(1, falcon, len, FALCON_NEXT_HEADER, &f);
	refused(&f, FALCON_V_drop_cid);
	falcon[3] = 1;
	seal_as(1, falcon, len, FALCON_NEXT_HEADER, &f);
	accepted(&f);
	falcon[0] = 0x20;
	seal_as(1, falcon, len, FALCON_NEXT_HEADER, &f);
	refused(&f, FALCON_V_drop_version);
}

static void contents(void **state)
{
	uint8_t falcon[64] = {};
	struct falcon_hdr h = { .cid = 1, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	uint32_t len = falcon_hdr_pack(&h, falcon);
	struct stage_frame f;

	(void)state;
	/* A dummy packet (RFC 4303 2.6), and protocols that are not for us. */
	seal_as(1, falcon, len, FALCON_ESP_NEXT_NONE, &f);
	refused(&f, FALCON_V_drop_esp);
	seal_as(1, falcon, len, IPPROTO_TCP, &f);
	refused(&f, FALCON_V_drop_esp);
	/* Falcon, they say, and then there is nothing; all that counts it is the key's use. */
	seal_as(1, falcon, 7, FALCON_NEXT_HEADER, &f);
	refused(&f, FALCON_V_drop_truncated);
	for (uint32_t n = 8; n < len; n++) {
		seal_as(1, falcon, n, FALCON_NEXT_HEADER, &f);
		assert_int_equal(stage_receive(&f), FALCON_V_drop_truncated);
	}
	/* Bytes too many, as padding against traffic analysis would be (RFC 4303 2.7). */
	seal_as(1, falcon, len + 4, FALCON_NEXT_HEADER, &f);
	assert_int_equal(stage_receive(&f), FALCON_V_drop_length);
	assert_int_equal(stage.pushes, 1);
}

static void put_inner(uint8_t *ip, uint32_t len)
{
	memset(ip, 0, INNER_LEN);
	ip[0] = 0x45;
	ip[3] = (uint8_t)(INNER_LEN + len);
	ip[9] = FALCON_NEXT_HEADER;
	memcpy(ip + 12, "\x0a\x00\x00\x66\x0a\x00\x00\x65", 8);
}

/* Another inner header than the tunnel's, or one that is not asked for: known after decryption. */
static void out_of_the_tunnel(void **state)
{
	static const uint8_t bad_at[] = { 0, 3, 6, 9, 15, 19 };
	struct falcon_hdr h = { .cid = 1, .type = FALCON_PUSH_DATA, .psn = STAGE_PSN + 1 };
	struct sec *sec = &stage.conn[1].sec;
	uint8_t packet[128] = {};
	uint32_t len = falcon_hdr_pack(&h, packet + INNER_LEN);
	struct stage_frame f;

	(void)state;
	put_inner(packet, len);
	seal_as(1, packet, INNER_LEN + len, FALCON_NEXT_IPV4, &f);
	refused(&f, FALCON_V_drop_inner);
	sec->tunnel = true;
	stage.shared[1].id.flags |= FALCON_CONN_TUNNEL;
	stage_address(sec->inner_local.b, 101);
	stage_address(sec->inner_peer.b, 102);
	seal_as(1, packet + INNER_LEN, len, FALCON_NEXT_HEADER, &f);
	refused(&f, FALCON_V_drop_inner);
	for (unsigned int i = 0; i < ARRAY_SIZE(bad_at); i++) {
		uint8_t *byte = &packet[bad_at[i]];

		*byte ^= 1;
		seal_as(1, packet, INNER_LEN + len, FALCON_NEXT_IPV4, &f);
		refused(&f, bad_at[i] == 0 || bad_at[i] == 9 ? FALCON_V_drop_esp : FALCON_V_drop_inner);
		*byte ^= 1;
	}
	seal_as(1, packet, INNER_LEN + len, FALCON_NEXT_IPV6, &f);
	refused(&f, FALCON_V_drop_esp);
	seal_as(1, packet, INNER_LEN + len, FALCON_NEXT_IPV4, &f);
	accepted(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTACK(forged),
		cmocka_unit_test(flipped),
		ATTACK(truncated),
		ATTACK(replayed),
		ATTACK(remote_time_moves_only_after_authentication),
		ATTACK(reflected),
		ATTACK(cross_connection),
		ATTACK(wrong_spi),
		ATTACK(cross_tenant),
		ATTACK(downgraded),
		ATTACK(old_spi_and_expired_generation),
		ATTACK(cid_within),
		ATTACK(contents),
		ATTACK(out_of_the_tunnel),
	};

	return unit_run(tests);
}
