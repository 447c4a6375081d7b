// SPDX-License-Identifier: BSD-2-Clause
/*
 * Packets for encrypted connections: XDP looks at what is in the clear, and hands on, unread, what
 * it cannot fault. Nothing of the connection changes either way.
 */
#include "verdict.h"

#include <string.h>

static struct falcon_psp_hdr *psp_of(struct verdict_packet *p)
{
	return (void *)(p->frame + packet_sec_off(&p->shape));
}

static void encrypt(struct falcon_conn *c, struct verdict_packet *p, uint8_t version)
{
	c->id.flags &= ~(uint32_t)FALCON_CONN_CLEAR;
	c->id.encap = p->shape.encap = version;
}

HEADER(gcm_128)
{
	UNUSED;
	encrypt(c, p, FALCON_PSP_AES_GCM_128);
}

HEADER(gcm_256)
{
	UNUSED;
	encrypt(c, p, FALCON_PSP_AES_GCM_256);
}

HEADER(gmac_128)
{
	UNUSED;
	encrypt(c, p, FALCON_PSP_GMAC_128);
}

HEADER(gmac_256)
{
	UNUSED;
	encrypt(c, p, FALCON_PSP_GMAC_256);
}

/* What the Falcon header looks like when encrypted: anything, but for the first word. */
PACKED(garbage)
{
	UNUSED;
	memset(p->falcon + 4, 0x5a, p->falcon_len - 4);
}

PACKED(eight_bytes)
{
	UNUSED;
	p->falcon_len = 8;
}

VERIFY(handed_on)
{
	struct falcon_meta m;

	assert_memory_equal(c, before, sizeof(*c));
	assert_int_equal(e->credits[ENV_XSK].credits, 63);
	assert_int_equal(r->meta_len, sizeof(m));
	memcpy(&m, r->buf, sizeof(m));
	assert_int_equal(m.verdict, FALCON_V_steered);
	assert_int_equal(m.falcon_off, packet_falcon_off(&p->shape));
	assert_int_equal(m.falcon_len, p->falcon_len);
	assert_int_equal(r->len, p->len);
	assert_memory_equal(r->buf + sizeof(m), p->frame, p->len);
}

HEADER(other_version)
{
	UNUSED;
	p->shape.encap = FALCON_PSP_AES_GCM_128;
}

HEADER(unassigned_version)
{
	UNUSED;
	p->shape.encap = 9;
}

HEADER(wrong_spi)
{
	UNUSED;
	p->shape.spi ^= 1;
}

HEADER(other_cid)
{
	UNUSED;
	p->hdr.cid ^= 2;
}

HEADER(inner_header)
{
	UNUSED;
	p->shape.inner_len = FALCON_INNER_IPV4_LEN;
}

FRAMED(inner_protocol)
{
	UNUSED;
	p->frame[packet_falcon_off(&p->shape) - FALCON_INNER_IPV4_LEN + 9] = IPPROTO_TCP;
}

FRAMED(inner_options)
{
	UNUSED;
	p->frame[packet_falcon_off(&p->shape) - FALCON_INNER_IPV4_LEN] = 0x46;
}

FRAMED(inner_version)
{
	UNUSED;
	p->frame[packet_falcon_off(&p->shape) - FALCON_INNER_IPV6_LEN] = 0x40;
}

/* More in the clear than the connection ID, or less. */
FRAMED(offset_more)
{
	UNUSED;
	psp_of(p)->crypt_offset++;
}

FRAMED(offset_less)
{
	UNUSED;
	psp_of(p)->crypt_offset--;
}

FRAMED(offset_none)
{
	UNUSED;
	psp_of(p)->crypt_offset = 0;
}

PACKED(no_room_for_icv)
{
	UNUSED;
	p->falcon_len = 7;
}

FRAMED(cut_in_icv)
{
	UNUSED;
	p->len--;
}

static const struct verdict_case cases[] = {
	{ "steered: AES-GCM-128", FALCON_V_steered, .base = gcm_128, .packed = garbage,
	  .verify = handed_on },
	{ "steered: AES-GCM-256", FALCON_V_steered, .base = gcm_256, .packed = garbage,
	  .verify = handed_on },
	{ "steered: GMAC-128", FALCON_V_steered, .base = gmac_128, .packed = garbage,
	  .verify = handed_on },
	{ "steered: GMAC-256", FALCON_V_steered, .base = gmac_256, .packed = garbage,
	  .verify = handed_on },
	{ "steered: IPv4 in a tunnel", FALCON_V_steered, .base = gcm_256, .header = tunnel4,
	  .packed = garbage, .verify = handed_on },
	{ "steered: IPv6 in a tunnel", FALCON_V_steered, .base = gcm_256, .header = tunnel6,
	  .packed = garbage, .verify = handed_on },
	{ "steered: offload off", FALCON_V_steered, .base = gcm_256, .header = offload_off,
	  .packed = garbage, .verify = handed_on },
	{ "steered: shortest packet", FALCON_V_steered, .base = gcm_256, .packed = eight_bytes,
	  .verify = handed_on },
	{ "drop_psp_version: another", FALCON_V_drop_psp_version, .base = gcm_256,
	  .header = other_version, .verify = at_no_cost },
	{ "drop_psp_version: downgraded to clear", FALCON_V_drop_psp_version,
	  .base = gcm_256, .header = downgraded_to_clear, .verify = at_no_cost },
	{ "drop_psp_version: unassigned", FALCON_V_drop_psp_version, .base = gcm_256,
	  .header = unassigned_version, .verify = at_no_cost },
	{ "drop_spi", FALCON_V_drop_spi, .base = gcm_256, .header = wrong_spi,
	  .verify = at_no_cost },
	{ "drop_spi: generation has expired", FALCON_V_drop_spi, .base = gcm_256,
	  .header = expired_generation, .verify = at_no_cost },
	{ "drop_pcid", FALCON_V_drop_pcid, .base = gcm_256, .header = pcid_differs,
	  .verify = at_no_cost },
	{ "drop_replay", FALCON_V_drop_replay, .base = gcm_256, .header = replayed,
	  .verify = at_no_cost },
	{ "drop_address: another connection's CID", FALCON_V_drop_address, .base = gcm_256,
	  .header = other_cid, .verify = at_no_cost },
	{ "drop_address: reflected", FALCON_V_drop_address, .base = gcm_256, .header = reflected,
	  .verify = at_no_cost },
	{ "drop_no_credit", FALCON_V_drop_no_credit, .base = gcm_256, .header = no_credit },
	{ "drop_inner: missing", FALCON_V_drop_inner, .base = gcm_256, .header = tunnel_missing,
	  .verify = at_no_cost },
	{ "drop_inner: unexpected", FALCON_V_drop_inner, .base = gcm_256, .header = inner_header,
	  .verify = at_no_cost },
	{ "drop_psp: too much in the clear", FALCON_V_drop_psp, .base = gcm_256,
	  .framed = offset_more, .verify = at_no_cost },
	{ "drop_psp: CID encrypted", FALCON_V_drop_psp, .base = gcm_256, .framed = offset_less,
	  .verify = at_no_cost },
	{ "drop_psp: inner header encrypted", FALCON_V_drop_psp, .base = gcm_256, .header = tunnel4,
	  .framed = offset_none, .verify = at_no_cost },
	{ "drop_truncated: no room for the ICV", FALCON_V_drop_truncated, .base = gcm_256,
	  .packed = no_room_for_icv, .verify = at_no_cost },
	{ "drop_ip_length: cut in the ICV", FALCON_V_drop_ip_length, .base = gcm_256,
	  .framed = cut_in_icv, .verify = at_no_cost },
	{ "pass_not_falcon: clear in a tunnel", FALCON_V_pass_not_falcon, .header = inner_header,
	  .verify = at_no_cost },
	{ "pass_not_falcon: inner TCP", FALCON_V_pass_not_falcon, .base = gcm_256, .header = tunnel4,
	  .framed = inner_protocol, .verify = at_no_cost },
	{ "pass_not_falcon: inner options", FALCON_V_pass_not_falcon, .base = gcm_256,
	  .header = tunnel4, .framed = inner_options, .verify = at_no_cost },
	{ "pass_not_falcon: inner version", FALCON_V_pass_not_falcon, .base = gcm_256,
	  .header = tunnel6, .framed = inner_version, .verify = at_no_cost },
};

int main(void)
{
	return verdict_main("verdict_psp", cases, ARRAY_SIZE(cases), NULL);
}
