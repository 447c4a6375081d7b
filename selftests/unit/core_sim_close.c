// SPDX-License-Identifier: BSD-2-Clause
/* What falcon-sim has found about connections that are closed from within a callback. */
#include "core_env.h"

static uint32_t responses_done(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < env.nevents; i++)
		n += env.event[i].what == ENV_RESPONSE_DONE;
	return n;
}

/* Two pushes and two responses are on the wire, in this order. */
static void send_four(void)
{
	struct fcore_params p = env_params(false);

	env_open(&p);
	env_push(1);
	env_push(2);
	env_run();
	env.answer = true;
	env_receive_pull(0, 0, false);
	env_receive_pull(1, 1, false);
	env_run();
	assert_int_equal(env.shared.cc.data_next, ENV_DATA + 4);
}

/*
 * One EACK acknowledges the second push and both responses. The push's completion closes the
 * connection; the responses, not freed yet, come back all the same.
 */
static void closed_amid_an_eack(void **state)
{
	(void)state;
	send_four();
	env.close_on_event = true;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_ack = { 0xe }, .data_rx = { 0xe } });
	assert_null(env.c);
	assert_int_equal(responses_done(), 2);
	env_close();
}

/* The same by a base that moves over all four. */
static void closed_amid_a_back(void **state)
{
	(void)state;
	send_four();
	env.close_on_event = true;
	env_ack_all(4, 0);
	assert_null(env.c);
	assert_int_equal(responses_done(), 2);
	env_close();
}

/* The response's own return closes the connection: no response comes back twice. */
static void closed_by_a_response(void **state)
{
	(void)state;
	send_four();
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_ack = { 0x2 }, .data_rx = { 0xe } });
	env.close_on_event = true;
	env_ack((struct falcon_ack){ .type = FALCON_EACK, .rdbpsn = ENV_DATA, .rrbpsn = ENV_REQ,
				     .data_ack = { 0xe }, .data_rx = { 0xe } });
	assert_null(env.c);
	assert_int_equal(responses_done(), 2);
	env_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_amid_an_eack),
		cmocka_unit_test(closed_amid_a_back),
		cmocka_unit_test(closed_by_a_response),
	};

	return unit_run(tests);
}
