// SPDX-License-Identifier: BSD-2-Clause
/* Files being read and written: whole and right under their name, or not there at all. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/cp/file.h"

static char top[UNIT_PATH];
static int dir;

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(unit_template(top, "cp_sink")));
	dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(dir);
	return rmdir(top);
}

static int entries(void)
{
	DIR *d = opendir(top);
	int n = -2;	/* "." and ".." */

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void digest_of(const void *data, size_t len, uint8_t digest[CP_DIGEST])
{
	XXH128_canonical_t c;

	XXH128_canonicalFromHash(&c, XXH3_128bits(data, len));
	memcpy(digest, c.digest, CP_DIGEST);
}

static void commit__appears_whole(void **state)
{
	uint8_t digest[CP_DIGEST];
	char buf[16] = "";
	struct cp_sink s;
	struct stat st;
	int fd;

	(void)state;
	digest_of("hello, world", 12, digest);
	assert_int_equal(cp_sink_open(&s, dir, "f", 12, 0600), 0);
	assert_int_equal(faccessat(dir, "f", F_OK, 0), -1);
	assert_int_equal(cp_sink_write(&s, "hello, ", 7), 0);
	assert_int_equal(cp_sink_write(&s, "world", 5), 0);
	assert_int_equal(faccessat(dir, "f", F_OK, 0), -1);
	assert_int_equal(cp_sink_commit(&s, digest), 0);
	cp_sink_close(&s);
	assert_int_equal(entries(), 1);
	fd = openat(dir, "f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, buf, sizeof(buf)), 12);
	assert_string_equal(buf, "hello, world");
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(fd);
	unlinkat(dir, "f", 0);
}

/* Neither a partial file nor the loss of what was there before. */
static void assert_nothing_happened(void)
{
	struct stat st;

	assert_int_equal(entries(), 1);
	assert_int_equal(fstatat(dir, "f", &st, 0), 0);
	assert_int_equal(st.st_size, 3);
}

static void commit__refuses_what_is_wrong(void **state)
{
	uint8_t good[CP_DIGEST], bad[CP_DIGEST];
	struct cp_sink s;
	int fd = openat(dir, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)state;
	assert_int_equal(write(fd, "old", 3), 3);
	close(fd);
	digest_of("12345", 5, good);
	for (int bit = 0; bit < 8 * CP_DIGEST; bit += 7) {
		memcpy(bad, good, sizeof(bad));
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(cp_sink_open(&s, dir, "f", 5, 0644), 0);
		assert_int_equal(cp_sink_write(&s, "12345", 5), 0);
		assert_int_equal(cp_sink_commit(&s, bad), -EBADMSG);
		cp_sink_close(&s);
		assert_nothing_happened();
	}
	assert_int_equal(cp_sink_open(&s, dir, "f", 6, 0644), 0);
	assert_int_equal(cp_sink_write(&s, "12345", 5), 0);
	assert_int_equal(cp_sink_commit(&s, good), -EINVAL);
	assert_int_equal(cp_sink_write(&s, "67", 2), -EFBIG);
	cp_sink_close(&s);
	assert_nothing_happened();
	unlinkat(dir, "f", 0);
}

static void open__size_that_cannot_be(void **state)
{
	struct cp_sink s;

	(void)state;
	assert_int_equal(cp_sink_open(&s, dir, "f", UINT64_MAX, 0644), -EFBIG);
	assert_int_equal(entries(), 0);
}

/* A write that fails half-way, as on a full disk. */
static void write__that_fails(void **state)
{
	struct rlimit old, small = { .rlim_cur = 100000 };
	static char data[1 << 20];
	struct cp_sink s;
	int rc;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(cp_sink_open(&s, dir, "f", sizeof(data), 0644), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	rc = cp_sink_write(&s, data, sizeof(data));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(rc, -EFBIG);
	cp_sink_close(&s);
	assert_int_equal(entries(), 0);
}

static void source__reads_and_hashes(void **state)
{
	uint8_t want[CP_DIGEST], got[CP_DIGEST];
	struct cp_source s;
	char buf[16];
	int fd = openat(dir, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0640);

	(void)state;
	assert_int_equal(write(fd, "0123456789", 10), 10);
	assert_int_equal(cp_source_open(&s, dir, "f"), 0);
	assert_int_equal(s.size, 10);
	assert_int_equal(s.mode, 0640);
	assert_int_equal(cp_source_read(&s, buf, 4), 0);
	assert_int_equal(cp_source_read(&s, buf + 4, 6), 0);
	assert_memory_equal(buf, "0123456789", 10);
	digest_of("0123456789", 10, want);
	cp_source_digest(&s, got);
	assert_memory_equal(got, want, CP_DIGEST);
	cp_source_close(&s);
	assert_int_equal(cp_source_open(&s, dir, "f"), 0);
	assert_int_equal(ftruncate(fd, 5), 0);
	assert_int_equal(cp_source_read(&s, buf, 10), -ESTALE);
	cp_source_close(&s);
	close(fd);
	unlinkat(dir, "f", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commit__appears_whole),
		cmocka_unit_test(commit__refuses_what_is_wrong),
		cmocka_unit_test(open__size_that_cannot_be),
		cmocka_unit_test(write__that_fails),
		cmocka_unit_test(source__reads_and_hashes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
