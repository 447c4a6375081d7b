// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets for connections in ESP: XDP finds the connection by the SPI, looks at what is in the clear,
 * and hands on, unread, what it cannot fault; IPsec of others goes to the kernel. Nothing of the
 * connection changes either way.
 */
#include "verdict.h"

#include <string.h>

static uint8_t *udp_of(struct verdict_packet *p)
{
	return p->frame + packet_udp_off(&p->shape);
}

/* The connection has ESP, whose algorithm its packets do not tell. */
HEADER(esp)
{
	c->id.flags &= ~(uint32_t)FALCON_CONN_CLEAR;
	c->id.encap = falcon_encap_seen(FALCON_ESP_AES_GCM_256);
	c->id.pcid = 0;
	p->shape.encap = FALCON_ESP_AES_GCM_256;
	p->shape.seq = 17;
	env_sadb(e, c->id.cur_spi, c->id.cid);
}

HEADER(with_pcid_match)
{
	UNUSED;
	e->config->pcid_match = 1;
}

HEADER(previous_spi)
{
	UNUSED;
	c->id.prev_spi = p->shape.spi = 0x4711;
	env_sadb(e, 0x4711, c->id.cid);
}

/* The CID in the packet is encrypted, and plays no part. */
PACKED(garbage)
{
	UNUSED;
	memset(p->falcon, 0x5a, p->falcon_len);
}

PACKED(shortest)
{
	UNUSED;
	p->falcon_len = 8;
}

VERIFY(handed_on)
{
	size_t first = packet_sec_off(&p->shape) + FALCON_ESP_HDR_LEN;
	struct falcon_meta m;

	assert_memory_equal(c, before, sizeof(*c));
	assert_int_equal(e->credits[ENV_XSK].credits, 63);
	assert_int_equal(r->meta_len, sizeof(m));
	memcpy(&m, r->buf, sizeof(m));
	assert_int_equal(m.verdict, FALCON_V_steered);
	assert_int_equal(m.cid, c->id.cid);
	assert_int_equal(m.flow, p->shape.flow);
	/* As far as it can be: all between IV and ICV but for the least trailer. */
	assert_int_equal(m.falcon_off, first);
	assert_int_equal(m.falcon_len, p->len - first - FALCON_ESP_TRAILER_LEN - FALCON_ICV_LEN);
	assert_int_equal(r->len, p->len);
	assert_memory_equal(r->buf + sizeof(m), p->frame, p->len);
}

/* The kernel gets it as it came. */
VERIFY(untouched)
{
	at_no_cost(e, c, before, p, r);
	assert_int_equal(r->len, p->len);
	assert_memory_equal(r->buf + r->meta_len, p->frame, p->len);
}

HEADER(unknown_spi)
{
	UNUSED;
	p->shape.spi ^= 0x100;
}

/* It is one of ours, and not this connection's any more. */
HEADER(stale_entry)
{
	UNUSED;
	p->shape.spi ^= 0x100;
	env_sadb(e, p->shape.spi, c->id.cid);
}

HEADER(of_another_connection)
{
	UNUSED;
	env_sadb(e, p->shape.spi, c->id.cid ^ 2);
}

HEADER(no_such_connection)
{
	UNUSED;
	env_sadb(e, p->shape.spi, FALCON_MAX_CONNS);
}

HEADER(of_a_clear_connection)
{
	UNUSED;
	c->id.flags |= FALCON_CONN_CLEAR;
}

HEADER(of_a_psp_connection)
{
	UNUSED;
	c->id.encap = FALCON_PSP_AES_GCM_256;
}

HEADER(downgraded_to_psp)
{
	UNUSED;
	p->shape.encap = FALCON_PSP_AES_GCM_256;
}

/* IKE beside it has zeros where the SPI would be (RFC 3948 2.2). */
FRAMED(ike)
{
	UNUSED;
	memset(udp_of(p) + 8, 0, 4);
}

/* A keep-alive has one byte (RFC 3948 2.3). */
FRAMED(keep_alive)
{
	uint8_t *l3 = p->frame + packet_l3_off(&p->shape);

	UNUSED;
	udp_of(p)[8] = 0xff;
	udp_of(p)[4] = 0;
	udp_of(p)[5] = 9;
	l3[p->shape.ipv6 ? 4 : 2] = 0;
	l3[p->shape.ipv6 ? 5 : 3] = p->shape.ipv6 ? 9 : 29;
	p->len = packet_udp_off(&p->shape) + 9;
	if (p->len < 60) {
		memset(p->frame + p->len, 0, 60 - p->len);
		p->len = 60;
	}
}

FRAMED(ip_csum)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) + 11] ^= 1;
}

FRAMED(udp_length)
{
	UNUSED;
	udp_of(p)[5] ^= 4;
}

FRAMED(cut)
{
	UNUSED;
	p->len--;
}

FRAMED(fragment)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) + 6] |= 0x20;
	packet_fix_csum(p->frame, p->len);
}

/* Not a whole number of words between IV and ICV: |less| bytes less than there were. */
static void shorten(struct verdict_packet *p, uint32_t less)
{
	uint8_t *l3 = p->frame + packet_l3_off(&p->shape), *udp = udp_of(p);
	uint32_t udp_len = ((uint32_t)udp[4] << 8 | udp[5]) - less;
	uint32_t ip_len = p->shape.ipv6 ? udp_len : udp_len + 20;
	uint8_t *at = l3 + (p->shape.ipv6 ? 4 : 2);

	udp[4] = (uint8_t)(udp_len >> 8);
	udp[5] = (uint8_t)udp_len;
	at[0] = (uint8_t)(ip_len >> 8);
	at[1] = (uint8_t)ip_len;
	p->len -= less;
}

FRAMED(odd_length)
{
	UNUSED;
	shorten(p, 1);
}

FRAMED(too_short)
{
	UNUSED;
	shorten(p, 4);
}

static const struct verdict_case cases[] = {
	{ "steered", FALCON_V_steered, .base = esp, .packed = garbage, .verify = handed_on },
	{ "steered: PCIDs are asked for", FALCON_V_steered, .base = esp, .header = with_pcid_match,
	  .packed = garbage, .verify = handed_on },
	{ "steered: IPv4 in a tunnel", FALCON_V_steered, .base = esp, .header = tunnel4,
	  .verify = handed_on },
	{ "steered: IPv6 in a tunnel", FALCON_V_steered, .base = esp, .header = tunnel6,
	  .verify = handed_on },
	/* Nobody sees before decryption that the inner header is missing. */
	{ "steered: not in the tunnel", FALCON_V_steered, .base = esp, .header = tunnel_missing,
	  .verify = handed_on },
	{ "steered: offload off", FALCON_V_steered, .base = esp, .header = offload_off,
	  .packed = garbage, .verify = handed_on },
	{ "steered: previous SPI", FALCON_V_steered, .base = esp, .header = previous_spi,
	  .packed = garbage, .verify = handed_on },
	{ "steered: shortest packet", FALCON_V_steered, .base = esp, .packed = shortest,
	  .verify = handed_on },
	{ "pass_spi", FALCON_V_pass_spi, .base = esp, .header = unknown_spi, .verify = untouched },
	{ "pass_spi: a fragment of others", FALCON_V_pass_spi, .ipv4_only = true,
	  .base = esp, .header = unknown_spi, .framed = fragment, .verify = untouched },
	{ "pass_spi: others' lengths", FALCON_V_pass_spi, .base = esp, .header = unknown_spi,
	  .framed = udp_length, .verify = untouched },
	{ "pass_not_falcon: IKE", FALCON_V_pass_not_falcon, .base = esp, .framed = ike,
	  .verify = untouched },
	{ "pass_not_falcon: keep-alive", FALCON_V_pass_not_falcon, .base = esp,
	  .framed = keep_alive, .verify = untouched },
	{ "drop_spi: not the connection's", FALCON_V_drop_spi, .base = esp, .header = stale_entry,
	  .verify = at_no_cost },
	{ "drop_spi: generation has expired", FALCON_V_drop_spi, .base = esp,
	  .header = expired_generation, .verify = at_no_cost },
	{ "drop_address: another connection's SPI", FALCON_V_drop_address,
	  .base = esp, .header = of_another_connection, .verify = at_no_cost },
	{ "drop_address: reflected", FALCON_V_drop_address, .base = esp, .header = reflected,
	  .verify = at_no_cost },
	{ "drop_cid: no such connection", FALCON_V_drop_cid, .base = esp,
	  .header = no_such_connection, .verify = at_no_cost },
	{ "drop_not_alive", FALCON_V_drop_not_alive, .base = esp, .header = not_alive,
	  .verify = at_no_cost },
	{ "drop_psp_version: a clear connection", FALCON_V_drop_psp_version,
	  .base = esp, .header = of_a_clear_connection, .verify = at_no_cost },
	{ "drop_psp_version: a connection in PSP", FALCON_V_drop_psp_version,
	  .base = esp, .header = of_a_psp_connection, .verify = at_no_cost },
	{ "drop_psp_version: downgraded to PSP", FALCON_V_drop_psp_version,
	  .base = esp, .header = downgraded_to_psp, .verify = at_no_cost },
	{ "drop_psp_version: downgraded to clear", FALCON_V_drop_psp_version,
	  .base = esp, .header = downgraded_to_clear, .verify = at_no_cost },
	{ "drop_replay", FALCON_V_drop_replay, .base = esp, .header = replayed,
	  .verify = at_no_cost },
	{ "drop_no_credit", FALCON_V_drop_no_credit, .base = esp, .header = no_credit },
	{ "drop_ip_fragment", FALCON_V_drop_ip_fragment, .ipv4_only = true, .base = esp,
	  .framed = fragment, .verify = at_no_cost },
	{ "drop_ip_length: cut in the ICV", FALCON_V_drop_ip_length, .base = esp, .framed = cut,
	  .verify = at_no_cost },
	{ "drop_ip_csum", FALCON_V_drop_ip_csum, .ipv4_only = true, .base = esp, .framed = ip_csum,
	  .verify = at_no_cost },
	{ "drop_udp_length", FALCON_V_drop_udp_length, .base = esp, .framed = udp_length,
	  .verify = at_no_cost },
	{ "drop_esp: not in whole words", FALCON_V_drop_esp, .base = esp, .framed = odd_length,
	  .verify = at_no_cost },
	{ "drop_truncated: no room for a header", FALCON_V_drop_truncated, .base = esp,
	  .packed = shortest, .framed = too_short, .verify = at_no_cost },
};

int main(void)
{
	return verdict_main("verdict_esp", cases, ARRAY_SIZE(cases), NULL);
}
