// SPDX-License-Identifier: BSD-2-Clause
/* Which requests the target admits when resources run short, and what it tells the others (8.2, 11). */
#include "core_held.h"
#include "core_target_env.h"

/* Receiver's table: exceeding a limit per NIC, per host, per function or per connection. */
static void s11_receiver_exceeding_resource_limit_drops_and_nacks(void **state)
{
	(void)state;
	for (int level = 0; level < FCORE_LEVELS; level++) {
		struct fcore_config cfg = held_config();
		struct fcore_params p = env_params(true);

		if (level == FCORE_LEVEL_NIC)
			cfg.total[FCORE_NET_BUF_RX] = 10;
		env_open_with(&p, &cfg);
		if (level != FCORE_LEVEL_NIC)
			held_limit((enum fcore_level)level, FCORE_NET_BUF_RX, 10);
		held_receive(false, 0, 0, 1000);
		assert_int_equal(env.nevents, 1);
		env.nsent = 0;
		held_receive(false, 1, 1, 1000);
		expect_nack(0, FALCON_NACK_RESOURCE, 1);
		assert_int_equal(env.nevents + (uint32_t)env.frames, 2);
		EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 8);
		assert_int_equal(fcore_resources(env.core, (enum fcore_level)level,
						 level == FCORE_LEVEL_CONN ? ENV_CID : 0)
					 ->refused[FCORE_NET_BUF_RX],
				 1);
		/* It comes again, as what was not received. */
		done(0, FCORE_PUSH_ACK, 0, 0);
		held_receive(false, 1, 1, 1000);
		assert_int_equal(env.nevents, 2);
		env_close();
	}
}

/* 20 packets, of which 15 are green; 100 cells. */
static void open_red(bool ordered)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(ordered);

	cfg.total[FCORE_NET_PKT_RX] = 20;
	cfg.alpha = 1000 * FCORE_ALPHA_ONE;
	env_open_with(&p, &cfg);
}

static void s8_2_4_red_zone_admits_only_head_of_line_requests(void **state)
{
	(void)state;
	open_red(true);
	assert_int_equal(fcore_zone(env.core), FALCON_ZONE_GREEN);
	for (uint32_t i = 0; i < 15; i++)
		held_receive(false, 1 + i, 1 + i, 0);
	assert_int_equal(fcore_zone(env.core), FALCON_ZONE_RED);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 15, 0);
	held_receive(false, 16, 16, 0);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 15, 0);
	expect_nack(0, FALCON_NACK_RESOURCE, 16);
	assert_int_equal(env.nevents, 0);
	/* The one that all wait for. */
	env.answer = true;
	held_receive(false, 0, 0, 0);
	assert_int_equal(env.nevents, 16);
	EXPECT_HELD(0);
	assert_int_equal(fcore_zone(env.core), FALCON_ZONE_GREEN);
	held_receive(false, 16, 16, 0);
	assert_int_equal(env.nevents, 17);
	env_close();
}

/* The receive path is told: the zone of the connection's own limits, and who is next. */
static void s8_2_4_zone_and_next_rsn_are_published(void **state)
{
	(void)state;
	held_open(true);
	held_limit(FCORE_LEVEL_CONN, FCORE_NET_PKT_RX, 3);
	held_receive(false, 1, 1, 0);
	assert_int_equal(env.shared.rx_acked.zone, FALCON_ZONE_GREEN);
	held_receive(false, 2, 2, 0);
	assert_int_equal(env.shared.rx_acked.zone, FALCON_ZONE_RED);
	assert_int_equal(env.shared.rx_acked.next_rsn, ENV_PEER_RSN);
	held_receive(false, 0, 0, 0);
	assert_int_equal(env.shared.rx_acked.next_rsn, ENV_PEER_RSN + 3);
	assert_int_equal(env.shared.rx_acked.zone, FALCON_ZONE_CLOSED);
	for (uint32_t i = 0; i < 3; i++)
		done(i, FCORE_PUSH_ACK, 0, 0);
	assert_int_equal(env.shared.rx_acked.zone, FALCON_ZONE_GREEN);
	env_close();
}

/* Unordered: all are head of line; only the total limits them. */
static void s8_2_4_all_requests_of_unordered_connections_are_head_of_line(void **state)
{
	(void)state;
	open_red(false);
	for (uint32_t i = 0; i < 22; i++)
		held_receive(false, i, i + 1, 0);
	assert_int_equal(env.nevents, 20);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 20, 0);
	env_close();
}

/* CR rule 3, at every level: what waits leaves room for what it waits for. */
static void s8_2_1_2_head_of_line_always_finds_room(void **state)
{
	(void)state;
	for (int level = 0; level < FCORE_LEVELS; level++) {
		struct fcore_config cfg = held_config();
		struct fcore_params p = env_params(true);

		cfg.alpha = 1000 * FCORE_ALPHA_ONE;
		cfg.red_percent = 100;
		if (level == FCORE_LEVEL_NIC)
			cfg.total[FCORE_NET_BUF_RX] = 30;
		env_open_with(&p, &cfg);
		if (level != FCORE_LEVEL_NIC)
			held_limit((enum fcore_level)level, FCORE_NET_BUF_RX, 30);
		env.answer = true;
		for (uint32_t i = 1; i < 100; i++)
			held_receive(i & 1, i, i, 1000);
		assert_int_equal(env.nevents, 0);
		held_receive(false, 0, 0, 1000);
		assert_true(env.nevents > 1);
		assert_int_equal(env.event[0].rsn, ENV_PEER_RSN);
		env_close();
	}
}

/* A connection that does not get on leaves the others their share of the network region, too. */
static void paper4_6_network_requests_are_bounded_by_the_threshold(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	cfg.total[FCORE_NET_PKT_RX] = 40;
	env_open_with(&p, &cfg);
	for (uint32_t i = 1; i < 40; i++)
		held_receive(false, i, i, 0);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 15, 0);	/* of 30 that are green, half */
	held_receive(false, 0, 0, 0);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 16, 0);
	env_close();
}

/* Refused for long, the peer is told a few times, then now and then. */
static void resource_nacks_are_no_storm(void **state)
{
	uint32_t told;

	(void)state;
	open_red(true);
	for (uint32_t i = 1; i < 16; i++)
		held_receive(false, i, i, 0);
	env.nsent = 0;
	for (uint32_t i = 0; i < 500; i++)
		held_receive(false, 16, 16, 0);
	told = env.nsent;
	assert_int_equal(told, FC_NACK_BURST);
	assert_int_equal(fcore_conn_stats(env.c)->nacks_withheld, 500 - FC_NACK_BURST);
	for (uint32_t i = 0; i < 100; i++) {
		env.now += FC_NACK_INTERVAL / 10;
		held_receive(false, 16, 16, 0);
	}
	assert_int_equal(env.nsent - told, 10);
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 600);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s11_receiver_exceeding_resource_limit_drops_and_nacks),
		cmocka_unit_test(s8_2_4_red_zone_admits_only_head_of_line_requests),
		cmocka_unit_test(s8_2_4_zone_and_next_rsn_are_published),
		cmocka_unit_test(s8_2_4_all_requests_of_unordered_connections_are_head_of_line),
		cmocka_unit_test(s8_2_1_2_head_of_line_always_finds_room),
		cmocka_unit_test(paper4_6_network_requests_are_bounded_by_the_threshold),
		cmocka_unit_test(resource_nacks_are_no_storm),
	};

	return unit_run(tests);
}
