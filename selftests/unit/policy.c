// SPDX-License-Identifier: BSD-2-Clause
/* What [peer NAME] sections allow. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "agent/config/ranges.h"
#include "agent/config/policy.h"

static struct peer_config peers[] = {
	{.name = "any", .functions = "0", .max_connections = 1},
	{.name = "b.example", .functions = "1,16-31,0x100", .max_connections = 2, .clear = true},
};
static const struct agent_config cfg = {.peers = peers, .npeers = ARRAY_SIZE(peers)};

struct ask {
	const char *name;
	uint32_t function;
	bool clear;
	uint32_t held[ARRAY_SIZE(peers)];
	int section;			/* -1: refused */
	const char *why;
};

static void sections(void **state)
{
	static const struct ask asks[] = {
		{"b.example", 1, false, {0}, 1, NULL},
		{"B.Example", 16, false, {0}, 1, NULL},
		{"b.example", 31, true, {9, 1}, 1, NULL},
		{"b.example", 256, false, {0}, 1, NULL},
		{"b.example", 0, false, {0}, -1, "function 0"},
		{"b.example", 32, false, {0}, -1, "function 32"},
		{"b.example", 2, false, {0}, -1, "function 2"},
		{"b.example", 1, false, {0, 2}, -1, "2 connections"},
		{"c.example", 0, false, {0}, 0, NULL},
		{"c.example", 0, true, {0}, -1, "encryption"},
		{"c.example", 1, false, {0}, -1, "function 1"},
		{"c.example", 0, false, {1}, -1, "1 connections"},
		{NULL, 0, false, {0}, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		const struct ask *a = &asks[i];
		struct chan_identity who = {.nnames = a->name ? 2 : 0};
		struct cm_request req = {.who = &who, .function = a->function,
					 .security = a->clear ? CM_SECURITY_CLEAR
							      : CM_SECURITY_PSP};
		char err[128] = "";
		int got;

		strcpy(who.names[0], "x");
		snprintf(who.names[1], sizeof(who.names[1]), "%s", a->name ? a->name : "");
		got = policy_check(&cfg, a->held, &req, err, sizeof(err));
		assert_int_equal(got < 0 ? -1 : got, a->section);
		if (a->why && !strstr(err, a->why))
			fail_msg("\"%s\" does not say \"%s\"", err, a->why);
	}
}

/* Without [peer any] who has no section may nothing. */
static void no_section(void **state)
{
	const struct agent_config one = {.peers = &peers[1], .npeers = 1};
	struct chan_identity who = {.nnames = 1, .names = {"c"}};
	struct cm_request req = {.who = &who, .function = 1, .security = CM_SECURITY_PSP};
	uint32_t held = 0;
	char err[128];

	(void)state;
	assert_true(policy_check(&one, &held, &req, err, sizeof(err)) < 0);
	assert_string_equal(err, "no [peer] section is for c");
	assert_false(policy_admits(&one, &who));
	snprintf(who.names[0], sizeof(who.names[0]), "%s", peers[1].name);
	assert_true(policy_admits(&one, &who));
	who.nnames = 0;
	assert_true(policy_check(&one, &held, &req, err, sizeof(err)) < 0);
}

static void lists(void **state)
{
	static const char *const good[] = {"any", "0", "0-0", "1,2,3", "0-16777215", "0x10-0x20"};
	static const char *const bad[] = {"", ",", "1,", "1-", "-1", "2-1", "16777216", "1 2", "a",
					  "1,,2", "any,1", "99999999999999999999999", "1;2"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(policy_functions_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(policy_functions_valid(bad[i]));
}

static void numbers_of_a_list(void **state)
{
	static const uint64_t numbers[] = { 7, 2, 3, 4, 9 };

	(void)state;
	assert_int_equal(ranges_count(""), 0);
	assert_int_equal(ranges_count("7,2-4,9"), ARRAY_SIZE(numbers));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		assert_int_equal(ranges_at("7,2-4,9", i), numbers[i]);
		assert_true(ranges_have("7,2-4,9", numbers[i]));
	}
	assert_false(ranges_have("7,2-4,9", 8));
	assert_true(ranges_valid("3-5", 5));
	assert_false(ranges_valid("3-6", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections), cmocka_unit_test(no_section), cmocka_unit_test(lists),
		cmocka_unit_test(numbers_of_a_list),
	};

	return unit_run(tests);
}
