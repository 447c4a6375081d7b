// SPDX-License-Identifier: BSD-2-Clause
/*
 * The handshake against a peer that does not keep to the protocol: B is an agent at 127.0.0.2, the
 * test itself plays the peer at 127.0.0.1 or .3, byte by byte.
 */
#include "cm_env.h"

#include <netinet/in.h>

#include <cm/wire.h>

static struct end a, b;
static const struct cm_msg hello = {.type = CM_MSG_HELLO, .boot = 1, .alive_ms = CM_ALIVE_MS};

#define A "127.0.0.1"
#define B "127.0.0.2"
#define C "127.0.0.3"

static int setup(void **state)
{
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	env_open(&b);
	env_add(&b, B, A, 11, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cm_close(a.cm);
	cm_close(b.cm);
	return 0;
}

static struct sockaddr_in address(const char *ip, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};

	inet_pton(AF_INET, ip, &in.sin_addr);
	return in;
}

static int tcp_from(const char *ip)
{
	struct sockaddr_in from = address(ip, 0), to = address(B, ENV_PORT);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static bool readable(void *arg)
{
	struct pollfd p = {.fd = *(int *)arg, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
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

static void assert_closed(int fd)
{
	assert_true(env_until(&b, a.cm ? &a : NULL, closed, &fd));
	close(fd);
}

static void say(int fd, const struct cm_msg *m)
{
	uint8_t out[CM_WIRE_MAX];
	size_t n = cm_msg_pack(m, out);

	assert_int_equal(send(fd, out, n, MSG_NOSIGNAL), n);
}

static void say_hello(int fd)
{
	say(fd, &hello);
}

/* B's next message. */
static struct cm_msg hear(int fd)
{
	uint8_t in[CM_WIRE_MAX];
	size_t have = 0;
	struct cm_msg m;
	const char *why;
	int n;

	/* Read no more than the one: first its header, then the rest. */
	while ((n = cm_msg_unpack(in, have, &m, &why)) == 0) {
		size_t want = have < CM_WIRE_HEADER ? CM_WIRE_HEADER : (size_t)(in[0] << 8 | in[1]);
		ssize_t got;

		assert_true(env_until(&b, NULL, readable, &fd));
		got = recv(fd, in + have, want - have, 0);
		assert_true(got > 0);
		have += (size_t)got;
	}
	assert_true(n > 0);
	return m;
}

static struct cm_msg hear_type(int fd, enum cm_msg_type type)
{
	struct cm_msg m = hear(fd);

	assert_int_equal(m.type, type);
	return m;
}

static struct cm_msg an_open(uint64_t incarnation)
{
	return (struct cm_msg){.type = CM_MSG_OPEN, .src_cid = 1, .dst_cid = 11,
			       .incarnation = incarnation, .ordering = CM_ORDERED,
			       .data_psn = 1, .req_psn = 2, .rsn = 3,
			       .ulp.proto = FALCON_PROTO_RAW,
			       .params = {.mtu = 9000, .flows = 1, .data_window = 128,
					  .req_window = 64},
			       .security = {.spi = 7, .version = FALCON_PSP_CLEAR}};
}

/* Greet on both sides and take B's OPEN. */
static int greet(struct cm_msg *open)
{
	int fd = tcp_from(A);

	say_hello(fd);
	hear_type(fd, CM_MSG_HELLO);
	*open = hear_type(fd, CM_MSG_OPEN);
	return fd;
}

/* All the way to ready, |incarnation| being ours; returns B's OPEN. */
static int come_up(uint64_t incarnation, struct cm_msg *open)
{
	int fd = greet(open);
	struct cm_msg m = an_open(incarnation);

	say(fd, &m);
	m = hear_type(fd, CM_MSG_READY);
	assert_true(m.incarnation == open->incarnation && m.peer_incarnation == incarnation);
	m = (struct cm_msg){.type = CM_MSG_READY, .src_cid = 1, .dst_cid = 11,
			    .incarnation = incarnation, .peer_incarnation = open->incarnation};
	say(fd, &m);
	return fd;
}

static bool b_up(void *arg)
{
	(void)arg;
	return b.conns[11].up;
}

static bool b_down(void *arg)
{
	(void)arg;
	return !b.conns[11].set_up;
}

static void by_the_book(void **state)
{
	struct cm_msg open;
	int fd = come_up(5, &open);

	(void)state;
	assert_true(env_until(&b, NULL, b_up, NULL));
	assert_int_equal(b.conns[11].peer.params.mtu, 9000);
	assert_int_equal(b.conns[11].peer.security.spi, 7);
	assert_int_equal(b.conns[11].ours.security.spi, open.security.spi);
	assert_int_equal(b.conns[11].ours.rsn, open.rsn);
	close(fd);
	assert_true(env_until(&b, NULL, b_down, NULL));
}

/* The peer's READY comes after its first packet: up once, and by an offer that is used up then. */
static void packet_before_ready(void **state)
{
	struct cm_msg open, m = an_open(5), ready = {.type = CM_MSG_READY, .src_cid = 1,
						     .dst_cid = 11, .incarnation = 5};
	int fd = greet(&open);

	(void)state;
	say(fd, &m);
	hear_type(fd, CM_MSG_READY);
	assert_false(b.conns[11].up);
	cm_heard(b.cm, 11);
	assert_true(b.conns[11].up);
	b.conns[11].up = false;
	cm_heard(b.cm, 11);
	cm_heard(b.cm, 12);
	ready.peer_incarnation = open.incarnation;
	say(fd, &ready);
	m = an_open(6);
	say(fd, &m);
	assert_true(hear_type(fd, CM_MSG_OPEN).incarnation != open.incarnation);
	hear_type(fd, CM_MSG_READY);
	assert_false(b.conns[11].up);
	close(fd);
}

static void byte_by_byte(void **state)
{
	uint8_t out[2 * CM_WIRE_MAX];
	struct cm_msg m = an_open(5);
	size_t n = cm_msg_pack(&hello, out);
	int fd = tcp_from(A);

	(void)state;
	n += cm_msg_pack(&m, out + n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(send(fd, out + i, 1, MSG_NOSIGNAL), 1);
		cm_process(b.cm, env_now());
	}
	hear_type(fd, CM_MSG_HELLO);
	hear_type(fd, CM_MSG_OPEN);
	hear_type(fd, CM_MSG_READY);
	close(fd);
}

static void strangers(void **state)
{
	(void)state;
	assert_closed(tcp_from(C));
	assert_int_equal(b.conns[11].losses, 0);
}

static bool pair_up(void *arg)
{
	(void)arg;
	return a.conns[1].up && b.conns[11].up;
}

static bool no_guest(void *arg)
{
	(void)arg;
	return cm_guests_deadline(b.cm) == UINT64_MAX;
}

static bool a_guest(void *arg)
{
	(void)arg;
	return cm_guests_deadline(b.cm) != UINT64_MAX;
}

/* While a session is up, others from the peer's host do it no harm. */
static void guests(void **state)
{
	int silent[40], fd;

	(void)state;
	env_open(&a);
	env_add(&a, A, B, 1, 11);
	assert_true(env_until(&a, &b, pair_up, NULL));
	fd = tcp_from(A);
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
	assert_closed(fd);
	fd = tcp_from(A);
	say(fd, &(struct cm_msg){.type = CM_MSG_READY, .src_cid = 1, .dst_cid = 11,
				 .incarnation = 1, .peer_incarnation = 1});
	assert_closed(fd);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = tcp_from(A);
		cm_process(b.cm, env_now());
	}
	/* The first had to make room. */
	assert_closed(silent[0]);
	for (size_t i = 1; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
	assert_true(env_until(&b, NULL, no_guest, NULL));
	/* Time passes: nobody who has not greeted stays. */
	fd = tcp_from(A);
	assert_true(env_until(&b, NULL, a_guest, NULL));
	for (uint64_t ms = 0; ms < 2 * CM_ALIVE_MS; ms += CM_KEEPALIVE_MS / 2) {
		cm_process(a.cm, env_now() + ms * 1000000);
		cm_process(b.cm, env_now() + ms * 1000000);
	}
	assert_closed(fd);
	assert_int_equal(a.conns[1].losses + b.conns[11].losses, 0);
	assert_int_equal(a.conns[1].established, 1);
}

struct bytes {
	const char *data;
	size_t len;
};

/* After the greeting, each of these ends the session, and the next one is served as ever. */
static void malformed(void **state)
{
	static const struct bytes bad[] = {
		{"\0\0\2\2", 4},		  /* length 0 */
		{"\xff\xff\2\2", 4},		  /* far too long */
		{"\0\x6c\1\2", 4},		  /* another version */
		{"\0\x6c\2\x0a", 4},		  /* unknown type */
		{"\0\x14\2\1XXXX0123456789ab", 20}, /* wrong magic */
		{"\0\x14\2\1" "FCMH0123456789ab", 20}, /* a second HELLO */
		{"\0\x1c\2\3\0\0\0\0\0\0\0\1" "0123456789abcdef", 28}, /* CID 0 */
		{"GET / HTTP/1.1\r\n\r\n", 18},
	};
	struct cm_msg open;
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		fd = come_up(i + 1, &open);
		assert_true(env_until(&b, NULL, b_up, NULL));
		assert_int_equal(send(fd, bad[i].data, bad[i].len, MSG_NOSIGNAL), bad[i].len);
		assert_closed(fd);
		assert_false(b.conns[11].up);
		assert_non_null(strstr(b.conns[11].reason, "protocol error"));
	}
	/* Cut off in the middle of a message. */
	fd = come_up(100, &open);
	assert_int_equal(send(fd, "\0\x6c\2", 3, MSG_NOSIGNAL), 3);
	close(fd);
	assert_true(env_until(&b, NULL, b_down, NULL));
	close(come_up(101, &open));
}

static void refused_opens(void **state)
{
	struct cm_msg open, m = an_open(5);
	int fd = greet(&open);

	(void)state;
	m.dst_cid = 12;
	say(fd, &m);
	m = hear_type(fd, CM_MSG_REJECT);
	assert_int_equal(m.code, CM_CODE_UNKNOWN_CID);
	assert_int_equal(m.src_cid, 12);
	assert_int_equal(m.dst_cid, 1);
	assert_true(m.incarnation == 5);
	m = an_open(6);
	m.dst_cid = 0xffffff;
	say(fd, &m);
	assert_int_equal(hear_type(fd, CM_MSG_REJECT).code, CM_CODE_UNKNOWN_CID);
	m = an_open(7);
	m.kind = CM_SECURITY_PSP;
	m.security.version = FALCON_PSP_GMAC_128;
	m.security.key_len = 16;
	say(fd, &m);
	assert_int_equal(hear_type(fd, CM_MSG_REJECT).code, CM_CODE_SECURITY);
	assert_non_null(strstr(b.conns[11].reason, "security"));
	m = an_open(8);
	say(fd, &m);
	/* B had given its offer up. */
	assert_true(hear_type(fd, CM_MSG_OPEN).incarnation != open.incarnation);
	hear_type(fd, CM_MSG_READY);
	close(fd);
}

/* Messages about other incarnations than the current ones change nothing. */
static void stale(void **state)
{
	struct cm_msg open, m = {.type = CM_MSG_READY, .src_cid = 1, .dst_cid = 11,
				 .incarnation = 5, .peer_incarnation = 6};
	int fd = greet(&open);

	(void)state;
	say(fd, &m);
	m.type = CM_MSG_CLOSE;
	m.code = CM_CODE_REMOVED;
	say(fd, &m);
	m.type = CM_MSG_REJECT;
	say(fd, &m);
	m = an_open(5);
	say(fd, &m);
	m = hear_type(fd, CM_MSG_READY);
	assert_true(m.incarnation == open.incarnation);
	assert_false(b.conns[11].up);
	m = (struct cm_msg){.type = CM_MSG_READY, .src_cid = 2, .dst_cid = 11, .incarnation = 5,
			    .peer_incarnation = open.incarnation};
	say(fd, &m);
	/* An answer, so that B has seen what came before. */
	m = an_open(9);
	m.dst_cid = 12;
	say(fd, &m);
	hear_type(fd, CM_MSG_REJECT);
	assert_false(b.conns[11].up);
	assert_true(b.conns[11].set_up);
	close(fd);
}

/* A new OPEN without CLOSE: B was up on its offer, so it must make another. */
static void restarts_without_close(void **state)
{
	struct cm_msg open, m;
	int fd = come_up(5, &open);

	(void)state;
	assert_true(env_until(&b, NULL, b_up, NULL));
	m = an_open(6);
	say(fd, &m);
	m = hear_type(fd, CM_MSG_OPEN);
	assert_true(m.incarnation != open.incarnation);
	m = hear_type(fd, CM_MSG_READY);
	assert_true(m.peer_incarnation == 6);
	assert_int_equal(b.conns[11].losses, 1);
	close(fd);
}

/* The peer's agent came back before its death was noticed: its new session replaces the old. */
static void connects_anew(void **state)
{
	struct cm_msg open;
	int old = come_up(5, &open), fd;

	(void)state;
	assert_true(env_until(&b, NULL, b_up, NULL));
	fd = come_up(6, &open);
	assert_true(env_until(&b, NULL, b_up, NULL));
	assert_true(b.conns[11].peer.incarnation == 6);
	assert_closed(old);
	assert_true(b.conns[11].up);
	close(fd);
}

/* Valid messages with bytes changed, thousands of them; the end is an ordinary set-up. */
static void mutated(void **state)
{
	uint64_t seed = 3;
	struct cm_msg open;

	(void)state;
	for (int round = 0; round < 300; round++) {
		int fd = tcp_from(A);
		uint8_t out[64 * CM_WIRE_MAX];
		size_t n = cm_msg_pack(&hello, out), from = n;

		for (int i = 0; i < 32; i++) {
			struct cm_msg m = an_open(unit_random(&seed));

			m.type = CM_MSG_OPEN + unit_random(&seed) % (CM_MSG_MAX - 1);
			m.peer_incarnation = unit_random(&seed) | 1;
			m.code = 1 + unit_random(&seed) % CM_CODE_MAX;
			strcpy(m.text, "text");
			n += cm_msg_pack(&m, out + n);
		}
		for (unsigned int i = unit_random(&seed) % 4; i > 0; i--)
			out[from + unit_random(&seed) % (n - from)] ^= 1 << unit_random(&seed) % 8;
		send(fd, out, n, MSG_NOSIGNAL);
		for (int i = 0; i < 4; i++)
			cm_process(b.cm, env_now());
		close(fd);
	}
	/*
	 * On a busy machine some of them wait to be accepted yet, and one address has no more than its
	 * share of what is accepted at once. Who comes behind them all is heard of behind them all.
	 */
	assert_closed(tcp_from(C));
	assert_true(env_until(&b, NULL, no_guest, NULL));
	close(come_up(1000, &open));
}

/* Requests without end and no reading of replies: B stops reading, and keeps what it owes small. */
static void never_reads(void **state)
{
	struct cm_msg open, m = an_open(5);
	static uint8_t out[1000 * CM_WIRE_MAX];
	int fd = greet(&open), stalled = 0;
	size_t n = 0, sent = 0;

	(void)state;
	m.dst_cid = 12;
	for (int i = 0; i < 1000; i++)
		n += cm_msg_pack(&m, out + n);
	while (stalled < 10000 && sent < 64 << 20) {
		ssize_t r = send(fd, out + sent % n, n - sent % n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (r > 0)
			sent += (size_t)r;
		stalled = r > 0 ? 0 : stalled + 1;
		cm_process(b.cm, env_now());
	}
	assert_true(stalled == 10000);
	close(fd);
	assert_true(env_until(&b, NULL, b_down, NULL));
}

static bool has_session(void *arg)
{
	(void)arg;
	return cm_conn_state(b.cm, 12) == CM_OPENING;
}

/* B connects to us here, and gets nonsense for an answer; it comes again. */
static void bad_listener(void **state)
{
	struct sockaddr_in in = address(C, ENV_PORT);
	int one = 1, l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	(void)state;
	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	assert_int_equal(bind(l, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(l, 4), 0);
	env_add(&b, B, C, 12, 2);
	assert_true(env_until(&b, NULL, readable, &l));
	fd = accept(l, NULL, NULL);
	assert_int_equal(send(fd, "SSH-2.0-OpenSSH\r\n", 17, MSG_NOSIGNAL), 17);
	assert_closed(fd);
	assert_non_null(strstr(b.conns[12].reason, "protocol error"));
	assert_true(env_until(&b, NULL, readable, &l));
	fd = accept(l, NULL, NULL);
	hear_type(fd, CM_MSG_HELLO);
	close(fd);
	assert_true(env_until(&b, NULL, readable, &l));
	assert_non_null(strstr(b.conns[12].reason, "does not know this pair"));
	fd = accept(l, NULL, NULL);
	say_hello(fd);
	assert_true(env_until(&b, NULL, has_session, NULL));
	close(fd);
	close(l);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_the_book), TEST(packet_before_ready),   TEST(byte_by_byte),  TEST(strangers),
		TEST(guests),	     TEST(malformed),	  TEST(refused_opens),
		TEST(stale),	     TEST(restarts_without_close),
		TEST(connects_anew), TEST(mutated),	  TEST(never_reads),
		TEST(bad_listener),
	};

	if (!env_namespace()) {
		puts("1..0 # SKIP needs a network namespace of its own (root)");
		return 0;
	}
	return unit_run(tests);
}
