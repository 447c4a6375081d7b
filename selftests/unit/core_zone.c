// SPDX-License-Identifier: BSD-2-Clause
/* What the core publishes for the receive path: zones (Falcon 8.2.4) and the next RSN. */
#include "core_env.h"

enum { CELL = 128, PACKETS = 20, RED_PERCENT = 50 };

static void open_pool(bool ordered)
{
	struct fcore_params p = env_params(ordered);
	struct fcore_config cfg;

	fcore_config_default(&cfg, 4);
	cfg.tx_cell = cfg.rx_cell = CELL;
	cfg.max_len = CELL;
	cfg.total[FCORE_NET_PKT_RX] = PACKETS;
	cfg.red_percent = RED_PERCENT;
	cfg.alpha = 1000 * FCORE_ALPHA_ONE;
	env_open_with(&p, &cfg);
}

static uint32_t conn_zone(void)
{
	return env.shared.rx_acked.zone;
}

static uint32_t next_rsn(void)
{
	return env.shared.rx_acked.next_rsn - ENV_PEER_RSN;
}

static void done(uint32_t rsn)
{
	fcore_push_done(env.c, ENV_PEER_RSN + rsn, FCORE_PUSH_ACK, 0, 0, env.now);
}

static void s8_2_4_zone_follows_the_pool(void **state)
{
	(void)state;
	open_pool(false);
	for (uint32_t i = 0; i < PACKETS; i++) {
		assert_int_equal(env.zone, i < PACKETS * RED_PERCENT / 100 ? FALCON_ZONE_GREEN
									   : FALCON_ZONE_RED);
		env_receive_push(i, i, false);
	}
	assert_int_equal(env.zone, FALCON_ZONE_CLOSED);
	assert_int_equal(env.zones, 2);
	/* The first that is given back opens it again. */
	done(7);
	assert_int_equal(env.zone, FALCON_ZONE_RED);
	for (uint32_t i = 0; i < PACKETS; i++)
		done(i);
	assert_int_equal(env.zone, FALCON_ZONE_GREEN);
	assert_int_equal(env.zones, 4);
	env_close();
}

static void s8_2_4_zone_of_a_connection(void **state)
{
	uint32_t limit[FCORE_RESOURCES];

	(void)state;
	open_pool(false);
	for (int r = 0; r < FCORE_RESOURCES; r++)
		limit[r] = FCORE_NO_LIMIT;
	limit[FCORE_NET_PKT_RX] = 4;
	fcore_limit_conn(env.c, limit);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(conn_zone(), i < 3 ? FALCON_ZONE_GREEN : FALCON_ZONE_RED);
		env_receive_push(i, i, false);
	}
	assert_int_equal(conn_zone(), FALCON_ZONE_CLOSED);
	assert_int_equal(env.zone, FALCON_ZONE_GREEN);
	done(0);
	assert_int_equal(conn_zone(), FALCON_ZONE_RED);
	/* A raised limit counts at once. */
	limit[FCORE_NET_PKT_RX] = 10;
	fcore_limit_conn(env.c, limit);
	assert_int_equal(conn_zone(), FALCON_ZONE_GREEN);
	env_close();
}

/* The head of the line: moved by delivery, over what has arrived; not by what is behind a gap. */
static void s8_5_1_next_rsn_is_published(void **state)
{
	(void)state;
	open_pool(true);
	assert_int_equal(next_rsn(), 0);
	env_receive_push(1, 1, false);
	env_receive_push(2, 2, false);
	assert_int_equal(next_rsn(), 0);
	env_receive_push(0, 0, false);
	assert_int_equal(next_rsn(), 3);
	done(0);
	assert_int_equal(next_rsn(), 3);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s8_2_4_zone_follows_the_pool),
		cmocka_unit_test(s8_2_4_zone_of_a_connection),
		cmocka_unit_test(s8_5_1_next_rsn_is_published),
	};

	return unit_run(tests);
}
