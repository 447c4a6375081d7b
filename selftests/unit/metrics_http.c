// SPDX-License-Identifier: BSD-2-Clause
/* Metrics over HTTP: what is answered, and what strangers can do to the server, which is to go on. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <agent/config/endpoint.h>
#include <agent/metrics/http.h>

#define NS_PER_S 1000000000ULL

enum { PATIENCE_MS = 20000, ANSWER_MAX = 1 << 17, TEXT = 40000 };

static struct metrics_http *http;
static uint64_t now;			/* the server's clock */
static unsigned int made;		/* texts */
static bool no_memory;
static char answer[ANSWER_MAX];		/* the latest */

static char *make(void *arg, enum metrics_format format, size_t *len)
{
	char *text = no_memory ? NULL : malloc(TEXT);

	assert_ptr_equal(arg, &http);
	if (!text)
		return NULL;
	made++;
	memset(text, format == METRICS_OPENMETRICS ? 'o' : 'p', TEXT);
	text[0] = '\n';
	*len = TEXT;
	return text;
}

static int setup(void **state)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char err[256];

	(void)state;
	now = 1;
	made = 0;
	no_memory = false;
	return metrics_http_open(&http, (struct sockaddr *)&addr, sizeof(addr), make, &http, err,
				 sizeof(err));
}

static int teardown(void **state)
{
	(void)state;
	metrics_http_close(http);
	return 0;
}

static int dial(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons(metrics_http_port(http)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

/* Let the server do what it has to do, and wait until |fd| has something for us. */
static void serve_until(int fd)
{
	struct pollfd p[2] = { { .fd = metrics_http_fd(http), .events = POLLIN },
			       { .fd = fd, .events = POLLIN } };

	do {
		bool due = metrics_http_deadline(http) <= now;

		assert_true(poll(p, 2, due ? 0 : PATIENCE_MS) > 0 || due);
		if (p[0].revents || due)
			metrics_http_run(http, now);
	} while (!p[1].revents);
}

/* All that comes over |fd| until its end, in |answer|; closes it. */
static void collect(int fd)
{
	size_t len = 0;
	ssize_t n;

	do {
		serve_until(fd);
		n = recv(fd, answer + len, sizeof(answer) - 1 - len, 0);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	answer[len] = 0;
	close(fd);
}

/* Let the server take in what was sent, as far as it is there. */
static void serve_ready(void)
{
	struct pollfd p = { .fd = metrics_http_fd(http), .events = POLLIN };

	while (poll(&p, 1, 0) > 0)
		metrics_http_run(http, now);
	metrics_http_run(http, now);
}

static void put(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/*
 * What was sent over |fd| does not have to end the connection: libmicrohttpd misses an end that comes
 * together with the last bytes. Then time does.
 */
static void end(int fd)
{
	shutdown(fd, SHUT_WR);
	serve_ready();
	now += METRICS_HTTP_CONN_S * NS_PER_S;
	serve_ready();
	collect(fd);
}

static void ask(const char *request)
{
	int fd = dial();

	put(fd, request);
	collect(fd);
}

static bool answered(unsigned int status)
{
	char line[32];

	snprintf(line, sizeof(line), "HTTP/1.1 %u ", status);
	return !strncmp(answer, line, strlen(line));
}

static size_t body(void)
{
	const char *at = strstr(answer, "\r\n\r\n");

	return at ? strlen(at + 4) : 0;
}

/* It still answers those who ask as they should. */
static void goes_on(void)
{
	ask("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_true(answered(200));
	assert_int_equal(body(), TEXT);
}

static void formats(void **state)
{
	(void)state;
	ask("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_true(answered(200));
	assert_non_null(strstr(answer, "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	assert_non_null(strstr(answer, "\r\n\r\n\npppp"));
	assert_int_equal(body(), TEXT);
	ask("GET /metrics HTTP/1.1\r\nHost: h\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n");
	assert_true(answered(200));
	assert_non_null(strstr(answer, "\r\nContent-Type: application/openmetrics-text; version=1.0.0; "
			       "charset=utf-8\r\n"));
	assert_non_null(strstr(answer, "\r\n\r\n\noooo"));
	ask("HEAD /metrics HTTP/1.0\r\n\r\n");
	assert_true(answered(200) || !strncmp(answer, "HTTP/1.0 200 ", 13));
	assert_int_equal(body(), 0);
}

static void others(void **state)
{
	static const char *const absent[] = { "/", "/metrics/", "/metric", "//metrics", "/metrics/../metrics",
					      "/%00", "*" };
	static const char *const methods[] = { "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW" };
	char request[160];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", absent[i]);
		ask(request);
		assert_true(answered(404));
	}
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		snprintf(request, sizeof(request),
			 "%s /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", methods[i]);
		ask(request);
		assert_true(answered(405));
		assert_non_null(strstr(answer, "\r\nAllow: GET, HEAD\r\n"));
	}
	assert_int_equal(made, 0);
	goes_on();
}

/* However many ask, text is made once a second, and more rarely if it is long. */
static void kept(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		goes_on();
	assert_int_equal(made, 1);
	now += METRICS_HTTP_KEEP_MS * 1000000ULL;
	goes_on();
	assert_int_equal(made, 1);
	now += TEXT * METRICS_HTTP_NS_PER_BYTE;
	goes_on();
	assert_int_equal(made, 2);
	now += 2 * METRICS_HTTP_KEEP_MS * 1000000ULL;
	no_memory = true;
	ask("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
	assert_true(answered(503));
	no_memory = false;
	goes_on();
}

static void garbage(void **state)
{
	static const char *const texts[] = {
		"\r\n\r\n\r\n", "GET\r\n\r\n", "GET /metrics\r\n\r\n", "GET /metrics HTTP/9.9\r\n\r\n",
		" \r\n\r\n",
		"GET /metrics HTTP/1.1\r\nHost\r\n\r\n", "GET /metrics HTTP/1.1\r\n: x\r\n\r\n",
		"POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
		"POST /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"POST /metrics HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		"ffffffffffffffffff\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
	};
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		int fd = dial();

		put(fd, texts[i]);
		end(fd);
	}
	for (int i = 0; i < 300; i++) {
		uint8_t bytes[512];
		size_t len = unit_random(&seed) % sizeof(bytes);
		int fd = dial();

		for (size_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)(unit_random(&seed) >> 8);
		assert_int_equal(send(fd, bytes, len, MSG_NOSIGNAL), len);
		end(fd);
	}
	goes_on();
}

/* More than a connection has memory for: it ends, with whatever status. */
static void too_long(void **state)
{
	static char request[4 * METRICS_HTTP_REQUEST];
	int fd = dial();

	(void)state;
	memset(request, 'a', sizeof(request) - 1);
	memcpy(request, "GET /", 5);
	assert_true(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0);
	collect(fd);
	assert_false(answered(200));
	memcpy(request, "GET /metrics HTTP/1.1\r\nAccept: ", 31);
	fd = dial();
	assert_true(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) > 0);
	collect(fd);
	assert_false(answered(200));
	goes_on();
}

/* Who goes in the middle, of asking or of being told. */
static void gone(void **state)
{
	const struct linger reset = { .l_onoff = 1 };

	(void)state;
	for (int i = 0; i < 40; i++) {
		int fd = dial();

		put(fd, i & 1 ? "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n" : "GET /metr");
		if (i & 2)
			serve_ready();
		if (i & 4)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(fd);
		serve_ready();
	}
	now += METRICS_HTTP_CONN_S * NS_PER_S;
	serve_ready();
	goes_on();
}

/* A byte now and then does not keep a connection. */
static void slow(void **state)
{
	static const char text[] = "GET /metrics HTTP/1.1\r\nX: ";
	int fd = dial();

	(void)state;
	for (uint64_t s = 0; s < METRICS_HTTP_CONN_S; s++) {
		assert_int_equal(send(fd, text + s, 1, MSG_NOSIGNAL), 1);
		serve_ready();
		assert_true(metrics_http_deadline(http) <= now + METRICS_HTTP_CONN_S * NS_PER_S);
		assert_int_equal(recv(fd, answer, 1, MSG_DONTWAIT), -1);
		assert_int_equal(errno, EAGAIN);
		now += NS_PER_S;
	}
	collect(fd);
	assert_int_equal(strlen(answer), 0);
	goes_on();
}

/* Who wants too many connections gets no more, until time is up for those that there are. */
static void many(void **state)
{
	int fds[METRICS_HTTP_CONNS_PER_ADDRESS];
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = dial();
		put(fds[i], "GET /met");
		serve_ready();
	}
	fd = dial();
	collect(fd);
	assert_int_equal(strlen(answer), 0);
	now += METRICS_HTTP_CONN_S * NS_PER_S;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		collect(fds[i]);
	goes_on();
}

/* Who does not read what was asked for is held up alone. */
static void unread(void **state)
{
	int small = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons(metrics_http_port(http)) };

	(void)state;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	put(fd, "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
	serve_ready();
	goes_on();
	now += METRICS_HTTP_CONN_S * NS_PER_S;
	serve_ready();
	goes_on();
	close(fd);
}

static void taken(void **state)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				    .sin_port = htons(metrics_http_port(http)) };
	struct metrics_http *second = NULL;
	char err[256] = "", want[64];

	(void)state;
	assert_int_equal(metrics_http_open(&second, (struct sockaddr *)&addr, sizeof(addr), make, &http, err,
					   sizeof(err)), -EADDRINUSE);
	snprintf(want, sizeof(want), "127.0.0.1 port %u", ntohs(addr.sin_port));
	assert_non_null(strstr(err, want));
	assert_non_null(strstr(err, "choose another port"));
	addr.sin_addr.s_addr = inet_addr("192.0.2.1");
	assert_int_equal(metrics_http_open(&second, (struct sockaddr *)&addr, sizeof(addr), make, &http, err,
					   sizeof(err)), -EADDRNOTAVAIL);
	assert_null(second);
	goes_on();
}

static void endpoints(void **state)
{
	static const char *const good[] = { "127.0.0.1:9464", "0.0.0.0:1", "[::]:65535",
					    "[2001:db8::1]:9464" };
	static const char *const bad[] = { "", ":", "9464", ":9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
					   "127.0.0.1:65536", "127.0.0.1:+1", "127.0.0.1: 1", "127.0.0.1:1x",
					   "::1:9464", "[::1]", "[::1]:", "[::1:9464", "::1]:9464", "[]:9464",
					   "[127.0.0.1]:9464", "host:9464", "[:9464",
					   "127.0.0.1:99999999999999999999",
					   "[2001:db8:1111:2222:3333:4444:5555:6666:7777:8888:9999]:9464" };
	struct sockaddr_storage addr;
	socklen_t len;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(endpoint_parse(good[i], &addr, &len));
	assert_int_equal(addr.ss_family, AF_INET6);
	assert_int_equal(len, sizeof(struct sockaddr_in6));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(endpoint_parse(bad[i], &addr, &len));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(formats), TEST(others), TEST(kept),   TEST(garbage), TEST(too_long), TEST(gone),
		TEST(slow),    TEST(many),   TEST(unread), TEST(taken),	  cmocka_unit_test(endpoints),
	};

	/* As main.c does. */
	signal(SIGPIPE, SIG_IGN);
	return unit_run(tests);
}
