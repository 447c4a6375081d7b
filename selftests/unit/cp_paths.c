// SPDX-License-Identifier: BSD-2-Clause
/* Names from a peer: nothing outside of the served directory can be reached, either way. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/cp/file.h"

/*
 * TOP/secret            outside
 * TOP/srv/              served
 * TOP/srv/file, TOP/srv/sub/file
 * TOP/srv/out -> ..     links of every kind
 * TOP/srv/link -> ../secret, TOP/srv/inside -> file, TOP/srv/fifo
 */
static char top[UNIT_PATH];
static int srv;

static void write_file(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static int setup(void **state)
{
	char path[PATH_MAX];
	int dir;

	(void)state;
	assert_non_null(mkdtemp(unit_template(top, "cp_paths")));
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(dir, "srv", 0755), 0);
	srv = openat(dir, "srv", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	write_file(dir, "secret", "secret");
	write_file(srv, "file", "file");
	assert_int_equal(mkdirat(srv, "sub", 0755), 0);
	write_file(srv, "sub/file", "sub");
	assert_int_equal(symlinkat("..", srv, "out"), 0);
	assert_int_equal(symlinkat("../secret", srv, "link"), 0);
	snprintf(path, sizeof(path), "%s/secret", top);
	assert_int_equal(symlinkat(path, srv, "absolute"), 0);
	assert_int_equal(symlinkat("file", srv, "inside"), 0);
	assert_int_equal(symlinkat("sub", srv, "insub"), 0);
	assert_int_equal(mkfifoat(srv, "fifo", 0600), 0);
	close(dir);
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "srv/file", "srv/out", "srv/link", "srv/absolute",
					     "srv/inside", "srv/insub", "srv/fifo", "srv/new",
					     "srv/sub/new", "srv/sub/file", "secret" };
	int dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(dir, names[i], 0);
	unlinkat(dir, "srv/sub", AT_REMOVEDIR);
	unlinkat(dir, "srv", AT_REMOVEDIR);
	close(dir);
	close(srv);
	return rmdir(top);	/* fails if anything unexpected was left */
}

static void read__confined(void **state)
{
	static const struct {
		const char *path;
		int want;
	} cases[] = {
		{ "file", 0 },
		{ "sub/file", 0 },
		{ "./sub/../file", 0 },
		{ "sub/./file", 0 },
		{ "", -ENOENT },
		{ "nosuch", -ENOENT },
		{ "nosuch/file", -ENOENT },
		{ "file/x", -ENOTDIR },
		{ "/", -EXDEV },
		{ "/etc/passwd", -EXDEV },
		{ "//etc/passwd", -EXDEV },
		{ "..", -EXDEV },
		{ "../secret", -EXDEV },
		{ "../srv/file", -EXDEV },
		{ "sub/../../secret", -EXDEV },
		{ "./../secret", -EXDEV },
		{ "out/secret", -ELOOP },
		{ "out", -ELOOP },
		{ "link", -ELOOP },
		{ "absolute", -ELOOP },
		{ "inside", -ELOOP },
		{ "insub/file", -ELOOP },
		{ ".", -EISDIR },
		{ "sub", -EISDIR },
		{ "sub/", -EISDIR },
		{ "fifo", -ENOTSUP },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cp_source s;
		int rc = cp_source_open(&s, srv, cases[i].path);

		if (rc != cases[i].want)
			print_error("\"%s\" gave %d\n", cases[i].path, rc);
		assert_int_equal(rc, cases[i].want);
		if (!rc)
			cp_source_close(&s);
	}
}

static void write__confined(void **state)
{
	static const struct {
		const char *path;
		int want;
	} cases[] = {
		{ "new", 0 },
		{ "sub/new", 0 },
		{ "", -EINVAL },
		{ ".", -EINVAL },
		{ "..", -EINVAL },
		{ "sub/", -EINVAL },
		{ "sub/..", -EINVAL },
		{ "/", -EINVAL },
		{ "/new", -EXDEV },
		{ "/tmp/new", -EXDEV },
		{ "../new", -EXDEV },
		{ "sub/../../new", -EXDEV },
		{ "out/new", -ELOOP },
		{ "insub/new", -ELOOP },
		{ "nosuch/new", -ENOENT },
		{ "file/new", -ENOTDIR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cp_sink s;
		int rc = cp_sink_open(&s, srv, cases[i].path, 0, 0644);

		if (rc != cases[i].want)
			print_error("\"%s\" gave %d\n", cases[i].path, rc);
		assert_int_equal(rc, cases[i].want);
		if (!rc)
			cp_sink_close(&s);
	}
}

/* A link in the place of the target is replaced, not followed. */
static void write__over_a_link(void **state)
{
	char buf[16] = "";
	struct cp_sink s;
	uint8_t digest[CP_DIGEST];
	XXH128_canonical_t none;
	int fd;

	(void)state;
	XXH128_canonicalFromHash(&none, XXH3_128bits("", 0));
	memcpy(digest, none.digest, sizeof(digest));
	assert_int_equal(cp_sink_open(&s, srv, "link", 0, 0644), 0);
	assert_int_equal(cp_sink_commit(&s, digest), 0);
	cp_sink_close(&s);
	fd = openat(srv, "../secret", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, buf, sizeof(buf)), 6);
	assert_string_equal(buf, "secret");
	close(fd);
	fd = openat(srv, "link", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
}

static void names__too_long(void **state)
{
	static char path[2 * PATH_MAX];
	char name[NAME_MAX + 1];

	(void)state;
	memset(path, 'x', NAME_MAX + 1);
	assert_int_equal(cp_open_parent(srv, path, name), -ENAMETOOLONG);
	path[NAME_MAX] = '\0';
	assert_true(cp_open_parent(srv, path, name) >= 0);
	for (size_t i = 0; i < PATH_MAX; i++)
		path[i] = i % 2 ? '/' : 'x';
	strcpy(path + PATH_MAX, "/f");
	assert_int_equal(cp_open_parent(srv, path, name), -ENAMETOOLONG);
}

/* The user's own paths go anywhere. */
static void own__paths(void **state)
{
	char path[PATH_MAX];
	struct cp_source s;

	(void)state;
	snprintf(path, sizeof(path), "%s/srv/inside", top);
	assert_int_equal(cp_source_open(&s, AT_FDCWD, path), 0);
	cp_source_close(&s);
	snprintf(path, sizeof(path), "%s/srv/../secret", top);
	assert_int_equal(cp_source_open(&s, AT_FDCWD, path), 0);
	cp_source_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read__confined),
		cmocka_unit_test(write__confined),
		cmocka_unit_test(write__over_a_link),
		cmocka_unit_test(names__too_long),
		cmocka_unit_test(own__paths),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
