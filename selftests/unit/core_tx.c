// SPDX-License-Identifier: BSD-2-Clause
/* First transmission: gates, AR, order, headers, -EAGAIN, and the scheduler (Falcon 8.3, 9.1). */
#include "core_env.h"

enum { SECOND = 7000 };		/* the first PSN of another connection's data window */

/* The gating table of 9.1.2: what a window lets out with nothing acknowledged. */
static void gates(void **state)
{
	static const struct {
		uint32_t fcwnd, ncwnd, pushes, pulls;	/* submitted */
		uint32_t sent_pushes, sent_pulls;
	} cases[] = {
		{ 128, 128, 10, 0, 10, 0 },
		{ 4, 128, 10, 0, 4, 0 },	/* PSN < DBPSN + fcwnd */
		{ 128, 3, 10, 0, 3, 0 },	/* DORC < ncwnd */
		{ 4, 128, 0, 10, 0, 4 },	/* PSN < RBPSN + fcwnd */
		{ 128, 3, 0, 10, 0, 3 },	/* RORC < ncwnd */
		{ 255, 1023, 200, 0, 128, 0 },	/* the receiver's data window */
		{ 255, 1023, 0, 200, 0, 64 },	/* the receiver's request window */
		{ 0, 0, 5, 0, 1, 0 },		/* never closed for good */
	};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fcore_params p = env_params(false);
		uint32_t pushes = 0, pulls = 0;

		p.fcwnd = cases[i].fcwnd;
		p.ncwnd = cases[i].ncwnd;
		env_open(&p);
		for (uint32_t n = 0; n < cases[i].pushes; n++)
			env_push(n);
		for (uint32_t n = 0; n < cases[i].pulls; n++)
			env_pull(n, 10);
		env_run();
		for (uint32_t n = 0; n < env.nsent; n++) {
			pushes += env.sent[n].type == FALCON_PUSH_DATA;
			pulls += env.sent[n].type == FALCON_PULL_REQUEST;
		}
		assert_int_equal(pushes, cases[i].sent_pushes);
		assert_int_equal(pulls, cases[i].sent_pulls);
		env_close();
	}
}

/* Pull data is gated by fcwnd alone, and not by requests that ncwnd holds up. */
static void pull_data_passes_requests(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.ncwnd = 1;
	p.fcwnd = 4;
	env_open(&p);
	env.answer = true;
	for (uint32_t n = 0; n < 6; n++) {
		env_push(n);
		env_receive_pull(n, n, false);
	}
	env_run();
	assert_int_equal(env.nsent, 4);
	assert_int_equal(env.sent[0].type, FALCON_PUSH_DATA);
	for (uint32_t n = 1; n < 4; n++)
		assert_int_equal(env.sent[n].type, FALCON_PULL_DATA);
	env_close();
}

/* The window opens by as much as is acknowledged. */
static void acks_open_the_window(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.fcwnd = 4;
	env_open(&p);
	for (uint32_t n = 0; n < 10; n++)
		env_push(n);
	assert_int_equal(env_run(), 4);
	assert_int_equal(env_run(), 0);
	env_ack_all(3, 0);
	assert_int_equal(env_run(), 3);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA + 4);
	assert_int_equal(env.shared.cc.data_next, ENV_DATA + 7);
	env_close();
}

static void headers(void **state)
{
	struct fcore_params p = env_params(true);
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .ulp_hdr = "hdr", .ulp_hdr_len = 3,
			       .payload = "0123456789", .len = 10 };

	(void)state;
	p.function = 0xabcdef;
	env_open(&p);
	env.answer = true;
	env_receive_push(0, 0, false);
	env_receive_pull(0, 1, false);
	assert_int_equal(fcore_push(env.c, &t, env.now), 0);
	t.len = 4000;
	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
	assert_int_equal(env_run(), 3);
	assert_int_equal(env.sent[0].hdr.type, FALCON_PUSH_DATA);
	assert_int_equal(env.sent[0].hdr.function, 0xabcdef);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
	assert_int_equal(env.sent[0].hdr.rsn, ENV_RSN);
	assert_int_equal(env.sent[0].hdr.rdbpsn, ENV_PEER_DATA + 1);
	assert_int_equal(env.sent[0].hdr.rrbpsn, ENV_PEER_REQ + 1);
	assert_int_equal(env.sent[0].len, 13);
	assert_int_equal(env.sent[1].hdr.type, FALCON_PULL_DATA);
	assert_int_equal(env.sent[1].hdr.psn, ENV_DATA + 1);
	assert_int_equal(env.sent[1].hdr.rsn, ENV_PEER_RSN + 1);
	assert_int_equal(env.sent[2].hdr.type, FALCON_PULL_REQUEST);
	assert_int_equal(env.sent[2].hdr.psn, ENV_REQ);
	assert_int_equal(env.sent[2].hdr.rsn, ENV_RSN + 1);
	assert_int_equal(env.sent[2].len, 3);
	env_close();
}

/* A Pull Request's frame is as long as that of its response, if the target wants that; no other is. */
static void room_for_responses(void **state)
{
	struct fcore_params p = env_params(true);
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .ulp_hdr = "hdr", .ulp_hdr_len = 3, .len = 1000 };

	(void)state;
	env_open(&p);
	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].room, 0);
	fcore_conn_pad_pulls(env.c, true);
	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
	t.len = 1;
	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
	env_push(1);
	assert_int_equal(env_run(), 3);
	assert_int_equal(env.sent[0].room + falcon_hdr_len(FALCON_PULL_REQUEST) + 3,
			 falcon_hdr_len(FALCON_PULL_DATA) + 1000);
	assert_int_equal(env.sent[1].room, 0);
	assert_int_equal(env.sent[2].room, 0);
	fcore_conn_pad_pulls(env.c, false);
	t.len = 1000;
	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].room, 0);
	env_close();
}

/* 9.1.3.1, and the packets that nothing can follow before an ACK. */
static void ack_requests(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.ar_fcwnd = 8;
	p.fcwnd = 8;
	env_open(&p);
	for (uint32_t n = 0; n < 3; n++)
		env_push(n);
	env_run();
	for (uint32_t n = 0; n < 3; n++)
		assert_true(env.sent[n].hdr.ar);
	env_close();

	p.fcwnd = 100;
	p.ar_percent = 25;
	env_open(&p);
	for (uint32_t n = 0; n < 40; n++)
		env_pull(n, 1);
	env_run();
	for (uint32_t n = 0; n < 40; n++)
		assert_int_equal(env.sent[n].hdr.ar, n % 4 == 3);
	env_close();
}

/* How many of 20 requests ask for an ACK after a result with |percent|. */
static uint32_t requests_after(uint32_t percent)
{
	struct falcon_rue_result r = { 0 };
	uint32_t n = 0;

	falcon_res_put(&r, connection_id, falcon_rue_id(ENV_CID, 0));
	falcon_res_put(&r, fcwnd, 100);
	falcon_res_put(&r, ncwnd, 100);
	falcon_res_put(&r, ar_percent, percent);
	fcore_rue_result(env.c, &r, env.now);
	for (uint32_t i = 0; i < 20; i++)
		env_pull(i, 1);
	env_run();
	for (uint32_t i = 0; i < 20; i++)
		n += env.sent[i].hdr.ar;
	return n;
}

/* The engine may set the percentage (paper Table 3); without it, and again without it, it is ours. */
static void ack_requests_of_the_engine(void **state)
{
	static const struct {
		uint32_t percent, asked;
	} rows[] = {{0, 5}, {50, 10}, {100, 20}, {127, 20}, {0, 5}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fcore_params p = env_params(true);

		p.ar_percent = 25;
		env_open(&p);
		requests_after(i ? rows[i - 1].percent : 0);
		assert_int_equal(requests_after(rows[i].percent), rows[i].asked);
		env_close();
	}
}

static void ack_requested_at_the_end(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.fcwnd = 5;
	env_open(&p);
	for (uint32_t n = 0; n < 3; n++)
		env_push(n);
	env_run();
	assert_false(env.sent[0].hdr.ar);
	assert_false(env.sent[1].hdr.ar);
	assert_true(env.sent[2].hdr.ar);	/* no push follows */
	for (uint32_t n = 0; n < 4; n++)
		env_push(n);
	env_run();
	assert_false(env.sent[0].hdr.ar);
	assert_true(env.sent[1].hdr.ar);	/* the window is full */
	env_close();
}

/* On an ordered connection the two windows take turns as the RSNs say. */
static void rsn_order(void **state)
{
	struct fcore_params p = env_params(true);
	uint32_t sent = 0;

	(void)state;
	p.fcwnd = 3;
	env_open(&p);
	for (uint32_t n = 0; n < 5; n++)
		env_pull(n, 1);
	env_push(5);
	env_run();
	sent = env.nsent;
	assert_int_equal(sent, 3);	/* the push waits although its window is open */
	env_ack_all(0, 3);
	env_run();
	for (uint32_t n = 0; n < env.nsent; n++)
		assert_int_equal(env.sent[n].hdr.rsn, ENV_RSN + sent + n);
	assert_int_equal(env.nsent, 3);
	env_close();
}

/* A refused packet keeps its place; its PSN is not known as sent. */
static void refused(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	env_push(0);
	env_push(1);
	env.refuse = 1;
	assert_int_equal(env_run(), 0);
	assert_int_equal(env.shared.cc.data_next, ENV_DATA);
	assert_true(fcore_next_deadline(env.core, env.now) <= env.now);
	assert_int_equal(env_run(), 2);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
	assert_int_equal(env.sent[1].hdr.psn, ENV_DATA + 1);
	assert_int_equal(fcore_conn_stats(env.c)->tx_packets, 2);
	env_close();
}

/* The peer's answer during transmit() finds the PSN sent. */
static void next_before_transmit(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	env_push(0);
	env_run();
	assert_int_equal(env_ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 2,
						      .rrbpsn = ENV_REQ }),
			 FALCON_V_ack_invalid);
	assert_int_equal(env.nevents, 0);
	env_ack_all(1, 0);
	assert_int_equal(env.nevents, 1);
	env_close();
}

/* A lying peer acknowledges a packet while transmit() refuses it: it completes when it is sent. */
static void acked_while_refused(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	env_push(0);
	env_push(1);
	env.refuse = 1;
	env.hostile = true;
	env_run();
	assert_int_equal(env.shared.tx_acked.data_base, ENV_DATA + 1);
	fcore_acked(env.c, env.now);
	assert_int_equal(env.nevents, 0);
	assert_int_equal(env_run(), 2);
	fcore_acked(env.c, env.now);
	assert_int_equal(env.nevents, 1);
	env_ack_all(2, 0);
	assert_int_equal(env.nevents, 2);
	env_close();
}

/* Opens a second connection beside core_env.h's, with PSNs from SECOND on, and gives both |n| pushes. */
static struct fcore_conn *open_second(uint32_t n)
{
	static struct falcon_conn second;
	struct fcore_params p = env_params(true);
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW };
	struct fcore_conn *c;

	memset(&second, 0, sizeof(second));
	env_open(&p);
	second.id.cid = 6;
	second.id.peer_cid = ENV_PEER_CID;
	p.tx_data_psn = SECOND;
	c = fcore_conn_open(env.core, 6, &second, &p, env.now);
	for (uint32_t i = 0; i < n; i++) {
		env_push(i);
		assert_int_equal(fcore_push(c, &t, env.now), 0);
	}
	return c;
}

/* Between connections a quantum each, between queues packet by packet; the budget holds. */
static void round_robin(void **state)
{
	struct fcore_conn *c = open_second(40);

	(void)state;
	env.nsent = 0;
	assert_int_equal(fcore_run(env.core, env.now, FC_QUANTUM + 5), FC_QUANTUM + 5);
	assert_int_equal(env.sent[FC_QUANTUM - 1].hdr.psn, ENV_DATA + FC_QUANTUM - 1);
	assert_int_equal(env.sent[FC_QUANTUM].hdr.psn, SECOND);
	assert_true(fcore_next_deadline(env.core, env.now) <= env.now);
	assert_int_equal(env_run(), 80 - FC_QUANTUM - 5);
	fcore_conn_close(c, kCmplDeadConn);
	env_close();
}

/* The link takes no more after five packets. */
static int full_after_five(void)
{
	if (env.nsent == 5)
		env.refuse = 1000;
	return 0;
}

/* Where there is room for less than a quantum at a time, all have some of it. */
static void who_found_no_room_comes_first(void **state)
{
	struct fcore_conn *c = open_second(20);

	(void)state;
	env.on_transmit = full_after_five;
	for (uint32_t turn = 0; turn < 4; turn++) {
		env.refuse = 0;
		assert_int_equal(env_run(), 5);
		assert_int_equal(env.sent[0].hdr.psn, (turn % 2 ? SECOND : ENV_DATA) + turn / 2 * 5);
		assert_int_equal(env.sent[4].hdr.psn, env.sent[0].hdr.psn + 4);
	}
	env.on_transmit = NULL;
	env.refuse = 0;
	fcore_conn_close(c, kCmplDeadConn);
	env_close();
}

static void queues_alternate(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	env_open(&p);
	env.answer = true;
	for (uint32_t n = 0; n < 4; n++) {
		env_push(n);
		env_receive_pull(n, n, false);
	}
	env_run();
	for (uint32_t n = 0; n < 8; n++)
		assert_int_equal(env.sent[n].type,
				 n % 2 ? FALCON_PULL_DATA : FALCON_PUSH_DATA);
	env_close();
}

/*
 * fcwnd below one packet: one packet at a time, each a gap of so many 512 ns after its predecessor was
 * acknowledged, so that the round trip and the gap make the rate (10.6.2).
 */
static void paced(void **state)
{
	struct fcore_params p = env_params(true);
	struct falcon_rue_result r = { 0 };
	uint64_t gap = 800 * 512, rtt = 300000;

	(void)state;
	env_open(&p);
	falcon_res_put(&r, fcwnd_fraction, 512);
	falcon_res_put(&r, inter_packet_gap, 800);
	falcon_res_put(&r, ncwnd, 10);
	fcore_rue_result(env.c, &r, env.now);
	for (uint32_t n = 0; n < 3; n++)
		env_push(n);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env_pass(rtt), 0);
	env_ack_all(1, 0);
	assert_int_equal(env_run(), 0);
	assert_true(fcore_next_deadline(env.core, env.now) > env.now);
	assert_int_equal(env_pass(gap - 4000), 0);
	assert_int_equal(env_pass(6000), 1);
	falcon_res_put(&r, fcwnd, 4);
	fcore_rue_result(env.c, &r, env.now);
	assert_int_equal(env_run(), 1);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gates),
		cmocka_unit_test(pull_data_passes_requests),
		cmocka_unit_test(acks_open_the_window),
		cmocka_unit_test(headers),
		cmocka_unit_test(room_for_responses),
		cmocka_unit_test(ack_requests),
		cmocka_unit_test(ack_requests_of_the_engine),
		cmocka_unit_test(ack_requested_at_the_end),
		cmocka_unit_test(rsn_order),
		cmocka_unit_test(refused),
		cmocka_unit_test(next_before_transmit),
		cmocka_unit_test(acked_while_refused),
		cmocka_unit_test(round_robin),
		cmocka_unit_test(who_found_no_room_comes_first),
		cmocka_unit_test(queues_alternate),
		cmocka_unit_test(paced),
	};

	return unit_run(tests);
}
