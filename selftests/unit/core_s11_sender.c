// SPDX-License-Identifier: BSD-2-Clause
/* The sender's table of Falcon 11, row by row, and NACK processing (9.2.4), with either heuristic. */
#include "core_env.h"

enum { RTO = 1000000, SLACK = 2000 };

static struct fcore_params params(enum fcore_early_retx early)
{
	struct fcore_params p = env_params(true);

	p.early_retx = early;
	return p;
}

static void send_pushes(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		env_push(i);
	assert_int_equal(env_run(), n);
}

/*
 * Let the core's next deadline come until it sends something. Returns how many packets that were.
 * All of them go to our first data PSN.
 */
static uint32_t next_attempt(void)
{
	for (int i = 0; i < 64; i++) {
		uint64_t next = fcore_next_deadline(env.core, env.now);

		env.now = next > env.now ? next : env.now;
		if (env_run() || env.fatals)
			break;
	}
	for (uint32_t i = 0; i < env.nsent; i++) {
		assert_int_equal(env.sent[i].hdr.psn, ENV_DATA);
		assert_int_equal(env.sent[i].hdr.rsn, ENV_RSN);
		assert_true(env.sent[i].again);
	}
	return env.nsent;
}

/* A probe, if there is one, is sent before the first timeout, and is no attempt. */
static uint32_t attempts_as(uint8_t type, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(next_attempt(), 1);
		assert_int_equal(env.sent[0].type, type);
	}
	return (uint32_t)fcore_conn_stats(env.c)->tx_probes;
}

static void s11_sender_original_below_max_retransmit_attempts_retransmits_same_psn(void **state)
{
	(void)state;
	for (int early = FCORE_EARLY_OOO; early <= FCORE_EARLY_RACK; early++) {
		struct fcore_params p = params((enum fcore_early_retx)early);
		uint32_t probes;

		env_open(&p);
		send_pushes(1);
		probes = attempts_as(FALCON_PUSH_DATA, p.max_retx);
		assert_int_equal(probes, early == FCORE_EARLY_RACK);
		assert_int_equal(env.sent[0].len, 7);
		env_close();
	}
}

static void s11_sender_original_at_max_retransmit_attempts_transmits_resync(void **state)
{
	(void)state;
	for (int early = FCORE_EARLY_OOO; early <= FCORE_EARLY_RACK; early++) {
		struct fcore_params p = params((enum fcore_early_retx)early);

		env_open(&p);
		send_pushes(1);
		attempts_as(FALCON_PUSH_DATA, p.max_retx + (early == FCORE_EARLY_RACK));
		attempts_as(FALCON_RESYNC, 1);
		assert_int_equal(env.sent[0].hdr.resync_code, FALCON_RESYNC_RETX_ERROR);
		assert_int_equal(env.sent[0].hdr.resync_type, FALCON_PUSH_DATA);
		/* The counter starts anew: as many attempts once more. */
		attempts_as(FALCON_RESYNC, p.max_retx);
		assert_int_equal(env.fatals, 0);
		env_close();
	}
}

static void s11_sender_resync_at_max_retransmit_attempts_is_fatal(void **state)
{
	(void)state;
	for (int early = FCORE_EARLY_OOO; early <= FCORE_EARLY_RACK; early++) {
		struct fcore_params p = params((enum fcore_early_retx)early);

		env_open(&p);
		send_pushes(1);
		attempts_as(FALCON_PUSH_DATA, p.max_retx + (early == FCORE_EARLY_RACK));
		attempts_as(FALCON_RESYNC, 1 + p.max_retx);
		assert_int_equal(env.fatals, 0);
		assert_int_equal(next_attempt(), 0);
		assert_int_equal(env.fatals, 1);
		env_close();
	}
}

/* Another connection of the same core neither notices nor stops. */
static void s11_sender_fatal_error_stays_with_its_connection(void **state)
{
	struct fcore_params p = params(FCORE_EARLY_RACK);
	static struct falcon_conn shared;
	struct fcore_conn *other;

	(void)state;
	env_open(&p);
	send_pushes(1);
	while (!env.fatals)
		next_attempt();
	memset(&shared, 0, sizeof(shared));
	shared.id.cid = ENV_CID + 1;
	shared.id.peer_cid = ENV_PEER_CID;
	other = fcore_conn_open(env.core, ENV_CID + 1, &shared, &p, env.now);
	assert_non_null(other);
	assert_int_equal(fcore_push(other, &(struct fcore_txn){ .proto = 7 }, env.now), 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.fatals, 1);
	fcore_conn_close(other, kCmplDeadConn);
	env_close();
}

/* Reset the counter, and a Resync with the same PSN: for each code that drops the packet. */
static void s11_sender_nack_xlr_cie_nre_cid_transmits_resync(void **state)
{
	static const struct {
		uint8_t nack, resync;
	} cases[] = {
		{ FALCON_NACK_XLR_DROP, FALCON_RESYNC_REMOTE_XLR },
		{ FALCON_NACK_CIE, FALCON_RESYNC_TARGET_CIE },
		{ FALCON_NACK_NRE, FALCON_RESYNC_TARGET_NRE },
		{ FALCON_NACK_INVALID_CID, FALCON_RESYNC_TARGET_CID },
	};

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fcore_params p = params(FCORE_EARLY_RACK);

		env_open(&p);
		send_pushes(1);
		attempts_as(FALCON_PUSH_DATA, 2);
		env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = ENV_DATA,
					     .rrbpsn = ENV_REQ, .nack_code = cases[i].nack,
					     .nack_psn = ENV_DATA });
		assert_int_equal(env_run(), 1);
		assert_int_equal(env.sent[0].type, FALCON_RESYNC);
		assert_int_equal(env.sent[0].hdr.psn, ENV_DATA);
		assert_int_equal(env.sent[0].hdr.resync_code, cases[i].resync);
		attempts_as(FALCON_RESYNC, p.max_retx);
		assert_int_equal(env.fatals, 0);
		env_close();
	}
}

/* RNR timeouts shorter and longer than the RTO. */
static void s11_sender_rnr_nack_sets_timeout_to_max_of_rto_and_rnr(void **state)
{
	(void)state;
	for (uint8_t rnr = 1; rnr < 32; rnr++) {
		struct fcore_params p = params(FCORE_EARLY_RACK);
		uint64_t wait = falcon_rnr_timeout_ns(rnr);

		env_open(&p);
		wait = wait > p.rto_ns ? wait : p.rto_ns;
		send_pushes(1);
		env_ack((struct falcon_ack){ .type = FALCON_NACK, .rdbpsn = ENV_DATA,
					     .rrbpsn = ENV_REQ, .nack_code = FALCON_NACK_RNR,
					     .rnr = rnr, .nack_psn = ENV_DATA });
		assert_int_equal(env_pass(wait - SLACK), 0);
		assert_int_equal(env_pass(2 * SLACK), 1);
		assert_int_equal(env.sent[0].type, FALCON_PUSH_DATA);
		env_close();
	}
}

/* The receive path tells the RUE; here what is lost is retransmitted as ever, but with less haste. */
static void s11_sender_resource_drop_retransmits_with_less_haste(void **state)
{
	struct fcore_params p = params(FCORE_EARLY_OOO);
	const struct falcon_ack nack = { .type = FALCON_NACK, .rdbpsn = ENV_DATA,
					 .rrbpsn = ENV_REQ, .nack_code = FALCON_NACK_RESOURCE,
					 .nack_psn = ENV_DATA };

	(void)state;
	p.ncwnd = 16;
	env_open(&p);
	send_pushes(16);
	assert_int_equal(env_ack(nack), FALCON_V_nack_consumed);
	assert_int_equal(env_run(), 0);
	assert_int_equal(env_pass(p.rto_ns + SLACK), 8);
	/* Each round trip with another one halves it again, down to one. */
	for (uint32_t room = 4; room; room /= 2) {
		assert_int_equal(env_ack(nack), FALCON_V_nack_consumed);
		env_run();
		assert_int_equal(env.c->retx_room, room);
		env.now += 20000;
	}
	/* Round trips without one double it, until there is no limit but ncwnd. */
	for (int i = 0; i < 6; i++) {
		env_ack_all(0, 0);
		env_run();
		env.now += 20000;
	}
	assert_int_equal(env.c->retx_room, UINT32_MAX);
	env_pass(8 * p.rto_ns);
	env_ack_all(16, 0);
	assert_int_equal(env.nevents, 16);
	env_close();
}

/* A packet beyond the receiver's window comes back as OWN: at once again, and congestion is told. */
static void s11_sender_receiver_sliding_window_drop_tells_congestion_control(void **state)
{
	struct fcore_params p = params(FCORE_EARLY_RACK);

	(void)state;
	env_open(&p);
	send_pushes(2);
	env.now += 50000;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .own = FALCON_OWN_DATA });
	assert_int_equal(env_run(), 2);
	assert_int_equal(env.retx_events, 2);
	assert_int_equal(falcon_ev_get(&env.last_rue, retransmit_reason), kRetxReasonEarly);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			s11_sender_original_below_max_retransmit_attempts_retransmits_same_psn),
		cmocka_unit_test(s11_sender_original_at_max_retransmit_attempts_transmits_resync),
		cmocka_unit_test(s11_sender_resync_at_max_retransmit_attempts_is_fatal),
		cmocka_unit_test(s11_sender_fatal_error_stays_with_its_connection),
		cmocka_unit_test(s11_sender_nack_xlr_cie_nre_cid_transmits_resync),
		cmocka_unit_test(s11_sender_rnr_nack_sets_timeout_to_max_of_rto_and_rnr),
		cmocka_unit_test(s11_sender_resource_drop_retransmits_with_less_haste),
		cmocka_unit_test(
			s11_sender_receiver_sliding_window_drop_tells_congestion_control),
	};

	return unit_run(tests);
}
