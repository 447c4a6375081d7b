// SPDX-License-Identifier: BSD-2-Clause
/* Who may use the agent, and how much of it. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <agent/tenant/quota.h>

/* No host has users or groups of these numbers. */
enum { ALICE = 4000001, BOB, CAROL, STAFF = 4000011, STUDENTS };

static struct quota_section sections[] = {
	{.name = "4000011", .group = true, .limit = {2, 3, 4, 5, 1 << 20}, .line = 1},
	{.name = "4000012", .group = true, .limit = {1, 0, 0, 0, 4096}, .line = 2},
	{.name = "4000001", .limit = {3, 1, 1, 1, 100}, .line = 3},
};
static const struct quota_section everybody[] = {
	{.name = "any", .limit = {1, 1, 1, 1, 1}},
	{.name = "4000001", .limit = {2, 2, 2, 2, 2}},
};
static struct quota *q;
static char err[256];

static int setup(void **state)
{
	(void)state;
	assert_int_equal(quota_open(&q, sections, ARRAY_SIZE(sections), err, sizeof(err)), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	quota_close(q);
	return 0;
}

static int admit(uid_t uid, gid_t first, gid_t second)
{
	const gid_t groups[] = {first, second};

	return quota_admit(q, uid, groups, 2, err, sizeof(err));
}

/* His own section goes first, then that of one of his groups; others are refused. */
static void sections_apply(void **state)
{
	(void)state;
	assert_true(quota_restricts(q));
	assert_int_equal(admit(ALICE, STUDENTS, STAFF), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 2), -EDQUOT);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 1), 0);
	assert_int_equal(admit(BOB, 7, STAFF), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_QPS, 4), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_QPS, 1), -EDQUOT);
	quota_explain(q, BOB, QUOTA_QPS, err, sizeof(err));
	assert_string_equal(err, "user 4000002 may hold 4 queue pairs and shared receive queues "
				 "([group 4000011]), and holds 4");
	assert_int_equal(admit(CAROL, 7, 8), -EACCES);
	assert_non_null(strstr(err, "user 4000003 may not use this agent"));
	assert_int_equal(quota_held(q, CAROL, QUOTA_CLIENTS), 0);
}

/* Other sections in the place of these: for those who are there as for those who come. */
static void renewed(void **state)
{
	static const struct quota_section later[] = {
		{.name = "4000012", .group = true, .limit = {9, 9, 9, 9, 9}},
		{.name = "4000011", .group = true, .limit = {1, 1, 9, 9, 9}},
	};
	static const struct quota_section unknown[] = {{.name = "there is no such user"}};

	(void)state;
	assert_int_equal(admit(ALICE, 7, 8), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 1), 0);
	assert_int_equal(admit(BOB, 7, STAFF), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_QPS, 3), 0);
	assert_int_equal(quota_renew(q, unknown, 1, err, sizeof(err)), -ENOENT);
	assert_int_equal(quota_renew(q, NULL, 0, err, sizeof(err)), -EPERM);
	assert_int_equal(quota_charge(q, BOB, QUOTA_QPS, 1), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_QPS, 1), -EDQUOT);
	assert_int_equal(quota_renew(q, later, 2, err, sizeof(err)), 0);
	/* His group may hold more; another's section has gone, and what he holds is his. */
	assert_int_equal(quota_charge(q, BOB, QUOTA_QPS, 5), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_QPS, 1), -EDQUOT);
	assert_int_equal(admit(BOB, 7, STAFF), -EDQUOT);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 1), -EDQUOT);
	quota_explain(q, ALICE, QUOTA_QPS, err, sizeof(err));
	assert_string_equal(err, "no [user] or [group] section is for user 4000001 any more");
	assert_int_equal(quota_held(q, ALICE, QUOTA_QPS), 1);
	assert_int_equal(admit(ALICE, 7, 8), -EACCES);
	assert_int_equal(admit(ALICE, 7, STUDENTS), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 8), 0);
	assert_int_equal(quota_renew(q, sections, ARRAY_SIZE(sections), err, sizeof(err)), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 1), -EDQUOT);
	quota_uncharge(q, ALICE, QUOTA_QPS, 9);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 1), 0);
}

/* The first section that there is. */
static void renewed_from_none(void **state)
{
	(void)state;
	assert_int_equal(quota_open(&q, NULL, 0, err, sizeof(err)), 0);
	assert_int_equal(admit(ALICE, 7, 8), 0);
	assert_int_equal(quota_renew(q, everybody, ARRAY_SIZE(everybody), err, sizeof(err)), 0);
	assert_true(quota_restricts(q));
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 3), -EDQUOT);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 2), 0);
	quota_close(q);
}

/* Of what there is one set of nobody takes more than he leaves; root may. */
static void shares(void **state)
{
	(void)state;
	assert_int_equal(quota_open(&q, NULL, 0, err, sizeof(err)), 0);
	quota_set_room(q, QUOTA_LINKS, 100);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_LINKS, 40), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_CONNECTIONS, 10), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_LINKS, 1), -EDQUOT);
	quota_explain(q, ALICE, QUOTA_LINKS, err, sizeof(err));
	assert_string_equal(err, "user 4000001 holds 40 connections of queue pairs and address handles: "
				 "one more, and fewer were left for others");
	assert_int_equal(quota_charge(q, ALICE, QUOTA_QPS, 1000), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_LINKS, 26), -EDQUOT);
	assert_int_equal(quota_charge(q, BOB, QUOTA_LINKS, 25), 0);
	assert_int_equal(quota_charge(q, CAROL, QUOTA_LINKS, 12), 0);
	quota_uncharge(q, ALICE, QUOTA_LINKS, 40);
	assert_int_equal(quota_charge(q, BOB, QUOTA_LINKS, 1), 0);
	assert_int_equal(quota_charge(q, 0, QUOTA_LINKS, 52), 0);
	assert_int_equal(quota_charge(q, CAROL, QUOTA_LINKS, 1), -EDQUOT);
	quota_close(q);
}

/* Each member of a group has its limits for himself. */
static void members_are_apart(void **state)
{
	(void)state;
	assert_int_equal(admit(BOB, STAFF, 0), 0);
	assert_int_equal(admit(BOB, STAFF, 0), 0);
	assert_int_equal(admit(BOB, STAFF, 0), -EDQUOT);
	assert_string_equal(err, "user 4000002 may hold 2 clients ([group 4000011]), and holds 2");
	assert_int_equal(admit(CAROL, STAFF, 0), 0);
	quota_uncharge(q, BOB, QUOTA_CLIENTS, 1);
	assert_int_equal(admit(BOB, STAFF, 0), 0);
}

/* The first section of several groups counts; a process with other groups changes that. */
static void groups_of_the_latest(void **state)
{
	(void)state;
	assert_int_equal(admit(BOB, STUDENTS, STAFF), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_MRS, 5), 0);
	quota_uncharge(q, BOB, QUOTA_CLIENTS, 1);
	assert_int_equal(admit(BOB, STUDENTS, 0), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_MRS, 1), -EDQUOT);
	/* What is beyond a limit that has shrunk may still go. */
	quota_uncharge(q, BOB, QUOTA_MRS, 5);
	assert_int_equal(quota_held(q, BOB, QUOTA_MRS), 0);
}

/* A refused first charge leaves no account; its refusal still names the section. */
static void refused_at_once(void **state)
{
	const struct quota_section none = {.name = "4000001"};
	struct quota *strict;

	(void)state;
	assert_int_equal(quota_open(&strict, &none, 1, err, sizeof(err)), 0);
	assert_int_equal(quota_admit(strict, ALICE, NULL, 0, err, sizeof(err)), -EDQUOT);
	assert_string_equal(err, "user 4000001 may hold 0 clients ([user 4000001]), and holds 0");
	quota_explain(strict, ALICE, QUOTA_MEMORY, err, sizeof(err));
	assert_string_equal(err,
			    "user 4000001 may hold 0 bytes of memory ([user 4000001]), and holds 0");
	quota_close(strict);
}

/* Sums do not wrap, and a charge that fails changes nothing. */
static void no_overflow(void **state)
{
	(void)state;
	assert_int_equal(admit(ALICE, 0, 0), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_MEMORY, 60), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_MEMORY, UINT64_MAX), -EDQUOT);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_MEMORY, UINT64_MAX - 59), -EDQUOT);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_MEMORY, 41), -EDQUOT);
	assert_int_equal(quota_held(q, ALICE, QUOTA_MEMORY), 60);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_MEMORY, 40), 0);
	quota_uncharge(q, ALICE, QUOTA_MEMORY, 101);
	assert_int_equal(quota_held(q, ALICE, QUOTA_MEMORY), 0);
}

/* [user any] is for all who have no section; the agent's own user is bound by name only. */
static void anybody(void **state)
{
	struct quota *all;

	(void)state;
	assert_int_equal(quota_open(&all, everybody, 2, err, sizeof(err)), 0);
	assert_int_equal(quota_charge(all, ALICE, QUOTA_QPS, 2), 0);
	assert_int_equal(quota_charge(all, BOB, QUOTA_QPS, 2), -EDQUOT);
	assert_int_equal(quota_charge(all, BOB, QUOTA_QPS, 1), 0);
	assert_int_equal(quota_charge(all, geteuid(), QUOTA_QPS, 1000), 0);
	assert_int_equal(quota_charge(all, 0, QUOTA_QPS, 1000), 0);
	quota_close(all);
}

/* Without sections everybody is admitted, unlimited, and still counted. */
static void no_sections(void **state)
{
	struct quota *open;

	(void)state;
	assert_int_equal(quota_open(&open, NULL, 0, err, sizeof(err)), 0);
	assert_false(quota_restricts(open));
	assert_int_equal(quota_admit(open, CAROL, NULL, 0, err, sizeof(err)), 0);
	assert_int_equal(quota_charge(open, CAROL, QUOTA_MEMORY, 1ULL << 40), 0);
	assert_int_equal(quota_held(open, CAROL, QUOTA_MEMORY), 1ULL << 40);
	quota_close(open);
}

static void count(void *arg, const struct quota_usage *usage)
{
	unsigned int *n = arg;

	assert_int_equal(usage->held[QUOTA_QPS], usage->uid - ALICE + 1);
	(*n)++;
}

/* Accounts go when nothing is left on them. */
static void accounts_go(void **state)
{
	struct quota *open;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(quota_open(&open, NULL, 0, err, sizeof(err)), 0);
	for (uid_t uid = ALICE; uid < ALICE + 1000; uid++)
		assert_int_equal(quota_charge(open, uid, QUOTA_QPS, uid - ALICE + 1), 0);
	quota_each(open, count, &n);
	assert_int_equal(n, 1000);
	for (uid_t uid = ALICE; uid < ALICE + 1000; uid++)
		quota_uncharge(open, uid, QUOTA_QPS, uid - ALICE + 1);
	n = 0;
	quota_each(open, count, &n);
	assert_int_equal(n, 0);
	quota_close(open);
}

/* Users are counted who hold memory, however much, and whatever else they hold. */
static void tenants(void **state)
{
	(void)state;
	assert_int_equal(quota_tenants(q), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_MEMORY, 60), 0);
	assert_int_equal(quota_charge(q, ALICE, QUOTA_MEMORY, 1), 0);
	assert_int_equal(quota_charge(q, BOB, QUOTA_QPS, 1), 0);
	assert_int_equal(quota_tenants(q), 1);
	assert_int_equal(quota_charge(q, BOB, QUOTA_MEMORY, 1), 0);
	assert_int_equal(quota_tenants(q), 2);
	assert_int_equal(quota_charge(q, BOB, QUOTA_MEMORY, UINT64_MAX), -EDQUOT);
	assert_int_equal(quota_charge(q, CAROL, QUOTA_MEMORY, 0), 0);
	assert_int_equal(quota_tenants(q), 2);
	quota_uncharge(q, ALICE, QUOTA_MEMORY, 60);
	assert_int_equal(quota_tenants(q), 2);
	quota_uncharge(q, ALICE, QUOTA_MEMORY, 1);
	assert_int_equal(quota_tenants(q), 1);
	quota_uncharge(q, BOB, QUOTA_MEMORY, 100);
	quota_uncharge(q, ALICE, QUOTA_MEMORY, 1);
	assert_int_equal(quota_tenants(q), 0);
	quota_uncharge(q, BOB, QUOTA_QPS, 1);
}

static void names(void **state)
{
	const struct quota_section root = {.name = "root"}, group = {.name = "root", .group = true};
	const struct quota_section nobody = {.name = "no-such-user"};
	const struct quota_section nogroup = {.name = "any", .group = true};
	struct quota *n;

	(void)state;
	assert_int_equal(quota_open(&n, &root, 1, err, sizeof(err)), 0);
	assert_int_equal(quota_charge(n, 0, QUOTA_QPS, 1), -EDQUOT);
	quota_close(n);
	assert_int_equal(quota_open(&n, &group, 1, err, sizeof(err)), 0);
	quota_close(n);
	assert_int_equal(quota_open(&n, &nobody, 1, err, sizeof(err)), -ENOENT);
	assert_string_equal(err, "[user no-such-user]: this host has no user of that name");
	assert_int_equal(quota_open(&n, &nogroup, 1, err, sizeof(err)), -ENOENT);
	assert_string_equal(err, "[group any]: this host has no group of that name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sections_apply, setup, teardown),
		cmocka_unit_test_setup_teardown(members_are_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(groups_of_the_latest, setup, teardown),
		cmocka_unit_test(refused_at_once),
		cmocka_unit_test_setup_teardown(no_overflow, setup, teardown),
		cmocka_unit_test(anybody),
		cmocka_unit_test(no_sections),
		cmocka_unit_test(accounts_go),
		cmocka_unit_test_setup_teardown(tenants, setup, teardown),
		cmocka_unit_test(names),
		cmocka_unit_test_setup_teardown(renewed, setup, teardown),
		cmocka_unit_test(renewed_from_none),
		cmocka_unit_test(shares),
	};

	return unit_run(tests);
}
