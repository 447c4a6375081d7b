// SPDX-License-Identifier: BSD-2-Clause
/* How large packets may be on a connection: links, headers, the search, and what the peer says. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/conn.h"
#include "agent/conn/path.h"
#include "agent/conn/setup.h"
#include "cm/cm.h"

/* IPv4, UDP, PSP in the clear, Falcon. */
enum { HEADERS = 20 + 8 + FALCON_PSP_HDR_LEN + (int)sizeof(struct falcon_push_hdr) };

static struct agent_conn conn;
static struct ulp ulp;
static struct agent *agent;

/* What path.c has asked of the others. */
static uint16_t searched[FCORE_PATH_SIZES];
static uint32_t nsearched, searches, fails, ups, resizes;
static struct cm_path told;

int fcore_path_search(struct fcore_conn *c, const uint16_t *len_of, uint32_t sizes, uint8_t proto,
		      uint64_t now)
{
	(void)c, (void)now;
	assert_int_equal(proto, FALCON_PROTO_RAW);
	assert_true(sizes <= FCORE_PATH_SIZES);
	memcpy(searched, len_of, sizes * sizeof(*len_of));
	nsearched = sizes;
	searches++;
	return 0;
}

void cm_tell_path(struct cm *cm, uint32_t cid, const struct cm_path *path)
{
	(void)cm, (void)cid;
	told = *path;
}

int agent_conn_go_up(struct agent_conn *c)
{
	c->state = AGENT_CONN_UP;
	ups++;
	return 0;
}

void agent_conn_fail(struct agent_conn *c, const char *why)
{
	(void)c, (void)why;
	fails++;
}

static void conn_resized(void *self, uint32_t cid, uint32_t max_len)
{
	(void)self, (void)cid;
	assert_int_equal(max_len, conn.max_len);
	resizes++;
}

static const struct ulp_ops rigid = { .proto = FALCON_PROTO_RAW };
static const struct ulp_ops flexible = { .proto = FALCON_PROTO_RAW, .conn_resized = conn_resized };

static int setup(void **state)
{
	(void)state;
	memset(&conn, 0, sizeof(conn));
	agent = test_calloc(1, sizeof(*agent));
	conn.agent = agent;
	conn.shard = &agent->plane.shards[0];
	conn.core = (struct fcore_conn *)agent;	/* that there is one is all that matters */
	conn.ulp = &ulp;
	ulp.ops = &flexible;
	conn.cfg.handshake = conn.routed = true;
	conn.cfg.family = AF_INET;
	conn.sec.encap = FALCON_PSP_CLEAR;
	conn.state = AGENT_CONN_RECEIVING;
	conn.peer.params.features = CM_FEATURE_PATH;
	nsearched = searches = fails = ups = resizes = 0;
	told = (struct cm_path){};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	test_free(agent);
	return 0;
}

static int limit(uint32_t link, uint32_t peer)
{
	char err[128] = "";
	int rc;

	conn.route.mtu = link;
	conn.peer.params.mtu = peer;
	rc = agent_path_limit(&conn, err, sizeof(err));
	assert_int_equal(rc != 0, err[0] != 0);
	return rc;
}

static void links(void **state)
{
	(void)state;
	assert_int_equal(limit(1500, 0), 0);
	assert_int_equal(conn.max_len, 1500 - HEADERS);
	assert_int_equal(limit(1500, 1400), 0);
	assert_int_equal(conn.max_len, 1400 - HEADERS);
	assert_int_equal(limit(1400, 9000), 0);
	assert_int_equal(conn.max_len, 1400 - HEADERS);
	assert_int_equal(limit(9000, 9000), 0);
	assert_int_equal(conn.mtu, XSK_MAX_FRAME - ETH_HLEN);
	assert_int_equal(limit(576, 0), 0);
}

/* Of a link, or so says a peer. */
static void next_to_nothing(void **state)
{
	(void)state;
	assert_int_equal(limit(HEADERS + 255, 0), -EMSGSIZE);
	assert_int_equal(limit(1500, HEADERS + 1), -EMSGSIZE);
	assert_int_equal(limit(1500, 1), -EMSGSIZE);
	assert_int_equal(limit(HEADERS + 256, 0), 0);
}

static void searches_ascending_sizes(void **state)
{
	static const uint32_t mtus[] = { 576, 1280, 1281, 1450, 1499, 1500, 1501, 9000 };

	(void)state;
	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		assert_int_equal(limit(mtus[i], 0), 0);
		agent_path_search(&conn);
		assert_true(nsearched > 0);
		assert_int_equal(searched[nsearched - 1], conn.max_len);
		for (uint32_t n = 1; n < nsearched; n++)
			assert_true(searched[n - 1] < searched[n]);
		assert_int_equal(searched[0], (mtus[i] < 1280 ? mtus[i] : 1280) - HEADERS);
	}
}

/* The peer's end of the search has ended; |mtu| is its link's. */
static void peer_found(uint32_t len, uint32_t mtu)
{
	agent_path_told(&conn, &(struct cm_path){ .len = len, .mtu = mtu });
}

/* It is up when both directions are known, at the smaller. */
static void both_directions(void **state)
{
	(void)state;
	limit(1500, 0);
	agent_path_found(&conn, 1400);
	assert_int_equal(told.len, 1400);
	assert_int_equal(told.mtu, 1500);
	assert_int_equal(ups, 0);
	peer_found(1300, 0);
	assert_int_equal(ups, 1);
	assert_int_equal(conn.max_len, 1300);
	assert_int_equal(conn.mtu, 1300 + HEADERS);
}

static void the_peer_is_first(void **state)
{
	(void)state;
	limit(1500, 0);
	peer_found(9000, 0);
	assert_int_equal(ups, 0);
	agent_path_found(&conn, 1400);
	assert_int_equal(ups, 1);
	assert_int_equal(conn.max_len, 1400);
	assert_int_equal(conn.mtu, 1400 + HEADERS);
}

/* A peer that does not tell is not told, and not waited for. */
static void a_peer_without_it(void **state)
{
	(void)state;
	conn.peer.params.features = 0;
	limit(1500, 0);
	agent_path_found(&conn, 1400);
	assert_int_equal(told.len, 0);
	assert_int_equal(ups, 1);
	assert_int_equal(conn.max_len, 1400);
}

static void a_peer_that_says_next_to_nothing(void **state)
{
	(void)state;
	limit(1500, 0);
	agent_path_found(&conn, 1400);
	peer_found(1, 0);
	assert_int_equal(ups, 1);
	assert_int_equal(conn.max_len, 256);
}

static void up(uint32_t link)
{
	limit(link, 9000);
	agent_path_search(&conn);
	agent_path_found(&conn, conn.max_len);
	peer_found(conn.max_len, 9000);
	assert_int_equal(ups, 1);
	assert_int_equal(resizes, 0);
}

static void while_up(void **state)
{
	(void)state;
	up(1500);
	peer_found(1500 - HEADERS, 9000);
	agent_path_found(&conn, 1500 - HEADERS);
	assert_int_equal(resizes, 0);
	agent_path_found(&conn, 1300);
	assert_int_equal(resizes, 1);
	assert_int_equal(conn.mtu, 1300 + HEADERS);
	assert_int_equal(told.len, 1300);
	peer_found(1200, 9000);
	assert_int_equal(conn.max_len, 1200);
	peer_found(1500 - HEADERS, 9000);
	assert_int_equal(conn.max_len, 1300);
	agent_path_found(&conn, 1500 - HEADERS);
	assert_int_equal(conn.max_len, 1500 - HEADERS);
	assert_int_equal(resizes, 4);
	assert_int_equal(fails, 0);
	assert_int_equal(ups, 1);
	assert_int_equal(searches, 1);
}

/* The link of this end becomes smaller, and larger again. */
static void our_link(void **state)
{
	(void)state;
	up(1500);
	conn.route.mtu = 1400;
	agent_path_follow(&conn);
	assert_int_equal(conn.max_len, 1400 - HEADERS);
	assert_int_equal(told.mtu, 1400);
	assert_int_equal(told.len, 1400 - HEADERS);
	assert_int_equal(searches, 2);
	assert_int_equal(searched[nsearched - 1], 1400 - HEADERS);
	agent_path_found(&conn, 1400 - HEADERS);
	assert_int_equal(resizes, 1);
	conn.route.mtu = 1500;
	agent_path_follow(&conn);
	assert_int_equal(told.mtu, 1500);
	assert_int_equal(searches, 3);
	/* Not before the search says so. */
	assert_int_equal(conn.max_len, 1400 - HEADERS);
	agent_path_found(&conn, 1500 - HEADERS);
	assert_int_equal(conn.max_len, 1500 - HEADERS);
	assert_int_equal(resizes, 2);
	agent_path_follow(&conn);
	assert_int_equal(searches, 3);
	assert_int_equal(fails, 0);
}

static void the_peers_link(void **state)
{
	(void)state;
	up(1500);
	peer_found(1400 - HEADERS, 1400);
	assert_int_equal(conn.mtu, 1400);
	assert_int_equal(searches, 2);
	assert_int_equal(searched[nsearched - 1], 1400 - HEADERS);
	peer_found(1400 - HEADERS, 1500);
	assert_int_equal(searches, 3);
	agent_path_found(&conn, 1500 - HEADERS);
	peer_found(1500 - HEADERS, 1500);
	assert_int_equal(conn.mtu, 1500);
	assert_int_equal(searches, 3);
	/* For want of a route it does not know. */
	peer_found(1500 - HEADERS, 0);
	conn.route.mtu = 9000;
	agent_path_follow(&conn);
	assert_int_equal(conn.mtu, 1500);
	assert_int_equal(searches, 3);
	assert_int_equal(fails, 0);
	peer_found(1, 1);
	assert_int_equal(fails, 1);
}

/* No route: nothing is known of a link. */
static void without_a_route(void **state)
{
	(void)state;
	up(1500);
	conn.routed = false;
	conn.route.mtu = 0;
	agent_path_follow(&conn);
	peer_found(1400 - HEADERS, 1400);
	assert_int_equal(fails, 0);
	assert_int_equal(searches, 1);
}

/* An upper layer that cannot change its sizes starts over when they shrink, and waits when they grow. */
static void rigid_layer(void **state)
{
	(void)state;
	ulp.ops = &rigid;
	up(1400);
	conn.route.mtu = 1500;
	agent_path_follow(&conn);
	agent_path_found(&conn, 1500 - HEADERS);
	peer_found(1500 - HEADERS, 9000);
	assert_int_equal(conn.max_len, 1400 - HEADERS);
	assert_int_equal(fails, 0);
	agent_path_found(&conn, 1300);
	assert_int_equal(fails, 1);
}

/* Up at once, and what is not heard says nothing. */
static void without_a_handshake(void **state)
{
	(void)state;
	conn.cfg.handshake = false;
	conn.peer.params.features = 0;
	limit(1500, 0);
	conn.state = AGENT_CONN_UP;
	agent_path_search(&conn);
	agent_path_found(&conn, 0);
	assert_int_equal(conn.max_len, 1500 - HEADERS);
	agent_path_found(&conn, 1400);
	assert_int_equal(conn.max_len, 1400);
	assert_int_equal(resizes, 1);
	assert_int_equal(told.len, 0);
}

/* A peer that answers no probes. */
static void silent_peer(void **state)
{
	(void)state;
	limit(1500, 0);
	agent_path_search(&conn);
	agent_path_found(&conn, 0);
	peer_found(1400, 0);
	assert_int_equal(ups, 1);
	assert_int_equal(conn.mtu, 1280);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(links, setup, teardown),
		cmocka_unit_test_setup_teardown(next_to_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(searches_ascending_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(both_directions, setup, teardown),
		cmocka_unit_test_setup_teardown(the_peer_is_first, setup, teardown),
		cmocka_unit_test_setup_teardown(a_peer_without_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_peer_that_says_next_to_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(while_up, setup, teardown),
		cmocka_unit_test_setup_teardown(our_link, setup, teardown),
		cmocka_unit_test_setup_teardown(the_peers_link, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_route, setup, teardown),
		cmocka_unit_test_setup_teardown(rigid_layer, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_handshake, setup, teardown),
		cmocka_unit_test_setup_teardown(silent_peer, setup, teardown),
	};

	return unit_run(tests);
}
