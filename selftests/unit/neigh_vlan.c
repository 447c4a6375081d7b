// SPDX-License-Identifier: BSD-2-Clause
/* Routes over VLANs, over a kernel of the test's: few machines' kernels have them. */
#include "unit.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <string.h>
#include <sys/socket.h>

#include <agent/net/neigh.h>
#include <agent/net/neigh_msg.h>

/* Links by index: 1 is a device, each other is a VLAN over the one before. */
enum { PORT = 1, LINKS = 5 };

static struct neigh_link links[LINKS];
static int route_over;
static int asked_neigh;		/* link that the next hop was asked for on */
static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

int neigh_ask_route(struct neigh_nl *nl, int family, const struct falcon_addr *dst, struct neigh_route *out)
{
	(void)nl;
	*out = (struct neigh_route){ .ifindex = route_over, .family = family };
	out->hop = *dst;
	return 0;
}

int neigh_ask_link(struct neigh_nl *nl, int ifindex, struct neigh_link *out)
{
	(void)nl;
	if (ifindex < 1 || ifindex >= LINKS)
		return -ENODEV;
	*out = links[ifindex];
	return 0;
}

int neigh_ask_state(struct neigh_nl *nl, int ifindex, int family, const struct falcon_addr *addr,
		    struct neigh_state *out)
{
	(void)nl, (void)addr;
	asked_neigh = ifindex;
	*out = (struct neigh_state){ .ifindex = ifindex, .family = family, .nud = NUD_PERMANENT };
	memcpy(out->mac, peer_mac, 6);
	return 0;
}

int neigh_ask_probe(struct neigh_nl *nl, int ifindex, int family, const struct falcon_addr *addr)
{
	(void)nl, (void)ifindex, (void)family, (void)addr;
	fail_msg("a permanent neighbour is not to be probed");
	return -EINVAL;
}

bool neigh_parse_state(const struct nlmsghdr *nlh, struct neigh_state *out)
{
	(void)nlh, (void)out;
	return false;
}

static void changed(void *arg)
{
	(void)arg;
}

static struct neigh *n;

static int setup(void **state)
{
	char err[256];

	(void)state;
	for (int i = PORT; i < LINKS; i++)
		links[i] = (struct neigh_link){
			.mtu = (uint32_t)(1500 - 4 * (i - PORT)),
			.mac = { 2, 0, 0, 0, 1, (uint8_t)i },
			.lower = i - PORT,
			.tag = { 0x81, 0, 0, (uint8_t)i },
			.running = true,
		};
	asked_neigh = 0;
	return neigh_open(&n, changed, NULL, err, sizeof(err));
}

static int teardown(void **state)
{
	(void)state;
	neigh_close(n);
	return 0;
}

static int resolve(int over, struct neigh_entry *e)
{
	static const struct falcon_addr dst = { { 10, 0, 0, 2 } };

	route_over = over;
	return neigh_resolve(n, AF_INET, &dst, e);
}

/* None, one and two; the tag of the lower VLAN comes first. */
static void tags_of_all_below(void **state)
{
	static const uint8_t tags[] = { 0x81, 0, 0, 2, 0x81, 0, 0, 3 };
	struct neigh_entry e;

	(void)state;
	for (int over = PORT; over <= PORT + FALCON_MAX_VLANS; over++) {
		assert_int_equal(resolve(over, &e), 0);
		assert_int_equal(e.ifindex, PORT);
		assert_int_equal(e.tags_len, (over - PORT) * FALCON_VLAN_TAG_LEN);
		assert_memory_equal(e.tags, tags, e.tags_len);
		assert_int_equal(e.mtu, links[over].mtu);
		assert_memory_equal(e.src_mac, links[over].mac, 6);
		assert_true(e.reachable);
		assert_int_equal(asked_neigh, over);
		assert_memory_equal(e.dst_mac, peer_mac, 6);
		neigh_release(&e);
	}
}

/* The receiver does not look for three. */
static void three(void **state)
{
	struct neigh_entry e;

	(void)state;
	assert_int_equal(resolve(4, &e), -EOPNOTSUPP);
	assert_null(e.hop);
}

/* A VLAN that is up over a device that is not carries nothing. */
static void device_is_down(void **state)
{
	struct neigh_entry e;

	(void)state;
	links[PORT].running = false;
	assert_int_equal(resolve(2, &e), 0);
	assert_false(e.reachable);
	assert_null(e.hop);
}

static void device_has_gone(void **state)
{
	struct neigh_entry e;

	(void)state;
	links[2].lower = LINKS;
	assert_int_equal(resolve(2, &e), -ENODEV);
	assert_null(e.hop);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tags_of_all_below), TEST(three), TEST(device_is_down), TEST(device_has_gone),
	};

	return unit_run(tests);
}
