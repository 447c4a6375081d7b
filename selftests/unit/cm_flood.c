// SPDX-License-Identifier: BSD-2-Clause
/*
 * TLS against a peer that does not keep to the protocol, beside one that does: floods, cut
 * connections, old versions, other protocols. B listens at 127.0.0.2.
 */
#include "cm_stage.h"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cm/priv.h>
#include <cm/wire.h>

#define B6 "fd00::2"

static int setup(void **state)
{
	(void)state;
	stage_begin();
	env_open(&b);
	env_add(&b, B, A, 11, 1);
	return 0;
}

/* Addresses of a /64 that are all ours, as lo has a route for them. */
static int tcp6_from(unsigned int host)
{
	struct sockaddr_in6 from = {.sin6_family = AF_INET6}, to = {.sin6_family = AF_INET6};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	char ip[64];

	snprintf(ip, sizeof(ip), "fd00:0:0:64::%x", host);
	inet_pton(AF_INET6, ip, &from.sin6_addr);
	inet_pton(AF_INET6, B6, &to.sin6_addr);
	to.sin6_port = htons(ENV_PORT);
	setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &one, sizeof(one));
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static int tcp_from(const char *ip)
{
	struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, ip, &from.sin_addr);
	inet_pton(AF_INET, B, &to.sin_addr);
	to.sin_port = htons(ENV_PORT);
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* True once B has closed |fd|, whatever it sent before. */
static bool closed(void *arg)
{
	char buf[4096];
	int fd = *(int *)arg;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		;
	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static bool up(void *arg)
{
	(void)arg;
	return a.conns[1].up && b.conns[11].up;
}

static void honest_peer_comes_up(void)
{
	env_open(&a);
	env_add(&a, A, B, 1, 11);
	assert_true(env_until(&a, &b, up, NULL));
}

/* Far more half-open handshakes than there is room for, from many addresses. */
static void half_open_flood(void **state)
{
	int fds[300];
	char ip[32];

	(void)state;
	for (int i = 0; i < 300; i++) {
		snprintf(ip, sizeof(ip), "127.0.1.%d", 1 + i % 100);
		fds[i] = tcp_from(ip);
		if (i % 3 == 0)
			assert_int_equal(send(fds[i], "\x16\x03\x01\x01\x00\x01", 6, MSG_NOSIGNAL), 6);
	}
	honest_peer_comes_up();
	/* The first had to make room long before its time was over. */
	assert_true(env_until(&b, &a, closed, &fds[0]));
	for (int i = 0; i < 300; i++)
		close(fds[i]);
}

/* One address gets no more than its share. */
static void share_of_one(void **state)
{
	int fds[CHAN_PENDING_PEER_MAX + 1];

	(void)state;
	for (int i = 0; i <= CHAN_PENDING_PEER_MAX; i++)
		fds[i] = tcp_from("127.0.1.1");
	assert_true(env_until(&b, NULL, closed, &fds[CHAN_PENDING_PEER_MAX]));
	honest_peer_comes_up();
	for (int i = 0; i <= CHAN_PENDING_PEER_MAX; i++)
		close(fds[i]);
}

/* |fd| is pending at B while many addresses of a /64 connect. Whether it still is, and so is the last one. */
static bool outlasts_a_network(int fd)
{
	enum { N = 2 * CHAN_PENDING_MAX };
	int fds[N];
	bool still;

	for (unsigned int i = 0; i < N; i++)
		fds[i] = tcp6_from(1 + i);
	assert_true(env_until(&b, NULL, closed, &fds[N - 1 - CHAN_PENDING_NET_MAX]));
	still = !closed(&fd) && !closed(&fds[N - 1]);
	for (unsigned int i = 0; i < N; i++)
		close(fds[i]);
	return still;
}

/* A host with a /64 of its own is not as many peers as it has addresses. */
static void share_of_a_network(void **state)
{
	bool still = false;
	int fd;

	(void)state;
	env_add(&b, B6, "fd00::1", 12, 3);
	/* More than once, since the others may take so long that the time of the first is over. */
	for (int i = 0; i < 5 && !still; i++) {
		fd = tcp_from("127.0.1.1");
		still = outlasts_a_network(fd);
		close(fd);
	}
	assert_true(still);
	honest_peer_comes_up();
}

/* A client of TLS at A's address with A's certificate, so that B lets it in. */
static SSL *client(SSL_CTX *ctx, int fd)
{
	SSL *ssl = SSL_new(ctx);

	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	return ssl;
}

static SSL_CTX *client_context(const char *alpn)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	assert_int_equal(SSL_CTX_use_certificate_chain_file(ctx, cert_path("a.crt")), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey_file(ctx, cert_path("a.key"), SSL_FILETYPE_PEM), 1);
	if (alpn)
		SSL_CTX_set_alpn_protos(ctx, (const uint8_t *)alpn, (unsigned int)strlen(alpn));
	return ctx;
}

#define ALPN "\x0b" "falcon-cm/4"

static bool b_opening(void *arg)
{
	(void)arg;
	return cm_conn_state(b.cm, 11) == CM_OPENING;
}

static bool b_told(void *arg)
{
	return strstr(b.conns[11].reason, arg) != NULL;
}

static SSL *greet(SSL_CTX *ctx)
{
	static const struct cm_msg hello = {.type = CM_MSG_HELLO, .boot = 1, .alive_ms = 3000};
	uint8_t out[CM_WIRE_MAX];
	size_t n = cm_msg_pack(&hello, out);
	SSL *ssl = client(ctx, tcp_from(A));

	assert_int_equal(SSL_connect(ssl), 1);
	assert_int_equal(SSL_write(ssl, out, (int)n), n);
	assert_true(env_until(&b, NULL, b_opening, NULL));
	return ssl;
}

/* The stream ends without close_notify: somebody may have cut it. It is told from an orderly end. */
static void truncated(void **state)
{
	SSL_CTX *ctx = client_context(ALPN);
	SSL *ssl = greet(ctx);

	(void)state;
	shutdown(SSL_get_fd(ssl), SHUT_WR);
	assert_true(env_until(&b, NULL, b_told, "close_notify"));
	close(SSL_get_fd(ssl));
	SSL_free(ssl);
	ssl = greet(ctx);
	SSL_shutdown(ssl);
	assert_true(env_until(&b, NULL, b_told, "agent has gone"));
	close(SSL_get_fd(ssl));
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

/* An orderly end is none the less one if the channel has not read all that we have said. */
static void ends_with_words_unread(void **state)
{
	SSL_CTX *ctx = client_context(ALPN);
	SSL *ssl = greet(ctx);
	struct cm_session *s = b.cm->sessions;
	int pair[2];

	(void)state;
	/* In place of the channel's thread, which mostly is too quick. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(dup2(pair[0], s->fd), s->fd);
	assert_int_equal(send(s->fd, "unread", 6, MSG_NOSIGNAL), 6);
	close(pair[0]);
	close(pair[1]);
	cm_session_event(b.cm, s);
	assert_true(env_until(&b, NULL, b_told, "agent has gone"));
	close(SSL_get_fd(ssl));
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

/* A record that is not authentic ends the session. */
static void forged_record(void **state)
{
	static const uint8_t record[] = "\x17\x03\x03\x00\x20" "0123456789abcdef0123456789abcdef";
	SSL_CTX *ctx = client_context(ALPN);
	SSL *ssl = greet(ctx);

	(void)state;
	assert_int_equal(send(SSL_get_fd(ssl), record, 37, MSG_NOSIGNAL), 37);
	assert_true(env_until(&b, NULL, b_told, "TLS: "));
	close(SSL_get_fd(ssl));
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	honest_peer_comes_up();
}

/* The client's handshake fails, or what it reads after it is an end. */
static void turned_away(SSL_CTX *ctx)
{
	SSL *ssl = client(ctx, tcp_from(A));
	char byte;

	if (SSL_connect(ssl) == 1)
		assert_true(SSL_read(ssl, &byte, 1) <= 0);
	close(SSL_get_fd(ssl));
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	ERR_clear_error();
	assert_int_equal(cm_conn_state(b.cm, 11), CM_NO_SESSION);
}

static void other_clients(void **state)
{
	SSL_CTX *ctx = client_context(ALPN);

	(void)state;
	SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	turned_away(ctx);
	turned_away(client_context("\x08" "http/1.1"));
	ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_alpn_protos(ctx, (const uint8_t *)ALPN, strlen(ALPN));
	turned_away(ctx);
	honest_peer_comes_up();
}

/* No ALPN at all is no refusal of TLS's, but one of ours. */
static void no_protocol(void **state)
{
	SSL_CTX *ctx = client_context(NULL);

	(void)state;
	turned_away(ctx);
}

static void garbage(void **state)
{
	static const char *const said[] = {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n",
					   "\x16\x03\x01\x40\x00garbage", "FCMH"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++) {
		int fd = tcp_from(A);

		assert_true(send(fd, said[i], strlen(said[i]), MSG_NOSIGNAL) > 0);
		shutdown(fd, SHUT_WR);
		assert_true(env_until(&b, NULL, closed, &fd));
		close(fd);
	}
	honest_peer_comes_up();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, stage_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(half_open_flood), TEST(share_of_one), TEST(share_of_a_network), TEST(truncated),
		TEST(ends_with_words_unread), TEST(forged_record), TEST(other_clients),
		TEST(no_protocol), TEST(garbage),
	};

	if (!env_namespace() || system("ip -6 route add local fd00:0:0:64::/64 dev lo")) {
		puts("1..0 # SKIP needs a network namespace of its own (root)");
		return 0;
	}
	return unit_run(tests);
}
