// SPDX-License-Identifier: BSD-2-Clause
/* Every reason for which a frame is dropped, or is none of ours: nothing may change. */
#include "verdict.h"

static struct falcon_psp_hdr *psp_of(struct verdict_packet *p)
{
	return (void *)(p->frame + packet_sec_off(&p->shape));
}

static struct udphdr *udp_of(struct verdict_packet *p)
{
	return (void *)(p->frame + packet_udp_off(&p->shape));
}

/* Not Falcon: the kernel's. */
FRAMED(other_ethertype)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) - 2] = 0x08;
	p->frame[packet_l3_off(&p->shape) - 1] = 0x06;
}

FRAMED(other_protocol)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) + (p->shape.ipv6 ? 6 : 9)] = IPPROTO_TCP;
}

FRAMED(other_port)
{
	UNUSED;
	udp_of(p)->dest = htobe16(1001);
}

FRAMED(other_next_header)
{
	UNUSED;
	psp_of(p)->next_header = 4;
}

FRAMED(ip_version)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape)] ^= 0x10;
}

/* A frame that ends before the PSP header does could be anybody's. */
FRAMED(cut_in_psp)
{
	UNUSED;
	p->len = packet_sec_off(&p->shape) + FALCON_PSP_HDR_LEN - 1;
}

FRAMED(cut_in_ip)
{
	UNUSED;
	p->len = packet_l3_off(&p->shape) + 19;
}

/* Lengths. */
PACKED(only_four_bytes)
{
	UNUSED;
	p->falcon_len = 4;
}

PACKED(short_push)
{
	UNUSED;
	p->falcon_len = sizeof(struct falcon_push_hdr) - 1;
}

PACKED(short_pull_request)
{
	UNUSED;
	p->falcon[7] = FALCON_PULL_REQUEST << 1;
	p->falcon_len = sizeof(struct falcon_pull_req_hdr) - 1;
}

PACKED(short_back)
{
	UNUSED;
	p->falcon[7] = FALCON_BACK << 1;
	p->falcon_len = sizeof(struct falcon_back_hdr) - 1;
}

PACKED(short_eack)
{
	UNUSED;
	p->falcon[7] = FALCON_EACK << 1;
	p->falcon_len = sizeof(struct falcon_eack_hdr) - 1;
}

PACKED(short_nack)
{
	UNUSED;
	p->falcon[7] = FALCON_NACK << 1;
	p->falcon_len = sizeof(struct falcon_nack_hdr) - 1;
}

FRAMED(cut_in_payload)
{
	UNUSED;
	p->len -= 1;
}

FRAMED(ip_length_tiny)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) + (p->shape.ipv6 ? 4 : 2)] = 0;
	p->frame[packet_l3_off(&p->shape) + (p->shape.ipv6 ? 5 : 3)] = p->shape.ipv6 ? 7 : 27;
}

FRAMED(udp_length_less)
{
	UNUSED;
	udp_of(p)->len = htobe16(be16toh(udp_of(p)->len) - 1);
	packet_fix_csum(p->frame, p->len);
}

FRAMED(udp_length_more)
{
	UNUSED;
	udp_of(p)->len = htobe16(be16toh(udp_of(p)->len) + 1);
}

HEADER(request_length_less)
{
	UNUSED;
	p->hdr.request_len--;
}

HEADER(request_length_more)
{
	UNUSED;
	p->hdr.request_len++;
}

/* ACKs, NACKs and Resyncs fill their packets exactly. */
PACKED(long_back)
{
	UNUSED;
	p->falcon[7] = FALCON_BACK << 1;
	p->falcon_len = sizeof(struct falcon_back_hdr) + 1;
}

PACKED(long_eack)
{
	UNUSED;
	p->falcon[7] = FALCON_EACK << 1;
	p->falcon_len = sizeof(struct falcon_eack_hdr) + 4;
}

PACKED(long_nack)
{
	UNUSED;
	p->falcon[7] = FALCON_NACK << 1;
	p->falcon_len = sizeof(struct falcon_nack_hdr) + 32;
}

HEADER(long_resync)
{
	UNUSED;
	p->hdr.type = FALCON_RESYNC;
	p->hdr.resync_code = FALCON_RESYNC_LOCAL_XLR;
	p->hdr.resync_type = FALCON_PUSH_DATA;
	p->payload = 1;
}

/* IPv4's own checksum: a hop limit that was damaged on the way, every byte of it, none, and another's. */
FRAMED(ip_csum_ttl)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) + 8] ^= 1;
}

FRAMED(ip_csum_first_byte)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) + 10] ^= 0x80;
}

FRAMED(ip_csum_last_byte)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) + 11] ^= 1;
}

FRAMED(ip_csum_missing)
{
	UNUSED;
	memset(p->frame + packet_l3_off(&p->shape) + 10, 0, 2);
}

/* Checksum: every kind of position, and none at all. */
FRAMED(csum_first_byte)
{
	UNUSED;
	p->frame[packet_udp_off(&p->shape)] ^= 1;
}

FRAMED(csum_last_byte)
{
	UNUSED;
	p->frame[p->len - 1] ^= 0x80;
}

FRAMED(csum_missing)
{
	UNUSED;
	udp_of(p)->check = 0;
}

HEADER(long_odd_payload)
{
	UNUSED;
	p->payload = 1403;
	p->hdr.request_len = 1403;
}

/* PSP. */
FRAMED(psp_no_one)
{
	UNUSED;
	psp_of(p)->flags &= (uint8_t)~FALCON_PSP_F_ONE;
	packet_fix_csum(p->frame, p->len);
}

FRAMED(psp_crypt_reserved)
{
	UNUSED;
	psp_of(p)->crypt_offset |= 0x80;
	packet_fix_csum(p->frame, p->len);
}

FRAMED(psp_ext_len)
{
	UNUSED;
	psp_of(p)->hdr_ext_len++;
	packet_fix_csum(p->frame, p->len);
}

HEADER(psp_encrypted)
{
	UNUSED;
	p->shape.encap = FALCON_PSP_AES_GCM_128;
}

HEADER(conn_not_clear)
{
	UNUSED;
	c->id.flags &= ~(uint32_t)FALCON_CONN_CLEAR;
}

/* Falcon header. */
PACKED(version_2)
{
	UNUSED;
	p->falcon[0] = 0x20;
}

PACKED(type_reserved)
{
	UNUSED;
	p->falcon[7] = 0x7 << 1;
}

HEADER(resync_code_0)
{
	UNUSED;
	p->hdr.type = FALCON_RESYNC;
	p->hdr.resync_type = FALCON_PUSH_DATA;
	p->payload = 0;
}

HEADER(resync_code_8)
{
	UNUSED;
	resync_code_0(e, c, p);
	p->hdr.resync_code = FALCON_RESYNC_MAX + 1;
}

HEADER(resync_of_ack)
{
	UNUSED;
	p->hdr.type = FALCON_RESYNC;
	p->hdr.resync_code = FALCON_RESYNC_LOCAL_XLR;
	p->hdr.resync_type = FALCON_BACK;
	p->payload = 0;
}

PACKED(nack_code_3)
{
	UNUSED;
	p->falcon[7] = FALCON_NACK << 1;
	p->falcon[36] = 3;
	p->falcon_len = sizeof(struct falcon_nack_hdr);
}

/* Connection. */
HEADER(cid_beyond_map)
{
	UNUSED;
	p->hdr.cid = FALCON_CONNS;
}

HEADER(cid_largest)
{
	UNUSED;
	p->hdr.cid = FALCON_CID_MASK;
}

HEADER(cid_unused)
{
	UNUSED;
	p->hdr.cid = ENV_CONNS;
}

/* The connection was given for one function, and the packet is for another. */
HEADER(other_function)
{
	UNUSED;
	c->id.rx_function = 0x123456;
	p->hdr.function = 0x123457;
}

HEADER(other_function_pull)
{
	other_function(e, c, p);
	p->hdr.type = FALCON_PULL_REQUEST;
}

HEADER(other_function_resync)
{
	other_function(e, c, p);
	p->hdr.type = FALCON_RESYNC;
	p->hdr.resync_code = FALCON_RESYNC_TXN_TIMEOUT;
	p->hdr.resync_type = FALCON_PUSH_DATA;
	p->payload = 0;
}

HEADER(wrong_saddr)
{
	UNUSED;
	p->shape.saddr[p->shape.ipv6 ? 15 : 3] ^= 1;
}

HEADER(wrong_daddr)
{
	UNUSED;
	p->shape.daddr[p->shape.ipv6 ? 8 : 0] ^= 1;
}

HEADER(wrong_family)
{
	UNUSED;
	c->id.flags ^= FALCON_CONN_IPV6;
}

/* The agent's side. */
HEADER(other_interface)
{
	UNUSED;
	p->ifindex = 1;
}

HEADER(queue_without_socket)
{
	UNUSED;
	p->queue = 1;
}

FRAMED(longer_than_buffers)
{
	static uint8_t big[ENV_MAX_FRAME];

	UNUSED;
	/* One byte too many, whatever the encapsulation. */
	p->falcon_len = ENV_MAX_FRAME + 1 - packet_falcon_off(&p->shape);
	memcpy(big, p->falcon, sizeof(struct falcon_push_hdr));
	((struct falcon_push_hdr *)big)->request_len =
		htobe16((uint16_t)(p->falcon_len - sizeof(struct falcon_push_hdr)));
	p->len = packet_build(&p->shape, big, p->falcon_len, p->frame);
}

PACKED(nack_no_credit)
{
	const struct falcon_ack a = {
		.cid = c->id.cid,
		.type = FALCON_NACK,
		.rdbpsn = ENV_PSN + 1,
		.rrbpsn = ENV_PSN,
		.nack_code = FALCON_NACK_RNR,
	};

	p->falcon_len = falcon_ack_pack(&a, p->falcon);
	e->credits[ENV_XSK].credits = 0;
}

/* IPv6 fragments carry an extension header and are not ours to look at. */
FRAMED(fragment)
{
	UNUSED;
	p->frame[packet_l3_off(&p->shape) + 6] = 0x20;
}

static const struct verdict_case cases[] = {
	{ "pass_not_falcon: ARP", FALCON_V_pass_not_falcon, .framed = other_ethertype },
	{ "pass_not_falcon: TCP", FALCON_V_pass_not_falcon, .framed = other_protocol },
	{ "pass_not_falcon: port 1001", FALCON_V_pass_not_falcon, .framed = other_port },
	{ "pass_not_falcon: other PSP", FALCON_V_pass_not_falcon, .framed = other_next_header },
	{ "pass_not_falcon: IP version", FALCON_V_pass_not_falcon, .framed = ip_version },
	{ "pass_not_falcon: cut in PSP", FALCON_V_pass_not_falcon, .framed = cut_in_psp },
	{ "pass_not_falcon: cut in IP", FALCON_V_pass_not_falcon, .framed = cut_in_ip },
	{ "drop_truncated: 4 bytes", FALCON_V_drop_truncated, .packed = only_four_bytes },
	{ "drop_truncated: Push Data", FALCON_V_drop_truncated, .packed = short_push },
	{ "drop_truncated: Pull Request", FALCON_V_drop_truncated, .packed = short_pull_request },
	{ "drop_truncated: BACK", FALCON_V_drop_truncated, .packed = short_back },
	{ "drop_truncated: EACK", FALCON_V_drop_truncated, .packed = short_eack },
	{ "drop_truncated: NACK", FALCON_V_drop_truncated, .packed = short_nack },
	{ "drop_ip_length: frame cut", FALCON_V_drop_ip_length, .framed = cut_in_payload },
	{ "drop_ip_length: below UDP's", FALCON_V_drop_ip_length, .framed = ip_length_tiny },
	{ "drop_ip_fragment", FALCON_V_drop_ip_fragment, .ipv4_only = true, .framed = fragment },
	{ "drop_ip_csum: TTL", FALCON_V_drop_ip_csum, .ipv4_only = true, .framed = ip_csum_ttl },
	{ "drop_ip_csum: first byte", FALCON_V_drop_ip_csum, .ipv4_only = true,
	  .framed = ip_csum_first_byte },
	{ "drop_ip_csum: last byte", FALCON_V_drop_ip_csum, .ipv4_only = true,
	  .framed = ip_csum_last_byte },
	{ "drop_ip_csum: missing", FALCON_V_drop_ip_csum, .ipv4_only = true, .framed = ip_csum_missing },
	{ "drop_udp_length: less", FALCON_V_drop_udp_length, .framed = udp_length_less },
	{ "drop_udp_length: more", FALCON_V_drop_udp_length, .framed = udp_length_more },
	{ "drop_length: BACK", FALCON_V_drop_length, .packed = long_back },
	{ "drop_length: EACK", FALCON_V_drop_length, .packed = long_eack },
	{ "drop_length: NACK", FALCON_V_drop_length, .packed = long_nack },
	{ "drop_length: Resync", FALCON_V_drop_length, .header = long_resync },
	{ "drop_csum: first byte", FALCON_V_drop_csum, .framed = csum_first_byte },
	{ "drop_csum: last byte", FALCON_V_drop_csum, .framed = csum_last_byte },
	{ "drop_csum: last byte, odd length", FALCON_V_drop_csum, .header = long_odd_payload,
	  .framed = csum_last_byte },
	{ "drop_csum: missing", FALCON_V_drop_csum, .framed = csum_missing },
	{ "drop_psp: bit that is always set", FALCON_V_drop_psp, .framed = psp_no_one },
	{ "drop_psp: reserved bits", FALCON_V_drop_psp, .framed = psp_crypt_reserved },
	{ "drop_psp: header length", FALCON_V_drop_psp, .framed = psp_ext_len },
	{ "drop_psp_version: encrypted", FALCON_V_drop_psp_version, .header = psp_encrypted },
	{ "drop_psp_version: not for clear", FALCON_V_drop_psp_version, .header = conn_not_clear },
	{ "drop_version", FALCON_V_drop_version, .packed = version_2 },
	{ "drop_type", FALCON_V_drop_type, .packed = type_reserved },
	{ "drop_length: less", FALCON_V_drop_length, .header = request_length_less },
	{ "drop_length: more", FALCON_V_drop_length, .header = request_length_more },
	{ "drop_code: Resync 0", FALCON_V_drop_code, .header = resync_code_0 },
	{ "drop_code: Resync 8", FALCON_V_drop_code, .header = resync_code_8 },
	{ "drop_code: Resync of an ACK", FALCON_V_drop_code, .header = resync_of_ack },
	{ "drop_code: NACK 3", FALCON_V_drop_code, .packed = nack_code_3 },
	{ "drop_cid: beyond the map", FALCON_V_drop_cid, .header = cid_beyond_map },
	{ "drop_cid: largest", FALCON_V_drop_cid, .header = cid_largest },
	{ "drop_cid: unused", FALCON_V_drop_cid, .header = cid_unused },
	{ "drop_function: another tenant's", FALCON_V_drop_function, .header = other_function },
	{ "drop_function: of a pull", FALCON_V_drop_function, .header = other_function_pull },
	{ "drop_function: of a Resync", FALCON_V_drop_function, .header = other_function_resync },
	{ "drop_not_alive", FALCON_V_drop_not_alive, .header = not_alive },
	{ "drop_address: source", FALCON_V_drop_address, .header = wrong_saddr },
	{ "drop_address: destination", FALCON_V_drop_address, .header = wrong_daddr },
	{ "drop_address: family", FALCON_V_drop_address, .header = wrong_family },
	{ "drop_pcid", FALCON_V_drop_pcid, .header = pcid_differs },
	{ "drop_replay", FALCON_V_drop_replay, .header = replayed },
	{ "drop_no_agent: other interface", FALCON_V_drop_no_agent, .header = other_interface },
	{ "drop_no_agent: no socket", FALCON_V_drop_no_agent, .header = queue_without_socket },
	{ "drop_too_big", FALCON_V_drop_too_big, .framed = longer_than_buffers },
	{ "drop_no_credit: steered", FALCON_V_drop_no_credit, .base = offload_off,
	  .header = no_credit },
	{ "drop_no_credit: NACK", FALCON_V_drop_no_credit, .packed = nack_no_credit },
};

int main(void)
{
	return verdict_main("verdict_drop", cases, ARRAY_SIZE(cases), NULL);
}
