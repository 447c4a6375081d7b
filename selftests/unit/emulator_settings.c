// SPDX-License-Identifier: BSD-2-Clause
/* falcon-wire's settings, as people write them, and the commands of its control socket. */
#include <stdio.h>

#include "../../tools/wire/emulator.h"
#include "emulator_env.h"

static struct emulator em;

struct accepted {
	const char *text;
	size_t offset;
	uint64_t want;
};

#define FIELD(text, field, want) { text, offsetof(struct wire_settings, field), want }

static void values_have_units(void **state)
{
	static const struct accepted cases[] = {
		FIELD("rate=1000", rate, 1000),
		FIELD("rate=2.5gbit", rate, 2500000000),
		FIELD("rate=10M", rate, 10000000),
		FIELD("rate=64kbit", rate, 64000),
		FIELD("delay=5", delay, 5000),
		FIELD("delay=1.5ms", delay, 1500000),
		FIELD("jitter=700ns", jitter, 700),
		FIELD("reorder-by=1s", reorder_by, 1000000000),
		FIELD("queue=30k", queue.n, 30720),
		FIELD("queue=12p", queue.n, 12),
		FIELD("ecn=1mb", ecn.n, 1048576),
		FIELD("ecn=25%", ecn_share, WIRE_ALWAYS / 4),
		FIELD("loss=50", loss.p, WIRE_ALWAYS / 2),
		FIELD("loss=100%", loss.p, WIRE_ALWAYS),
		FIELD("loss-model=ge:50,25,75,100", loss.p, WIRE_ALWAYS / 2),
		FIELD("loss-model=ge:50,25,75,100", loss.r, WIRE_ALWAYS / 4),
		FIELD("loss-model=ge:50,25,75,100", loss.h, WIRE_ALWAYS / 4 * 3),
		FIELD("loss-model=ge:50,25,75,100", loss.k, WIRE_ALWAYS),
		FIELD("loss-model=ge:25", loss.r, WIRE_ALWAYS / 4 * 3),
		FIELD("dup=0", dup, 0),
		FIELD("corrupt=0.5", corrupt, WIRE_ALWAYS / 200),
		FIELD("corrupt-burst=9", burst, 9),
		FIELD("overhead=24", overhead, 24),
		FIELD("ber=1e-7", ber, NOISE_ONE / 10000000),
		FIELD("ber=0.00025", ber, NOISE_ONE / 4000),
		FIELD("rifl=2048", rifl, 2048),
		FIELD("rifl=0", rifl, 0),
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		char err[WIRE_ERR_LEN];
		struct wire_settings s;
		uint64_t got;

		settings_init(&s);
		if (settings_assign(&s, cases[i].text, err))
			fail_msg("%s: %s", cases[i].text, err);
		memcpy(&got, (char *)&s + cases[i].offset, sizeof(got));
		if (got != cases[i].want)
			fail_msg("%s: %llu", cases[i].text, (unsigned long long)got);
	}
}

static void wrong_values_are_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "rate=fast", "not a number" },
		{ "rate=", "not a number" },
		{ "rate=-1", "not a number" },
		{ "rate=1e9", "unknown unit" },
		{ "rate=0x10", "unknown unit" },
		{ "rate=1.2.3", "not a number" },
		{ "rate=1..3", "not a number" },
		{ "rate=.5g", "not a number" },
		{ "rate=99999999gbit", "too much" },
		{ "rate=11111111111111111111111111111111111111111111111111", "not a number" },
		{ "rate=5parsec", "unknown unit" },
		{ "delay=61s", "too much" },
		{ "delay=5%", "unknown unit" },
		{ "queue=3.5x", "unknown unit" },
		{ "queue=p", "not a number" },
		{ "loss=101", "more than 100" },
		{ "loss=nan", "not a number" },
		{ "loss-model=bernoulli", "neither" },
		{ "loss-model=ge:", "not a number" },
		{ "loss-model=ge:1,2,3,4,5", "more than P,R,H,K" },
		{ "loss-model=ge:1,200", "more than 100" },
		{ "corrupt-burst=0", "at least 1 bit" },
		{ "corrupt-burst=5000", "too much" },
		{ "down=maybe", "neither 0 nor 1" },
		{ "ber=", "not a ratio" },
		{ "ber=often", "not a ratio" },
		{ "ber=0x1p-9", "not a ratio" },
		{ "ber=1e-7x", "not a ratio" },
		{ "ber=-1e-7", "not from 0" },
		{ "ber=0.01", "not from 0" },
		{ "rifl=192", "none of" },
		{ "rifl=4096", "too much" },
		{ "speed=1", "unknown setting" },
		{ "rate", "not KEY=VALUE" },
		{ "=5", "not KEY=VALUE" },
		{ "a-key-that-is-longer-than-any-that-there-could-be=1", "unknown setting" },
	};
	struct wire_settings s, before;
	char err[WIRE_ERR_LEN];

	(void)state;
	settings_init(&s);
	before = s;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_not_equal(settings_assign(&s, cases[i][0], err), 0);
		if (!strstr(err, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], err);
		assert_memory_equal(&s, &before, sizeof(s));
	}
}

static void settings_have_to_fit_together(void **state)
{
	static const char *const cases[] = { "jitter=1us", "reorder=5", "ecn=30k" };
	char err[WIRE_ERR_LEN];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct wire_settings s;

		settings_init(&s);
		assert_int_equal(settings_check(&s, err), 0);
		assert_int_equal(settings_assign(&s, cases[i], err), 0);
		assert_int_not_equal(settings_check(&s, err), 0);
	}
}

/* Settings in words, and what is wrong with them, or "". */
struct fit {
	const char *words, *why;
};

static void assign_all(struct wire_settings *s, const char *words)
{
	char copy[200], *rest = copy, *word, err[WIRE_ERR_LEN];

	settings_init(s);
	strcpy(copy, words);
	while ((word = strsep(&rest, " ")))
		assert_int_equal(settings_assign(s, word, err), 0);
}

static void rifl_is_refused_where_it_cannot_be(void **state)
{
	static const struct fit cases[] = {
		{ "rifl=256 rate=1gbit delay=100us ber=1e-4", "" },
		{ "rifl=128 rate=500mbit", "" },
		{ "rifl=2048 rate=2gbit ber=1e-5 queue=9p ecn=3p loss=1 dup=1 corrupt=1", "" },
		{ "ber=1e-3", "" },
		{ "rifl=256", "from 1 bit/s to 1000 Mbit/s" },
		{ "rifl=256 rate=1001mbit", "from 1 bit/s to 1000 Mbit/s" },
		{ "rifl=128 rate=501mbit", "to 500 Mbit/s" },
		{ "rifl=2048 rate=2001mbit", "to 2000 Mbit/s" },
		{ "rifl=256 rate=1gbit delay=2us jitter=1us", "keeps the order" },
		{ "rifl=256 rate=1gbit delay=2us reorder=1", "keeps the order" },
		{ "rifl=256 rate=1gbit overhead=24", "overhead of its own" },
		{ "rifl=256 rate=1gbit delay=1ms", "too long" },
		{ "rifl=256 rate=1gbit ber=2e-4", "more than 0.0001" },
		{ "rifl=2048 rate=1gbit ber=2e-5", "more than 1e-05" },
	};
	struct wire_settings s;
	char err[WIRE_ERR_LEN];

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		int rc;

		assign_all(&s, cases[i].words);
		rc = settings_check(&s, err);
		if (rc ? !*cases[i].why || !strstr(err, cases[i].why) : *cases[i].why != 0)
			fail_msg("%s: %s", cases[i].words, rc ? err : "accepted");
	}
}

static void a_hop_that_runs_stays_what_it_is(void **state)
{
	static const char *const other[] = {
		"rate=1gbit delay=1us", "rifl=512 rate=1gbit delay=1us", "rifl=256 rate=999mbit delay=1us",
		"rifl=256 rate=1gbit delay=2us",
	};
	struct wire_settings old, s;
	char err[WIRE_ERR_LEN];

	(void)state;
	assign_all(&old, "rifl=256 rate=1gbit delay=1us");
	for (unsigned int i = 0; i < ARRAY_SIZE(other); i++) {
		assign_all(&s, other[i]);
		assert_int_not_equal(settings_check_change(&old, &s, err), 0);
		assert_non_null(strstr(err, "while it runs"));
	}
	assign_all(&s, "rifl=256 rate=1gbit delay=1us ber=1e-5 queue=3p loss=1 down=1");
	assert_int_equal(settings_check_change(&old, &s, err), 0);
	assign_all(&old, "rate=1gbit");
	assign_all(&s, "rate=2gbit delay=1us ber=1e-5");
	assert_int_equal(settings_check_change(&old, &s, err), 0);
	assign_all(&s, "rifl=256 rate=1gbit");
	assert_int_not_equal(settings_check_change(&old, &s, err), 0);
}

static void the_last_loss_counts(void **state)
{
	char err[WIRE_ERR_LEN];
	struct wire_settings s;

	(void)state;
	settings_init(&s);
	assert_int_equal(settings_assign(&s, "loss-model=ge:1,2", err), 0);
	assert_int_equal(settings_assign(&s, "loss=3", err), 0);
	assert_false(s.loss.gilbert_elliott);
	assert_int_equal(settings_assign(&s, "loss-model=random", err), 0);
	assert_true(s.loss.p > 0);
	assert_int_equal(settings_assign(&s, "loss-model=ge:1,2", err), 0);
	assert_int_equal(settings_assign(&s, "loss-model=random", err), 0);
	assert_int_equal(s.loss.p, 0);
}

/* ---- commands ----------------------------------------------------------------------------- */

static int open_emulator(void **state)
{
	struct wire_env *e = env_open(3, 2, 1, "");

	memset(&em, 0, sizeof(em));
	em.wire = e->w;
	em.pool = e->pool;
	em.ports = 3;
	for (unsigned int i = 0; i < em.ports; i++)
		snprintf(em.port[i].name, sizeof(em.port[i].name), "to-%c", 'a' + (int)i);
	*state = e;
	return 0;
}

static int close_emulator(void **state)
{
	env_close(*state);
	return 0;
}

/* The error that |command| gets, "" if none. */
static const char *error_of(const char *command)
{
	static char text[300];
	char line[2000];
	json_t *reply;
	const char *error;

	snprintf(line, sizeof(line), "%s", command);
	reply = command_run(&em, line);
	assert_non_null(reply);
	error = json_string_value(json_object_get(reply, "error"));
	snprintf(text, sizeof(text), "%s", error ? error : "");
	json_decref(reply);
	return text;
}

static void set_changes_what_it_names(void **state)
{
	(void)state;
	assert_string_equal(error_of("set path=1 to=to-b rate=1g"), "");
	for (unsigned int to = 0; to < 3; to++)
		for (unsigned int path = 0; path < 2; path++)
			assert_int_equal(em.wire->link[to][path].set.rate,
					 to == 1 && path == 1 ? 1000000000 : 0);
	assert_string_equal(error_of("set path=0 down=1"), "");
	for (unsigned int to = 0; to < 3; to++) {
		assert_true(em.wire->link[to][0].set.down);
		assert_false(em.wire->link[to][1].set.down);
	}
	assert_string_equal(error_of("  set\tpath=all  delay=1ms jitter=1ms loss-model=ge:1,50\r"), "");
	for (unsigned int to = 0; to < 3; to++)
		assert_int_equal(em.wire->link[to][1].set.jitter, 1000000);
}

static void wrong_commands_change_nothing(void **state)
{
	static const char *const cases[][2] = {
		{ "", "none of" },
		{ "stop", "none of" },
		{ "show me", "none of" },
		{ "set", "want KEY=VALUE" },
		{ "set path=1", "want KEY=VALUE" },
		{ "set path=2 down=1", "from 0 to 1" },
		{ "set path=-1 down=1", "from 0 to 1" },
		{ "set path= down=1", "from 0 to 1" },
		{ "set path=1x down=1", "from 0 to 1" },
		{ "set to=eth7 down=1", "no interface" },
		{ "set rate=1g delay=fast", "not a number" },
		{ "set rate=1g jitter=1us", "more than the delay" },
		{ "set rate=1g rate", "not KEY=VALUE" },
		{ "set rate=1g rifl=256", "while it runs" },
		{ "set \xff\xfe=1", "not understood" },
		{ "set a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a", "words" },
	};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *error = error_of(cases[i][0]);

		if (!strstr(error, cases[i][1]))
			fail_msg("%s: \"%s\"", cases[i][0], error);
	}
	for (unsigned int to = 0; to < 3; to++)
		for (unsigned int path = 0; path < 2; path++)
			assert_false(em.wire->link[to][path].set.rate ||
				     em.wire->link[to][path].set.down);
}

/* All or nothing, also if only one of the links would refuse. */
static void set_is_all_or_nothing(void **state)
{
	(void)state;
	assert_string_equal(error_of("set path=0 to=to-a delay=1ms"), "");
	assert_string_not_equal(error_of("set jitter=1us"), "");
	assert_int_equal(em.wire->link[0][0].set.jitter, 0);
}

static void show_and_reset(void **state)
{
	struct wire_env *e = *state;
	char show[] = "show", again[] = "show";
	json_t *report, *link;
	json_int_t offered = -1;

	env_send(e, 0, 100, 1, 0);
	report = command_run(&em, show);
	assert_int_equal(json_array_size(json_object_get(report, "links")), 6);
	assert_int_equal(json_array_size(json_object_get(report, "ports")), 3);
	json_decref(report);
	assert_string_equal(error_of("reset"), "");
	report = command_run(&em, again);
	link = json_array_get(json_object_get(report, "links"), 2);
	json_unpack(link, "{s:I}", "offered", &offered);
	assert_int_equal(offered, 0);
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_units),
		cmocka_unit_test(wrong_values_are_refused),
		cmocka_unit_test(settings_have_to_fit_together),
		cmocka_unit_test(rifl_is_refused_where_it_cannot_be),
		cmocka_unit_test(a_hop_that_runs_stays_what_it_is),
		cmocka_unit_test(the_last_loss_counts),
		cmocka_unit_test_setup_teardown(set_changes_what_it_names, open_emulator,
						close_emulator),
		cmocka_unit_test_setup_teardown(wrong_commands_change_nothing, open_emulator,
						close_emulator),
		cmocka_unit_test_setup_teardown(set_is_all_or_nothing, open_emulator,
						close_emulator),
		cmocka_unit_test_setup_teardown(show_and_reset, open_emulator, close_emulator),
	};

	return unit_run(tests);
}
