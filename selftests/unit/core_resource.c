// SPDX-License-Identifier: BSD-2-Clause
/* Resources of the upper layer: the tables of Falcon 8.2, levels, credits, backpressure, isolation. */
#include "core_held.h"

enum { CID2 = 6 };

/* Push 1, ceil(L/N), 1, 0; given back with the ACK and the completion. */
static void s8_2_3_push_data_takes_1_ceil_1_0(void **state)
{
	static const uint32_t lens[][2] = { { 0, 0 }, { 1, 1 }, { 128, 1 }, { 129, 2 }, { 1000, 8 } };

	(void)state;
	held_open(true);
	for (uint32_t i = 0; i < ARRAY_SIZE(lens); i++) {
		assert_int_equal(held_submit(env.c, false, lens[i][0]), 0);
		EXPECT_HELD(1, lens[i][1], 1, 0);
		env_run();
		EXPECT_HELD(1, lens[i][1], 1, 0);
		env_ack_all(i + 1, 0);
		EXPECT_HELD(0);
	}
	env_close();
}

/* L is the Request Length, which counts the upper layer's header. */
static void s8_2_3_request_length_counts_the_ulp_header(void **state)
{
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .ulp_hdr = "12345678", .ulp_hdr_len = 8,
			       .payload = NULL, .len = 121 };

	(void)state;
	held_open(true);
	t.payload = t.ulp_hdr;
	assert_int_equal(fcore_push(env.c, &t, env.now), 0);
	EXPECT_HELD(1, 2, 1, 0);
	env_close();
}

/* Pull 1, 1, 1, ceil(L/N): what the data will need is there from the beginning (8.2.2). */
static void s8_2_3_pull_request_takes_1_1_1_ceil(void **state)
{
	(void)state;
	held_open(true);
	assert_int_equal(held_submit(env.c, true, 300), 0);
	EXPECT_HELD(1, 1, 1, 3);
	env_run();
	env_ack_all(0, 1);
	EXPECT_HELD(0, 0, 1, 3);
	env_receive_data(0, 0, 300);
	EXPECT_HELD(0);
	env_close();
}

/* Rx is held until the completion's turn has come. */
static void s8_2_2_rx_is_held_until_completion_to_ulp(void **state)
{
	(void)state;
	held_open(true);
	held_submit(env.c, false, 10);
	held_submit(env.c, true, 300);
	env_run();
	env_ack_all(0, 1);
	env_receive_data(0, 1, 200);
	EXPECT_HELD(1, 1, 2, 3);
	env_ack_all(1, 1);
	EXPECT_HELD(0);
	env_close();
}

/* Data that overtakes the request's ACK leaves the request its Tx resources. */
static void s8_2_2_tx_is_held_until_acknowledged(void **state)
{
	(void)state;
	held_open(true);
	held_submit(env.c, true, 300);
	env_run();
	env_receive_data(0, 0, 300);
	EXPECT_HELD(1, 1, 0, 0);
	env_ack_all(0, 1);
	EXPECT_HELD(0);
	env_close();
}

/* Pull response 0, 0, 0, 0, 1, ceil(L/N), of its own length. */
static void s8_2_3_pull_response_takes_1_ceil(void **state)
{
	(void)state;
	held_open(true);
	held_receive(true, 0, 0, 500);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 1);
	env_respond(env.c, ENV_PEER_RSN, "x", 257, 1);
	EXPECT_HELD(0, 0, 0, 0, 1, 3, 0, 0);
	env_run();
	EXPECT_HELD(0, 0, 0, 0, 1, 3, 0, 0);
	env_ack_all(1, 0);
	EXPECT_HELD(0);
	env_close();
}

/* L is the length of all that is sent, the upper layer's header in front of it among it. */
static void s8_2_3_pull_response_counts_header(void **state)
{
	uint8_t hdr[FCORE_MAX_RESP_HDR] = { 1 };
	const struct fcore_response r = { .ulp_hdr = hdr, .ulp_hdr_len = sizeof(hdr),
					  .payload = "x", .len = 257 - sizeof(hdr), .cookie = 1 };

	(void)state;
	held_open(true);
	held_receive(true, 0, 0, 500);
	fcore_pull_respond(env.c, ENV_PEER_RSN, &r, env.now);
	EXPECT_HELD(0, 0, 0, 0, 1, 3, 0, 0);
	env_run();
	env_ack_all(1, 0);
	EXPECT_HELD(0);
	env_close();
}

/* A response that was never sent gives back all that it took. */
static void s8_2_3_pull_response_gives_header_back(void **state)
{
	uint8_t hdr[FCORE_MAX_RESP_HDR] = { 1 };
	const struct fcore_response r = { .ulp_hdr = hdr, .ulp_hdr_len = sizeof(hdr), .cookie = 1 };

	(void)state;
	held_open(true);
	held_receive(true, 0, 0, 500);
	fcore_pull_respond(env.c, ENV_PEER_RSN, &r, env.now);
	EXPECT_HELD(0, 0, 0, 0, 1, 1, 0, 0);
	env_close();
}

/* Network push 1, ceil(L/N); pull 1, 1; until the upper layer has answered. */
static void s8_2_4_push_takes_1_ceil_pull_1_1(void **state)
{
	(void)state;
	held_open(true);
	held_receive(false, 0, 1, 300);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 3);
	held_receive(true, 0, 0, 1000);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 2, 4);
	fcore_push_done(env.c, ENV_PEER_RSN + 1, FCORE_PUSH_ACK, 0, 0, env.now);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 1);
	env_respond(env.c, ENV_PEER_RSN, NULL, 0, 1);
	EXPECT_HELD(0, 0, 0, 0, 1, 0, 0, 0);
	env_close();
}

/* RNR keeps them, errors give them back at once (11). */
static void s8_2_4_rnr_keeps_errors_give_back(void **state)
{
	(void)state;
	held_open(true);
	held_receive(false, 0, 0, 300);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_RNR, 1, 0, env.now);
	EXPECT_HELD(0, 0, 0, 0, 0, 0, 1, 3);
	env_pass(20000);
	fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_CIE, 0, 0, env.now);
	EXPECT_HELD(0);
	env_close();
}

static void raise(uint32_t limit[FCORE_RESOURCES])
{
	for (int r = 0; r < FCORE_RESOURCES; r++)
		limit[r] = FCORE_NO_LIMIT;
}

/* Limit |r| to |n| at |level|, everything else to nothing in particular. */
static void set_limit(enum fcore_level level, enum fcore_resource r, uint32_t n)
{
	uint32_t limit[FCORE_RESOURCES];

	raise(limit);
	limit[r] = n;
	if (level == FCORE_LEVEL_HOST)
		assert_int_equal(fcore_limit_host(env.core, 0, limit), 0);
	else if (level == FCORE_LEVEL_FUNCTION)
		assert_int_equal(fcore_limit_function(env.core, 0, limit), 0);
	else
		fcore_limit_conn(env.c, limit);
}

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
			set_limit((enum fcore_level)level, cases[i].r, cases[i].limit);
			a = fcore_resources(env.core, (enum fcore_level)level,
					    level == FCORE_LEVEL_CONN ? ENV_CID : 0);
			assert_int_equal(held_submit(env.c, cases[i].pull, 600), 0);
			assert_int_equal(held_submit(env.c, cases[i].pull, 600), 0);
			assert_int_equal(held_submit(env.c, cases[i].pull, 600), -EAGAIN);
			assert_int_equal(a->refused[cases[i].r], 1);
			assert_int_equal(a->used[cases[i].r], a->limit[cases[i].r]);
			assert_int_equal(a->high[cases[i].r], a->limit[cases[i].r]);
			set_limit((enum fcore_level)level, cases[i].r, FCORE_NO_LIMIT);
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
	raise(limit);
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
#undef REFUSED
}

static void no_such_host_or_function(void **state)
{
	struct fcore_params p = env_params(true);
	static struct falcon_conn shared;

	(void)state;
	held_open(true);
	p.host = 1;
	assert_null(fcore_conn_open(env.core, CID2, &shared, &p, env.now));
	p.host = 0;
	p.local_function = 16;
	assert_null(fcore_conn_open(env.core, CID2, &shared, &p, env.now));
	env_close();
}

static struct falcon_conn shared2;

/* Another connection, in the accounts of |host| and |function|. */
static struct fcore_conn *open_second(uint32_t host, uint32_t function)
{
	struct fcore_params p = env_params(true);
	struct fcore_conn *c;

	memset(&shared2, 0, sizeof(shared2));
	shared2.id.cid = CID2;
	shared2.id.peer_cid = ENV_PEER_CID;
	p.host = host;
	p.local_function = function;
	c = fcore_conn_open(env.core, CID2, &shared2, &p, env.now);
	assert_non_null(c);
	return c;
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
	c2 = open_second(1, 3);
	held_submit(env.c, false, 0);
	held_submit(c2, false, 0);
	held_submit(c2, false, 0);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_NIC, 0)->used[0], 3);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_HOST, 0)->used[0], 1);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_HOST, 1)->used[0], 2);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_FUNCTION, 0)->used[0], 1);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_FUNCTION, 3)->used[0], 2);
	assert_int_equal(fcore_resources(env.core, FCORE_LEVEL_CONN, CID2)->used[0], 2);
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
	c2 = open_second(0, 0);
	set_limit(FCORE_LEVEL_CONN, FCORE_REQ_PKT_TX, 8);
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

/* Backpressure on requests never holds up responses (CR rule 2). */
static void s8_2_1_2_responses_do_not_wait_for_requests(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	for (int r = 0; r < FCORE_DATA_PKT_TX; r++)
		cfg.total[r] = 1;
	p.fcwnd = 4;
	env_open_with(&p, &cfg);
	held_submit(env.c, false, 0);
	assert_int_equal(held_submit(env.c, false, 0), -EAGAIN);
	assert_int_equal(held_submit(env.c, true, 10), -EAGAIN);
	held_receive(true, 0, 0, 100);
	env_respond(env.c, ENV_PEER_RSN, "x", 1, 1);
	env_run();
	assert_int_equal(env.nsent, 2);
	assert_int_equal(env.sent[0].type + env.sent[1].type, FALCON_PUSH_DATA + FALCON_PULL_DATA);
	env_close();
}

/* What comes in and what goes out do not share (CR rule 1). */
static void s8_2_1_2_incoming_and_outgoing_are_independent(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	for (int r = 0; r < FCORE_RESOURCES; r++)
		cfg.total[r] = 1;
	env_open_with(&p, &cfg);
	assert_int_equal(held_submit(env.c, true, 1000), 0);
	held_receive(false, 0, 0, 1000);
	assert_int_equal(env.event[0].what, ENV_PUSH);
	env_run();
	assert_int_equal(env.sent[0].type, FALCON_PULL_REQUEST);
	env_receive_data(1, 0, 1000);
	assert_int_equal(env.event[2].what, ENV_DONE);
	EXPECT_HELD(1, 1, 0, 0, 0, 0, 1, 8);
	env_close();
}

/* Where ULP Data is used up, responses wait in their order; none is lost or refused. */
static void s8_2_2_responses_wait_for_ulp_data(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	cfg.total[FCORE_DATA_PKT_TX] = 2;
	cfg.alpha = 100 * FCORE_ALPHA_ONE;
	env_open_with(&p, &cfg);
	for (uint32_t i = 0; i < 5; i++) {
		held_receive(true, i, i, 100);
		env_respond(env.c, ENV_PEER_RSN + i, "x", 1, i);
	}
	EXPECT_HELD(0, 0, 0, 0, 2, 2, 0, 0);
	for (uint32_t acked = 0, sent = 2; sent <= 5; sent++) {
		uint32_t first = env.nevents;

		env_run();
		assert_int_equal(env.c->data.next, ENV_DATA + sent);
		env_ack_all(++acked, 0);
		assert_int_equal(env.event[first].what, ENV_RESPONSE_DONE);
		assert_int_equal(env.event[first].cookie, acked - 1);
	}
	env_close();
	assert_int_equal(env.event[env.nevents - 1].what, ENV_RESPONSE_DONE);
}

/* The same between connections: round robin, and closing loses nobody's turn. */
static void s8_2_2_connections_wait_for_ulp_data_in_turn(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);
	struct fcore_conn *c2;
	uint8_t frame = 0;

	(void)state;
	cfg.total[FCORE_DATA_PKT_TX] = 1;
	env_open_with(&p, &cfg);
	c2 = open_second(0, 0);
	for (uint32_t i = 0; i < 2; i++) {
		held_receive(true, i, i, 100);
		env_respond(env.c, ENV_PEER_RSN + i, "x", 1, i);
	}
	env.frames++;
	fcore_receive(c2, &(struct fcore_rx){ .hdr = { .type = FALCON_PULL_REQUEST,
						       .psn = ENV_PEER_REQ, .rsn = ENV_PEER_RSN },
					      .frame = memcpy(malloc(1), &frame, 1),
					      .now = env.now });
	env_respond(c2, ENV_PEER_RSN, "x", 1, 9);
	env_run();
	assert_int_equal(c2->data.next, ENV_DATA);
	env_ack_all(1, 0);
	env_run();
	assert_int_equal(env.c->data.next, ENV_DATA + 2);
	env_ack_all(2, 0);
	env_run();
	assert_int_equal(c2->data.next, ENV_DATA + 1);
	fcore_conn_close(c2, kCmplDeadConn);
	assert_int_equal(env.event[env.nevents - 1].cookie, 9);
	env_close();
}

/* -EAGAIN, then on_xon() once, when what was refused would fit. */
static void s8_2_3_xoff_then_xon(void **state)
{
	struct fcore_credits k;

	(void)state;
	held_open(true);
	set_limit(FCORE_LEVEL_CONN, FCORE_REQ_BUF_TX, 8);
	held_submit(env.c, false, 300);
	held_submit(env.c, false, 300);
	fcore_credits(env.c, &k);
	assert_false(k.xoff);
	assert_int_equal(k.credit[FCORE_REQ_BUF_TX], 2);
	assert_int_equal(held_submit(env.c, false, 600), -EAGAIN);
	fcore_credits(env.c, &k);
	assert_true(k.xoff);
	env_run();
	env_ack_all(0, 0);
	assert_int_equal(env.xons, 0);
	env_ack_all(1, 0);
	assert_int_equal(env.xons, 1);	/* 5 cells of 8 */
	fcore_credits(env.c, &k);
	assert_false(k.xoff);
	assert_int_equal(k.credit[FCORE_REQ_BUF_TX], 5);
	assert_int_equal(held_submit(env.c, false, 600), 0);
	env_run();
	env_ack_all(3, 0);
	assert_int_equal(env.xons, 1);
	env_close();
}

/* M:N: the transaction ends in error, and the next may go on. */
static void s8_2_3_no_flow_control_completes_in_error(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .cookie = 77 };

	(void)state;
	p.no_flow_control = true;
	env_open_with(&p, &cfg);
	set_limit(FCORE_LEVEL_CONN, FCORE_REQ_PKT_RX, 1);
	env_push(1);
	assert_int_equal(fcore_push(env.c, &t, env.now), 0);
	assert_int_equal(env.nevents, 1);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .cookie = 77, .code = kCmplLocalRsrc });
	assert_int_equal(env_run(), 1);
	env_ack_all(1, 0);
	assert_int_equal(env.xons, 0);
	env_expect(1, (struct env_event){ .what = ENV_DONE, .cookie = 1 });
	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
	assert_int_equal(env.nevents, 2);
	assert_int_equal(fcore_conn_stats(env.c)->push_submitted, 2);
	assert_int_equal(fcore_conn_stats(env.c)->completed_in_error, 1);
	env_close();
}

/* The upper layer may close the connection from within that completion. */
static void no_flow_control_closed_in_completion(void **state)
{
	struct fcore_params p = env_params(true);
	struct fcore_config cfg = held_config();

	(void)state;
	p.no_flow_control = true;
	env_open_with(&p, &cfg);
	for (uint32_t i = 0; i < FCORE_MAX_TXNS; i++)
		env_push(i);
	env.close_on_event = true;
	env_push(999);
	assert_null(env.c);
	env_close();
}

/* Timeouts and errors give Tx back when the packet becomes a Resync, Rx with the completion. */
static void s11_resync_takes_no_tx_resources(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	p.rto_ns = 10000000000ULL;
	env_open_with(&p, &cfg);
	held_submit(env.c, false, 300);
	held_submit(env.c, true, 300);
	env_run();
	env_pass(p.txn_timeout_ns + 2000);
	assert_int_equal(env.nevents, 2);
	EXPECT_HELD(0);
	env_ack_all(1, 1);
	EXPECT_HELD(0);
	env_close();
}

/* Retransmissions exhausted: Tx is reclaimed with the fatal interrupt. */
static void s11_fatal_reclaims_tx_resources(void **state)
{
	struct fcore_config cfg = held_config();
	struct fcore_params p = env_params(true);

	(void)state;
	p.max_retx = 1;
	p.txn_timeout_ns = 1000000000000ULL;
	env_open_with(&p, &cfg);
	held_submit(env.c, false, 300);
	env_run();
	held_receive(true, 0, 0, 100);
	env_respond(env.c, ENV_PEER_RSN, "x", 1, 1);
	held_receive(false, 0, 1, 300);
	for (int i = 0; i < 100 && !env.fatals; i++) {
		held_submit(env.c, false, 300);
		env_pass(100000000);
	}
	assert_int_equal(env.fatals, 1);
	for (int r = 0; r < FCORE_RESOURCES; r++)
		if (r != FCORE_REQ_PKT_RX && r < FCORE_NET_PKT_RX)
			assert_int_equal(held()[r], 0);
	env_close();
}

/* Closing gives everything back, at whatever stage it is. */
static void close_gives_everything_back(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		held_open(ordered);
		for (uint32_t i = 0; i < 4; i++)
			held_submit(env.c, i & 1, 300);
		env_run();
		for (uint32_t i = 0; i < 4; i++)
			held_submit(env.c, i & 1, 300);
		env_receive_data(0, 1, 300);
		env_receive_data(1, 3, 300);
		for (uint32_t i = 0; i < 4; i++)
			held_receive(false, 2 + i, 2 * i, 300);
		for (uint32_t i = 0; i < 3; i++)
			held_receive(true, i, 2 * i + 1, 300);
		env_respond(env.c, ENV_PEER_RSN + 1, "x", 1, 1);
		env_respond(env.c, ENV_PEER_RSN + 3, "x", 1, 2);
		env_run();
		env_respond(env.c, ENV_PEER_RSN + 5, "x", 1, 3);
		fcore_push_done(env.c, ENV_PEER_RSN, FCORE_PUSH_CIE, 0, 0, env.now);
		fcore_push_done(env.c, ENV_PEER_RSN + 2, FCORE_PUSH_RNR, 1, 0, env.now);
		env_close();
	}
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
	c2 = open_second(0, 0);
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
		cmocka_unit_test(s8_2_3_push_data_takes_1_ceil_1_0),
		cmocka_unit_test(s8_2_3_request_length_counts_the_ulp_header),
		cmocka_unit_test(s8_2_3_pull_request_takes_1_1_1_ceil),
		cmocka_unit_test(s8_2_2_rx_is_held_until_completion_to_ulp),
		cmocka_unit_test(s8_2_2_tx_is_held_until_acknowledged),
		cmocka_unit_test(s8_2_3_pull_response_takes_1_ceil),
		cmocka_unit_test(s8_2_3_pull_response_counts_header),
		cmocka_unit_test(s8_2_3_pull_response_gives_header_back),
		cmocka_unit_test(s8_2_4_push_takes_1_ceil_pull_1_1),
		cmocka_unit_test(s8_2_4_rnr_keeps_errors_give_back),
		cmocka_unit_test(s8_2_3_limits_per_host_function_and_connection),
		cmocka_unit_test(limits_of_nobody),
		cmocka_unit_test(limits_leave_room_for_one),
		cmocka_unit_test(config_bounds),
		cmocka_unit_test(no_such_host_or_function),
		cmocka_unit_test(s8_2_3_accounts_are_separate),
		cmocka_unit_test(s8_2_3_oversubscription_cannot_overrun),
		cmocka_unit_test(s8_2_1_2_responses_do_not_wait_for_requests),
		cmocka_unit_test(s8_2_1_2_incoming_and_outgoing_are_independent),
		cmocka_unit_test(s8_2_2_responses_wait_for_ulp_data),
		cmocka_unit_test(s8_2_2_connections_wait_for_ulp_data_in_turn),
		cmocka_unit_test(s8_2_3_xoff_then_xon),
		cmocka_unit_test(s8_2_3_no_flow_control_completes_in_error),
		cmocka_unit_test(no_flow_control_closed_in_completion),
		cmocka_unit_test(s11_resync_takes_no_tx_resources),
		cmocka_unit_test(s11_fatal_reclaims_tx_resources),
		cmocka_unit_test(close_gives_everything_back),
		cmocka_unit_test(paper4_6_threshold_is_alpha_times_free),
		cmocka_unit_test(paper4_6_engine_scales_alpha),
		cmocka_unit_test(paper4_6_stalled_connection_leaves_others_their_share),
		cmocka_unit_test(names),
	};

	return unit_run(tests);
}
