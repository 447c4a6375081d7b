/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines to standard error, one write(2) a line: "time level message key=value ...", the time in
 * UTC as RFC 3339 has it, with microseconds.
 *
 * When standard error is the journal's stream (JOURNAL_STREAM names it), which has times of its own,
 * the level goes out as systemd's "<N>" priority prefix instead. Characters that could forge or tear a
 * line (control characters, which may have come from a peer or a client) are written as '?'.
 *
 * Whoever writes a line does not wait: if standard error is a pipe or a socket that is full, because nobody
 * reads it, lines are lost, and the next one that finds room says how many.
 */
#ifndef FALCON_BASE_LOG_H
#define FALCON_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_COUNT,
};

enum log_limit_const {
	LOG_BURST = 5,			/* lines let through ... */
	LOG_INTERVAL_MS = 5000,		/* ... in an interval of this length */
	LOG_LINE_MAX = 1024,		/* bytes of a line; what is longer is cut */
};

/* Lines above |level| are dropped. LOG_LEVEL_INFO until set. */
void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* "error", "warn", "info" or "debug". */
const char *log_level_name(enum log_level level);

/* Write one line if |level| is enabled. errno is preserved. */
void log_msg(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_err(...) log_msg(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_msg(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_msg(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* The state of one rate-limited message or group of messages; zero is a valid start. */
struct log_limit {
	uint64_t start_ns;	/* CLOCK_MONOTONIC when the interval began; 0: none yet */
	uint32_t passed;	/* lines let through in the interval */
	uint32_t suppressed;	/* lines withheld in the interval */
};

/*
 * True if a line may be written at |now_ns|. |*suppressed| is set to how many lines the interval
 * that has just ended withheld, 0 if none ended now.
 */
bool log_limit_pass(struct log_limit *state, uint64_t now_ns, uint32_t *suppressed);

/* log_msg() for what a peer or a client can trigger: at most LOG_BURST lines in LOG_INTERVAL_MS. */
void log_ratelimited(enum log_level level, struct log_limit *state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* FALCON_BASE_LOG_H */
