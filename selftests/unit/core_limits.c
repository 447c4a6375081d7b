// SPDX-License-Identifier: BSD-2-Clause
/* Limits of resources: levels, accounts, oversubscription, and the threshold of the paper, 4.6. */
#include "core_held.h"

/* Each of the resources at each level refuses, says so in its account, and lets on again. */
static void s8_2_3_limits_per_host_function_and_connection(void **state)
{
	static const struct {
		enum fcore_resource r;
		bool pull;
		uint32_t limit;		/* of one of these there is room for two, of 600 bytes */
	} cases[] = {
		{ FCORE_REQ_PKT_TX, false, 2 }, { FCORE_REQ_BUF_TX, false, 10 },
		{ FCORE_REQ_PKT_RX, true, 2 },	{ FCORE_REQ_BUF_RX, true, 10 },
	};

	(void)state;
	for (int level = FCORE_LEVEL_HOST; level <= FCORE_LEVEL_CONN; level++) {
		for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
			const struct fcore_account *a;

			held_open(true);
			held_limit((enum fcore_level)level, cases[i].r, cases[i].limit);
			a = fcore_resources(env.core, (enum fcore_level)level,
					    level == FCORE_LEVEL_CONN ? ENV_CID : 0);
			assert_int_equal(held_submit(env.c, cases[i].pull, 600), 0);
			assert_int_equal(held_submit(env.c, cases[i].pull, 600), 0);
			assert_int_equal(held_submit(env.c, cases[i].pull, 600), -EAGAIN);
			assert_int_equal(a->refused[cases[i].r], 1);
			assert_int_equal(a->used[cases[i].r], a->limit[cases[i].r]);
			assert_int_equal(a->high[cases[i].r], a->limit[cases[i].r]);
			held_limit((enum fcore_level)level, cases[i].r, FCORE_NO_LIMIT);
			env_run();
			assert_int_equal(env.xons, 1);
			assert_int_equal(held_submit(env.c, cases[i].pull, 600), 0);
			env_close();
		}
	}
}

static void limits_of_nobody(void **state)
{
	uint32_t limit[FCORE_RESOURCES];

	(void)state;
	held_open(true);
	held_raise(limit);
	assert_int_equal(fcore_limit_host(env.core, 1, limit), -ENOENT);
	assert_int_equal(fcore_limit_function(env.core, 16, limit), -ENOENT);
	assert_null(fcore_resources(env.core, FCORE_LEVEL_NIC, 1));
	assert_null(fcore_resources(env.core, FCORE_LEVEL_HOST, 1));
	assert_null(fcore_resources(env.core, FCORE_LEVEL_FUNCTION, 16));
	assert_null(fcore_resources(env.core, FCORE_LEVEL_CONN, ENV_CID + 1));
	assert_null(fcore_resources(env.core, FCORE_LEVEL_CONN, UINT32_MAX));
	env_close();
}

/* A limit that one transaction exceeds would stop the connection for good. */
static void limits_leave_room_for_one(void **state)
{
	const uint32_t none[FCORE_RESOURCES] = { 0 };
	uint32_t psn = 0;

	(void)state;
	held_open(true);
	fcore_limit_conn(env.c, none);
	for (int pull = 0; pull < 2; pull++) {
		assert_int_equal(held_submit(env.c, pull, 1000), 0);
		assert_int_equal(held_submit(env.c, pull, 0), -EAGAIN);
		env_run();
		env_ack_all(1, (uint32_t)pull);
		if (pull)
			env_receive_data(psn++, 1, 1000);
	}
	held_receive(false, psn, 0, 1000);
	assert_int_equal(env.event[env.nevents - 1].what, ENV_PUSH);
	env_close();
}

static void config_bounds(void **state)
{
	struct fcore_config cfg = held_config();

	(void)state;
#define REFUSED(field, value)                                                                      \
	do {                                                                                       \
		struct fcore_config bad = cfg;                                                     \
		bad.field = (value);                                                               \
		assert_null(fcore_create(&env_ops, NULL, &bad));                                   \
	} while (0)
	REFUSED(tx_cell, 0);
	REFUSED(tx_cell, 100);
	REFUSED(tx_cell, FCORE_MIN_CELL / 2);
	REFUSED(rx_cell, FCORE_MAX_CELL * 2);
	REFUSED(rx_cell, 192);
	REFUSED(hosts, 0);
	REFUSED(functions, 0);
	REFUSED(max_len, 0);
	REFUSED(max_len, FALCON_MAX_REQUEST_LEN + 1);
	REFUSED(red_percent, 101);
	REFUSED(rx_ema[0], 0);
	REFUSED(rx_ema[1], 0);
	REFUSED(rx_ema[1], 101);
#undef REFUSED
}

static void no_such_host_or_function(void **state)
{
	struct fcore_params p = env_params(true);
	static struct falcon_conn shared;

	(void)state;
	held_open(true);
	p.host = 1;
	assert_null(fcore_conn_open(env.core, HELD_CID2, &shared, &p, env.now));
	p.host = 0;
	p.local_function = 16;
	assert_null(fcore_conn_open(env.core, HELD_CID2, &shared, &p, env.now));
	env_close();
}

/* Accounts of different hosts and functions are separate; the NIC's is common. */
static void s8_2_3_accounts_are_separate(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);
	struct fcore_conn *c2;

	(void)state;
	cfg.hosts = 2;
	env_open_with(&p, &cfg);
	c2 = held_open_second(1, 3);
	held_submit(env.c, false, 0);
	held_submit(c2, false, 0);
	held_submit(c2, false, 0);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_NIC, 0)->used[0], 3);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_HOST, 0)->used[0], 1);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_HOST, 1)->used[0], 2);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_FUNCTION, 0)->used[0], 1);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_FUNCTION, 3)->used[0], 2);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_CONN, HELD_CID2)->used[0], 2);
	fcore_conn_close(c2, kCmplDeadConn);
	env_close();
}

/* Limits may add up to more than there is: the totals prevent an overrun. */
static void s8_2_3_oversubscription_cannot_overrun(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);
	const struct fcore_account *nic;
	struct fcore_conn *c2;
	uint32_t n = 0;

	(void)state;
	cfg.total[FCORE_REQ_PKT_TX] = 10;
	cfg.alpha = 100 * FCORE_ALPHA_ONE;
	env_open_with(&p, &cfg);
	c2 = held_open_second(0, 0);
	held_limit(FCORE_LEVEL_CONN, FCORE_REQ_PKT_TX, 8);
	while (held_submit(env.c, false, 0) == 0)
		n++;
	assert_int_equal(n, 8);
	while (held_submit(c2, false, 0) == 0)
		n++;
	assert_int_equal(n, 10);
	nic = fcore_resources(env.core, FCORE_LEVEL_NIC, 0);
	assert_int_equal(nic->used[FCORE_REQ_PKT_TX], nic->limit[FCORE_REQ_PKT_TX]);
	/* What the one gives back, the other may take: on_xon() for both in the end. */
	env_run();
	env_ack_all(1, 0);
	assert_int_equal(env.xons, 1);
	env_run();
	assert_int_equal(env.xons, 2);
	assert_int_equal(held_submit(c2, false, 0), 0);
	assert_int_equal(held_submit(env.c, false, 0), -EAGAIN);
	fcore_conn_close(c2, kCmplDeadConn);
	env_run();
	assert_int_equal(env.xons, 3);
	env_close();
}

/* T = alpha * free: a connection alone gets alpha / (1 + alpha) of it. */
static void paper4_6_threshold_is_alpha_times_free(void **state)
{
	static const struct {
		uint32_t alpha, got;
	} cases[] = {
		{ FCORE_ALPHA_ONE, 50 }, { FCORE_ALPHA_ONE / 4, 20 }, { 4 * FCORE_ALPHA_ONE, 80 },
		{ 0, 1 },
	};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fcore_config cfg = held_config();
		struct fcore_params p = env_params(true);
		const struct fcore_account *a;
		uint32_t n = 0;

		cfg.total[FCORE_REQ_PKT_RX] = 100;
		env_open_with(&p, &cfg);
		assert_int_equal(fcore_conn_alpha(env.c), FCORE_ALPHA_ONE);
		fcore_conn_set_alpha(env.c, cases[i].alpha);
		while (held_submit(env.c, false, 0) == 0)
			n++;
		assert_int_equal(n, cases[i].got);
		a = fcore_resources(env.core, FCORE_LEVEL_CONN, ENV_CID);
		assert_int_equal(a->refused[FCORE_REQ_PKT_TX] + a->refused[FCORE_REQ_PKT_RX], 1);
		/* More alpha, more of it, at run time. */
		fcore_conn_set_alpha(env.c, 8 * FCORE_ALPHA_ONE);
		env_run();
		assert_int_equal(env.xons, 1);
		assert_int_equal(held_submit(env.c, false, 0), 0);
		env_close();
	}
}

static void scale(uint32_t flow, uint32_t alpha_scale)
{
	struct falcon_rue_result r = { 0 };

	falcon_res_put(&r, connection_id, falcon_rue_id(ENV_CID, flow));
	falcon_res_put(&r, fcwnd, 100);
	falcon_res_put(&r, ncwnd, 100);
	falcon_res_put(&r, alpha_scale, alpha_scale);
	fcore_rue_result(env.c, &r, env.now);
}

/* The engine scales alpha, flow by flow; what it does not mention is whole. */
static void paper4_6_engine_scales_alpha(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);
	uint32_t n = 0;

	(void)state;
	cfg.total[FCORE_REQ_PKT_RX] = 100;
	p.flows = 4;
	env_open_with(&p, &cfg);
	scale(0, 128);
	assert_int_equal(fcore_conn_alpha(env.c), FCORE_ALPHA_ONE * 7 / 8);
	for (uint32_t flow = 0; flow < 4; flow++)
		scale(flow, 64);
	assert_int_equal(fcore_conn_alpha(env.c), FCORE_ALPHA_ONE / 4);
	while (held_submit(env.c, false, 0) == 0)
		n++;
	assert_int_equal(n, 20);
	env_run();
	assert_int_equal(env.xons, 0);
	/* Less congestion, and it may go on, though nothing was given back. */
	for (uint32_t flow = 0; flow < 4; flow++)
		scale(flow, 200);
	env_run();
	assert_int_equal(env.xons, 1);
	assert_int_equal(held_submit(env.c, false, 0), 0);
	for (uint32_t flow = 0; flow < 4; flow++)
		scale(flow, flow % 2 ? 0 : 511);
	assert_int_equal(fcore_conn_alpha(env.c), FCORE_ALPHA_ONE);
	scale(3, 1);
	fcore_conn_set_alpha(env.c, 2 * FCORE_ALPHA_ONE);
	assert_int_equal(fcore_conn_alpha(env.c), 2 * (3 * FCORE_ALPHA_ONE + 1) / 4);
	env_close();
}

/* A connection whose transactions never end leaves the other one half of what is free. */
static void paper4_6_stalled_connection_leaves_others_their_share(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);
	struct fcore_conn *c2;
	uint32_t stalled = 0, done = 0, most = 0;

	(void)state;
	cfg.total[FCORE_REQ_PKT_TX] = 90;
	env_open_with(&p, &cfg);
	c2 = held_open_second(0, 0);
	while (held_submit(c2, false, 0) == 0)
		stalled++;
	assert_int_equal(stalled, 45);
	for (uint32_t round = 1; round <= 20; round++) {
		uint32_t n = 0;

		while (held_submit(env.c, false, 0) == 0)
			n++;
		most = n > most ? n : most;
		env_run();
		env_ack_all(done += n, 0);
		assert_int_equal(held_submit(c2, false, 0), -EAGAIN);
	}
	/* It came when there was nobody else, and took half; of what is left, half is 22. */
	assert_true(most >= 22);
	fcore_conn_close(c2, kCmplDeadConn);
	env_close();
}

static void names(void **state)
{
	(void)state;
	assert_string_equal(fcore_resource_name(FCORE_REQ_PKT_TX), "Req Pkt Tx");
	assert_string_equal(fcore_resource_name(FCORE_NET_BUF_RX), "Net Req Buf Rx");
	assert_string_equal(fcore_resource_name(FCORE_RESOURCES), "unknown");
	assert_string_equal(fcore_level_name(FCORE_LEVEL_CONN), "connection");
	assert_string_equal(fcore_level_name(FCORE_LEVELS), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(s8_2_3_limits_per_host_function_and_connection),
		cmocka_unit_test(limits_of_nobody),
		cmocka_unit_test(limits_leave_room_for_one),
		cmocka_unit_test(config_bounds),
		cmocka_unit_test(no_such_host_or_function),
		cmocka_unit_test(s8_2_3_accounts_are_separate),
		cmocka_unit_test(s8_2_3_oversubscription_cannot_overrun),
		cmocka_unit_test(paper4_6_threshold_is_alpha_times_free),
		cmocka_unit_test(paper4_6_engine_scales_alpha),
		cmocka_unit_test(paper4_6_stalled_connection_leaves_others_their_share),
		cmocka_unit_test(names),
	};

	return unit_run(tests);
}
