// SPDX-License-Identifier: BSD-2-Clause
/* Instance and connections: opening, closing, the RUE's results, the RTT. */
#include "core_env.h"

static void open_and_look_up(void **state)
{
	static struct falcon_conn shared[3];
	struct fcore_params p = env_params(true);
	struct fcore_conn *c;

	(void)state;
	env_open(&p);
	assert_ptr_equal(fcore_conn_lookup(env.core, ENV_CID), env.c);
	assert_int_equal(fcore_conn_cid(env.c), ENV_CID);
	assert_ptr_equal(fcore_conn_shared(env.c), &env.shared);
	assert_null(fcore_conn_user(env.c));
	fcore_conn_set_user(env.c, &p);
	assert_ptr_equal(fcore_conn_user(env.c), &p);
	assert_null(fcore_conn_lookup(env.core, ENV_CID + 1));
	assert_null(fcore_conn_lookup(env.core, FALCON_MAX_CONNS));
	assert_null(fcore_conn_open(env.core, FALCON_MAX_CONNS, &shared[0], &p, env.now));
	assert_null(fcore_conn_open(env.core, ENV_CID, &shared[0], &p, env.now));
	c = fcore_conn_open(env.core, FALCON_MAX_CONNS - 1, &shared[0], &p, env.now);
	assert_non_null(c);
	assert_null(fcore_conn_open(env.core, 1, &shared[1], &p, env.now));	/* max_conns */
	fcore_conn_close(c, kCmplDeadConn);
	c = fcore_conn_open(env.core, 1, &shared[1], &p, env.now);
	assert_non_null(c);
	fcore_conn_close(c, kCmplDeadConn);
	env_close();
}

static void shared_state(void **state)
{
	struct fcore_params p = env_params(true);

	(void)state;
	p.fcwnd = 33;
	p.ncwnd = 44;
	memset(&env.shared, 0xff, sizeof(env.shared));
	env_open(&p);
	assert_int_equal(env.shared.rx_acked.data_base, ENV_PEER_DATA);
	assert_int_equal(env.shared.rx_acked.req_base, ENV_PEER_REQ);
	assert_int_equal(env.shared.tx_acked.data_base, ENV_DATA);
	assert_int_equal(env.shared.tx_acked.req_base, ENV_REQ);
	assert_int_equal(env.shared.cc.data_next, ENV_DATA);
	assert_int_equal(env.shared.cc.req_next, ENV_REQ);
	assert_int_equal(env.shared.cc.fcwnd, 33 << 10);
	assert_int_equal(env.shared.cc.ncwnd, 44);
	assert_int_equal(env.shared.cc.rto, falcon_time_of_ns(p.rto_ns));
	assert_int_equal(env.shared.cc_event.last_acked, ENV_DATA + ENV_REQ);
	assert_int_equal(fcore_next_deadline(env.core, env.now), FCORE_NEVER);
	env_close();
}

/* Everything in every state goes back to where it came from. */
static void close_gives_back(void **state)
{
	struct fcore_params p = env_params(true);
	uint32_t completions = 0, responses = 0;

	(void)state;
	p.fcwnd = 4;
	env_open(&p);
	for (uint32_t i = 0; i < 4; i++)
		env_pull(i, 10);
	env_run();
	env_receive_data(0, 1, 10);		/* held for RSN 0 */
	env_push(4);
	env_push(5);
	env_ack_all(0, 2);
	env_run();				/* a push on the wire, one more queued */
	env_receive_pull(0, 0, false);
	env_receive_pull(1, 1, false);
	env_receive_pull(2, 2, false);
	env_respond(env.c, ENV_PEER_RSN, NULL, 0, 100);
	env_run();				/* on the wire */
	p.fcwnd = 1;
	env_respond(env.c, ENV_PEER_RSN + 1, NULL, 0, 101);	/* queued */
	env_receive_push(1, 4, false);		/* out of order */
	env_receive_push(2, 3, false);		/* delivered, with the one before */
	env.nevents = 0;
	fcore_conn_close(env.c, kCmplDeadConn);
	env.c = NULL;
	for (uint32_t i = 0; i < env.nevents; i++) {
		completions += env.event[i].what == ENV_DONE;
		responses += env.event[i].what == ENV_RESPONSE_DONE;
		if (env.event[i].what == ENV_DONE)
			assert_int_equal(env.event[i].code, kCmplDeadConn);
	}
	assert_int_equal(completions, 6);
	assert_int_equal(responses, 2);
	assert_int_equal(env.nevents, 8);
	assert_int_equal(fcore_next_deadline(env.core, env.now), FCORE_NEVER);
	env_close();
}

/* 10.6.2.2 into the shared state, from where the next event takes it. */
static void rue_result(void **state)
{
	struct fcore_params p = env_params(true);
	struct falcon_rue_result r = { 0 };
	struct falcon_rue_event e = { 0 };

	(void)state;
	env_open(&p);
	falcon_res_put(&r, fcwnd, 77);
	falcon_res_put(&r, fcwnd_fraction, 1000);
	falcon_res_put(&r, ncwnd, 55);
	falcon_res_put(&r, inter_packet_gap, 4321);
	falcon_res_put(&r, retransmit_timeout, 9999);
	falcon_res_put(&r, fabric_window_time_marker, 0x111111);
	falcon_res_put(&r, nic_window_time_marker, 0x222222);
	falcon_res_put(&r, ncwnd_direction, 1);
	falcon_res_put(&r, base_delay_target, 0x333333);
	falcon_res_put(&r, delay_state, 0x444444);
	falcon_res_put(&r, rtt_state, 0x555555);
	falcon_res_put(&r, cc_opaque, 2);
	falcon_res_put(&r, cc_metadata, 0x123456);
	fcore_rue_result(env.c, &r, env.now);
	falcon_rue_event_state(&env.shared, 0, &e);
	assert_int_equal(falcon_ev_get(&e, fcwnd_integer), 77);
	assert_int_equal(falcon_ev_get(&e, fcwnd_fraction), 1000);
	assert_int_equal(falcon_ev_get(&e, ncwnd), 55);
	assert_int_equal(falcon_ev_get(&e, inter_packet_gap), 4321);
	assert_int_equal(falcon_ev_get(&e, retransmit_timeout), 9999);
	assert_int_equal(falcon_ev_get(&e, fabric_window_time_marker), 0x111111);
	assert_int_equal(falcon_ev_get(&e, nic_window_time_marker), 0x222222);
	assert_int_equal(falcon_ev_get(&e, ncwnd_direction), 1);
	assert_int_equal(falcon_ev_get(&e, base_delay_target), 0x333333);
	assert_int_equal(falcon_ev_get(&e, delay_state), 0x444444);
	assert_int_equal(falcon_ev_get(&e, rtt_state), 0x555555);
	assert_int_equal(falcon_ev_get(&e, cc_opaque), 2);
	assert_int_equal(env.shared.rx_acked.rue_info, 0x123456);
	assert_int_equal(env.c->data.limit, 77);
	assert_int_equal(env.c->req.limit, FALCON_REQ_WINDOW);
	env_close();
}

static void rtt(void **state)
{
	struct fcore_params p = env_params(true);
	uint64_t first;

	(void)state;
	env_open(&p);
	for (uint32_t i = 0; i < 20; i++)
		env_push(i);
	env_run();
	env.now += 100000;
	env_ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 1, .rrbpsn = ENV_REQ,
				     .t1 = falcon_time_of_ns(env.now - 100000) });
	first = fcore_conn_stats(env.c)->rtt_ns;
	assert_true(first > 99000 && first < 101000);
	env_ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 2, .rrbpsn = ENV_REQ,
				     .t1 = falcon_time_of_ns(env.now - 180000) });
	assert_true(fcore_conn_stats(env.c)->rtt_ns > first + 9000);
	assert_true(fcore_conn_stats(env.c)->rtt_ns < first + 11000);
	first = fcore_conn_stats(env.c)->rtt_ns;
	/* Nonsense: a time from the future. */
	env_ack((struct falcon_ack){ .rdbpsn = ENV_DATA + 3, .rrbpsn = ENV_REQ,
				     .t1 = falcon_time_of_ns(env.now + 1000000) });
	assert_int_equal(fcore_conn_stats(env.c)->rtt_ns, first);
	env_close();
}

/* A packet that the receive path handed over twice is taken once. */
static void delivered_twice(void **state)
{
	struct fcore_params p = env_params(true);
	struct fcore_rx rx = { .hdr = { .type = FALCON_PUSH_DATA, .psn = ENV_PEER_DATA,
					.rsn = ENV_PEER_RSN } };

	(void)state;
	env_open(&p);
	rx.now = env.now;
	for (int i = 0; i < 2; i++) {
		rx.frame = malloc(1);
		rx.payload = rx.frame;
		env.frames++;
		fcore_receive(env.c, &rx);
	}
	assert_int_equal(env.nevents, 1);
	assert_int_equal(env.frames, 1);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_and_look_up),
		cmocka_unit_test(shared_state),
		cmocka_unit_test(close_gives_back),
		cmocka_unit_test(rue_result),
		cmocka_unit_test(rtt),
		cmocka_unit_test(delivered_twice),
	};

	return unit_run(tests);
}
