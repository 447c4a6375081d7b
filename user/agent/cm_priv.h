/* SPDX-License-Identifier: BSD-2-Clause */
/* What cm.c (connections) and cm_session.c (TCP) share. */
#ifndef FALCON_AGENT_CM_PRIV_H
#define FALCON_AGENT_CM_PRIV_H

#include "agent/cm.h"
#include "agent/cm_wire.h"
#include "agent/log.h"
#include "falcon/maps.h"

enum cm_session_const {
	CM_IN_SIZE = 4096,		/* bytes read at once */
	CM_OUT_PAUSE = 64 * 1024,	/* with so many bytes unsent nothing more is read */
};

enum cm_phase {
	CM_IDLE,	/* no socket; the connecting end waits for |deadline| */
	CM_CONNECTING,
	CM_HELLO,	/* our HELLO sent, waiting for the peer's */
	CM_OPEN,	/* messages flow */
};

/* What an epoll event points to begins with its kind. */
enum cm_watch {
	CM_WATCH_LISTENER,
	CM_WATCH_SESSION,
};

/* A listening socket, one for each local address that peers connect to. */
struct cm_listener {
	enum cm_watch kind;
	int fd;
	int family;
	uint8_t addr[16];
	unsigned int users;		/* sessions */
	struct cm_listener *next;
};

/* The session with one peer from one of our addresses. */
struct cm_session {
	enum cm_watch kind;
	enum cm_phase phase;
	int fd;				/* -1: none */
	int family;
	uint8_t local[16];
	uint8_t peer[16];
	bool active;			/* we connect */
	bool blocked;			/* epoll waits for room to send */
	uint64_t deadline;		/* ns; UINT64_MAX: none */
	uint32_t backoff_ms;
	char failure[CM_REASON_MAX];	/* why it has to end; empty: it goes on */
	struct cm_listener *listener;	/* NULL if active */
	struct cm_conn *conns;
	struct cm_session *next;
	uint8_t *out;			/* unsent bytes */
	size_t out_len, out_size;
	size_t in_len;
	uint8_t in[CM_IN_SIZE];
};

struct cm_conn {
	struct cm_session *session;
	struct cm_conn *next;		/* of the session's */
	struct cm_local cfg;
	enum cm_state state;
	struct cm_values ours;		/* of the OPEN sent; incarnation 0: none is outstanding */
	uint64_t peer_incarnation;	/* of the peer's latest OPEN on this session; 0: none */
	uint64_t reopen_at;		/* ns; UINT64_MAX: not by itself */
	char reason[CM_REASON_MAX];	/* last one told to the owner; empty after ready() */
};

struct cm {
	const struct cm_ops *ops;
	void *arg;
	uint16_t port;
	int epoll_fd;
	uint64_t now;
	uint64_t reopen_at;		/* no connection's is earlier */
	struct cm_session *sessions;
	struct cm_listener *listeners;
	struct log_limit strangers;	/* messages about peers that are not configured */
	struct log_limit failures;	/* messages about sessions that end */
	struct cm_conn *conns[FALCON_MAX_CONNS];	/* by local CID */
};

/* The session for the connection's addresses, made if need be; NULL with *|err| set. */
struct cm_session *cm_session_get(struct cm *cm, const struct cm_local *local, int *err);
/* Close and free a session that has no connection left. */
void cm_session_put(struct cm *cm, struct cm_session *s);
/* Queue a message; the session's phase is CM_OPEN. */
void cm_session_send(struct cm_session *s, const struct cm_msg *m);
/* Send what is queued, as far as the socket takes it. */
void cm_session_flush(struct cm *cm, struct cm_session *s);
/* Note that the session has to end; cm_process() acts. The first reason stands. */
void cm_session_fail(struct cm_session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* What an epoll event on a session or listener asks for. */
void cm_session_event(struct cm *cm, struct cm_session *s);
void cm_listener_event(struct cm *cm, struct cm_listener *l);
/* Deadlines, failures, unsent bytes. */
void cm_session_run(struct cm *cm, struct cm_session *s);

/* cm.c: the session's phase has become CM_OPEN. */
void cm_on_up(struct cm *cm, struct cm_session *s);
/* cm.c: a message other than HELLO. */
void cm_on_message(struct cm *cm, struct cm_session *s, const struct cm_msg *m);
/* cm.c: the session is gone, or could not be made. */
void cm_on_down(struct cm *cm, struct cm_session *s, const char *reason);

#endif /* FALCON_AGENT_CM_PRIV_H */
