// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sessions between agents: one for each pair of addresses, on a channel that either end makes.
 *
 * The end with the lower address tries at once, the other after CM_DEFER_MS. Should both have tried,
 * the lower one's channel is used. listen.c has the part of the end that is connected to.
 *
 * A channel's trouble is noted in |failure| where it is met and acted upon in cm_session_run(), so
 * that nothing is torn down beneath a caller. Deadlines of a session:
 *
 *   CM_IDLE        next attempt: after CM_RETRY_MIN_MS doubling to CM_RETRY_MAX_MS, and CM_DEFER_MS
 *   CM_CONNECTING  none: the channel service has its own
 *   CM_HELLO       CM_ALIVE_MS for the peer's HELLO
 *   CM_OPEN        the next KEEPALIVE to send, or the end if the peer has been silent too long
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm/priv.h"

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

static void send_hello(struct cm *cm, struct cm_session *s)
{
	struct cm_msg m = {.type = CM_MSG_HELLO, .boot = cm->boot, .alive_ms = CM_ALIVE_MS};

	cm_session_send(s, &m);
}

static void start_connect(struct cm *cm, struct cm_session *s)
{
	if (!cm->chan || (LIST_EMPTY(&s->conns) && STAILQ_EMPTY(&s->notes))) {
		s->deadline = UINT64_MAX;
		return;
	}
	if (!s->lower && !s->deferred) {
		s->deferred = true;
		s->deadline = cm_after_ms(cm, CM_DEFER_MS);
		return;
	}
	s->phase = CM_CONNECTING;
	s->deadline = UINT64_MAX;
	s->chan_id = chan_connect(cm->chan, s->family, &s->local, &s->peer);
}

bool cm_has_name(const struct chan_identity *who, const char *name)
{
	for (unsigned int i = 0; i < who->nnames; i++) {
		if (strcasecmp(who->names[i], name) == 0)
			return true;
	}
	return false;
}

bool cm_has_address(const struct cm *cm, const struct chan_identity *who)
{
	return !cm->chan || chan_plain(cm->chan) || who->of_address;
}

bool cm_session_trusts(const struct cm *cm, const struct cm_session *s,
		       const struct chan_identity *who, const char **why)
{
	const struct cm_conn *c;

	if (cm_has_address(cm, who))
		return true;
	LIST_FOREACH(c, &s->conns, of_session) {
		if (c->cfg.peer[0] && cm_has_name(who, c->cfg.peer))
			return true;
	}
	*why = "peer's certificate is neither for its address nor for a configured name";
	return false;
}

void cm_session_conn_gone(struct cm *cm, struct cm_session *s)
{
	const char *why;

	if (s->fd < 0 || cm_session_trusts(cm, s, &s->who, &why))
		return;
	cm_session_flush(cm, s);
	cm_session_fail(s, "%s", why);
}

/* Use |fd|, and greet. False if that fails. */
static bool take_channel(struct cm *cm, struct cm_session *s, int fd,
			 const struct chan_identity *who)
{
	s->fd = fd;
	s->who = *who;
	s->ending[0] = 0;
	if (cm_watch_fd(cm, EPOLL_CTL_ADD, fd, EPOLLIN, s) < 0) {
		cm_session_fail(s, "epoll: %s", strerror(errno));
		return false;
	}
	s->phase = CM_HELLO;
	s->deadline = cm_after_ms(cm, CM_ALIVE_MS);
	send_hello(cm, s);
	return true;
}

void cm_session_connected(struct cm *cm, struct cm_session *s, int fd,
			  const struct chan_identity *who)
{
	const char *why;

	if (cm_session_trusts(cm, s, who, &why)) {
		take_channel(cm, s, fd, who);
		return;
	}
	close(fd);
	cm_session_fail(s, "%s", why);
}

/* Unread bytes would make the end of a TCP connection a reset, and take with it what we have said. */
void cm_close_channel(int fd)
{
	char sink[4096];
	int left = 16;

	shutdown(fd, SHUT_WR);
	while (left-- > 0 && recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
		;
	close(fd);
}

static void close_channel(struct cm_session *s)
{
	if (s->fd >= 0)
		cm_close_channel(s->fd);
	s->fd = -1;
}

static void end_session(struct cm *cm, struct cm_session *s)
{
	if (s->phase == CM_CONNECTING)
		chan_cancel(cm->chan, s->chan_id);
	s->chan_id = 0;
	close_channel(s);
	s->in_len = 0;
	if (s->out)
		explicit_bzero(s->out, s->out_size);
	s->out_len = 0;
	s->blocked = false;
	s->failure[0] = 0;
	s->phase = CM_IDLE;
	s->deferred = false;
	s->deadline = cm_after_ms(cm, s->backoff_ms);
	s->backoff_ms *= 2;
	if (s->backoff_ms > CM_RETRY_MAX_MS)
		s->backoff_ms = CM_RETRY_MAX_MS;
}

static void act_on_failure(struct cm *cm, struct cm_session *s)
{
	enum log_level level = s->phase == CM_OPEN ? LOG_LEVEL_WARN : LOG_LEVEL_DEBUG;
	char text[INET6_ADDRSTRLEN], reason[CM_REASON_MAX];

	snprintf(reason, sizeof(reason), "%s", s->failure);
	log_ratelimited(level, &cm->failures, "control session ended peer=%s reason=\"%s\"",
			net_addr_text(s->family, &s->peer, text), reason);
	end_session(cm, s);
	cm_drop_notes(s);
	cm_on_down(cm, s, reason);
}

/* realloc() would leave keys behind. */
static bool grow(struct cm_session *s)
{
	size_t size = s->out_size ? s->out_size * 2 : 16 * CM_WIRE_MAX;
	uint8_t *out = malloc(size);

	if (!out)
		return false;
	if (s->out) {
		memcpy(out, s->out, s->out_len);
		explicit_bzero(s->out, s->out_len);
	}
	free(s->out);
	s->out = out;
	s->out_size = size;
	return true;
}

void cm_session_send(struct cm_session *s, const struct cm_msg *m)
{
	if (s->out_size - s->out_len < CM_WIRE_MAX && !grow(s))
		return cm_session_fail(s, "out of memory");
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

	if (s->fd < 0 || s->failure[0])
		return;
	n = s->out_len ? send(s->fd, s->out, s->out_len, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
	/* Why a channel takes nothing more shows when the rest of it has been read. */
	if (n < 0 && errno == EPIPE)
		n = (ssize_t)s->out_len;
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return cm_session_fail(s, "connection lost: %s", strerror(errno));
	if (n > 0) {
		s->spoke = cm->now;
		s->out_len -= (size_t)n;
		memmove(s->out, s->out + n, s->out_len);
		explicit_bzero(s->out + s->out_len, (size_t)n);
	}
	adjust_watch(cm, s);
}

/* The next of: our keepalive, the end of our patience. */
static uint64_t open_deadline(const struct cm_session *s)
{
	uint64_t speak = s->spoke + s->keepalive_ms * 1000000ULL;
	uint64_t lost = s->heard + CM_SILENT_MS * 1000000ULL;

	return speak < lost ? speak : lost;
}

/* Both ends have greeted. */
static void go_up(struct cm *cm, struct cm_session *s, const struct cm_msg *hello)
{
	char text[INET6_ADDRSTRLEN];

	s->phase = CM_OPEN;
	s->heard = s->spoke = cm->now;
	s->keepalive_ms = hello->alive_ms / 3;
	if (s->keepalive_ms > CM_KEEPALIVE_MS)
		s->keepalive_ms = CM_KEEPALIVE_MS;
	if (s->keepalive_ms < CM_KEEPALIVE_MIN_MS)
		s->keepalive_ms = CM_KEEPALIVE_MIN_MS;
	s->deadline = open_deadline(s);
	s->backoff_ms = CM_RETRY_MIN_MS;
	log_debug("control session up peer=%s", net_addr_text(s->family, &s->peer, text));
	cm_on_up(cm, s, hello->boot);
}

void cm_session_adopt(struct cm *cm, struct cm_session *s, int fd, uint64_t id,
		      const struct chan_identity *who, const struct cm_msg *hello)
{
	bool trying = s->phase == CM_CONNECTING || s->phase == CM_HELLO;

	if (trying && s->lower) {
		close(fd);
		return;
	}
	if (s->phase != CM_IDLE) {
		cm_session_fail(s, "peer's agent connected anew");
		act_on_failure(cm, s);
	}
	s->chan_id = id;
	if (take_channel(cm, s, fd, who))
		go_up(cm, s, hello);
}

static void take_message(struct cm *cm, struct cm_session *s, const struct cm_msg *m)
{
	if (s->phase == CM_HELLO && m->type == CM_MSG_HELLO)
		go_up(cm, s, m);
	else if (s->phase != CM_OPEN || m->type == CM_MSG_HELLO)
		cm_session_fail(s, "protocol error: HELLO out of place");
	else if (m->type == CM_MSG_NOTE)
		cm_on_note(cm, s, m);
	else if (m->type != CM_MSG_KEEPALIVE)
		cm_on_message(cm, s, m);
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
	explicit_bzero(&m, sizeof(m));
	s->in_len -= done;
	memmove(s->in, s->in + done, s->in_len);
	explicit_bzero(s->in + s->in_len, done);
}

/* The channel has ended: its own reason is the best, and may be waiting. */
static void ended(struct cm *cm, struct cm_session *s, const char *otherwise)
{
	cm_take_channels(cm);
	cm_session_fail(s, "%s", s->ending[0] ? s->ending : otherwise);
}

static void receive(struct cm *cm, struct cm_session *s)
{
	/* There is room: take_messages() leaves less than CM_WIRE_MAX bytes. */
	ssize_t n = recv(s->fd, s->in + s->in_len, sizeof(s->in) - s->in_len, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* The channels' thread may close its end, done with the peer, before it has read all that we sent. */
	if (n < 0 && errno == ECONNRESET && !chan_plain(cm->chan))
		n = 0;
	if (n < 0)
		return ended(cm, s, strerror(errno));
	if (n == 0 && s->phase == CM_HELLO)
		return ended(cm, s, "peer's agent does not know this pair of addresses, or not "
				    "our way to talk (control)");
	if (n == 0)
		return ended(cm, s, "peer's agent has gone");
	s->in_len += (size_t)n;
	s->heard = cm->now;
	take_messages(cm, s);
}

void cm_session_wake(const struct cm *cm, struct cm_session *s)
{
	/* Without a connection it has not tried to connect. */
	if (s->phase == CM_OPEN || (s->phase == CM_IDLE && s->deadline == UINT64_MAX))
		s->deadline = cm->now;
}

void cm_session_event(struct cm *cm, struct cm_session *s)
{
	/* An event may be left over from a channel that this round has closed already. */
	if (s->fd >= 0 && !s->failure[0] && s->out_len < CM_OUT_PAUSE)
		receive(cm, s);
}

/*
 * The deadline of an open session has come. That TCP has not ended the session tells that the peer's host is
 * there, with its agent: one that is silent is short of CPU or stopped, and may go on.
 */
static void keep_alive(struct cm *cm, struct cm_session *s)
{
	if (cm->now >= s->heard + CM_SILENT_MS * 1000000ULL)
		return cm_session_fail(s, "peer's agent is silent");
	if (cm->now >= s->spoke + s->keepalive_ms * 1000000ULL && s->out_len == 0)
		cm_session_send(s, &(struct cm_msg){.type = CM_MSG_KEEPALIVE});
	/* What cannot be sent is no news to a peer that does not read. */
	if (s->out_len > 0)
		s->spoke = cm->now;
	s->deadline = open_deadline(s);
}

void cm_session_forgive(struct cm_session *s, uint64_t late)
{
	s->heard += late;
	if (s->grace_end != UINT64_MAX)
		s->grace_end += late;
	if (s->phase != CM_IDLE && s->phase != CM_OPEN && s->deadline != UINT64_MAX)
		s->deadline += late;
}

static void act_on_deadline(struct cm *cm, struct cm_session *s)
{
	if (s->phase == CM_IDLE)
		start_connect(cm, s);
	else if (s->phase == CM_OPEN)
		keep_alive(cm, s);
	else
		cm_session_fail(s, "peer's agent does not answer");
}

void cm_session_run(struct cm *cm, struct cm_session *s)
{
	bool more = false;

	if (s->grace_end <= cm->now)
		cm_on_grace_end(cm, s);
	if (!s->failure[0] && s->deadline <= cm->now)
		act_on_deadline(cm, s);
	if (!s->failure[0] && s->phase == CM_OPEN) {
		cm_run_notes(cm, s);
		more = cm_run_pending(cm, s);
	}
	cm_session_flush(cm, s);
	if (s->failure[0])
		act_on_failure(cm, s);
	else if (more || (s->phase == CM_OPEN && !s->out_len && cm_owner_next(s)))
		s->deadline = cm->now;
	else if (s->phase == CM_OPEN)
		s->deadline = open_deadline(s);
}

struct cm_session *cm_session_find(struct cm *cm, int family, const struct falcon_addr *local,
				   const struct falcon_addr *peer)
{
	struct cm_session *s = cm->sessions;

	while (s && (s->family != family || !falcon_addr_equal(&s->local, local) ||
		     !falcon_addr_equal(&s->peer, peer)))
		s = s->next;
	return s;
}

struct cm_session *cm_session_get(struct cm *cm, const struct cm_local *local, int *err)
{
	struct cm_session *s =
		cm_session_find(cm, local->family, &local->local_addr, &local->peer_addr);

	return s ? s
		 : cm_session_new(cm, local->family, &local->local_addr, &local->peer_addr, err);
}

struct cm_session *cm_session_new(struct cm *cm, int family, const struct falcon_addr *local,
				  const struct falcon_addr *peer, int *err)
{
	struct cm_session *s = calloc(1, sizeof(*s));

	*err = -ENOMEM;
	if (!s)
		return NULL;
	s->kind = CM_WATCH_SESSION;
	s->fd = -1;
	s->family = family;
	s->local = *local;
	s->peer = *peer;
	s->backoff_ms = CM_RETRY_MIN_MS;
	s->grace_end = UINT64_MAX;
	LIST_INIT(&s->conns);
	LIST_INIT(&s->owners);
	TAILQ_INIT(&s->turns);
	TAILQ_INIT(&s->dials);
	STAILQ_INIT(&s->notes);
	s->lower = falcon_addr_cmp(&s->local, &s->peer) < 0;
	if (cm->chan) {
		s->listener = cm_listener_get(cm, s->family, &s->local, err);
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
	if (s->phase == CM_CONNECTING)
		chan_cancel(cm->chan, s->chan_id);
	close_channel(s);
	if (s->listener)
		cm_listener_put(cm, s->listener);
	cm_guests_drop(cm, s);
	cm_drop_notes(s);
	cm_dials_void(s);
	if (s->out)
		explicit_bzero(s->out, s->out_size);
	free(s->out);
	free(s);
}
