// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rotation of keys (user/agent/conn/rekey.c, security.c; Falcon 9.2.2.3): nothing good is refused
 * on the way, nothing old is accepted after it, and no nonce comes twice.
 */
#include "agent_env.h"

/* What the connections of the test at hand have. */
static uint8_t encap;

static int fresh(void **state)
{
	(void)state;
	encap = FALCON_PSP_AES_GCM_256;
	stage_open(encap);
	return 0;
}

static int fresh_esp(void **state)
{
	(void)state;
	encap = FALCON_ESP_AES_GCM_256;
	stage_open(encap);
	return 0;
}

/* What a packet of an SPI that is not accepted any more ends as: XDP knows ESP by nothing else. */
static enum falcon_verdict forgotten(void)
{
	return falcon_encap_is_esp(encap) ? FALCON_V_pass_spi : FALCON_V_drop_spi;
}

static int done(void **state)
{
	(void)state;
	stage_close();
	return 0;
}

static void next_is_taken(uint32_t cid)
{
	struct stage_frame f;

	stage_next(cid, &f);
	assert_int_equal(stage_receive(&f), FALCON_V_rx_data);
}

static void rotate_all(void)
{
	char err[128];

	assert_int_equal(rekey_all(&stage.a, err, sizeof(err)), 0);
}

static void settle(void)
{
	stage_turn(stage.a.config.agent.key_settle_ns);
}

/* The five steps, with packets of the old SPI and the new one under way all the time. */
static void five_steps(void **state)
{
	struct stage_frame late[4];
	uint32_t gen = stage.config.cur_spi_gen, spi = stage.shared[1].id.cur_spi;

	(void)state;
	for (int i = 0; i < 4; i++)
		stage_next(1, &late[i]);
	rotate_all();
	assert_int_equal(stage.config.cur_spi_gen, gen + 1);
	assert_int_equal(stage.config.allow_prev_spi_gen, 1);
	assert_int_equal(stage_receive(&late[0]), FALCON_V_rx_data);
	stage_turn(1);
	assert_int_equal(stage.asked[1], 1);
	assert_int_equal(stage_receive(&late[1]), FALCON_V_rx_data);
	stage_answer(1);
	assert_int_equal(stage.shared[1].id.prev_spi, spi);
	assert_int_not_equal(stage.shared[1].id.cur_spi >> 31, spi >> 31);
	assert_int_equal(stage.shared[1].id.cur_spi_gen, gen + 1);
	next_is_taken(1);
	assert_int_equal(stage_receive(&late[2]), FALCON_V_rx_data);
	settle();
	assert_int_equal(stage.shared[1].id.prev_spi, stage.shared[1].id.cur_spi);
	assert_int_equal(stage_receive(&late[3]), forgotten());
	next_is_taken(1);
	/* The others have not answered: their generation is the previous one. */
	next_is_taken(2);
	assert_true(stage.a.rekey.rotating);
	stage_answer(2);
	stage_answer(3);
	settle();
	assert_false(stage.a.rekey.rotating);
	assert_int_equal(stage.config.allow_prev_spi_gen, 0);
	assert_int_equal(stage.a.rekey.key_rotations, 1);
	for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++)
		next_is_taken(cid);
}

static void many_rotations(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		rotate_all();
		for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++) {
			next_is_taken(cid);
			stage_turn(1);
			stage_answer(cid);
			next_is_taken(cid);
		}
		settle();
		assert_false(stage.a.rekey.rotating);
	}
	assert_int_equal(stage.a.rekey.keys_replaced, 50 * STAGE_CONNS);
	assert_int_equal(stage.failed, 0);
}

/* What XDP may see of the three words while a rotation changes them. */
struct words {
	union falcon_spi_pair spis;
	uint32_t gen;
	union falcon_spi_check global;
};

/*
 * The words are read SPIs first, the global one last (falcon_rx_check_spi()), so each is seen as it
 * was no earlier than the one before. In all such mixtures, old packets pass until step 4, and new
 * ones from step 2 on.
 */
static void every_mixture_accepts(void **state)
{
	enum { OLD = 0x11, NEW = 0x80000007, STEPS = 5, PUBLISHED = 3, RETIRED = 4 };
	const struct words w[STEPS] = {
		{ { .cur = OLD, .prev = OLD }, 7, { .gen = 7 } },
		{ { .cur = OLD, .prev = OLD }, 7, { .gen = 8, .allow_prev = 1 } },
		{ { .cur = OLD, .prev = OLD }, 8, { .gen = 8, .allow_prev = 1 } },
		{ { .cur = NEW, .prev = OLD }, 8, { .gen = 8, .allow_prev = 1 } },
		{ { .cur = NEW, .prev = NEW }, 8, { .gen = 8, .allow_prev = 1 } },
	};

	(void)state;
	for (unsigned int n = 0; n < STEPS * STEPS * STEPS; n++) {
		unsigned int i = n % STEPS, j = n / STEPS % STEPS, k = n / STEPS / STEPS;
		struct falcon_conn_id id = { .spis = w[i].spis.word, .cur_spi_gen = w[j].gen };
		struct falcon_config cfg = { .spi_check = w[k].global.word };

		if (i > j || j > k)
			continue;
		if (i < RETIRED)
			assert_int_equal(falcon_rx_check_spi(&id, &cfg, OLD, 0), FALCON_V_rx_data);
		if (i >= PUBLISHED)
			assert_int_equal(falcon_rx_check_spi(&id, &cfg, NEW, 0), FALCON_V_rx_data);
	}
}

static void one_connection(void **state)
{
	uint32_t gen = stage.config.cur_spi_gen, spi = stage.shared[2].id.cur_spi;
	struct stage_frame late;
	char err[128];

	(void)state;
	stage_next(2, &late);
	assert_int_equal(rekey_conn(&stage.conn[2], err, sizeof(err)), 0);
	assert_int_equal(rekey_conn(&stage.conn[2], err, sizeof(err)), -EALREADY);
	stage_turn(1);
	stage_answer(2);
	assert_int_equal(stage.config.cur_spi_gen, gen);
	assert_int_equal(stage.config.allow_prev_spi_gen, 0);
	assert_int_not_equal(stage.shared[2].id.cur_spi, spi);
	assert_int_equal(stage_receive(&late), FALCON_V_rx_data);
	next_is_taken(2);
	settle();
	assert_int_equal(stage.conn[2].rekey, REKEY_NONE);
	assert_int_equal(stage.asked[1] + stage.asked[3], 0);
}

/* The master key is replaced while one connection's key is: that one has to go twice. */
static void one_connection_and_all(void **state)
{
	char err[128];

	(void)state;
	assert_int_equal(rekey_conn(&stage.conn[1], err, sizeof(err)), 0);
	stage_turn(1);
	stage_answer(1);
	rotate_all();
	assert_int_equal(rekey_all(&stage.a, err, sizeof(err)), -EALREADY);
	stage_turn(1);
	stage_answer(2);
	stage_answer(3);
	next_is_taken(1);
	settle();
	stage_turn(1);
	assert_true(stage.a.rekey.rotating);
	assert_int_equal(stage.asked[1], 2);
	stage_answer(1);
	next_is_taken(1);
	settle();
	assert_false(stage.a.rekey.rotating);
	next_is_taken(1);
}

static void peer_does_not_answer(void **state)
{
	(void)state;
	rotate_all();
	stage_turn(1);
	stage_answer(1);
	stage_answer(2);
	settle();
	assert_int_equal(stage.failed, 0);
	stage_turn(REKEY_ANSWER_MS * 1000000ULL);
	assert_int_equal(stage.failed, 1);
	assert_int_equal(stage.a.rekey.keys_unanswered, 1);
	stage_drop(3);
	stage_turn(1);
	assert_false(stage.a.rekey.rotating);
}

/* Nor does one that never gets ready, or one that goes down, hold the rotation up. */
static void peer_is_not_ready(void **state)
{
	(void)state;
	stage.cm_busy = true;
	rotate_all();
	stage_turn(1);
	assert_true(rekey_deadline(&stage.a) > stage.a.now);
	stage_drop(2);
	stage_turn(REKEY_ANSWER_MS * 1000000ULL);
	assert_int_equal(stage.failed, 2);
	stage_drop(1);
	stage_drop(3);
	stage_turn(1);
	assert_false(stage.a.rekey.rotating);
	assert_int_equal(rekey_deadline(&stage.a), UINT64_MAX);
}

/* Keys offered before a rotation, agreed on after it: stale, or to be replaced at once. */
static void set_up_across_a_rotation(void **state)
{
	struct agent_conn *c = &stage.conn[1];
	struct cm_security ours = {}, old;
	char err[128];

	(void)state;
	stage_drop(1);
	assert_int_equal(agent_fill_security(&stage.a, 1, &ours), 0);
	old = c->ours.security = ours;
	rotate_all();
	assert_int_equal(agent_agree_security(c, err, sizeof(err)), 0);
	stage_turn(1);
	stage_answer(2);
	stage_answer(3);
	settle();
	assert_false(stage.a.rekey.rotating);
	c->ours.security = old;
	assert_int_equal(agent_agree_security(c, err, sizeof(err)), -ESTALE);
	stage_connect(1, encap);
	next_is_taken(1);
}

/*
 * Keys offered two rotations ago: generations have the same place again, but SPIs are not given again so
 * soon. Else ESP packets of the connection that has the same SPI now would be taken for another connection's,
 * and be nobody's when that starts over.
 */
static void set_up_across_two_rotations(void **state)
{
	struct agent_conn *c = &stage.conn[1];
	struct cm_security ours = {};
	char err[128];

	(void)state;
	stage_drop(1);
	assert_int_equal(agent_fill_security(&stage.a, 1, &ours), 0);
	c->ours.security = ours;
	for (int i = 0; i < 2; i++) {
		rotate_all();
		stage_turn(1);
		stage_answer(2);
		stage_answer(3);
		settle();
		assert_false(stage.a.rekey.rotating);
	}
	for (int i = 0; i < 8 && stage.shared[2].id.cur_spi != ours.spi; i++) {
		assert_int_equal(rekey_conn(&stage.conn[2], err, sizeof(err)), 0);
		stage_turn(1);
		stage_answer(2);
		settle();
	}
	next_is_taken(2);
	assert_int_equal(agent_agree_security(c, err, sizeof(err)), -ESTALE);
	stage_connect(1, encap);
	for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++)
		next_is_taken(cid);
}

static void ends_disagree(void **state)
{
	struct agent_conn *c = &stage.conn[1];
	struct cm_security other = { .version = FALCON_PSP_AES_GCM_128, .spi = 9 };
	char err[128];

	(void)state;
	c->peer.security = other;
	assert_int_equal(agent_agree_security(c, err, sizeof(err)), -EPROTO);
	assert_string_equal(err, "security is psp-aes-gcm-256 here, psp-aes-gcm-128 at the peer");
	c->peer.security.version = FALCON_PSP_CLEAR;
	assert_int_equal(agent_agree_security(c, err, sizeof(err)), -EPROTO);
	assert_int_equal(agent_use_security(&stage.a, 1, &other), -EPROTO);
	other.version = FALCON_PSP_CLEAR;
	assert_int_equal(agent_use_security(&stage.a, 1, &other), -EPROTO);
}

static void schedule(void **state)
{
	struct agent_options *o = &stage.a.config.agent;

	(void)state;
	o->key_packets = 2;
	next_is_taken(1);
	assert_int_equal(stage.conn[1].rekey, REKEY_NONE);
	next_is_taken(1);
	assert_int_equal(stage.conn[1].rekey, REKEY_DUE);
	o->key_packets = UINT64_MAX;
	o->key_bytes = 100;
	next_is_taken(2);
	assert_int_equal(stage.conn[2].rekey, REKEY_DUE);
	assert_true(rekey_deadline(&stage.a) <= stage.a.now);
	stage_turn(1);
	stage_answer(1);
	stage_answer(2);
	settle();
	assert_int_equal(stage.conn[1].sec.rx_packets, 0);
	o->key_lifetime_ns = 5000000000;
	stage.a.rekey.next_rotation = stage.a.now + o->key_lifetime_ns;
	stage_turn(o->key_lifetime_ns - 1);
	assert_false(stage.a.rekey.rotating);
	assert_int_equal(rekey_deadline(&stage.a), stage.a.now + 1);
	stage_turn(1);
	assert_true(stage.a.rekey.rotating);
	assert_int_equal(stage.a.rekey.next_rotation, stage.a.now + o->key_lifetime_ns);
}

/* A clear connection keeps its SPI, and follows the generation. */
static void clear_connections_follow(void **state)
{
	uint32_t spi;

	(void)state;
	stage_close();
	stage_open(FALCON_PSP_CLEAR);
	spi = stage.shared[1].id.cur_spi;
	next_is_taken(1);
	rotate_all();
	next_is_taken(1);
	stage_turn(1);
	assert_false(stage.a.rekey.rotating);
	assert_int_equal(stage.shared[1].id.cur_spi, spi);
	next_is_taken(1);
}

/* Told the same key again, after a session was lost, we go on where we were. */
static void told_twice(void **state)
{
	const struct cm_security again = { .version = encap, .spi = 4711, .key = "the same",
					   .key_len = (uint8_t)sa_key_len(encap) };
	struct sec *s = &stage.conn[1].sec;
	const struct sa *tx;

	(void)state;
	assert_int_equal(agent_use_security(&stage.a, 1, &again), 0);
	tx = s->tx;
	assert_int_equal(sa_spi(tx), 4711);
	assert_int_equal(agent_use_security(&stage.a, 1, &again), 0);
	assert_ptr_equal(s->tx, tx);
}

enum { SPIS = 20000 };

static int compare_spis(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* SPIs are given once, and from those that one has seen the next cannot be told. */
static void spis_are_not_guessed(void **state)
{
	uint32_t *spi = test_calloc(SPIS, sizeof(*spi)), near = 0;
	struct sec_keys *k, *other;

	(void)state;
	assert_int_equal(sec_keys_open(&k), 0);
	assert_int_equal(sec_keys_open(&other), 0);
	for (int i = 0; i < SPIS; i++) {
		spi[i] = sec_keys_spi(k);
		assert_int_equal(spi[i] >> 31, 1);
		assert_true((spi[i] & INT32_MAX) >= FALCON_ESP_SPI_MIN);
		near += i && spi[i] - spi[i - 1] + 1000 < 2000;
		near += spi[i] == sec_keys_spi(other);
	}
	/* By chance that is one in ten times. */
	assert_true(near < 20);
	qsort(spi, SPIS, sizeof(*spi), compare_spis);
	for (int i = 1; i < SPIS; i++)
		assert_int_not_equal(spi[i], spi[i - 1]);
	sec_keys_close(other);
	sec_keys_close(k);
	test_free(spi);
}

/* Under another master key the same SPI has another key. */
static void keys_are_never_the_same(void **state)
{
	uint8_t key[2][PSP_KEY_MAX], restarted[PSP_KEY_MAX];
	struct sec_keys *k;
	uint32_t last;

	(void)state;
	assert_int_equal(sec_keys_open(&k), 0);
	assert_int_equal(sec_keys_generation(k), 1);
	last = sec_keys_spi(k);
	assert_int_equal(sec_keys_derive(k, last, FALCON_PSP_AES_GCM_128, key[0]), 0);
	/* The generation after the next has the same place, and another key. */
	assert_int_equal(sec_keys_rotate(k), 0);
	assert_int_equal(sec_keys_spi(k) >> 31, 0);
	assert_int_equal(sec_keys_rotate(k), 0);
	assert_int_equal(sec_keys_spi(k) >> 31, 1);
	assert_int_equal(sec_keys_derive(k, last, FALCON_PSP_AES_GCM_128, key[1]), 0);
	assert_memory_not_equal(key[0], key[1], 16);
	sec_keys_close(k);
	assert_int_equal(sec_keys_open(&k), 0);
	assert_int_equal(sec_keys_derive(k, last, FALCON_PSP_AES_GCM_128, restarted), 0);
	assert_memory_not_equal(restarted, key[0], 16);
	assert_memory_not_equal(restarted, key[1], 16);
	sec_keys_close(k);
}

/* What must never come twice: a key with a nonce. */
struct used {
	uint8_t key[SA_KEY_MAX];
	uint8_t nonce[12];
};

enum { BOOTS = 3, ROTATIONS = 4, PACKETS = 20, USES = BOOTS * ROTATIONS * STAGE_CONNS * PACKETS };

static int compare_uses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct used));
}

/* The nonce of the packet in |f|, as the specifications say: SPI and IV; ESP's salt and IV. */
static void note_use(uint32_t cid, const struct stage_frame *f, struct used *u)
{
	const struct cm_security *told = &stage.peer[cid].told;
	const uint8_t *sec = f->data + stage.peer[cid].tmpl.sec_off;

	memset(u, 0, sizeof(*u));
	memcpy(u->key, told->key, told->key_len);
	memcpy(u->nonce, falcon_encap_is_esp(encap) ? told->key + told->key_len - 4 : sec + 4, 4);
	memcpy(u->nonce + 4, sec + 8, 8);
}

/* Under one key, a clock that is set back by more than the packets so far after every third packet. */
static void use_keys(struct used **u)
{
	struct stage_frame f;

	for (uint32_t i = 0; i < STAGE_CONNS * PACKETS; i++) {
		uint32_t cid = 1 + i % STAGE_CONNS;

		if (i / STAGE_CONNS % 3 == 2)
			stage.peer[cid].clock -= 100000;
		stage_next(cid, &f);
		note_use(cid, &f, (*u)++);
	}
}

/* Restarts, at the same time each, rotations, and a clock that goes back. */
static void no_nonce_twice(void **state)
{
	static struct used used[USES];
	struct used *u = used;

	(void)state;
	for (int boot = 0; boot < BOOTS; boot++) {
		for (int rotation = 0; rotation < ROTATIONS; rotation++) {
			use_keys(&u);
			rotate_all();
			stage_turn(1);
			for (uint32_t cid = 1; cid <= STAGE_CONNS; cid++)
				stage_answer(cid);
			settle();
		}
		stage_close();
		stage_open(encap);
	}
	assert_ptr_equal(u, used + USES);
	qsort(used, USES, sizeof(*used), compare_uses);
	for (int i = 1; i < USES; i++)
		assert_memory_not_equal(&used[i - 1], &used[i], sizeof(*used));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(five_steps, fresh, done),
		cmocka_unit_test_setup_teardown(many_rotations, fresh, done),
		cmocka_unit_test(every_mixture_accepts),
		cmocka_unit_test_setup_teardown(one_connection, fresh, done),
		cmocka_unit_test_setup_teardown(one_connection_and_all, fresh, done),
		cmocka_unit_test_setup_teardown(peer_does_not_answer, fresh, done),
		cmocka_unit_test_setup_teardown(peer_is_not_ready, fresh, done),
		cmocka_unit_test_setup_teardown(set_up_across_a_rotation, fresh, done),
		cmocka_unit_test_setup_teardown(set_up_across_two_rotations, fresh, done),
		cmocka_unit_test_setup_teardown(ends_disagree, fresh, done),
		cmocka_unit_test_setup_teardown(schedule, fresh, done),
		cmocka_unit_test_setup_teardown(clear_connections_follow, fresh, done),
		cmocka_unit_test_setup_teardown(told_twice, fresh, done),
		cmocka_unit_test_setup_teardown(no_nonce_twice, fresh, done),
		cmocka_unit_test(keys_are_never_the_same),
		cmocka_unit_test(spis_are_not_guessed),
		cmocka_unit_test_setup_teardown(five_steps, fresh_esp, done),
		cmocka_unit_test_setup_teardown(many_rotations, fresh_esp, done),
		cmocka_unit_test_setup_teardown(one_connection, fresh_esp, done),
		cmocka_unit_test_setup_teardown(one_connection_and_all, fresh_esp, done),
		cmocka_unit_test_setup_teardown(peer_does_not_answer, fresh_esp, done),
		cmocka_unit_test_setup_teardown(peer_is_not_ready, fresh_esp, done),
		cmocka_unit_test_setup_teardown(set_up_across_a_rotation, fresh_esp, done),
		cmocka_unit_test_setup_teardown(set_up_across_two_rotations, fresh_esp, done),
		cmocka_unit_test_setup_teardown(schedule, fresh_esp, done),
		cmocka_unit_test_setup_teardown(told_twice, fresh_esp, done),
		cmocka_unit_test_setup_teardown(no_nonce_twice, fresh_esp, done),
	};

	return unit_run(tests);
}
