// SPDX-License-Identifier: BSD-2-Clause
/* rtnetlink questions and answers: see neigh_msg.h. */
#include "agent/net/neigh_msg.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

enum { ANSWER_MAX = 16384 };	/* bytes; a link with many attributes is the longest */

static size_t addr_len(int family)
{
	return family == AF_INET6 ? 16 : 4;
}

/* Copy an attribute's bytes if there are at least |len|. */
static void copy(void *to, const struct nlattr *attr, size_t len)
{
	if (mnl_attr_get_payload_len(attr) >= len)
		memcpy(to, mnl_attr_get_payload(attr), len);
}

static uint32_t get_u32(const struct nlattr *attr)
{
	uint32_t v = 0;

	copy(&v, attr, sizeof(v));
	return v;
}

static void *start(struct neigh_nl *nl, void *buf, uint16_t type, uint16_t flags, size_t body)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++nl->seq;
	return mnl_nlmsg_put_extra_header(nlh, body);
}

/* Send the question in |buf| and hand its answer to |parse|. */
static int ask(struct neigh_nl *nl, const void *buf, mnl_cb_t parse, void *out)
{
	/* On the stack: questions are rare, and aligned as a header must be. */
	char answer[ANSWER_MAX] __attribute__((aligned(8)));
	const struct nlmsghdr *nlh = buf;
	unsigned int portid = mnl_socket_get_portid(nl->sock);
	ssize_t n;
	int ret;

	if (mnl_socket_sendto(nl->sock, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		n = mnl_socket_recvfrom(nl->sock, answer, sizeof(answer));
		if (n < 0)
			return -errno;
		/* Left over from a question that was given up: not ours. */
	} while ((size_t)n >= sizeof(*nlh) && ((struct nlmsghdr *)answer)->nlmsg_seq != nl->seq);
	ret = mnl_cb_run(answer, (size_t)n, nl->seq, portid, parse, out);
	return ret < 0 ? -errno : 0;
}

static int parse_metrics(const struct nlattr *attr, void *arg)
{
	struct neigh_route *out = arg;

	if (mnl_attr_get_type(attr) == RTAX_MTU)
		out->mtu = get_u32(attr);
	return MNL_CB_OK;
}

/* RTA_VIA: a next hop of another family than the route's. */
static void parse_via(const struct nlattr *attr, struct neigh_route *out)
{
	const struct rtvia *via = mnl_attr_get_payload(attr);
	size_t len = mnl_attr_get_payload_len(attr);

	if (len < sizeof(*via) || len < sizeof(*via) + addr_len(via->rtvia_family))
		return;
	out->family = via->rtvia_family;
	out->hop = (struct falcon_addr){ 0 };
	memcpy(out->hop.b, via->rtvia_addr, addr_len(out->family));
}

static int parse_route(const struct nlmsghdr *nlh, void *arg)
{
	const struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	struct neigh_route *out = arg;
	const struct nlattr *attr;
	size_t len = addr_len(rtm->rtm_family);

	out->local = rtm->rtm_type == RTN_LOCAL;
	mnl_attr_for_each(attr, nlh, sizeof(*rtm)) {
		switch (mnl_attr_get_type(attr)) {
		case RTA_OIF: out->ifindex = (int)get_u32(attr); break;
		case RTA_GATEWAY: copy(out->hop.b, attr, len); break;
		case RTA_VIA: parse_via(attr, out); break;
		case RTA_PREFSRC: copy(out->src.b, attr, len); break;
		case RTA_METRICS: mnl_attr_parse_nested(attr, parse_metrics, out); break;
		default: break;
		}
	}
	return MNL_CB_OK;
}

int neigh_ask_route(struct neigh_nl *nl, int family, const struct falcon_addr *dst,
		    struct neigh_route *out)
{
	char buf[MNL_SOCKET_BUFFER_SIZE] __attribute__((aligned(8)));
	struct rtmsg *rtm = start(nl, buf, RTM_GETROUTE, 0, sizeof(*rtm));
	int ret;

	rtm->rtm_family = (unsigned char)family;
	rtm->rtm_dst_len = (unsigned char)(addr_len(family) * 8);
	mnl_attr_put((struct nlmsghdr *)buf, RTA_DST, addr_len(family), dst->b);
	memset(out, 0, sizeof(*out));
	out->family = family;
	memcpy(out->hop.b, dst->b, addr_len(family));
	ret = ask(nl, buf, parse_route, out);
	return ret == 0 && out->ifindex == 0 ? -ENETUNREACH : ret;
}

/* What RTM_NEWLINK says of a VLAN, before it is known whether all of it is there. */
struct vlan {
	bool is_vlan;		/* the link's kind */
	bool elsewhere;		/* the device below is in another network namespace */
	int lower;
	uint16_t id;
	uint16_t tpid;		/* network byte order */
	uint32_t pcp;		/* of packets with the priority that ours have, 0 */
};

/* The map from a packet's priority to the PCP of its tag. */
static void parse_egress_map(const struct nlattr *map, struct vlan *v)
{
	const struct nlattr *attr;
	struct ifla_vlan_qos_mapping m = {};

	mnl_attr_for_each_nested(attr, map) {
		if (mnl_attr_get_type(attr) != IFLA_VLAN_QOS_MAPPING)
			continue;
		copy(&m, attr, sizeof(m));
		if (m.from == 0)
			v->pcp = m.to;
	}
}

static void parse_vlan_data(const struct nlattr *data, struct vlan *v)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, data) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_VLAN_ID: copy(&v->id, attr, sizeof(v->id)); break;
		case IFLA_VLAN_PROTOCOL: copy(&v->tpid, attr, sizeof(v->tpid)); break;
		case IFLA_VLAN_EGRESS_QOS: parse_egress_map(attr, v); break;
		default: break;
		}
	}
}

static void parse_kind(const struct nlattr *info, struct vlan *v)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, info) {
		if (mnl_attr_get_type(attr) == IFLA_INFO_KIND)
			v->is_vlan = strcmp(mnl_attr_get_str(attr), "vlan") == 0;
	}
	/* Other kinds number their attributes in their own way. */
	mnl_attr_for_each_nested(attr, info) {
		if (v->is_vlan && mnl_attr_get_type(attr) == IFLA_INFO_DATA)
			parse_vlan_data(attr, v);
	}
}

static void put_tag(const struct vlan *v, struct neigh_link *out)
{
	uint16_t tci = htons((uint16_t)(v->pcp << 13 | (v->id & 0xfff)));

	if (!v->is_vlan || v->elsewhere)
		return;
	out->lower = v->lower;
	memcpy(out->tag, &v->tpid, sizeof(v->tpid));
	memcpy(out->tag + sizeof(v->tpid), &tci, sizeof(tci));
}

void neigh_parse_link(const struct nlmsghdr *nlh, struct neigh_link *out)
{
	const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);
	struct vlan vlan = { .tpid = htons(ETH_P_8021Q) };
	const struct nlattr *attr;

	*out = (struct neigh_link){
		.running = (ifi->ifi_flags & IFF_UP) && (ifi->ifi_flags & IFF_RUNNING),
		.no_arp = ifi->ifi_flags & (IFF_NOARP | IFF_LOOPBACK),
	};
	mnl_attr_for_each(attr, nlh, sizeof(*ifi)) {
		switch (mnl_attr_get_type(attr)) {
		case IFLA_ADDRESS: copy(out->mac, attr, sizeof(out->mac)); break;
		case IFLA_MTU: out->mtu = get_u32(attr); break;
		case IFLA_LINK: vlan.lower = (int)get_u32(attr); break;
		case IFLA_LINK_NETNSID: vlan.elsewhere = true; break;
		case IFLA_LINKINFO: parse_kind(attr, &vlan); break;
		default: break;
		}
	}
	put_tag(&vlan, out);
}

static int parse_link(const struct nlmsghdr *nlh, void *arg)
{
	neigh_parse_link(nlh, arg);
	return MNL_CB_OK;
}

int neigh_ask_link(struct neigh_nl *nl, int ifindex, struct neigh_link *out)
{
	char buf[MNL_SOCKET_BUFFER_SIZE] __attribute__((aligned(8)));
	struct ifinfomsg *ifi = start(nl, buf, RTM_GETLINK, 0, sizeof(*ifi));

	ifi->ifi_index = ifindex;
	/* Spares the kernel the counting of statistics and of virtual functions. */
	mnl_attr_put_u32((struct nlmsghdr *)buf, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	memset(out, 0, sizeof(*out));
	return ask(nl, buf, parse_link, out);
}

bool neigh_parse_state(const struct nlmsghdr *nlh, struct neigh_state *out)
{
	const struct ndmsg *ndm = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*ndm) ||
	    (ndm->ndm_family != AF_INET && ndm->ndm_family != AF_INET6))
		return false;
	*out = (struct neigh_state){
		.ifindex = ndm->ndm_ifindex, .family = ndm->ndm_family, .nud = ndm->ndm_state};
	mnl_attr_for_each(attr, nlh, sizeof(*ndm)) {
		if (mnl_attr_get_type(attr) == NDA_DST)
			copy(out->addr.b, attr, addr_len(out->family));
		else if (mnl_attr_get_type(attr) == NDA_LLADDR)
			copy(out->mac, attr, sizeof(out->mac));
	}
	return true;
}

static int parse_neigh(const struct nlmsghdr *nlh, void *arg)
{
	neigh_parse_state(nlh, arg);
	return MNL_CB_OK;
}

static struct ndmsg *start_neigh(struct neigh_nl *nl, void *buf, uint16_t type, uint16_t flags,
				 int ifindex, int family, const struct falcon_addr *addr)
{
	struct ndmsg *ndm = start(nl, buf, type, flags, sizeof(*ndm));

	ndm->ndm_family = (unsigned char)family;
	ndm->ndm_ifindex = ifindex;
	mnl_attr_put(buf, NDA_DST, addr_len(family), addr->b);
	return ndm;
}

int neigh_ask_state(struct neigh_nl *nl, int ifindex, int family, const struct falcon_addr *addr,
		    struct neigh_state *out)
{
	char buf[MNL_SOCKET_BUFFER_SIZE] __attribute__((aligned(8)));

	start_neigh(nl, buf, RTM_GETNEIGH, 0, ifindex, family, addr);
	memset(out, 0, sizeof(*out));
	return ask(nl, buf, parse_neigh, out);
}

int neigh_ask_probe(struct neigh_nl *nl, int ifindex, int family, const struct falcon_addr *addr)
{
	char buf[MNL_SOCKET_BUFFER_SIZE] __attribute__((aligned(8)));
	struct ndmsg *ndm = start_neigh(nl, buf, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_ACK, ifindex,
					family, addr);

	/* As if a packet were on its way: an entry is made if need be, and resolved. */
	ndm->ndm_flags = NTF_USE;
	ndm->ndm_state = NUD_NONE;
	return ask(nl, buf, NULL, NULL);
}
