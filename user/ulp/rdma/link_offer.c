// SPDX-License-Identifier: BSD-2-Clause
/* What two ends of a link tell each other with the offer of its connection, and whom GIDs name. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "ulp/rdma/link.h"

static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static void put32(uint8_t *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, sizeof(v));
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return ntohl(v);
}

void link_offer_pack(const struct link_offer *o, struct ulp_data *out)
{
	memset(out, 0, sizeof(*out));
	out->len = LINK_OFFER_LEN;
	out->bytes[0] = LINK_OFFER_VERSION;
	out->bytes[1] = o->kind;
	out->bytes[2] = o->modes;
	out->bytes[3] = o->extensions;
	put32(out->bytes + 4, o->src_qpn);
	put32(out->bytes + 8, o->dst_qpn);
	put32(out->bytes + 12, o->max_len);
}

static const char *problem(const struct ulp_data *in, const struct link_offer *o)
{
	bool rc = o->kind == LINK_RC;

	if (in->len != LINK_OFFER_LEN || in->bytes[0] != LINK_OFFER_VERSION)
		return "RDMA offers of version 3 have 16 bytes";
	if (!rc && o->kind != LINK_DATAGRAM)
		return "no such kind of RDMA connection";
	if (rc ? !o->src_qpn || !o->dst_qpn || (o->src_qpn | o->dst_qpn) >> 24
	       : (o->src_qpn | o->dst_qpn) >= RDMA_GROUP_MAX)
		return "queue pair numbers of the RDMA offer are out of range";
	if (o->modes & ~RDMA_LINK_MODES || (!rc && o->modes & ~RDMA_LINK_ORDERED) ||
	    (o->modes & RDMA_LINK_ORDERED && o->modes & RDMA_LINK_UNORDERED))
		return "no such mode of an RDMA connection";
	if (o->max_len < LINK_MIN_LEN)
		return "transactions of the RDMA offer are too small";
	return NULL;
}

int link_offer_unpack(const struct ulp_data *in, struct link_offer *o, char *err, size_t errlen)
{
	const char *why;

	*o = (struct link_offer){
		.kind = in->bytes[1],
		.modes = in->bytes[2],
		.extensions = in->bytes[3],
		.src_qpn = get32(in->bytes + 4),
		.dst_qpn = get32(in->bytes + 8),
		.max_len = get32(in->bytes + 12),
	};
	why = problem(in, o);
	if (!why)
		return 0;
	snprintf(err, errlen, "%s", why);
	return -EPROTO;
}

uint32_t rdma_links_dial_for(const struct ulp_data *data)
{
	struct link_offer o;
	char err[128];

	if (link_offer_unpack(data, &o, err, sizeof(err)) < 0)
		return 0;
	return o.kind == LINK_RC ? rdma_qpn_member(o.dst_qpn) : o.dst_qpn;
}

/* The address that |gid| stands for: IPv4 as ::ffff:a.b.c.d. */
static int address(const uint8_t gid[16], struct falcon_addr *out)
{
	*out = (struct falcon_addr){ 0 };
	if (memcmp(gid, mapped, sizeof(mapped)) != 0) {
		memcpy(out->b, gid, 16);
		return AF_INET6;
	}
	memcpy(out->b, gid + sizeof(mapped), 4);
	return AF_INET;
}

void link_gid(int family, const struct falcon_addr *addr, uint8_t gid[16])
{
	memcpy(gid, addr->b, 16);
	if (family == AF_INET) {
		memcpy(gid, mapped, sizeof(mapped));
		memcpy(gid + sizeof(mapped), addr->b, 4);
	}
}

int link_ends(const struct rdma *r, uint32_t device, const struct fverbs_ah_attr *ah,
	      struct ulp_ends *out, char *err, size_t errlen)
{
	const struct fverbs_device *d = device < r->ndevices ? &r->devices[device] : NULL;
	static const uint8_t none[16];
	int family;

	*out = (struct ulp_ends){};
	if (!d || ah->sgid_index >= d->ngids) {
		snprintf(err, errlen, "sgid_index %u: the device has %u GIDs", ah->sgid_index,
			 d ? d->ngids : 0);
		return -EINVAL;
	}
	if (!ah->is_global || !memcmp(ah->dgid, none, 16)) {
		snprintf(err, errlen, "a path needs a GID (is_global = 1): there are no LIDs");
		return -EINVAL;
	}
	out->family = address(ah->dgid, &out->remote);
	family = address(d->gids[ah->sgid_index].raw, &out->local);
	if (family == out->family)
		return 0;
	snprintf(err, errlen, "sgid_index %u is an IPv%u address, the peer's GID an IPv%u one",
		 ah->sgid_index, family == AF_INET ? 4 : 6, out->family == AF_INET ? 4 : 6);
	return -EINVAL;
}
