// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets for connections in ESP: XDP finds the connection by the SPI, looks at what is in the clear,
 * and hands on, unread, what it cannot fault; IPsec of others goes to the kernel. Nothing of the
 * connection changes either way.
 */
#include "verdict.h"

#include <string.h>

#define FRAMED(name)                                                                               \
	static void name(struct env *e, struct falcon_conn *c, struct verdict_packet *p)
#define PACKED FRAMED
#define HEADER FRAMED
#define UNUSED ((void)e, (void)c, (void)p)

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
	esp(e, c, p);
	e->config->pcid_match = 1;
}

HEADER(tunnel4)
{
	esp(e, c, p);
	c->id.flags |= FALCON_CONN_TUNNEL;
	p->shape.inner_len = FALCON_INNER_IPV4_LEN;
}

HEADER(tunnel6)
{
	tunnel4(e, c, p);
	p->shape.inner_len = FALCON_INNER_IPV6_LEN;
}

/* Nobody sees before decryption that the inner header is missing. */
HEADER(untunneled)
{
	esp(e, c, p);
	c->id.flags |= FALCON_CONN_TUNNEL;
}

HEADER(offload_off)
{
	esp(e, c, p);
	c->id.flags |= FALCON_CONN_STEER;
}

HEADER(previous_spi)
{
	esp(e, c, p);
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

static void handed_on(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,
		      const struct verdict_packet *p, const struct env_result *r)
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

static void at_no_cost(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,
		       const struct verdict_packet *p, const struct env_result *r)
{
	(void)c, (void)before, (void)p, (void)r;
	assert_int_equal(e->credits[ENV_XSK].credits, 64);
}

/* The kernel gets it as it came. */
static void untouched(struct env *e, struct falcon_conn *c, const struct falcon_conn *before,
		      const struct verdict_packet *p, const struct env_result *r)
{
	at_no_cost(e, c, before, p, r);
	assert_int_equal(r->len, p->len);
	assert_memory_equal(r->buf + r->meta_len, p->frame, p->len);
}

HEADER(unknown_spi)
{
	esp(e, c, p);
	p->shape.spi ^= 0x100;
}

/* It is one of ours, and not this connection's any more. */
HEADER(stale_entry)
{
	esp(e, c, p);
	p->shape.spi ^= 0x100;
	env_sadb(e, p->shape.spi, c->id.cid);
}

HEADER(of_another_connection)
{
	esp(e, c, p);
	env_sadb(e, p->shape.spi, c->id.cid ^ 2);
}

HEADER(no_such_connection)
{
	esp(e, c, p);
	env_sadb(e, p->shape.spi, FALCON_MAX_CONNS);
}

HEADER(not_up)
{
	esp(e, c, p);
	c->id.flags &= ~(uint32_t)FALCON_CONN_ALIVE;
}

HEADER(of_a_clear_connection)
{
	esp(e, c, p);
	c->id.flags |= FALCON_CONN_CLEAR;
}

HEADER(of_a_psp_connection)
{
	esp(e, c, p);
	c->id.encap = FALCON_PSP_AES_GCM_256;
}

HEADER(downgraded_to_psp)
{
	esp(e, c, p);
	p->shape.encap = FALCON_PSP_AES_GCM_256;
}

HEADER(downgraded_to_clear)
{
	esp(e, c, p);
	p->shape.encap = FALCON_PSP_CLEAR;
}

HEADER(replayed)
{
	esp(e, c, p);
	c->rx.remote_time = p->shape.iv + e->config->replay_margin;
}

HEADER(expired_generation)
{
	esp(e, c, p);
	e->config->cur_spi_gen = c->id.cur_spi_gen + 1;
}

HEADER(reflected)
{
	uint8_t addr[16];

	esp(e, c, p);
	memcpy(addr, p->shape.saddr, sizeof(addr));
	memcpy(p->shape.saddr, p->shape.daddr, sizeof(addr));
	memcpy(p->shape.daddr, addr, sizeof(addr));
}

HEADER(no_credit)
{
	esp(e, c, p);
	e->credits[ENV_XSK].credits = 0;
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

FRAMED(fragment_of_others)
{
	fragment(e, c, p);
}

static const struct verdict_case cases[] = {
	{ "steered", FALCON_V_steered, .header = esp, .packed = garbage, .verify = handed_on },
	{ "steered: PCIDs are asked for", FALCON_V_steered, .header = with_pcid_match,
	  .packed = garbage, .verify = handed_on },
	{ "steered: IPv4 in a tunnel", FALCON_V_steered, .header = tunnel4, .verify = handed_on },
	{ "steered: IPv6 in a tunnel", FALCON_V_steered, .header = tunnel6, .verify = handed_on },
	{ "steered: not in the tunnel", FALCON_V_steered, .header = untunneled,
	  .verify = handed_on },
	{ "steered: offload off", FALCON_V_steered, .header = offload_off, .packed = garbage,
	  .verify = handed_on },
	{ "steered: previous SPI", FALCON_V_steered, .header = previous_spi, .packed = garbage,
	  .verify = handed_on },
	{ "steered: shortest packet", FALCON_V_steered, .header = esp, .packed = shortest,
	  .verify = handed_on },
	{ "pass_spi", FALCON_V_pass_spi, .header = unknown_spi, .verify = untouched },
	{ "pass_spi: a fragment of others", FALCON_V_pass_spi, .ipv4_only = true,
	  .header = unknown_spi, .framed = fragment_of_others, .verify = untouched },
	{ "pass_spi: others' lengths", FALCON_V_pass_spi, .header = unknown_spi,
	  .framed = udp_length, .verify = untouched },
	{ "pass_not_falcon: IKE", FALCON_V_pass_not_falcon, .header = esp, .framed = ike,
	  .verify = untouched },
	{ "pass_not_falcon: keep-alive", FALCON_V_pass_not_falcon, .header = esp,
	  .framed = keep_alive, .verify = untouched },
	{ "drop_spi: not the connection's", FALCON_V_drop_spi, .header = stale_entry,
	  .verify = at_no_cost },
	{ "drop_spi: generation has expired", FALCON_V_drop_spi, .header = expired_generation,
	  .verify = at_no_cost },
	{ "drop_address: another connection's SPI", FALCON_V_drop_address,
	  .header = of_another_connection, .verify = at_no_cost },
	{ "drop_address: reflected", FALCON_V_drop_address, .header = reflected,
	  .verify = at_no_cost },
	{ "drop_cid: no such connection", FALCON_V_drop_cid, .header = no_such_connection,
	  .verify = at_no_cost },
	{ "drop_not_alive", FALCON_V_drop_not_alive, .header = not_up, .verify = at_no_cost },
	{ "drop_psp_version: a clear connection", FALCON_V_drop_psp_version,
	  .header = of_a_clear_connection, .verify = at_no_cost },
	{ "drop_psp_version: a connection in PSP", FALCON_V_drop_psp_version,
	  .header = of_a_psp_connection, .verify = at_no_cost },
	{ "drop_psp_version: downgraded to PSP", FALCON_V_drop_psp_version,
	  .header = downgraded_to_psp, .verify = at_no_cost },
	{ "drop_psp_version: downgraded to clear", FALCON_V_drop_psp_version,
	  .header = downgraded_to_clear, .verify = at_no_cost },
	{ "drop_replay", FALCON_V_drop_replay, .header = replayed, .verify = at_no_cost },
	{ "drop_no_credit", FALCON_V_drop_no_credit, .header = no_credit },
	{ "drop_ip_fragment", FALCON_V_drop_ip_fragment, .ipv4_only = true, .header = esp,
	  .framed = fragment, .verify = at_no_cost },
	{ "drop_ip_length: cut in the ICV", FALCON_V_drop_ip_length, .header = esp, .framed = cut,
	  .verify = at_no_cost },
	{ "drop_udp_length", FALCON_V_drop_udp_length, .header = esp, .framed = udp_length,
	  .verify = at_no_cost },
	{ "drop_esp: not in whole words", FALCON_V_drop_esp, .header = esp, .framed = odd_length,
	  .verify = at_no_cost },
	{ "drop_truncated: no room for a header", FALCON_V_drop_truncated, .header = esp,
	  .packed = shortest, .framed = too_short, .verify = at_no_cost },
};

int main(void)
{
	return verdict_main("verdict_esp", cases, ARRAY_SIZE(cases));
}
