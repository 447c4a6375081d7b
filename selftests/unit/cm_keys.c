// SPDX-License-Identifier: BSD-2-Clause
/* Keys on their way through the connection manager: with a new incarnation, and by rekeying. */
#include "cm_stage.h"

static int setup(void **state)
{
	(void)state;
	stage_begin();
	a.psp = b.psp = true;
	a.grace_ms = b.grace_ms = 60000;
	env_open(&a);
	env_open(&b);
	env_add(&a, A, B, 1, 2);
	env_add(&b, B, A, 2, 1);
	return 0;
}

static bool up(void *arg)
{
	(void)arg;
	return a.conns[1].up && b.conns[2].up;
}

static void wait_up(void)
{
	assert_true(env_until(&a, &b, up, NULL));
}

static bool same(const struct cm_security *x, const struct cm_security *y)
{
	return x->spi == y->spi && x->generation == y->generation && x->pcid == y->pcid &&
	       x->version == y->version && x->key_len == y->key_len &&
	       memcmp(x->key, y->key, CM_KEY_MAX) == 0;
}

/* Each end transmits with what the other chose. */
static void with_incarnation(void **state)
{
	static const uint8_t none[CM_KEY_MAX];

	(void)state;
	wait_up();
	assert_true(same(&a.conns[1].local, &b.conns[2].peer.security));
	assert_true(same(&b.conns[2].local, &a.conns[1].peer.security));
	assert_memory_equal(a.conns[1].ours.security.key, none, sizeof(none));
	assert_int_equal(a.conns[1].filled, 1);
}

static bool rekeyed(void *arg)
{
	return a.conns[1].rekeyed == *(unsigned int *)arg;
}

static void rekeys(void **state)
{
	(void)state;
	wait_up();
	for (unsigned int n = 1; n <= 20; n++) {
		assert_int_equal(cm_rekey(a.cm, 1), 0);
		assert_int_equal(cm_rekey(a.cm, 1), -EALREADY);
		assert_true(env_until(&a, &b, rekeyed, &n));
		assert_int_equal(a.conns[1].generation, n + 1);
		assert_true(same(&a.conns[1].local, &b.conns[2].remote));
	}
	assert_int_equal(b.conns[2].used, 20);
	assert_int_equal(b.conns[2].filled, 1);
	assert_int_equal(a.conns[1].losses + b.conns[2].losses, 0);
	assert_int_equal(cm_rekey(a.cm, 3), -ENOTCONN);
}

static bool both_rekeyed(void *arg)
{
	(void)arg;
	return a.conns[1].rekeyed && b.conns[2].rekeyed;
}

static void rekeys_cross(void **state)
{
	(void)state;
	wait_up();
	assert_int_equal(cm_rekey(a.cm, 1), 0);
	assert_int_equal(cm_rekey(b.cm, 2), 0);
	assert_true(env_until(&a, &b, both_rekeyed, NULL));
	assert_true(same(&a.conns[1].local, &b.conns[2].remote));
	assert_true(same(&b.conns[2].local, &a.conns[1].remote));
}

static bool cut(void *arg)
{
	(void)arg;
	return b.conns[2].used > 0;
}

/* The answer to a rekeying is lost with the session: the same key is sent again, no other one. */
static void rekey_survives(void **state)
{
	unsigned int once = 1;
	struct cm_security chosen;

	(void)state;
	wait_up();
	assert_int_equal(cm_rekey(a.cm, 1), 0);
	cm_process(a.cm, env_now());
	chosen = a.conns[1].local;
	/* A turns no more until B has answered. */
	assert_true(env_until(&b, NULL, cut, NULL));
	env_cut(&a, 1);
	assert_true(env_until(&a, &b, rekeyed, &once));
	assert_int_equal(a.conns[1].filled, 2);
	assert_true(same(&chosen, &b.conns[2].remote));
	assert_int_equal(a.conns[1].losses + b.conns[2].losses, 0);
}

static bool new_pair(void *arg)
{
	(void)arg;
	return up(NULL) && a.conns[1].established >= 2 && b.conns[2].established >= 2;
}

static bool b_lost(void *arg)
{
	(void)arg;
	return b.conns[2].losses > 0;
}

static void key_refused(void **state)
{
	(void)state;
	wait_up();
	assert_int_equal(cm_rekey(a.cm, 1), 0);
	cm_process(a.cm, env_now());
	b.no_key = true;
	assert_true(env_until(&b, NULL, b_lost, NULL));
	b.no_key = false;
	assert_true(env_until(&a, &b, new_pair, NULL));
}

static bool complained(void *arg)
{
	(void)arg;
	return strcmp(a.conns[1].reason, "no key for the connection") == 0;
}

static void no_key(void **state)
{
	(void)state;
	a.no_key = true;
	assert_true(env_until(&a, &b, complained, NULL));
	assert_int_equal(a.conns[1].established + b.conns[2].established, 0);
	a.no_key = false;
	wait_up();
}

static bool both_complain(void *arg)
{
	(void)arg;
	return strstr(a.conns[1].reason, "security") && strstr(b.conns[2].reason, "security");
}

/* One end is configured for clear packets, the other is not: neither gives in. */
static void downgrade(void **state)
{
	(void)state;
	cm_remove(b.cm, 2, "test");
	b.psp = false;
	env_add(&b, B, A, 2, 1);
	assert_true(env_until(&a, &b, both_complain, NULL));
	assert_int_equal(a.conns[1].established + b.conns[2].established, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, stage_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(with_incarnation), TEST(rekeys), TEST(rekeys_cross), TEST(rekey_survives),
		TEST(key_refused),	TEST(no_key), TEST(downgrade),
	};

	if (!env_namespace()) {
		puts("1..0 # SKIP needs a network namespace of its own (root)");
		return 0;
	}
	return unit_run(tests);
}
