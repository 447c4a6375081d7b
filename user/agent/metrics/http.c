// SPDX-License-Identifier: BSD-2-Clause
#include "agent/metrics/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define NS_PER_S 1000000000ULL
#define NS_PER_MS 1000000ULL

/* A connection; |fd| is libmicrohttpd's, -1 when the place is free. */
struct conn {
	int fd;
	bool over;			/* its time is up, and it was shut down */
	uint64_t until;			/* ns */
};

struct text {
	struct MHD_Response *response;	/* NULL: none was made yet */
	uint64_t until;			/* ns, that it is used */
};

struct metrics_http {
	metrics_http_fn make;
	void *arg;
	struct MHD_Daemon *daemon;
	int listen_fd;
	struct conn conns[METRICS_HTTP_CONNS];
	struct text texts[2];		/* by format */
	uint64_t now;			/* ns, of the latest metrics_http_run() */
	uint64_t deadline;		/* ns, as libmicrohttpd has it */
};

/* Every connection ends with its first answer. */
static bool add_headers(struct MHD_Response *r, const char *type)
{
	return MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES &&
	       MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES;
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *allow,
			      const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text,
								 MHD_RESPMEM_PERSISTENT);
	enum MHD_Result ret = MHD_NO;

	if (!r)
		return MHD_NO;
	if (add_headers(r, "text/plain; charset=utf-8") &&
	    (!allow || MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, allow) == MHD_YES))
		ret = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ret;
}

/* Those who are being sent the text before keep it until they have it. */
static struct MHD_Response *make_text(struct metrics_http *h, enum metrics_format format)
{
	struct text *t = &h->texts[format];
	struct MHD_Response *r;
	size_t len;
	char *text;

	if (t->response && h->now < t->until)
		return t->response;
	text = h->make(h->arg, format, &len);
	if (!text)
		return NULL;
	r = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	if (!r) {
		free(text);
		return NULL;
	}
	if (!add_headers(r, metrics_content_type(format))) {
		MHD_destroy_response(r);
		return NULL;
	}
	if (t->response)
		MHD_destroy_response(t->response);
	t->response = r;
	t->until = h->now + METRICS_HTTP_KEEP_MS * NS_PER_MS + len * METRICS_HTTP_NS_PER_BYTE;
	return r;
}

static enum MHD_Result serve(void *arg, struct MHD_Connection *c, const char *url, const char *method,
			     const char *version, const char *upload, size_t *upload_size, void **state)
{
	struct metrics_http *h = arg;
	const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	struct MHD_Response *r;

	(void)version, (void)upload, (void)upload_size, (void)state;
	if (strcmp(url, "/metrics") != 0)
		return answer(c, MHD_HTTP_NOT_FOUND, NULL, "there is only /metrics\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer(c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, HEAD", "metrics can only be read\n");
	r = make_text(h, metrics_negotiate(accept));
	if (!r)
		return answer(c, MHD_HTTP_SERVICE_UNAVAILABLE, NULL, "out of memory\n");
	return MHD_queue_response(c, MHD_HTTP_OK, r);
}

static void on_conn(void *arg, struct MHD_Connection *c, void **state,
		    enum MHD_ConnectionNotificationCode code)
{
	struct metrics_http *h = arg;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (*state)
			((struct conn *)*state)->fd = -1;
		return;
	}
	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	for (int i = 0; info && i < METRICS_HTTP_CONNS; i++) {
		if (h->conns[i].fd >= 0)
			continue;
		h->conns[i] = (struct conn){ .fd = info->connect_fd,
					     .until = h->now + METRICS_HTTP_CONN_S * NS_PER_S };
		*state = &h->conns[i];
		return;
	}
}

static int listen_at(const struct sockaddr *addr, socklen_t addrlen, char *err, size_t errlen)
{
	int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, rc = 0;
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (addr->sa_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    bind(fd, addr, addrlen) < 0 || listen(fd, METRICS_HTTP_CONNS) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	getnameinfo(addr, addrlen, host, sizeof(host), port, sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(err, errlen, "cannot serve metrics at address %s port %s: %s%s", host, port, strerror(-rc),
		 rc == -EADDRINUSE ? "; another program has it, choose another port" :
		 rc == -EADDRNOTAVAIL ? "; the host has no such address" : "");
	return rc;
}

int metrics_http_open(struct metrics_http **out, const struct sockaddr *addr, socklen_t addrlen,
		      metrics_http_fn make, void *arg, char *err, size_t errlen)
{
	int fd = listen_at(addr, addrlen, err, errlen);
	struct metrics_http *h;

	if (fd < 0)
		return fd;
	h = calloc(1, sizeof(*h));
	if (h) {
		*h = (struct metrics_http){ .make = make, .arg = arg, .listen_fd = fd,
					    .deadline = UINT64_MAX };
		for (int i = 0; i < METRICS_HTTP_CONNS; i++)
			h->conns[i].fd = -1;
		h->daemon = MHD_start_daemon(
			MHD_USE_EPOLL, 0, NULL, NULL, serve, h, MHD_OPTION_LISTEN_SOCKET, fd,
			MHD_OPTION_CONNECTION_LIMIT, (unsigned int)METRICS_HTTP_CONNS,
			MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned int)METRICS_HTTP_CONNS_PER_ADDRESS,
			MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)METRICS_HTTP_CONN_S,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)METRICS_HTTP_REQUEST,
			MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_NOTIFY_CONNECTION, on_conn, h,
			MHD_OPTION_END);
	}
	if (!h || !h->daemon) {
		snprintf(err, errlen, "cannot serve metrics: libmicrohttpd does not start");
		close(fd);
		free(h);
		return -ENOMEM;
	}
	*out = h;
	return 0;
}

void metrics_http_close(struct metrics_http *h)
{
	if (!h)
		return;
	/* It closes the listening socket, too. */
	MHD_stop_daemon(h->daemon);
	for (size_t i = 0; i < sizeof(h->texts) / sizeof(h->texts[0]); i++)
		if (h->texts[i].response)
			MHD_destroy_response(h->texts[i].response);
	free(h);
}

int metrics_http_fd(const struct metrics_http *h)
{
	const union MHD_DaemonInfo *info;

	if (!h)
		return -1;
	info = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	return info ? info->epoll_fd : -1;
}

/* Who sends a byte now and then keeps within libmicrohttpd's own limit, which is of silence. */
static void end_slow(struct metrics_http *h)
{
	for (int i = 0; i < METRICS_HTTP_CONNS; i++) {
		struct conn *c = &h->conns[i];

		if (c->fd < 0 || c->over || h->now < c->until)
			continue;
		shutdown(c->fd, SHUT_RDWR);
		c->over = true;
	}
}

static void set_deadline(struct metrics_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	h->deadline = UINT64_MAX;
	if (MHD_get_timeout(h->daemon, &ms) == MHD_YES)
		h->deadline = h->now + ms * NS_PER_MS;
	for (int i = 0; i < METRICS_HTTP_CONNS; i++) {
		const struct conn *c = &h->conns[i];

		if (c->fd >= 0 && !c->over && c->until < h->deadline)
			h->deadline = c->until;
	}
}

void metrics_http_run(struct metrics_http *h, uint64_t now)
{
	if (!h)
		return;
	h->now = now;
	end_slow(h);
	MHD_run(h->daemon);
	set_deadline(h);
}

uint64_t metrics_http_deadline(const struct metrics_http *h)
{
	return h ? h->deadline : UINT64_MAX;
}

uint16_t metrics_http_port(const struct metrics_http *h)
{
	struct sockaddr_in6 addr;
	socklen_t len = sizeof(addr);

	/* The port is at the same place in both families' addresses. */
	if (getsockname(h->listen_fd, (struct sockaddr *)&addr, &len) < 0)
		return 0;
	return ntohs(addr.sin6_port);
}
