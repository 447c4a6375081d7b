// SPDX-License-Identifier: BSD-2-Clause
/* Pull Data that XDP places in the initiator's place: when it may, and how the pulls go on. */
#include "core_env.h"

#include <falcon/receive/sink.h>

enum {
	ENTRIES = 2,
	FIRST = 40,		/* the core's first entry of falcon_sinks */
	LEN = 100,
};

static struct falcon_sinks entries[ENTRIES];

static void open_with(const struct fcore_params *p, uint32_t flags)
{
	struct fcore_config cfg;

	memset(entries, 0, sizeof(entries));
	fcore_config_default(&cfg, 3);
	cfg.sinks = entries;
	cfg.first_sink = FIRST;
	cfg.sinks_count = ENTRIES;
	env_open_with(p, &cfg);
	env.shared.id.flags = flags;
}

static void open_clear(void)
{
	const struct fcore_params p = env_params(true);

	open_with(&p, FALCON_CONN_CLEAR);
}

static void pull_into(struct fcore_conn *c, uint64_t cookie)
{
	const struct falcon_sink sink = { .offset = 1000 * cookie, .memory = 3, .length = LEN };
	const struct fcore_txn t = { .proto = FALCON_PROTO_RDMA, .len = LEN, .cookie = cookie,
				     .sink = &sink };

	assert_int_equal(fcore_pull(c, &t, env.now), 0);
}

/* Submit |n| pulls, send their requests, and have these acknowledged. */
static void pull(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		pull_into(env.c, i);
	assert_int_equal(env_run(), n);
	env_ack_all(0, n);
}

static struct falcon_sink *sink(uint32_t r)
{
	return falcon_sink_at(&entries[env.shared.cc.sinks - FIRST - 1], ENV_RSN + r);
}

static bool is_open(uint32_t r)
{
	return sink(r)->state == falcon_sink_word(FALCON_SINK_OPEN, ENV_RSN + r);
}

/* XDP has the peer's data packet |n|, which answers pull |r|. */
static void xdp_places(uint32_t n, uint32_t r)
{
	const struct falcon_hdr h = { .type = FALCON_PULL_DATA, .psn = ENV_PEER_DATA + n };

	assert_true(falcon_sink_take(sink(r), ENV_RSN + r));
	assert_int_equal(falcon_rx_window(&env.shared, &h), FALCON_V_rx_data);
	falcon_rx_acknowledge(&env.shared, false, h.psn);
	falcon_exec_owe(&env.shared, 0, false, env.now);
	falcon_exec_watch(&env.shared, 0);
	falcon_sink_leave(sink(r), ENV_RSN + r, true);
}

static void expect_done(uint32_t event, uint64_t cookie)
{
	env_expect(event, (struct env_event){ .what = ENV_PULL_DATA, .cookie = cookie });
	env_expect(event + 1, (struct env_event){ .what = ENV_DONE, .cookie = cookie });
}

static void placed(void **state)
{
	(void)state;
	open_clear();
	assert_int_equal(env.shared.cc.sinks, 0);
	pull(1);
	assert_int_equal(env.shared.cc.sinks, FIRST + 1);
	assert_true(is_open(0));
	assert_int_equal(sink(0)->memory, 3);
	assert_int_equal(sink(0)->length, LEN);
	xdp_places(0, 0);
	assert_int_equal(env.nevents, 0);
	assert_true(fcore_acked(env.c, env.now));
	assert_int_equal(env.nevents, 2);
	expect_done(0, 0);
	assert_int_equal(sink(0)->state, 0);
	env_close();
}

/* What XDP owes is watched over, as what it has carried out is. */
static void acknowledged_in_time(void **state)
{
	(void)state;
	open_clear();
	pull(1);
	xdp_places(0, 0);
	fcore_acked(env.c, env.now);
	assert_int_equal(env_run(), 0);
	assert_int_equal(env_pass(60000), 1);
	assert_int_equal(env.sent[0].ack.rdbpsn, ENV_PEER_DATA + 1);
	env_close();
}

/* Placed out of order, they end in order; whoever makes way for the others. */
static void in_order(void **state)
{
	(void)state;
	open_clear();
	pull(4);
	xdp_places(1, 1);
	xdp_places(3, 3);
	fcore_acked(env.c, env.now);
	assert_int_equal(env.nevents, 0);
	xdp_places(0, 0);
	fcore_acked(env.c, env.now);
	assert_int_equal(env.nevents, 4);
	/* The third comes to the core. */
	env_receive_data(2, 2, LEN);
	assert_int_equal(env.nevents, 8);
	expect_done(0, 0);
	expect_done(2, 1);
	env_expect(4, (struct env_event){ .what = ENV_PULL_DATA, .cookie = 2, .len = LEN });
	env_expect(5, (struct env_event){ .what = ENV_DONE, .cookie = 2 });
	expect_done(6, 3);
	assert_int_equal(env.frames, 0);
	env_close();
}

/* Data that come to the core are not placed again. */
static void left_to_the_core(void **state)
{
	(void)state;
	open_clear();
	pull(2);
	env_receive_data(0, 1, LEN);
	assert_false(is_open(1));
	assert_false(falcon_sink_take(sink(1), ENV_RSN + 1));
	xdp_places(1, 0);
	fcore_acked(env.c, env.now);
	assert_int_equal(env.nevents, 4);
	expect_done(0, 0);
	env_close();
}

/* A peer that answers one request in two packets: the first counts. */
static void answered_twice(void **state)
{
	(void)state;
	open_clear();
	pull(1);
	xdp_places(0, 0);
	env_receive_data(1, 0, LEN);
	assert_int_equal(env.nevents, 2);
	expect_done(0, 0);
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 1);
	assert_int_equal(env.frames, 0);
	env_close();
}

/* What the target gave up on was there: that is how the pull ends. */
static void placed_and_voided(void **state)
{
	(void)state;
	open_clear();
	pull(1);
	xdp_places(0, 0);
	env_receive_resync(FALCON_PULL_DATA, ENV_PEER_DATA + 1, ENV_RSN);
	assert_int_equal(env.nevents, 2);
	expect_done(0, 0);
	env_close();
}

static void timeout(void **state)
{
	(void)state;
	open_clear();
	pull(2);
	xdp_places(1, 1);
	env_pass(env.c->params.txn_timeout_ns);
	/* The first has no data; those of the second are there. */
	assert_int_equal(env.nevents, 3);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .cookie = 0, .code = kCmplLocalTO });
	expect_done(1, 1);
	assert_false(is_open(0));
	env_close();
}

static void nothing_after_the_end(void **state)
{
	(void)state;
	open_clear();
	pull(2);
	xdp_places(0, 0);
	fcore_sinks_close(env.c);
	assert_false(is_open(1));
	env_receive_data(1, 1, LEN);
	assert_int_equal(env.nevents, 4);
	expect_done(0, 0);
	env_expect(2, (struct env_event){ .what = ENV_PULL_DATA, .cookie = 1, .len = LEN });
	pull_into(env.c, 2);
	assert_true(is_open(2));
	fcore_conn_close(env.c, kCmplDeadConn);
	env.c = NULL;
	assert_int_equal(env.shared.cc.sinks, 0);
	for (uint32_t i = 0; i < FALCON_SINK_RSNS; i++)
		assert_int_equal(entries[0].at[i].state, 0);
	env_close();
}

static void expect_none(bool ordered, uint32_t flags)
{
	const struct fcore_params p = env_params(ordered);

	open_with(&p, flags);
	pull_into(env.c, 0);
	assert_int_equal(env.shared.cc.sinks, 0);
	env_close();
}

static void not_everywhere(void **state)
{
	(void)state;
	expect_none(false, FALCON_CONN_CLEAR);
	expect_none(true, 0);
	expect_none(true, FALCON_CONN_CLEAR | FALCON_CONN_STEER);
	open_clear();
	env_pull(0, LEN);
	assert_int_equal(env.shared.cc.sinks, 0);
	env_close();
}

static void as_many_as_there_are_entries(void **state)
{
	struct falcon_conn other = { .id = { .cid = 1, .flags = FALCON_CONN_CLEAR } };
	struct falcon_conn third = { .id = { .cid = 2, .flags = FALCON_CONN_CLEAR } };
	const struct fcore_params p = env_params(true);
	struct fcore_conn *b, *c;

	(void)state;
	open_clear();
	b = fcore_conn_open(env.core, 1, &other, &p, env.now);
	c = fcore_conn_open(env.core, 2, &third, &p, env.now);
	pull_into(env.c, 0);
	pull_into(b, 0);
	pull_into(c, 0);
	assert_int_equal(env.shared.cc.sinks, FIRST + 1);
	assert_int_equal(other.cc.sinks, FIRST + 2);
	assert_int_equal(third.cc.sinks, 0);
	/* One that goes leaves its entry to others. */
	fcore_conn_close(b, kCmplDeadConn);
	pull_into(c, 1);
	assert_int_equal(third.cc.sinks, FIRST + 2);
	fcore_conn_close(c, kCmplDeadConn);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(placed),
		cmocka_unit_test(acknowledged_in_time),
		cmocka_unit_test(in_order),
		cmocka_unit_test(left_to_the_core),
		cmocka_unit_test(answered_twice),
		cmocka_unit_test(placed_and_voided),
		cmocka_unit_test(timeout),
		cmocka_unit_test(nothing_after_the_end),
		cmocka_unit_test(not_everywhere),
		cmocka_unit_test(as_many_as_there_are_entries),
	};

	return unit_run(tests);
}
