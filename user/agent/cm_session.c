// SPDX-License-Identifier: BSD-2-Clause
/*
 * TCP sessions between agents: one for each pair of addresses, made by the end with the lower one,
 * which greets first. cm_listen.c has the other end's part in that.
 *
 * A socket's trouble is noted in |failure| where it is met and acted upon in cm_session_run(), so
 * that nothing is torn down beneath a caller. Deadlines of a session:
 *
 *   CM_IDLE        connecting end: next attempt, CM_RETRY_MIN_MS doubling to CM_RETRY_MAX_MS
 *   CM_CONNECTING  CM_ALIVE_MS to connect
 *   CM_HELLO       connecting end: CM_ALIVE_MS for the peer's HELLO
 *   CM_OPEN        none: TCP keepalive and TCP_USER_TIMEOUT end it after CM_ALIVE_MS of silence
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/cm_priv.h"

void cm_session_fail(struct cm_session *s, const char *fmt, ...)
{
	va_list ap;

	if (s->failure[0])
		return;
	va_start(ap, fmt);
	vsnprintf(s->failure, sizeof(s->failure), fmt, ap);
	va_end(ap);
	s->deadline = 0;
}

static void start_connect(struct cm *cm, struct cm_session *s)
{
	union cm_addr a;
	socklen_t len = cm_addr_fill(&a, s->family, s->local, 0);

	s->phase = CM_CONNECTING;
	s->deadline = cm_after_ms(cm, CM_ALIVE_MS);
	s->fd = cm_socket(s->family);
	if (s->fd < 0)
		return cm_session_fail(s, "socket: %s", strerror(errno));
	cm_set_option(s->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	cm_tune(s->fd);
	if (bind(s->fd, &a.sa, len) < 0)
		return cm_session_fail(s, "local address: %s", strerror(errno));
	if (cm_watch_fd(cm, EPOLL_CTL_ADD, s->fd, EPOLLOUT, s) < 0)
		return cm_session_fail(s, "epoll: %s", strerror(errno));
	len = cm_addr_fill(&a, s->family, s->peer, cm->port);
	if (connect(s->fd, &a.sa, len) < 0 && errno != EINPROGRESS)
		cm_session_fail(s, "no agent answers: %s", strerror(errno));
}

static void finish_connect(struct cm *cm, struct cm_session *s)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err)
		return cm_session_fail(s, "no agent answers: %s", strerror(err));
	cm_watch_fd(cm, EPOLL_CTL_MOD, s->fd, EPOLLIN, s);
	s->phase = CM_HELLO;
	s->deadline = cm_after_ms(cm, CM_ALIVE_MS);
	cm_session_send(s, &(struct cm_msg){.type = CM_MSG_HELLO});
}

static void end_session(struct cm *cm, struct cm_session *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
	s->in_len = 0;
	s->out_len = 0;
	s->blocked = false;
	s->failure[0] = 0;
	s->phase = CM_IDLE;
	s->deadline = s->active ? cm_after_ms(cm, s->backoff_ms) : UINT64_MAX;
	s->backoff_ms *= 2;
	if (s->backoff_ms > CM_RETRY_MAX_MS)
		s->backoff_ms = CM_RETRY_MAX_MS;
}

static void act_on_failure(struct cm *cm, struct cm_session *s)
{
	enum log_level level = s->phase == CM_OPEN ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG;
	char text[INET6_ADDRSTRLEN], reason[CM_REASON_MAX];

	snprintf(reason, sizeof(reason), "%s", s->failure);
	log_ratelimited(level, &cm->failures, "handshake session ended peer=%s reason=\"%s\"",
			cm_addr_text(s->family, s->peer, text), reason);
	end_session(cm, s);
	cm_on_down(cm, s, reason);
}

void cm_session_send(struct cm_session *s, const struct cm_msg *m)
{
	if (s->out_size - s->out_len < CM_WIRE_MAX) {
		size_t size = s->out_size ? s->out_size * 2 : 16 * CM_WIRE_MAX;
		uint8_t *out = realloc(s->out, size);

		if (!out)
			return cm_session_fail(s, "out of memory");
		s->out = out;
		s->out_size = size;
	}
	s->out_len += cm_msg_pack(m, s->out + s->out_len);
}

/* Wait for room to send only while there is something unsent, and read only if that is little. */
static void adjust_watch(struct cm *cm, struct cm_session *s)
{
	bool blocked = s->out_len > 0;
	uint32_t events = s->out_len < CM_OUT_PAUSE ? EPOLLIN : 0;

	if (blocked || s->blocked)
		cm_watch_fd(cm, EPOLL_CTL_MOD, s->fd, events | (blocked ? EPOLLOUT : 0), s);
	s->blocked = blocked;
}

void cm_session_flush(struct cm *cm, struct cm_session *s)
{
	ssize_t n;

	if (s->phase < CM_HELLO || s->failure[0])
		return;
	n = s->out_len ? send(s->fd, s->out, s->out_len, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return cm_session_fail(s, "connection lost: %s", strerror(errno));
	if (n > 0) {
		s->out_len -= (size_t)n;
		memmove(s->out, s->out + n, s->out_len);
	}
	adjust_watch(cm, s);
}

/* Both ends have greeted. */
static void go_up(struct cm *cm, struct cm_session *s)
{
	char text[INET6_ADDRSTRLEN];

	s->phase = CM_OPEN;
	s->deadline = UINT64_MAX;
	s->backoff_ms = CM_RETRY_MIN_MS;
	log_debug("handshake session up peer=%s", cm_addr_text(s->family, s->peer, text));
	cm_on_up(cm, s);
}

void cm_session_adopt(struct cm *cm, struct cm_session *s, int fd)
{
	if (s->fd >= 0) {
		cm_session_fail(s, "peer's agent connected anew");
		act_on_failure(cm, s);
	}
	s->fd = fd;
	cm_tune(fd);
	if (cm_watch_fd(cm, EPOLL_CTL_ADD, fd, EPOLLIN, s) < 0)
		return cm_session_fail(s, "epoll: %s", strerror(errno));
	s->phase = CM_HELLO;
	cm_session_send(s, &(struct cm_msg){.type = CM_MSG_HELLO});
	go_up(cm, s);
}

static void take_message(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	if (s->phase == CM_HELLO && m->type == CM_MSG_HELLO)
		go_up(cm, s);
	else if (s->phase == CM_OPEN && m->type != CM_MSG_HELLO)
		cm_on_message(cm, s, m);
	else
		cm_session_fail(s, "protocol error: HELLO out of place");
}

static void take_messages(struct cm *cm, struct cm_session *s)
{
	const char *why = NULL;
	size_t done = 0;
	struct cm_msg m;
	int n;

	while (!s->failure[0]) {
		n = cm_msg_unpack(s->in + done, s->in_len - done, &m, &why);
		if (n < 0)
			cm_session_fail(s, "protocol error: %s", why);
		if (n <= 0)
			break;
		done += (size_t)n;
		take_message(cm, s, &m);
	}
	s->in_len -= done;
	memmove(s->in, s->in + done, s->in_len);
}

static void receive(struct cm *cm, struct cm_session *s)
{
	/* There is room: take_messages() leaves less than CM_WIRE_MAX bytes. */
	ssize_t n = recv(s->fd, s->in + s->in_len, sizeof(s->in) - s->in_len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		return cm_session_fail(s, "connection lost: %s", strerror(errno));
	if (n == 0 && s->phase == CM_HELLO)
		return cm_session_fail(s, "peer's agent does not know this pair of addresses");
	if (n == 0)
		return cm_session_fail(s, "peer's agent has gone");
	s->in_len += (size_t)n;
	take_messages(cm, s);
}

void cm_session_event(struct cm *cm, struct cm_session *s)
{
	/* An event may be left over from a socket that this round has closed already. */
	if (s->fd < 0 || s->failure[0])
		return;
	if (s->phase == CM_CONNECTING)
		finish_connect(cm, s);
	else if (s->out_len < CM_OUT_PAUSE)
		receive(cm, s);
}

void cm_session_run(struct cm *cm, struct cm_session *s)
{
	if (!s->failure[0] && s->deadline <= cm->now) {
		if (s->phase == CM_IDLE)
			start_connect(cm, s);
		else
			cm_session_fail(s, "peer's agent does not answer");
	}
	cm_session_flush(cm, s);
	if (s->failure[0])
		act_on_failure(cm, s);
}

struct cm_session *cm_session_find(struct cm *cm, int family, const uint8_t *local,
				   const uint8_t *peer)
{
	struct cm_session *s = cm->sessions;

	while (s && (s->family != family || memcmp(s->local, local, 16) != 0 ||
		     memcmp(s->peer, peer, 16) != 0))
		s = s->next;
	return s;
}

struct cm_session *cm_session_get(struct cm *cm, const struct cm_local *local, int *err)
{
	struct cm_session *s =
		cm_session_find(cm, local->family, local->local_addr, local->peer_addr);

	if (s)
		return s;
	*err = -ENOMEM;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->kind = CM_WATCH_SESSION;
	s->fd = -1;
	s->family = local->family;
	memcpy(s->local, local->local_addr, 16);
	memcpy(s->peer, local->peer_addr, 16);
	s->backoff_ms = CM_RETRY_MIN_MS;
	s->active = memcmp(s->local, s->peer, 16) < 0;
	s->deadline = s->active ? 0 : UINT64_MAX;
	if (!s->active) {
		s->listener = cm_listener_get(cm, s->family, s->local, err);
		if (!s->listener) {
			free(s);
			return NULL;
		}
	}
	s->next = cm->sessions;
	cm->sessions = s;
	return s;
}

void cm_session_put(struct cm *cm, struct cm_session *s)
{
	struct cm_session **p = &cm->sessions;

	while (*p != s)
		p = &(*p)->next;
	*p = s->next;
	cm_session_flush(cm, s);
	if (s->fd >= 0)
		close(s->fd);
	if (s->listener)
		cm_listener_put(cm, s->listener);
	cm_guests_drop(cm, s);
	free(s->out);
	free(s);
}
