/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tools on libfalcon have in common. */
#ifndef FALCON_TOOLS_APP_H
#define FALCON_TOOLS_APP_H

#include <signal.h>
#include <stdint.h>

#include "falcon/falcon.h"

/* Services that the tools' servers attach under, unless told otherwise. */
enum app_service {
	APP_PERF_SERVICE = 1,
	APP_CP_SERVICE = 2,
};

/* Set by SIGINT and SIGTERM after app_catch_signals(). */
extern volatile sig_atomic_t app_stop;
void app_catch_signals(void);

/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t app_now(void);

/* Write "PROGRAM: sentence" to the standard error output. */
void app_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Find connection |name| and wait until it is up, at most |wait_ms|. 0, or a negative errno value
 * after a warning.
 */
int app_connect(struct falcon *f, const char *name, int wait_ms, struct falcon_conn_info *info);

/* Why an operation failed, for a person. |conn| is the connection's name. Static buffer. */
const char *app_failure(const struct falcon_cqe *cqe, const char *conn);

#endif /* FALCON_TOOLS_APP_H */
