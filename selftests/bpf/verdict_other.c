// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a host only bridges or forwards is left to the kernel, unchanged: frames for another station, and
 * packets that the kernel's routing would send on. What is none of both is dropped as ever.
 */
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

/* The host forwards, and 10.77.0.0/24 and fd00:77::/64 are behind the other end of the pair. */
static VERDICT_STEP(router)
{
	static bool done;

	UNUSED;
	if (done)
		return;
	done = true;
	assert_int_equal(system("sysctl -qw net.ipv4.conf.all.forwarding=1 net.ipv6.conf.all.forwarding=1 && "
				"ip addr add 10.77.0.1/24 dev fa && ip addr add fd00:77::1/64 dev fa nodad"),
			 0);
}

HEADER(unused)
{
	UNUSED;
	p->hdr.cid = ENV_CONNS;
}

/* For |last| in the network behind the host: 1 is the host itself. */
static void to_stub(struct verdict_packet *p, uint8_t last)
{
	static const uint8_t net4[4] = { 10, 77, 0, 0 }, net6[16] = { 0xfd, 0, 0, 0x77 };

	memcpy(p->shape.daddr, p->shape.ipv6 ? net6 : net4, p->shape.ipv6 ? 16 : 4);
	p->shape.daddr[p->shape.ipv6 ? 15 : 3] = last;
}

HEADER(unused_to_stub)
{
	unused(e, c, p);
	to_stub(p, 9);
}

HEADER(unused_to_host)
{
	unused(e, c, p);
	to_stub(p, 1);
}

/* Connections of other hosts may have a CID that one of ours has. */
HEADER(our_cid_to_stub)
{
	UNUSED;
	to_stub(p, 9);
}

HEADER(our_cid_to_host)
{
	UNUSED;
	to_stub(p, 1);
}

FRAMED(other_station)
{
	UNUSED;
	p->frame[5] ^= 0x40;
}

VERIFY(unchanged)
{
	at_no_cost(e, c, before, p, r);
	assert_int_equal(r->meta_len, 0);
	assert_int_equal(r->len, p->len);
	assert_memory_equal(r->buf, p->frame, p->len);
}

int main(void)
{
	static const struct verdict_case cases[] = {
		{ "another station, unused CID", FALCON_V_pass_other, .header = unused,
		  .framed = other_station, .verify = unchanged },
		{ "another station, our CID, other addresses", FALCON_V_pass_other,
		  .header = our_cid_to_stub, .framed = other_station, .verify = unchanged },
		{ "another station, our connection", FALCON_V_rx_data, .framed = other_station },
		{ "a host that does not forward", FALCON_V_drop_cid, .header = unused_to_stub },
		{ "forwarded, unused CID", FALCON_V_pass_other, .base = router,
		  .header = unused_to_stub, .verify = unchanged },
		{ "forwarded, our CID", FALCON_V_pass_other, .base = router,
		  .header = our_cid_to_stub, .verify = unchanged },
		{ "no route", FALCON_V_drop_cid, .base = router, .header = unused },
		{ "for the host, unused CID", FALCON_V_drop_cid, .base = router,
		  .header = unused_to_host },
		{ "for the host, our CID", FALCON_V_drop_address, .base = router,
		  .header = our_cid_to_host },
		{ "a router takes what is its own", FALCON_V_rx_data, .base = router },
	};

	return verdict_main("other", cases, sizeof(cases) / sizeof(cases[0]), NULL);
}
