// SPDX-License-Identifier: BSD-2-Clause
/* The search for the largest packet that the path carries (RFC 8899). */
#include "core_env.h"

#define MS(n) ((n) * 1000000ULL)

static const uint16_t sizes[] = { 1200, 1300, 1400, 4000 };

enum { SIZES = 4, PROBES = FC_PATH_PROBES };

static int setup(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.max_retx = 16;
	env_open(&p);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	env_close();
	return 0;
}

static void search(void)
{
	assert_int_equal(fcore_path_search(env.c, sizes, SIZES, FALCON_PROTO_RAW, env.now), 0);
}

/* The ACK of the packet with |t1|. */
static void answer(uint32_t t1)
{
	env_ack((struct falcon_ack){ .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ, .t1 = t1 });
}

/* A probe of |len| bytes is the one packet sent now. */
static void expect_probe(uint32_t len)
{
	const struct env_sent *s = env.sent;

	assert_int_equal(env.nsent, 1);
	assert_true(s->probe);
	assert_int_equal(s->type, FALCON_PUSH_DATA);
	assert_int_equal(s->len, len);
	assert_int_equal(s->hdr.psn, ENV_DATA - 1);
	assert_true(s->hdr.ar);
	assert_true(fcore_next_deadline(env.core, env.now) > env.now);
}

/* Turn the network, which carries |mtu| bytes and answers at once, until the search ends. */
static void network(uint32_t mtu)
{
	uint32_t ends = env.path_ends;

	for (int turn = 0; turn < 100 && env.path_ends == ends; turn++) {
		env_pass(MS(20));
		for (uint32_t i = 0; i < env.nsent; i++)
			if (env.sent[i].probe && env.sent[i].len <= mtu)
				answer(env.probe_t1);
	}
	assert_int_equal(env.path_ends, ends + 1);
}

/* The common case: one probe, of the link's size. Then there is nothing more to do. */
static void carries_the_links_size(void **state)
{
	(void)state;
	search();
	assert_true(fcore_next_deadline(env.core, env.now) <= env.now + 2048);
	env_pass(2048);
	expect_probe(4000);
	answer(env.probe_t1);
	assert_int_equal(env.path_ends, 1);
	assert_int_equal(env.path_len, 4000);
	assert_int_equal(env_pass(MS(10000)), 0);
	assert_int_equal(fcore_conn_stats(env.c)->tx_path_probes, 1);
	assert_int_equal(env.path_ends, 1);
	assert_true(fcore_next_deadline(env.core, env.now) == FCORE_NEVER);
}

/* The receiver takes a probe for a packet that it has had, and answers. */
static void means_nothing_to_the_receiver(void **state)
{
	struct falcon_hdr h;

	(void)state;
	search();
	env_pass(2048);
	h = env.sent[0].hdr;
	h.psn = ENV_PEER_DATA + (h.psn - ENV_DATA);
	assert_int_equal(falcon_rx_window(&env.shared, &h), FALCON_V_old_acked);
	assert_int_equal(env.shared.rx.accepted, 0);
	/* Nor to the transmitter, were it lost. */
	assert_int_equal(env.c->data.next, ENV_DATA);
	assert_int_equal(env.c->flow[0].outstanding, 0);
}

static void smaller_path(void **state)
{
	(void)state;
	search();
	network(1300);
	assert_int_equal(env.path_len, 1300);
	assert_int_equal(env.fatals, 0);
	/* The link's size and the one that failed, so often each, and one of each that was answered. */
	assert_int_equal(fcore_conn_stats(env.c)->tx_path_probes, 2 * PROBES + 2);
}

static void every_size(void **state)
{
	(void)state;
	for (int i = 0; i < SIZES; i++) {
		search();
		network(sizes[i]);
		assert_int_equal(env.path_len, sizes[i]);
	}
}

/* Answers to two probes in three are lost. */
static void lossy(void **state)
{
	(void)state;
	search();
	for (int n = 0; n < 100 && !env.path_ends; n++) {
		env_pass(MS(50));
		if (env.nsent && env.sent[0].len <= 1400 && env.c->path.probes == PROBES)
			answer(env.probe_t1);
	}
	assert_int_equal(env.path_len, 1400);
}

/* Other ACKs say nothing of the probe; nor does one of a probe that was given up. */
static void other_acks(void **state)
{
	uint32_t first;

	(void)state;
	search();
	env_pass(2048);
	first = env.probe_t1;
	answer(first + 1000);
	answer(first - 1);
	assert_int_equal(env.path_ends, 0);
	while (env.c->path.trying == SIZES - 1)
		env_pass(MS(10));
	assert_int_equal(env.c->path.trying, 0);
	answer(first);
	assert_int_equal(env.path_ends, 0);
	assert_int_equal(env.c->path.found, 0);
}

/* A round trip longer than the first wait: the first answers that come make it longer. */
static void long_way(void **state)
{
	uint64_t due = 0;
	uint32_t t1 = 0;

	(void)state;
	search();
	for (int turn = 0; turn < 500 && !env.path_ends; turn++) {
		env_pass(MS(10));
		if (env.nsent && !due) {
			due = env.now + MS(300);
			t1 = env.probe_t1;
		}
		if (due && env.now >= due) {
			uint32_t sent = falcon_time_of_ns(due - MS(300));

			/* The test's T1s are no times; RTT samples need one. */
			answer(sent);
			answer(t1);
			due = 0;
		}
	}
	assert_int_equal(env.path_len, 4000);
}

/* Nothing comes back: no result, but an end. */
static void silence(void **state)
{
	(void)state;
	search();
	network(0);
	assert_int_equal(env.path_len, 0);
	assert_int_equal(fcore_conn_stats(env.c)->tx_path_probes, 2 * PROBES);
	search();
	network(1400);
	search();
	network(0);
	assert_int_equal(env.path_len, 1400);
}

/* Nobody was there; then somebody is, and is asked at once, but once. */
static void peer_comes_later(void **state)
{
	(void)state;
	search();
	network(0);
	answer(7);
	network(1400);
	assert_int_equal(env.path_len, 1400);
	search();
	network(0);
	answer(7);
	assert_int_equal(env_pass(MS(1000)), 0);
}

/* The path carries less than the link: perhaps it will some time. */
static void raised_later(void **state)
{
	(void)state;
	search();
	network(1300);
	assert_int_equal(env_pass(MS(599000)), 0);
	assert_int_equal(env_pass(MS(1100)), 0);
	env_pass(2048);
	expect_probe(4000);
	answer(env.probe_t1);
	assert_int_equal(env.path_len, 4000);
	assert_int_equal(env_pass(MS(1000000)), 0);
}

/* The link's size has changed while the search was under way, or after it. */
static void another_link(void **state)
{
	(void)state;
	search();
	env_pass(MS(20));
	assert_int_equal(fcore_path_search(env.c, sizes, 2, FALCON_PROTO_RAW, env.now), 0);
	env_pass(MS(1));
	expect_probe(1300);
	network(4000);
	assert_int_equal(env.path_len, 1300);
	search();
	network(4000);
	assert_int_equal(env.path_len, 4000);
	assert_int_equal(fcore_path_search(env.c, sizes, 2, FALCON_PROTO_RAW, env.now), 0);
	network(0);
	assert_int_equal(env.path_len, 1300);
}

static void only_one_size(void **state)
{
	(void)state;
	assert_int_equal(fcore_path_search(env.c, sizes, 1, FALCON_PROTO_RAW, env.now), 0);
	network(0);
	assert_int_equal(env.path_len, 0);
	assert_int_equal(fcore_conn_stats(env.c)->tx_path_probes, PROBES);
	answer(7);
	network(sizes[0]);
	assert_int_equal(env.path_len, sizes[0]);
}

/* There is no room in the ring: the probe is sent a little later. */
static void no_room(void **state)
{
	(void)state;
	search();
	env.refuse = 2;
	assert_int_equal(env_pass(2048), 0);
	assert_int_equal(env_pass(MS(2)), 0);
	assert_int_equal(env_pass(MS(2)), 1);
	expect_probe(4000);
	assert_int_equal(env.c->path.probes, 1);
}

static uint8_t bytes[4000];

static void push(uint32_t len)
{
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .payload = bytes, .len = len };

	assert_int_equal(fcore_push(env.c, &t, env.now), 0);
}

/* Let a packet time out until the third time, which is when the search begins, or until the twelfth. */
static bool black_hole(void)
{
	for (int turn = 0; turn < 400; turn++) {
		env_pass(MS(1));
		for (uint32_t i = 0; i < env.nsent; i++)
			if (env.sent[i].probe)
				return true;
	}
	return false;
}

static void shrinks_later(void **state)
{
	(void)state;
	search();
	network(4000);
	push(sizeof(bytes));
	assert_true(black_hole());
	assert_int_equal(env.c->itxn[ENV_RSN & FC_TXN_MASK].state, PushDataTx);
	network(1400);
	assert_int_equal(env.path_len, 1400);
	/* What is under way and too large has no hope. */
	for (int turn = 0; turn < 400 && !env.fatals; turn++)
		env_pass(MS(1));
	assert_int_equal(env.fatals, 1);
}

/* Let time pass. True if a probe was sent. */
static bool probes_within(uint64_t ns)
{
	env_pass(ns);
	for (uint32_t i = 0; i < env.nsent; i++)
		if (env.sent[i].probe)
			return true;
	return false;
}

/* One more packet arrives, and of those before it all but the first. */
static bool all_but_the_first(uint32_t n)
{
	push(1);
	if (probes_within(MS(1)))
		return true;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .t1 = falcon_time_of_ns(env.now - MS(1)),
				     .data_rx = { (2U << n) - 2 } });
	return probes_within(MS(2));
}

/* A packet that is found lost again and again, before it times out, may be too large as well. */
static void shrinks_while_others_arrive(void **state)
{
	struct fcore_params p = env_params(false);
	uint32_t n = 0;

	(void)state;
	env_close();
	p.early_retx = FCORE_EARLY_RACK;
	p.rto_ns = MS(1000);
	env_open(&p);
	search();
	network(4000);
	push(sizeof(bytes));
	while (n < 20 && !all_but_the_first(++n))
		;
	assert_true(n < 20);
	network(1400);
	assert_int_equal(env.path_len, 1400);
	while (n < 30 && !env.fatals)
		all_but_the_first(++n);
	assert_int_equal(env.fatals, 1);
	assert_int_equal(fcore_conn_stats(env.c)->tx_retx_rto, 0);
}

/* Losses go on while the path is searched: the end of the search tells that the packet has no hope. */
static void lost_while_searched(void **state)
{
	struct fcore_params p = env_params(false);
	uint32_t n = 0;

	(void)state;
	env_close();
	p.early_retx = FCORE_EARLY_RACK;
	p.rto_ns = MS(10000);
	env_open(&p);
	search();
	network(4000);
	push(sizeof(bytes));
	while (n < 30 && fc_ctx(&env.c->data, ENV_DATA)->lost < FC_PATH_HOPELESS)
		all_but_the_first(++n);
	assert_true(env.c->path.searching);
	network(1400);
	assert_int_equal(env.fatals, 0);
	answer(env.probe_t1);
	assert_int_equal(env.fatals, 1);
}

/* Losses had made the result too small: a packet that is larger is reason to search again, not to end. */
static void found_too_little(void **state)
{
	(void)state;
	search();
	network(1400);
	push(sizeof(bytes));
	assert_true(black_hole());
	assert_int_equal(env.fatals, 0);
	network(4000);
	assert_int_equal(env.path_len, 4000);
	assert_int_equal(env.fatals, 0);
}

/*
 * The path was down when it was searched, but for the first ACK, and packets that are too large time out
 * already: when it is up again they are reason to search once more.
 */
static void down_while_searched(void **state)
{
	(void)state;
	search();
	env_pass(2048);
	answer(7);
	while (env.c->path.trying || env.c->path.probes < PROBES)
		env_pass(MS(10));
	push(sizeof(bytes));
	network(0);
	assert_int_equal(env.path_len, 0);
	assert_true(black_hole());
	network(1400);
	assert_int_equal(env.path_len, 1400);
}

/* What got there all the same, or was acknowledged in time, is no reason to end. */
static void shrinks_with_nothing_under_way(void **state)
{
	(void)state;
	search();
	network(4000);
	push(sizeof(bytes));
	env_pass(MS(1));
	assert_int_equal(fcore_path_search(env.c, sizes, 3, FALCON_PROTO_RAW, env.now), 0);
	env_ack_all(1, 0);
	push(1400);
	assert_int_equal(env_pass(MS(1)), 2);
	env_ack_all(2, 0);
	network(0);
	assert_int_equal(env.path_len, 1400);
	assert_int_equal(env.fatals, 0);
}

/* A packet no larger than the least size is not lost for its size. */
static void small_packets_are_not_suspect(void **state)
{
	(void)state;
	search();
	network(4000);
	push(sizes[0]);
	env_pull(1, 4000);
	assert_false(black_hole());
	assert_int_equal(env.path_ends, 1);
}

/* Without a search there is none of it. */
static void never_searched(void **state)
{
	(void)state;
	push(sizeof(bytes));
	assert_false(black_hole());
}

static void closed_by_the_owner(void **state)
{
	(void)state;
	search();
	env_pass(2048);
	env.close_on_event = true;
	answer(env.probe_t1);
	assert_null(env.c);
	assert_int_equal(env_pass(MS(1000)), 0);
}

static void closed_by_the_owner_at_the_end(void **state)
{
	(void)state;
	search();
	env.close_on_event = true;
	while (env.c)
		env_pass(MS(10));
	assert_int_equal(env.path_ends, 1);
	assert_int_equal(env_pass(MS(1000)), 0);
}

static void bad_sizes(void **state)
{
	uint16_t many[FCORE_PATH_SIZES + 1] = { 0 };
	uint16_t large = FCORE_PATH_MAX_LEN + 1;

	(void)state;
	assert_int_equal(fcore_path_search(env.c, sizes, 0, 0, env.now), -EINVAL);
	assert_int_equal(fcore_path_search(env.c, many, FCORE_PATH_SIZES + 1, 0, env.now), -EINVAL);
	assert_int_equal(fcore_path_search(env.c, &large, 1, 0, env.now), -EINVAL);
	assert_int_equal(env_pass(MS(1000)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(carries_the_links_size, setup, teardown),
		cmocka_unit_test_setup_teardown(means_nothing_to_the_receiver, setup, teardown),
		cmocka_unit_test_setup_teardown(smaller_path, setup, teardown),
		cmocka_unit_test_setup_teardown(every_size, setup, teardown),
		cmocka_unit_test_setup_teardown(lossy, setup, teardown),
		cmocka_unit_test_setup_teardown(other_acks, setup, teardown),
		cmocka_unit_test_setup_teardown(long_way, setup, teardown),
		cmocka_unit_test_setup_teardown(silence, setup, teardown),
		cmocka_unit_test_setup_teardown(peer_comes_later, setup, teardown),
		cmocka_unit_test_setup_teardown(raised_later, setup, teardown),
		cmocka_unit_test_setup_teardown(another_link, setup, teardown),
		cmocka_unit_test_setup_teardown(only_one_size, setup, teardown),
		cmocka_unit_test_setup_teardown(no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(shrinks_later, setup, teardown),
		cmocka_unit_test_setup_teardown(shrinks_while_others_arrive, setup, teardown),
		cmocka_unit_test_setup_teardown(lost_while_searched, setup, teardown),
		cmocka_unit_test_setup_teardown(found_too_little, setup, teardown),
		cmocka_unit_test_setup_teardown(down_while_searched, setup, teardown),
		cmocka_unit_test_setup_teardown(shrinks_with_nothing_under_way, setup, teardown),
		cmocka_unit_test_setup_teardown(small_packets_are_not_suspect, setup, teardown),
		cmocka_unit_test_setup_teardown(never_searched, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_by_the_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(closed_by_the_owner_at_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_sizes, setup, teardown),
	};

	return unit_run(tests);
}
