// SPDX-License-Identifier: BSD-2-Clause
/* The initiator: states, completion order, pull data, timeouts, bounds (Falcon 8.4, 11). */
#include "core_env.h"

static void open_ordered(bool ordered)
{
	struct fcore_params p = env_params(ordered);

	env_open(&p);
}

static uint8_t state_of(uint32_t r)
{
	return fc_itxn(env.c, ENV_RSN + r)->state;
}

static void push_states(void **state)
{
	(void)state;
	open_ordered(true);
	env_push(0);
	env_push(1);
	assert_int_equal(state_of(0), PushReqUlpRx);
	env_run();
	assert_int_equal(state_of(0), PushDataTx);
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_ack = { 2 }, .data_rx = { 3 } });
	assert_int_equal(state_of(1), PushDataAckd);
	assert_int_equal(env.nevents, 0);
	env_ack_all(2, 0);
	assert_int_equal(state_of(0), FC_INITIATOR_FREE);
	assert_int_equal(env.nevents, 2);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .cookie = 0 });
	env_expect(1, (struct env_event){ .what = ENV_DONE, .cookie = 1 });
	assert_int_equal(fcore_conn_stats(env.c)->completed, 2);
	env_close();
}

static void pull_states(void **state)
{
	(void)state;
	open_ordered(true);
	env_pull(0, 100);
	env_pull(1, 100);
	assert_int_equal(state_of(0), PullReqUlpRx);
	env_run();
	assert_int_equal(state_of(0), PullReqTx);
	env_ack_all(0, 1);
	assert_int_equal(state_of(0), PullReqAckd);
	env_receive_data(0, 1, 100);
	assert_int_equal(state_of(1), PullDataRx);
	assert_int_equal(env.nevents, 0);
	env_receive_data(1, 0, 60);
	assert_int_equal(state_of(0), FC_INITIATOR_FREE);
	assert_int_equal(state_of(1), PullDataUlpTx);	/* its request is not acknowledged */
	env_expect(0, (struct env_event){ .what = ENV_PULL_DATA, .cookie = 0, .len = 60 });
	env_expect(1, (struct env_event){ .what = ENV_DONE, .cookie = 0 });
	env_expect(2, (struct env_event){ .what = ENV_PULL_DATA, .cookie = 1, .len = 100 });
	env_expect(3, (struct env_event){ .what = ENV_DONE, .cookie = 1 });
	assert_int_equal(env.frames, 0);
	env_ack_all(0, 2);
	assert_int_equal(state_of(1), FC_INITIATOR_FREE);
	env_close();
}

/* Push completions and pull data are ordered among one another. */
static void completions_in_order(void **state)
{
	(void)state;
	open_ordered(true);
	env_pull(0, 10);
	env_push(1);
	env_pull(2, 10);
	env_run();
	env_ack_all(1, 2);
	env_receive_data(0, 2, 10);
	assert_int_equal(env.nevents, 0);
	env_receive_data(1, 0, 10);
	assert_int_equal(env.nevents, 5);
	for (uint32_t i = 0, n = 0; i < env.nevents; i++)
		if (env.event[i].what == ENV_DONE)
			assert_int_equal(env.event[i].cookie, n++);
	env_close();
}

static void completions_unordered(void **state)
{
	(void)state;
	open_ordered(false);
	env_pull(0, 10);
	env_push(1);
	env_run();
	env_ack_all(1, 1);
	assert_int_equal(env.nevents, 1);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .cookie = 1 });
	env_receive_data(0, 0, 0);
	env_expect(1, (struct env_event){ .what = ENV_PULL_DATA, .cookie = 0, .len = 0 });
	env_expect(2, (struct env_event){ .what = ENV_DONE, .cookie = 0 });
	env_close();
}

/* 8.4.3.2: no request, or too much data: discarded, counted, acknowledged all the same. */
static void bad_pull_data(void **state)
{
	(void)state;
	open_ordered(true);
	env_receive_data(0, 0, 10);		/* nothing was asked for */
	env_push(0);
	env_pull(1, 10);
	env_receive_data(1, 1, 10);		/* not sent yet */
	env_run();
	env_receive_data(2, 0, 10);		/* a push */
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 3);
	assert_int_equal(env.nevents, 0);
	env_ack_all(1, 1);
	env_receive_data(3, 1, 11);		/* too long */
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 4);
	env_expect(1, (struct env_event){ .what = ENV_DONE, .cookie = 1, .code = kCmplOpErr });
	env_receive_data(4, 1, 10);		/* too late */
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 5);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 5);
	assert_int_equal(env.nevents, 2);
	assert_int_equal(env.frames, 0);
	env_close();
}

/* The target gave up on the data. */
static void voided_pull(void **state)
{
	(void)state;
	open_ordered(true);
	env_pull(0, 10);
	env_run();
	env_ack_all(0, 1);
	env_receive_resync(FALCON_PULL_DATA, ENV_PEER_DATA, ENV_RSN);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .code = kCmplRemoteErr });
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA + 1);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_BACK);
	env_receive_resync(FALCON_PULL_DATA, ENV_PEER_DATA + 1, ENV_RSN + 77);
	assert_int_equal(env.nevents, 1);
	env_close();
}

static void bounds(void **state)
{
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW, .len = FALCON_MAX_REQUEST_LEN + 1 };
	uint8_t hdr[FCORE_MAX_ULP_HDR + 1] = { 0 };

	(void)state;
	open_ordered(true);
	assert_int_equal(fcore_pull(env.c, &t, env.now), -EMSGSIZE);
	assert_int_equal(fcore_push(env.c, &t, env.now), -EMSGSIZE);
	t.len = FALCON_MAX_REQUEST_LEN;
	t.ulp_hdr = hdr;
	t.ulp_hdr_len = 1;
	assert_int_equal(fcore_push(env.c, &t, env.now), -EMSGSIZE);
	assert_int_equal(fcore_pull(env.c, &t, env.now), 0);
	t.ulp_hdr_len = sizeof(hdr);
	assert_int_equal(fcore_pull(env.c, &t, env.now), -EMSGSIZE);
	assert_int_equal(fcore_conn_stats(env.c)->pull_submitted, 1);
	assert_int_equal(fcore_conn_stats(env.c)->push_submitted, 0);
	env_close();
}

static void backpressure(void **state)
{
	struct fcore_txn t = { .proto = FALCON_PROTO_RAW };

	(void)state;
	open_ordered(true);
	for (uint32_t i = 0; i < FCORE_MAX_TXNS; i++)
		env_push(i);
	assert_int_equal(fcore_push(env.c, &t, env.now), -EAGAIN);
	env_run();
	assert_int_equal(env.xons, 0);
	env_ack_all(1, 0);
	assert_int_equal(env.xons, 1);
	env_ack_all(2, 0);
	assert_int_equal(env.xons, 1);
	env_push(0);
	env_push(1);
	assert_int_equal(fcore_push(env.c, &t, env.now), -EAGAIN);
	env_close();
}

/* Timed out on the wire: kCmplLocalTO at once, and the PSN is filled by a Resync. */
static void timeout_on_the_wire(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.rto_ns = 10000000000ULL;
	env_open(&p);
	env_push(0);
	env_run();
	env.now += p.txn_timeout_ns / 2;
	env_pull(1, 10);
	env_run();
	assert_int_equal(env_pass(p.txn_timeout_ns / 2 + 2000), 1);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	assert_int_equal(env.sent[0].hdr.resync_code, FALCON_RESYNC_TXN_TIMEOUT);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .code = kCmplLocalTO });
	assert_int_equal(env.nevents, 1);
	assert_int_equal(env_pass(p.txn_timeout_ns / 2), 1);
	assert_int_equal(env.sent[0].hdr.resync_type, FALCON_PULL_REQUEST);
	env_ack_all(1, 1);
	assert_int_equal(env.nevents, 2);
	assert_int_equal(env.c->init_base, env.c->init_next);
	env_close();
}

/* A request that was acknowledged and never answered needs no Resync. */
static void timeout_of_the_answer(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	env_open(&p);
	env_pull(0, 10);
	env_run();
	env_ack_all(0, 1);
	assert_int_equal(env_pass(p.txn_timeout_ns + 2000), 0);
	env_expect(0, (struct env_event){ .what = ENV_DONE, .code = kCmplLocalTO });
	env_receive_data(0, 0, 10);
	assert_int_equal(fcore_conn_stats(env.c)->rx_discarded, 1);
	assert_int_equal(env.nevents, 1);
	env_close();
}

/* The completion of one makes room for new ones in the slots of others that were over already. */
static void timeout_goes_on_past_reused_slots(void **state)
{
	struct fcore_params p = env_params(false);

	(void)state;
	env_open(&p);
	for (uint32_t i = 0; i < FCORE_MAX_TXNS; i++)
		env_pull(i, 10);
	env_run();
	env_ack_all(0, FALCON_REQ_WINDOW);
	env_receive_data(0, 1, 10);
	assert_int_equal(env.nevents, 2);
	env.pull_on_done = 2;
	env_pass(p.txn_timeout_ns + 2000);
	assert_int_equal(env.nevents, 2 + FCORE_MAX_TXNS - 1);
	env_close();
}

/* Timed out before it was sent: its RSN reaches the target as a Resync all the same. */
static void timeout_in_the_queue(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.rto_ns = 10000000000ULL;
	p.fcwnd = 1;
	env_open(&p);
	env_push(0);
	env_push(1);
	env_run();
	env_pass(p.txn_timeout_ns + 2000);
	assert_int_equal(env.nevents, 2);
	assert_int_equal(env.event[1].code, kCmplLocalTO);
	env_ack_all(1, 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].type, FALCON_RESYNC);
	assert_int_equal(env.sent[0].hdr.resync_code, FALCON_RESYNC_TXN_TIMEOUT);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA + 1);
	assert_int_equal(env.sent[0].hdr.rsn, ENV_RSN + 1);
	env_ack_all(2, 0);
	assert_int_equal(env.c->init_base, env.c->init_next);
	assert_int_equal(env.nevents, 2);
	env_close();
}

/* The ULP may close the connection from within a completion. */
static void closed_in_completion(void **state)
{
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		open_ordered(ordered);
		for (uint32_t i = 0; i < 5; i++)
			env_push(i);
		env_run();
		env.close_on_event = true;
		env_ack_all(5, 0);
		assert_null(env.c);
		assert_null(fcore_conn_lookup(env.core, ENV_CID));
		assert_int_equal(env.nevents, 5);
		for (uint32_t i = 0; i < 5; i++)
			env_expect(i, (struct env_event){ .what = ENV_DONE, .cookie = i,
							  .code = i ? kCmplDeadConn : kCmplAck });
		env_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_states),
		cmocka_unit_test(pull_states),
		cmocka_unit_test(completions_in_order),
		cmocka_unit_test(completions_unordered),
		cmocka_unit_test(bad_pull_data),
		cmocka_unit_test(voided_pull),
		cmocka_unit_test(bounds),
		cmocka_unit_test(backpressure),
		cmocka_unit_test(timeout_on_the_wire),
		cmocka_unit_test(timeout_of_the_answer),
		cmocka_unit_test(timeout_goes_on_past_reused_slots),
		cmocka_unit_test(timeout_in_the_queue),
		cmocka_unit_test(closed_in_completion),
	};

	return unit_run(tests);
}
