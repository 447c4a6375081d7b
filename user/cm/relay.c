// SPDX-License-Identifier: BSD-2-Clause
/*
 * One channel: connect or accept, shake hands, then carry bytes between TLS and the owner's
 * socketpair until one side ends.
 *
 * Nothing is read on a side before what was read there has gone out on the other, so a slow side
 * slows the other down and a channel holds two records at most.
 *
 * Deadlines:  CONNECTING  CHAN_CONNECT_MS
 *             HANDSHAKE   CHAN_HANDSHAKE_MS
 *             OPEN        none: the owner watches over it
 *             LINGER      RELAY_LINGER_MS
 */
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm/chan_priv.h"
#include "cm/net.h"

enum { ROUNDS_AT_ONCE = 16 };

static struct relay *relay_new(struct chan_service *s, uint64_t id, const struct tls_ends *ends)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->net = (struct relay_side){.kind = CHAN_WATCH_NET, .fd = -1, .relay = r};
	r->owner = (struct relay_side){.kind = CHAN_WATCH_OWNER, .fd = -1, .relay = r};
	r->id = id;
	r->ends = *ends;
	LIST_INSERT_HEAD(&s->relays, r, list);
	return r;
}

static void close_side(struct relay_side *side)
{
	if (side->fd >= 0)
		close(side->fd);
	side->fd = -1;
	side->events = 0;
}

void relay_free(struct chan_service *s, struct relay *r)
{
	(void)s;
	LIST_REMOVE(r, list);
	SSL_free(r->ssl);
	close_side(&r->net);
	close_side(&r->owner);
	OPENSSL_cleanse(r, sizeof(*r));
	free(r);
}

void relay_fail(struct chan_service *s, struct relay *r, const char *reason)
{
	bool was_up = r->phase == RELAY_OPEN;

	if (r->phase < RELAY_LINGER)
		chan_event_post(s, chan_event_new(was_up ? CHAN_CLOSED : CHAN_FAILED, r, reason));
	r->phase = RELAY_DEAD;
}

void relay_cancel(struct relay *r)
{
	if (r->phase < RELAY_OPEN)
		r->phase = RELAY_DEAD;
}

/* Give |fd| to the owner. */
static void hand_over(struct chan_service *s, struct relay *r, int fd,
		      const struct chan_identity *who)
{
	struct chan_event *e = chan_event_new(CHAN_UP, r, "");

	if (!e) {
		close(fd);
		r->phase = RELAY_DEAD;
		return;
	}
	e->fd = fd;
	e->who = *who;
	r->phase = RELAY_OPEN;
	r->deadline = UINT64_MAX;
	chan_event_post(s, e);
}

/* Plain: the owner gets the TCP connection itself, and the relay has done its work. */
static void hand_over_tcp(struct chan_service *s, struct relay *r)
{
	static const struct chan_identity nobody;
	int fd = r->net.fd;

	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
	r->net.fd = -1;
	hand_over(s, r, fd, &nobody);
	r->phase = RELAY_DEAD;
}

/* The end of the stream; the peer's is waited for, lest TCP resets what is on its way. */
static void start_linger(struct chan_service *s, struct relay *r)
{
	shutdown(r->net.fd, SHUT_WR);
	close_side(&r->owner);
	r->phase = RELAY_LINGER;
	r->deadline = chan_after_ms(s, RELAY_LINGER_MS);
}

static void hand_over_relay(struct chan_service *s, struct relay *r)
{
	char reason[CHAN_REASON_MAX];
	struct chan_identity who;
	int pair[2];

	if (!tls_identify(r->ssl, &r->ends, &who, reason))
		return relay_fail(s, r, reason);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return relay_fail(s, r, strerror(errno));
	r->owner.fd = pair[0];
	hand_over(s, r, pair[1], &who);
}

static void start_tls(struct chan_service *s, struct relay *r)
{
	if (s->plain)
		return hand_over_tcp(s, r);
	r->phase = RELAY_HANDSHAKE;
	r->deadline = chan_after_ms(s, CHAN_HANDSHAKE_MS);
	r->ssl = tls_connection(&s->tls, r->net.fd, r->accepted, &r->ends);
	if (!r->ssl)
		relay_fail(s, r, "out of memory");
}

void relay_accept(struct chan_service *s, uint64_t id, int fd, const struct tls_ends *ends)
{
	struct relay *r = relay_new(s, id, ends);

	if (!r) {
		close(fd);
		return;
	}
	r->net.fd = fd;
	r->accepted = true;
	net_tune(fd);
	start_tls(s, r);
	relay_run(s, r);
}

static const char *begin_connect(struct chan_service *s, struct relay *r)
{
	union net_addr a;
	socklen_t len = net_addr_fill(&a, r->ends.family, &r->ends.local, 0);

	r->net.fd = net_socket(r->ends.family);
	if (r->net.fd < 0)
		return "socket";
	net_set_option(r->net.fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	net_tune(r->net.fd);
	if (bind(r->net.fd, &a.sa, len) < 0)
		return "local address";
	len = net_addr_fill(&a, r->ends.family, &r->ends.peer, s->port);
	if (connect(r->net.fd, &a.sa, len) < 0 && errno != EINPROGRESS)
		return "no agent answers";
	return NULL;
}

static void fail_errno(struct chan_service *s, struct relay *r, const char *what, int err)
{
	char reason[CHAN_REASON_MAX];

	snprintf(reason, sizeof(reason), "%s: %s", what, strerror(err));
	relay_fail(s, r, reason);
}

void relay_connect(struct chan_service *s, uint64_t id, const struct tls_ends *ends)
{
	struct relay *r = relay_new(s, id, ends);
	const char *what;

	if (!r)
		return;
	r->deadline = chan_after_ms(s, CHAN_CONNECT_MS);
	what = begin_connect(s, r);
	if (what)
		fail_errno(s, r, what, errno);
	relay_run(s, r);
}

static void finish_connect(struct chan_service *s, struct relay *r)
{
	union net_addr a;
	socklen_t len = sizeof(a);
	int err = 0;

	if (getpeername(r->net.fd, &a.sa, &len) == 0)
		return start_tls(s, r);
	len = sizeof(err);
	if (errno == ENOTCONN && getsockopt(r->net.fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 && !err)
		return;
	fail_errno(s, r, "no agent answers", err ? err : errno);
}

/* True if |ret| of an SSL call only means: not now. */
static bool only_later(struct relay *r, int ret)
{
	int what = SSL_get_error(r->ssl, ret);

	if (what == SSL_ERROR_WANT_WRITE)
		r->wants_write = true;
	return what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE;
}

/* What TLS has told the peer about it is to arrive. */
static void tls_failed(struct chan_service *s, struct relay *r, int ret)
{
	char reason[CHAN_REASON_MAX];

	tls_reason(r->ssl, ret, r->phase == RELAY_HANDSHAKE, reason);
	relay_fail(s, r, reason);
	start_linger(s, r);
}

static void shake_hands(struct chan_service *s, struct relay *r)
{
	int ret = SSL_do_handshake(r->ssl);

	if (ret == 1)
		hand_over_relay(s, r);
	else if (!only_later(r, ret))
		tls_failed(s, r, ret);
}

static bool buf_empty(const struct relay_buf *b)
{
	return b->from == b->to;
}

/* |n| bytes have gone on: wipe them, there may be keys among them. */
static void buf_sent(struct relay_buf *b, size_t n)
{
	OPENSSL_cleanse(b->data + b->from, n);
	b->from += n;
	if (buf_empty(b))
		b->from = b->to = 0;
}

/* From the peer to the owner. True if something moved. */
static bool move_in(struct chan_service *s, struct relay *r)
{
	ssize_t n;

	if (buf_empty(&r->in)) {
		int got = SSL_read(r->ssl, r->in.data, RELAY_BUF);

		if (got <= 0) {
			if (!only_later(r, got))
				tls_failed(s, r, got);
			return false;
		}
		r->in.to = (size_t)got;
	}
	n = send(r->owner.fd, r->in.data + r->in.from, r->in.to - r->in.from,
		 MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0) {
		/* An owner that has gone shows in move_out(), behind what it has left to send. */
		if (errno != EAGAIN && errno != EINTR)
			buf_sent(&r->in, r->in.to - r->in.from);
		return false;
	}
	buf_sent(&r->in, (size_t)n);
	return true;
}

/* From the owner to the peer. True if something moved. */
static bool move_out(struct chan_service *s, struct relay *r)
{
	int put;

	if (buf_empty(&r->out) && !r->owner_gone) {
		ssize_t n = recv(r->owner.fd, r->out.data, RELAY_BUF, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		r->owner_gone = n <= 0;
		r->out.to = n > 0 ? (size_t)n : 0;
	}
	if (buf_empty(&r->out))
		return false;
	put = SSL_write(r->ssl, r->out.data + r->out.from, (int)(r->out.to - r->out.from));
	if (put <= 0) {
		if (!only_later(r, put))
			tls_failed(s, r, put);
		return false;
	}
	buf_sent(&r->out, (size_t)put);
	return true;
}

static void say_goodbye(struct chan_service *s, struct relay *r)
{
	SSL_shutdown(r->ssl);
	ERR_clear_error();
	start_linger(s, r);
}

static void linger(struct relay *r)
{
	char sink[4096];
	ssize_t n;

	while ((n = recv(r->net.fd, sink, sizeof(sink), MSG_DONTWAIT)) > 0)
		;
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		r->phase = RELAY_DEAD;
}

static void carry(struct chan_service *s, struct relay *r)
{
	for (int i = 0; i < ROUNDS_AT_ONCE && r->phase == RELAY_OPEN; i++) {
		bool moved = move_out(s, r);

		if (r->phase != RELAY_OPEN)
			return;
		if (r->owner_gone && buf_empty(&r->out))
			return say_goodbye(s, r);
		if (!r->owner_gone)
			moved |= move_in(s, r);
		if (!moved)
			return;
	}
}

/* With nothing to wait for it has to go: epoll would report a hang-up without end. */
static void watch(struct chan_service *s, struct relay_side *side, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = side};

	if (side->fd < 0 || side->events == events)
		return;
	epoll_ctl(s->epoll_fd, !events ? EPOLL_CTL_DEL : side->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
		  side->fd, &ev);
	side->events = events;
}

/* Ask for what is waited for, and for nothing that would come again at once. */
static void watch_both(struct chan_service *s, struct relay *r)
{
	bool writing = r->wants_write || r->phase == RELAY_CONNECTING;
	bool reading = r->phase != RELAY_OPEN || buf_empty(&r->in);

	watch(s, &r->net, (reading ? EPOLLIN : 0) | (writing ? EPOLLOUT : 0));
	watch(s, &r->owner, (buf_empty(&r->out) && !r->owner_gone ? EPOLLIN : 0) |
				    (buf_empty(&r->in) ? 0 : EPOLLOUT));
}

void relay_run(struct chan_service *s, struct relay *r)
{
	r->wants_write = false;
	ERR_clear_error();
	if (r->phase < RELAY_DEAD && r->deadline <= s->now && r->phase != RELAY_OPEN)
		relay_fail(s, r, r->phase == RELAY_HANDSHAKE ? "peer does not shake hands"
							      : "peer's agent does not answer");
	if (r->phase == RELAY_CONNECTING)
		finish_connect(s, r);
	if (r->phase == RELAY_HANDSHAKE)
		shake_hands(s, r);
	if (r->phase == RELAY_OPEN)
		carry(s, r);
	if (r->phase == RELAY_LINGER)
		linger(r);
	if (r->phase != RELAY_DEAD)
		watch_both(s, r);
}
