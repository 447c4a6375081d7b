// SPDX-License-Identifier: BSD-2-Clause
/* How large packets may be on a connection: links, headers, the search, and what the peer says. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <agent/agent.h>

/* IPv4, UDP, PSP in the clear, Falcon. */
enum { HEADERS = 20 + 8 + FALCON_PSP_HDR_LEN + (int)sizeof(struct falcon_push_hdr) };

static struct agent_conn conn;
static const struct ulp_ops ops = { .proto = FALCON_PROTO_RAW };
static struct ulp ulp = { .ops = &ops };
static struct agent *agent;

/* What path.c has asked of the others. */
static uint16_t searched[FCORE_PATH_SIZES];
static uint32_t nsearched, told, fails, ups;

int fcore_path_search(struct fcore_conn *c, const uint16_t *len_of, uint32_t sizes, uint8_t proto,
		      uint64_t now)
{
	(void)c, (void)now;
	assert_int_equal(proto, FALCON_PROTO_RAW);
	assert_true(sizes <= FCORE_PATH_SIZES);
	memcpy(searched, len_of, sizes * sizeof(*len_of));
	nsearched = sizes;
	return 0;
}

void cm_tell_path(struct cm *cm, uint32_t cid, uint32_t len)
{
	(void)cm, (void)cid;
	told = len;
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

static int setup(void **state)
{
	(void)state;
	memset(&conn, 0, sizeof(conn));
	agent = test_calloc(1, sizeof(*agent));
	conn.agent = agent;
	conn.ulp = &ulp;
	conn.cfg.family = AF_INET;
	conn.sec.encap = FALCON_PSP_CLEAR;
	conn.state = AGENT_CONN_RECEIVING;
	conn.peer.params.features = CM_FEATURE_PATH;
	nsearched = told = fails = ups = 0;
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

/* It is up when both directions are known, at the smaller. */
static void both_directions(void **state)
{
	(void)state;
	limit(1500, 0);
	agent_path_found(&conn, 1400);
	assert_int_equal(told, 1400);
	assert_int_equal(ups, 0);
	agent_path_told(&conn, 1300);
	assert_int_equal(ups, 1);
	assert_int_equal(conn.max_len, 1300);
	assert_int_equal(conn.mtu, 1300 + HEADERS);
}

static void the_peer_is_first(void **state)
{
	(void)state;
	limit(1500, 0);
	agent_path_told(&conn, 9000);
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
	assert_int_equal(told, 0);
	assert_int_equal(ups, 1);
	assert_int_equal(conn.max_len, 1400);
}

static void a_peer_that_says_next_to_nothing(void **state)
{
	(void)state;
	limit(1500, 0);
	agent_path_found(&conn, 1400);
	agent_path_told(&conn, 1);
	assert_int_equal(ups, 1);
	assert_int_equal(conn.max_len, 256);
}

static void while_up(void **state)
{
	(void)state;
	limit(1500, 0);
	agent_path_found(&conn, 1400);
	agent_path_told(&conn, 1400);
	agent_path_told(&conn, 1400);
	agent_path_found(&conn, 1400);
	assert_int_equal(fails, 0);
	agent_path_found(&conn, 1300);
	assert_int_equal(fails, 1);
	assert_int_equal(ups, 1);
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
	};

	return unit_run(tests);
}
