// SPDX-License-Identifier: BSD-2-Clause
#include "app.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum app_const {
	CONNECT_POLL_MS = 20,
};

volatile sig_atomic_t app_stop;

static void on_signal(int sig)
{
	(void)sig;
	app_stop = 1;
}

void app_catch_signals(void)
{
	/* Without SA_RESTART: waiting calls return, and the loop sees app_stop. */
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

uint64_t app_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

void app_warn(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int app_connect(struct falcon *f, const char *name, int wait_ms, struct falcon_conn_info *info)
{
	const struct timespec pause = { .tv_nsec = CONNECT_POLL_MS * 1000000L };
	uint64_t until = app_now() + (uint64_t)wait_ms * 1000000;
	uint32_t conn;
	int rc = falcon_lookup(f, name, &conn);

	while (!rc && !(rc = falcon_conn_info(f, conn, info)) && !info->up) {
		if (app_stop || app_now() > until) {
			app_warn("connection \"%s\" is down", name);
			return -ENOTCONN;
		}
		nanosleep(&pause, NULL);
	}
	if (rc)
		app_warn("%s", falcon_error(f));
	return rc;
}

static const char *refusal(uint8_t code)
{
	switch (code) {
	case FALCON_RAW_NO_SERVICE: return "nobody serves there";
	case FALCON_RAW_NO_ACCESS: return "the far side does not allow access to that memory";
	case FALCON_RAW_MALFORMED: return "the far side does not understand the request";
	case FALCON_RAW_STUCK: return "the program at the far side does not take messages";
	case FALCON_RAW_SHORT: return "nobody serves there, or access is not allowed";
	default: return "the far side refused";
	}
}

const char *app_failure(const struct falcon_cqe *cqe, const char *conn)
{
	static char text[256];
	const char *why;

	switch (cqe->status) {
	case kCmplTargetNackCIE: why = refusal(cqe->ulp_code); break;
	case kCmplDeadConn: why = "the connection is down"; break;
	case kCmplLocalTO: why = "timed out"; break;
	case kCmplRemoteErr: why = "the far side gave the connection up"; break;
	case kCmplOpErr: why = "the operation is not valid on this connection"; break;
	case kCmplLocalRsrc: why = "the agent is out of resources"; break;
	default: why = "failed"; break;
	}
	snprintf(text, sizeof(text), "\"%s\": %s (%s)", conn, why,
		 falcon_completion_name(cqe->status));
	return text;
}
