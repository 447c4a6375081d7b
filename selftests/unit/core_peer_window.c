// SPDX-License-Identifier: BSD-2-Clause
/* Peers whose receive windows take less than ours (Falcon 9.1.1): what is under way fits them. */
#include "core_env.h"

static void open_towards(uint32_t data, uint32_t req)
{
	struct fcore_params p = env_params(true);

	p.data_window = data;
	p.req_window = req;
	env_open(&p);
}

/* The packet that fills the window asks for an ACK, since only that lets the next one go. */
static void pushes_fit_the_peers_data_window(void **state)
{
	(void)state;
	open_towards(3, 2);
	for (uint32_t i = 0; i < 8; i++)
		env_push(i);
	assert_int_equal(env_run(), 3);
	assert_true(env.sent[2].hdr.ar);
	env_ack_all(1, 0);
	assert_int_equal(env_run(), 1);
	assert_int_equal(env.sent[0].hdr.psn, ENV_DATA + 3);
	env_ack_all(4, 0);
	assert_int_equal(env_run(), 3);
	env_close();
}

static void pulls_fit_the_peers_request_window(void **state)
{
	(void)state;
	open_towards(100, 2);
	for (uint32_t i = 0; i < 5; i++)
		env_pull(i, 100);
	assert_int_equal(env_run(), 2);
	env_ack_all(0, 2);
	assert_int_equal(env_run(), 2);
	env_close();
}

/* 0: the peer has not said; more than we have ourselves: no more than that. */
static void windows_are_never_larger_than_ours(void **state)
{
	static const uint32_t said[] = { 0, FALCON_DATA_WINDOW, FALCON_DATA_WINDOW + 1, UINT32_MAX };

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(said); i++) {
		open_towards(said[i], said[i]);
		for (uint32_t n = 0; n < FALCON_DATA_WINDOW + 2; n++)
			env_push(n);
		assert_int_equal(env_run(), FALCON_DATA_WINDOW);
		env_close();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_fit_the_peers_data_window),
		cmocka_unit_test(pulls_fit_the_peers_request_window),
		cmocka_unit_test(windows_are_never_larger_than_ours),
	};

	return unit_run(tests);
}
