/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metrics over HTTP: GET /metrics, and nothing else. libmicrohttpd does the protocol in the caller's loop.
 *
 * Whoever can connect can ask, so that what one can take is limited: connections, over all and by address;
 * the time of a connection; the bytes of a request; and text is made once a second at most, more rarely if it
 * is long, however many ask.
 */
#ifndef FALCON_AGENT_METRICS_HTTP_H
#define FALCON_AGENT_METRICS_HTTP_H

#include <stdint.h>
#include <sys/socket.h>

#include "agent/metrics/metrics.h"

enum {
	METRICS_HTTP_CONNS = 16,	/* at once */
	METRICS_HTTP_CONNS_PER_ADDRESS = 4,
	METRICS_HTTP_CONN_S = 10,	/* that a connection may last */
	METRICS_HTTP_REQUEST = 16384,	/* bytes of memory for a connection: the limit of its request */
	METRICS_HTTP_KEEP_MS = 1000,	/* that text is used again */
	METRICS_HTTP_NS_PER_BYTE = 100,	/* and for so much longer: no more than 10 MB/s are made */
};

struct metrics_http;

/* Make text in |format|, of |*len| bytes, to be freed by the caller; NULL: it cannot be made. */
typedef char *(*metrics_http_fn)(void *arg, enum metrics_format format, size_t *len);

/* Listen at |addr|. 0, or a negative errno with a sentence in |err|. */
int metrics_http_open(struct metrics_http **out, const struct sockaddr *addr, socklen_t addrlen,
		      metrics_http_fn make, void *arg, char *err, size_t errlen);
/* NULL is allowed, here and below. */
void metrics_http_close(struct metrics_http *h);

/* To be watched with epoll; -1: there is none. When it is readable, metrics_http_run(). */
int metrics_http_fd(const struct metrics_http *h);
/* Do what is due, at |now| (ns, CLOCK_MONOTONIC). */
void metrics_http_run(struct metrics_http *h, uint64_t now);
/* When metrics_http_run() is due anyway, ns; UINT64_MAX: it is not. */
uint64_t metrics_http_deadline(const struct metrics_http *h);
/* The port that is listened at, for tests. */
uint16_t metrics_http_port(const struct metrics_http *h);

#endif /* FALCON_AGENT_METRICS_HTTP_H */
