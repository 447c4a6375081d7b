// SPDX-License-Identifier: BSD-2-Clause
/* Datagrams that a connection has taken, and whose peer does not acknowledge them: sends are over before. */
#include "rdma_ud.h"

/* Nobody waits until the connection ends. */
static void dying(void **state)
{
	uint64_t begin;

	(void)state;
	stage_dying();
	begin = env.now;
	for (uint32_t i = 0; i < 200; i++)
		post_there(i);
	post_here(200);
	assert_int_equal(env_wait(&owncq).imm, 200);
	for (uint32_t i = 0; i <= 200; i++)
		done(&acq, i, IBV_WC_SEND);
	assert_true(env.now - begin < WAIT_NS);
	assert_int_equal(lost(), 0);
	pair_close();
}

/* Each of them is over once, and arrives, if the peer was only silent for a while. */
static void silent_for_a_while(void **state)
{
	struct fverbs_cqe c;

	(void)state;
	stage_dying();
	for (uint32_t i = 0; i < BUFFERS; i++)
		post_there(i);
	run_for(10000000);
	assert_int_equal(polled(&acq), BUFFERS);
	env.host[1].dark = false;
	for (uint32_t i = 0; i < BUFFERS; i++)
		arrives_there(i);
	assert_false(env_poll(&acq, &c));
	pair_close();
}

/* Without bytes there is no buffer that could be counted, and the core has as many. */
static void dying_without_bytes(void **state)
{
	struct fverbs_send_wqe w = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED };

	(void)state;
	stage_dying();
	w.ah = there;
	w.remote_qpn = bqp.num;
	w.remote_qkey = 0x1111;
	for (uint32_t i = 0; i < 200; i++)
		env_post_send(&aqp, &w, NULL);
	post_here(1);
	assert_int_equal(env_wait(&owncq).imm, 1);
	assert_int_equal(polled(&acq), 201);
	pair_close();
}

/* More connections than one queue pair may fill: from then on a send is over with its acknowledgment. */
static void dying_of_many(void **state)
{
	enum { PEERS = 6, EACH = 200 };
	uint32_t ahs[PEERS], n = 0;

	(void)state;
	stage_open();
	for (uint8_t i = 0; i < PEERS; i++)
		ahs[i] = ah_of(&env.host[1], i);
	env_steps(20);
	env.host[1].dark = true;
	for (uint32_t i = 0; i < PEERS * EACH; i++) {
		post(&aqp, ahs[i / EACH], bqp.num ^ 1U << 19, i);
		if (i % EACH < EACH - 1)
			continue;
		run_for(10000000);
		n += polled(&acq);
	}
	assert_int_equal(n, QP_LOOSE_MAX);
	assert_int_equal(env_sq_used(&aqp), PEERS * EACH - QP_LOOSE_MAX);
	env.host[1].dark = false;
	run_for(1000000000);
	n += polled(&acq);
	assert_int_equal(n, PEERS * EACH);
	pair_close();
}

/* Of memory that the agent sends from where it lies, the application has to hear when that is over. */
static void dying_from_shared_memory(void **state)
{
	(void)state;
	stage_dying();
	post_shared(100);
	post_here(2);
	assert_int_equal(env_wait(&owncq).imm, 2);
	assert_int_equal(polled(&acq), 0);
	memset(a.shm + ENV_SHM - 4096, 0x5a, 100);
	env.host[1].dark = false;
	assert_int_equal(env_wait(&bcq).status, IBV_WC_SUCCESS);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(b.memory[HALF + 40 + i], 0x5a);
	done(&acq, 1, IBV_WC_SEND);
	done(&acq, 2, IBV_WC_SEND);
	pair_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dying),
		cmocka_unit_test(silent_for_a_while),
		cmocka_unit_test(dying_without_bytes),
		cmocka_unit_test(dying_of_many),
		cmocka_unit_test(dying_from_shared_memory),
	};

	return unit_run(tests);
}
