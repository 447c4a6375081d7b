// SPDX-License-Identifier: BSD-2-Clause
/* Swift's parameters by name, and files of named sets. */
#include "rue_env.h"

#include <stdio.h>

#include "rue/configs.h"

static char err[256];

static int set(struct swift_params *p, const char *pair)
{
	strcpy(err, "");
	return swift_params_set_pair(p, pair, err, sizeof(err));
}

/* Each entry is found by its names, has its default in range, and reads back what it prints. */
static void table(void **state)
{
	struct swift_params p, q;
	const struct swift_param *t;
	char text[SWIFT_PARAM_TEXT];
	size_t n;

	(void)state;
	t = swift_params_table(&n);
	swift_params_default(&p);
	assert_int_equal(swift_params_check(&p, err, sizeof(err)), 0);
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(swift_params_find(t[i].name, strlen(t[i].name)), &t[i]);
		if (t[i].spec)
			assert_ptr_equal(swift_params_find(t[i].spec, strlen(t[i].spec)), &t[i]);
		assert_null(swift_params_find(t[i].name, strlen(t[i].name) - 1));
		assert_true(swift_params_get(&p, &t[i]) == t[i].def);
		memset(&q, 0, sizeof(q));
		swift_params_format(&t[i], t[i].def, text);
		assert_int_equal(swift_params_set(&q, &t[i], text, err, sizeof(err)), 0);
		assert_true(swift_params_get(&q, &t[i]) == t[i].def);
	}
}

/* Both ends of each range are in or out as the table says, and what is beyond them is out. */
static void ranges(void **state)
{
	const struct swift_param *t;
	struct swift_params p;
	char text[SWIFT_PARAM_TEXT];
	size_t n;

	(void)state;
	t = swift_params_table(&n);
	swift_params_default(&p);
	for (size_t i = 0; i < n; i++) {
		const struct { double v; bool good; } cases[] = {
			{ t[i].min, !t[i].above_min }, { t[i].max, !t[i].below_max },
			{ t[i].max + 1, false },
		};

		if (t[i].type == SWIFT_BOOL)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
			int rc = swift_params_set(&p, &t[i],
						  swift_params_format(&t[i], cases[k].v, text), err,
						  sizeof(err));

			assert_int_equal(rc == 0, cases[k].good);
			if (rc)
				assert_non_null(strstr(err, t[i].name));
		}
		assert_true(swift_params_set(&p, &t[i], "-1", err, sizeof(err)) < 0);
	}
}

static void values(void **state)
{
	static const char *const good[] = {
		"randomize_path=on", "randomize_path=true", "randomize_path=1",
		"retransmit_limit=7",
		"ipg_time_scalar=0x1.0624dd2f1a9fcp-2", "max_fcwnd=1e2", "min_fcwnd=.5",
		"base_delay_target=0300",
	};
	static const char *const bad[] = {
		"randomize_path=yes", "randomize_path=", "retransmit_limit=7.0",
		"retransmit_limit=", "retransmit_limit=+7", "retransmit_limit= 7",
		"retransmit_limit=7 ", "retransmit_limit=0x7",
		"retransmit_limit=99999999999999999999",
		"max_fcwnd=nan", "max_fcwnd=inf", "max_fcwnd=1e999", "max_fcwnd=12x",
		"max_fcwnd= 12", "max_fcwnd=", "nothing=1", "=1", "max_fcwnd", "",
	};
	struct swift_params p, before;

	(void)state;
	swift_params_default(&p);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(set(&p, good[i]), 0);
	assert_true(p.randomize_path && p.retransmit_limit == 7 && p.ipg_time_scalar == 0.256);
	assert_true(p.max_fabric_congestion_window == 100);
	assert_true(p.fabric_base_delay == 300);
	before = p;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(set(&p, bad[i]) < 0);
		assert_true(*err);
	}
	assert_memory_equal(&p, &before, sizeof(p));
}

static void contradictions(void **state)
{
	static const char *const cases[][3] = {
		{ "min_fcwnd=257", NULL },
		{ "min_ncwnd=257", NULL },
		{ "min_flow_scaling_window=256", NULL },
		{ "max_fcwnd=1025", "randomize_path=on", NULL },
		{ "max_ncwnd=1025", "randomize_path=on", NULL },
		{ "delay_smoothing_alpha=0.5", "randomize_path=on", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct swift_params p;

		swift_params_default(&p);
		for (size_t k = 0; cases[i][k]; k++)
			assert_int_equal(set(&p, cases[i][k]), 0);
		assert_true(swift_params_check(&p, err, sizeof(err)) < 0);
		assert_true(*err);
	}
}

static int parse(struct rue_configs *c, const char *text)
{
	FILE *in = fmemopen((char *)text, strlen(text), "r");
	int rc;

	assert_non_null(in);
	strcpy(err, "");
	rue_configs_builtin(c);
	rc = rue_configs_read(c, in, err, sizeof(err));
	fclose(in);
	return rc;
}

static const struct swift_params *named(const struct rue_configs *c, const char *name)
{
	const struct rue_config *found = rue_configs_find(c, name);

	assert_non_null(found);
	return &found->params;
}

static void files(void **state)
{
	static struct rue_configs c;

	(void)state;
	assert_int_equal(parse(&c, "ANY text = goes\n  here too\n"
				   "config = \"one\"   (a remark, and another)\n"
				   "  parameter   value   meaning\n"
				   "  max_fcwnd   100.5   packets; not 7\n"
				   "\r\n"
				   "  retransmit_limit = 4, randomize_path (PLB) true (a remark),\n"
				   "\tipg_bits 20\r\n"
				   "    derived nothing 12\n"
				   "END\n"
				   "  max_fcwnd 1\n"
				   "config = \"two\" one, and calc_rtt_smooth = on, ipg_bits 3\n"
				   "config=\"alt\" as in two but:\n"
				   "  min_fcwnd 2"), 0);
	assert_int_equal(c.n, 7);
	assert_true(named(&c, "one")->max_fabric_congestion_window == 100.5);
	assert_int_equal(named(&c, "one")->retransmit_limit, 4);
	assert_int_equal(named(&c, "one")->ipg_bits, 20);
	assert_true(named(&c, "one")->randomize_path);
	assert_true(named(&c, "two")->randomize_path && named(&c, "two")->calc_rtt_smooth);
	assert_int_equal(named(&c, "two")->ipg_bits, 3);
	assert_int_equal(named(&c, "alt")->ipg_bits, 3);
	assert_true(named(&c, "alt")->min_fabric_congestion_window == 2);
	assert_null(rue_configs_find(&c, "three"));
	assert_int_equal(parse(&c, "\n"), 0);
	assert_int_equal(c.n, 5);
}

static void bad_files(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "config = x\n", "line 1" },
		{ "config = \"x\n", "line 1" },
		{ "config = \"\"\n", "line 1" },
		{ "config = \"0123456789012345678901234567890123456789\"\n", "line 1" },
		{ "config = \"x\"\n  max_fcwmd 1\n", "line 2: there is no parameter" },
		{ "config = \"x\"\n\n  max_fcwnd\n", "line 3" },
		{ "config = \"x\"\n  max_fcwnd zero\n", "line 2" },
		{ "config = \"x\"\n  max_fcwnd 1, what 2\n", "line 2" },
		{ "config = \"x\"\n  max_fcwnd 0\n", "line 2" },
		{ "config = \"x\"\n  min_fcwnd 300\nEND\n", "line 3: min_fabric" },
		{ "config = \"x\"\n  min_fcwnd 300\n", "line 2: min_fabric" },
		{ "config = \"x\" (never closed\n", "line 1" },
		{ "config = \"x\" unknown = 1\n", "line 1" },
		{ "config = \"x\" ipg_bits 99\n", "line 1" },
		{ "config = \"x\"\n  = 1\n", "line 2" },
	};
	static struct rue_configs c;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(parse(&c, cases[i].text) < 0);
		if (!strstr(err, cases[i].says))
			fail_msg("\"%s\" does not say \"%s\"", err, cases[i].says);
	}
}

/* One more set than there is room for. */
static void too_many(void **state)
{
	static struct rue_configs c;
	char text[RUE_CONFIGS_MAX * 24], *at = text;

	(void)state;
	for (int i = 0; i < RUE_CONFIGS_MAX; i++)
		at += sprintf(at, "config = \"c%d\"\n", i);
	assert_true(parse(&c, text) < 0);
	assert_int_equal(c.n, RUE_CONFIGS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),     cmocka_unit_test(ranges),
		cmocka_unit_test(values),    cmocka_unit_test(contradictions),
		cmocka_unit_test(files),     cmocka_unit_test(bad_files),
		cmocka_unit_test(too_many),
	};

	return unit_run(tests);
}
