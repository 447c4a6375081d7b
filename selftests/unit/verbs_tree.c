// SPDX-License-Identifier: BSD-2-Clause
/* Trees of files that stand for sysfs go when the sockets of their agents have gone. */
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/tree.h"

static char base[UNIT_PATH];

static const char *in_base(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned int next;
	char *p = path[next++ % 4];

	snprintf(p, PATH_MAX, "%s/%s", base, name);
	return p;
}

static bool there(const char *name)
{
	struct stat st;

	return !lstat(in_base(name), &st);
}

static void make_file(const char *name)
{
	int fd = open(in_base(name), O_WRONLY | O_CREAT, 0644);

	assert_true(fd >= 0);
	close(fd);
}

static void make_directory(const char *name)
{
	assert_int_equal(mkdir(in_base(name), 0755), 0);
}

/* A tree with a file, and a link to a directory, of which nothing may be lost. */
static void make_tree(const char *name)
{
	char path[UNIT_PATH + 28];

	make_directory(name);
	snprintf(path, sizeof(path), "%s/class", name);
	make_directory(path);
	snprintf(path, sizeof(path), "%s/class/state", name);
	make_file(path);
	snprintf(path, sizeof(path), "%s/class/net", name);
	assert_int_equal(symlink(in_base("elsewhere"), in_base(path)), 0);
}

static int begin(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(unit_template(base, "verbs-tree")));
	make_directory("elsewhere");
	make_file("elsewhere/kept");
	make_file("socket");
	make_tree("one");
	make_tree("two");
	return 0;
}

static int end(void **state)
{
	char command[PATH_MAX];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", base);
	return system(command);
}

static void test_stale(void **state)
{
	(void)state;
	fv_tree_claim(in_base("one"), in_base("socket"));
	fv_tree_claim(in_base("two"), in_base("gone"));
	fv_tree_sweep(base);
	assert_true(there("one/class/state"));
	assert_false(there("two"));
	assert_true(there("elsewhere/kept"));
	assert_int_equal(unlink(in_base("socket")), 0);
	fv_tree_sweep(base);
	assert_false(there("one"));
	assert_true(there("elsewhere/kept"));
}

/* A directory on the way to the socket may be what has gone, or is something else now. */
static void test_directory_gone(void **state)
{
	(void)state;
	fv_tree_claim(in_base("one"), in_base("lab/falcond.sock"));
	fv_tree_claim(in_base("two"), in_base("socket/falcond.sock"));
	fv_tree_sweep(base);
	assert_false(there("one"));
	assert_false(there("two"));
}

/* Nothing says whose these are. */
static void test_not_claimed(void **state)
{
	(void)state;
	fv_tree_claim(in_base("one"), "relative.sock");
	make_file("two/agent");
	fv_tree_sweep(base);
	assert_true(there("one/class/state"));
	assert_true(there("two/class/state"));
}

static void test_claimed_again(void **state)
{
	(void)state;
	fv_tree_claim(in_base("one"), in_base("gone"));
	fv_tree_claim(in_base("one"), in_base("socket"));
	fv_tree_sweep(base);
	assert_true(there("one/class/state"));
	fv_tree_sweep(in_base("nowhere"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stale, begin, end),
		cmocka_unit_test_setup_teardown(test_directory_gone, begin, end),
		cmocka_unit_test_setup_teardown(test_not_claimed, begin, end),
		cmocka_unit_test_setup_teardown(test_claimed_again, begin, end),
	};

	return unit_run(tests);
}
