// SPDX-License-Identifier: BSD-2-Clause
/* What rtnetlink says of links, VLANs among them, by messages made by hand. */
#include "unit.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include <agent/net/neigh_msg.h>

enum { INDEX = 7, LOWER = 3 };

static char buf[4096] __attribute__((aligned(8)));
static struct nlmsghdr *msg;
static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };

/* A link that is up; its attributes follow. */
static int setup(void **state)
{
	struct ifinfomsg *ifi;

	(void)state;
	memset(buf, 0, sizeof(buf));
	msg = mnl_nlmsg_put_header(buf);
	msg->nlmsg_type = RTM_NEWLINK;
	ifi = mnl_nlmsg_put_extra_header(msg, sizeof(*ifi));
	ifi->ifi_index = INDEX;
	ifi->ifi_flags = IFF_UP | IFF_RUNNING;
	mnl_attr_put(msg, IFLA_ADDRESS, sizeof(mac), mac);
	mnl_attr_put_u32(msg, IFLA_MTU, 1496);
	return 0;
}

/* A link of |kind| over LOWER, with VLAN |id|, and priorities mapped if |map|. */
static void put_kind(const char *kind, uint16_t id, uint16_t tpid, bool map)
{
	const struct ifla_vlan_qos_mapping pcp[] = { { .from = 4, .to = 7 }, { .from = 0, .to = 5 } };
	struct nlattr *info, *data, *qos;

	mnl_attr_put_u32(msg, IFLA_LINK, LOWER);
	info = mnl_attr_nest_start(msg, IFLA_LINKINFO);
	mnl_attr_put_strz(msg, IFLA_INFO_KIND, kind);
	data = mnl_attr_nest_start(msg, IFLA_INFO_DATA);
	mnl_attr_put_u16(msg, IFLA_VLAN_ID, id);
	if (tpid)
		mnl_attr_put_u16(msg, IFLA_VLAN_PROTOCOL, htons(tpid));
	if (map) {
		qos = mnl_attr_nest_start(msg, IFLA_VLAN_EGRESS_QOS);
		for (unsigned int i = 0; i < ARRAY_SIZE(pcp); i++)
			mnl_attr_put(msg, IFLA_VLAN_QOS_MAPPING, sizeof(pcp[i]), &pcp[i]);
		mnl_attr_nest_end(msg, qos);
	}
	mnl_attr_nest_end(msg, data);
	mnl_attr_nest_end(msg, info);
}

static struct neigh_link parse(void)
{
	struct neigh_link link;

	memset(&link, 0xff, sizeof(link));
	neigh_parse_link(msg, &link);
	assert_true(link.running);
	assert_false(link.no_arp);
	assert_int_equal(link.mtu, 1496);
	assert_memory_equal(link.mac, mac, 6);
	return link;
}

static void assert_tag(const struct neigh_link *link, uint16_t tpid, uint16_t tci)
{
	const uint8_t want[] = { (uint8_t)(tpid >> 8), (uint8_t)tpid, (uint8_t)(tci >> 8), (uint8_t)tci };

	assert_int_equal(link->lower, LOWER);
	assert_memory_equal(link->tag, want, sizeof(want));
}

static void plain(void **state)
{
	(void)state;
	assert_int_equal(parse().lower, 0);
}

static void vlan(void **state)
{
	struct neigh_link link;

	(void)state;
	put_kind("vlan", 100, ETH_P_8021Q, false);
	link = parse();
	assert_tag(&link, 0x8100, 100);
}

/* Kernels before 3.10 do not tell the protocol: they have but one. */
static void vlan_without_protocol(void **state)
{
	struct neigh_link link;

	(void)state;
	put_kind("vlan", 4094, 0, false);
	link = parse();
	assert_tag(&link, 0x8100, 4094);
}

static void service_vlan_with_priority(void **state)
{
	struct neigh_link link;

	(void)state;
	put_kind("vlan", 7, ETH_P_8021AD, true);
	link = parse();
	assert_tag(&link, 0x88a8, 5 << 13 | 7);
}

/* Others that lie over a device put no tags into frames, whatever their attributes mean. */
static void other_kinds(void **state)
{
	(void)state;
	put_kind("macvlan", 100, ETH_P_8021Q, true);
	assert_int_equal(parse().lower, 0);
}

/* The device below is not one of ours. */
static void lower_in_another_namespace(void **state)
{
	(void)state;
	put_kind("vlan", 100, ETH_P_8021Q, false);
	mnl_attr_put_u32(msg, IFLA_LINK_NETNSID, 0);
	assert_int_equal(parse().lower, 0);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(plain), TEST(vlan), TEST(vlan_without_protocol), TEST(service_vlan_with_priority),
		TEST(other_kinds), TEST(lower_in_another_namespace),
	};

	return unit_run(tests);
}
