// SPDX-License-Identifier: BSD-2-Clause
/* Log lines as they arrive at standard error. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <base/log.h>

static int saved, pipe_fds[2];

static int setup(void **state)
{
	(void)state;
	saved = dup(STDERR_FILENO);
	assert_int_equal(pipe(pipe_fds), 0);
	dup2(pipe_fds[1], STDERR_FILENO);
	close(pipe_fds[1]);
	unsetenv("JOURNAL_STREAM");
	log_set_level(LOG_LEVEL_INFO);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(pipe_fds[0]);
	return 0;
}

/* All that was written since the last call. */
static const char *written(void)
{
	static char text[8192];
	ssize_t n;

	/* A mark, so that there is always something to read. */
	assert_int_equal(write(STDERR_FILENO, "|", 1), 1);
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n - 1] = 0;
	return text;
}

/* The same without the time at its beginning, which is that of today. */
static const char *timed(void)
{
	static char text[8192];
	const char *from = written();
	struct tm tm = {};
	const char *frac;

	if (!*from)
		return from;
	frac = strptime(from, "%Y-%m-%dT%H:%M:%S", &tm);
	assert_non_null(frac);
	assert_true(labs(timegm(&tm) - time(NULL)) < 86400);
	assert_int_equal(strspn(frac + 1, "0123456789"), 6);
	assert_int_equal(frac[0], '.');
	assert_memory_equal(frac + 7, "Z ", 2);
	snprintf(text, sizeof(text), "%s", frac + 9);
	return text;
}

static void levels(void **state)
{
	(void)state;
	log_info("agent started port=%s", "eth0");
	log_debug("not this");
	assert_string_equal(timed(), "info agent started port=eth0\n");
	log_set_level(LOG_LEVEL_ERROR);
	log_warn("nor this");
	log_err("failed");
	assert_string_equal(timed(), "error failed\n");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("yes");
	assert_string_equal(timed(), "debug yes\n");
	assert_int_equal(log_get_level(), LOG_LEVEL_DEBUG);
}

static void journal(void **state)
{
	char stream[64];
	struct stat st;

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_warn("careful");
	assert_string_equal(written(), "<4>careful\n");
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_warn("elsewhere");
	assert_string_equal(timed(), "warn elsewhere\n");
}

static void forged_and_long(void **state)
{
	char text[4000];

	(void)state;
	log_info("name=%s", "a\nerror forged\x1b[1m");
	assert_string_equal(timed(), "info name=a?error forged?[1m\n");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	log_info("%s", text);
	assert_int_equal(strlen(written()), LOG_LINE_MAX - 1);
}

static void keeps_errno(void **state)
{
	(void)state;
	errno = EPIPE;
	log_info("%m");
	assert_int_equal(errno, EPIPE);
	assert_string_equal(timed(), "info Broken pipe\n");
}

/* Nobody reads: no thread is held up, and who reads later learns what he has missed. */
static void nobody_reads(void **state)
{
	enum { LINES = 4096 };
	static char text[1 << 20];
	unsigned int lines = 0, lost = 0;
	ssize_t n;

	(void)state;
	for (int i = 0; i < LINES; i++)
		log_info("line %d, which is long enough to fill a pipe before so many have been written", i);
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = 0;
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		lines++;
	assert_true(lines < LINES);
	log_info("and one more");
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = 0;
	assert_non_null(strstr(text, "and one more\n"));
	assert_int_equal(sscanf(strstr(text, "count="), "count=%u", &lost), 1);
	assert_int_equal(lines + lost, LINES);
}

static void limit(void **state)
{
	struct log_limit l = {0};
	const uint64_t interval = LOG_INTERVAL_MS * 1000000ULL, start = 12345;
	uint32_t suppressed;

	(void)state;
	for (int i = 0; i < LOG_BURST; i++)
		assert_true(log_limit_pass(&l, start + i, &suppressed));
	for (int i = 0; i < 3; i++)
		assert_false(log_limit_pass(&l, start + interval - 1, &suppressed));
	assert_true(log_limit_pass(&l, start + interval, &suppressed));
	assert_int_equal(suppressed, 3);
	assert_true(log_limit_pass(&l, start + interval, &suppressed));
	assert_int_equal(suppressed, 0);
}

static void ratelimited(void **state)
{
	struct log_limit l = {0};
	const char *text;
	int lines = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		log_ratelimited(LOG_LEVEL_WARN, &l, "peer misbehaves");
	for (text = written(); *text; text++)
		lines += *text == '\n';
	assert_int_equal(lines, LOG_BURST);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(levels),	   TEST(journal), TEST(forged_and_long),
		TEST(keeps_errno), TEST(nobody_reads), TEST(limit),	  TEST(ratelimited),
	};

	return unit_run(tests);
}
