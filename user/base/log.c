// SPDX-License-Identifier: BSD-2-Clause
/* Log lines: see log.h. */
#include "base/log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static enum log_level log_threshold = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	__atomic_store_n(&log_threshold, level, __ATOMIC_RELAXED);
}

enum log_level log_get_level(void)
{
	return __atomic_load_n(&log_threshold, __ATOMIC_RELAXED);
}

const char *log_level_name(enum log_level level)
{
	static const char *const names[LOG_LEVEL_COUNT] = {"error", "warn", "info", "debug"};

	return level < LOG_LEVEL_COUNT ? names[level] : "unknown";
}

/* systemd.exec(5): JOURNAL_STREAM is "device:inode" of the stream, and may be inherited stale. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

static size_t put_prefix(char *line, size_t size, enum log_level level)
{
	/* syslog priorities: LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG */
	static const int priority[LOG_LEVEL_COUNT] = {3, 4, 6, 7};

	struct timespec now;
	struct tm utc;
	size_t len;

	if (stderr_is_journal())
		return (size_t)snprintf(line, size, "<%d>", priority[level]);
	/* UTC, since the local time would need files of time zones. */
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	len = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &utc);
	return len + (size_t)snprintf(line + len, size - len, ".%06ldZ %s ", now.tv_nsec / 1000,
				      log_level_name(level));
}

static void sanitize(char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
}

static void write_line(const char *line, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		line += n;
		len -= (size_t)n;
	}
}

/* A pipe that has room has it for PIPE_BUF bytes, which is more than a line. */
_Static_assert(LOG_LINE_MAX <= PIPE_BUF, "a line fits");

static bool has_room(void)
{
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};

	return poll(&p, 1, 0) != 0;
}

/* Threads take turns, so that each finds the room that it has been told of. */
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static uint32_t lost;

/* Nobody waits for whoever reads: what finds no room is counted, and told of as soon as there is some. */
static void write_or_count(enum log_level level, const char *line, size_t len)
{
	char missing[128];
	size_t n;

	pthread_mutex_lock(&writing);
	if (lost && has_room()) {
		n = put_prefix(missing, sizeof(missing), level);
		n += (size_t)snprintf(missing + n, sizeof(missing) - n,
				      "log lines lost, for want of a reader count=%u\n", lost);
		lost = 0;
		write_line(missing, n);
	}
	if (has_room())
		write_line(line, len);
	else
		lost++;
	pthread_mutex_unlock(&writing);
}

__attribute__((format(printf, 2, 0)))
static void log_vmsg(enum log_level level, const char *fmt, va_list ap)
{
	int saved = errno;
	char line[LOG_LINE_MAX];
	size_t len;
	int n;

	len = put_prefix(line, sizeof(line), level);
	errno = saved; /* for %m */
	n = vsnprintf(line + len, sizeof(line) - len - 1, fmt, ap);
	if (n > 0)
		len += (size_t)n < sizeof(line) - len - 1 ? (size_t)n : sizeof(line) - len - 2;
	sanitize(line, len);
	line[len++] = '\n';
	write_or_count(level, line, len);
	errno = saved;
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > log_get_level())
		return;
	va_start(ap, fmt);
	log_vmsg(level, fmt, ap);
	va_end(ap);
}

bool log_limit_pass(struct log_limit *state, uint64_t now_ns, uint32_t *suppressed)
{
	*suppressed = 0;
	if (state->start_ns == 0 || now_ns - state->start_ns >= LOG_INTERVAL_MS * 1000000ULL) {
		*suppressed = state->suppressed;
		*state = (struct log_limit){.start_ns = now_ns};
	}
	if (state->passed >= LOG_BURST) {
		state->suppressed++;
		return false;
	}
	state->passed++;
	return true;
}

void log_ratelimited(enum log_level level, struct log_limit *state, const char *fmt, ...)
{
	struct timespec ts;
	uint32_t suppressed;
	va_list ap;
	bool pass;

	if (level > log_get_level())
		return;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	pass = log_limit_pass(state, (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec,
			      &suppressed);
	if (suppressed)
		log_msg(level, "similar messages suppressed count=%u", suppressed);
	if (!pass)
		return;
	va_start(ap, fmt);
	log_vmsg(level, fmt, ap);
	va_end(ap);
}
