/* SPDX-License-Identifier: BSD-2-Clause */
/* What cm.c and conn.c (connections) and session.c (TCP) share. */
#ifndef FALCON_CM_PRIV_H
#define FALCON_CM_PRIV_H

#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "cm/cm.h"
#include "cm/wire.h"
#include "agent/log.h"
#include "falcon/maps.h"

enum cm_session_const {
	CM_IN_SIZE = 4096,		/* bytes read at once */
	CM_GUESTS = 16,			/* connections whose HELLO is awaited */
	CM_OUT_PAUSE = 64 * 1024,	/* with so many bytes unsent nothing more is read or begun */
	CM_STARTS_AT_ONCE = 64,		/* connections that cm_process() offers or resumes a session */
};

enum cm_phase {
	CM_IDLE,	/* no socket; the connecting end waits for |deadline| */
	CM_CONNECTING,
	CM_HELLO,	/* our HELLO sent, the peer's not here yet */
	CM_OPEN,	/* messages flow */
};

/* What an epoll event points to begins with its kind. */
enum cm_watch {
	CM_WATCH_LISTENER,
	CM_WATCH_SESSION,
	CM_WATCH_GUEST,
};

/* An accepted connection whose HELLO has not arrived. */
struct cm_guest {
	enum cm_watch kind;
	int fd;
	struct cm_session *session;	/* that it is to serve; NULL: the place is free */
	uint64_t deadline;		/* ns */
	size_t in_len;
	uint8_t in[CM_WIRE_HELLO_LEN];
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
	uint64_t grace_end;		/* ns, when up connections end without it; UINT64_MAX: no */
	uint64_t heard;			/* ns, when bytes came last */
	uint64_t spoke;			/* ns, when bytes went last */
	uint64_t peer_boot;		/* of the last session; 0: there was none */
	uint32_t peer_alive_ms;
	uint32_t backoff_ms;
	char failure[CM_REASON_MAX];	/* why it has to end; empty: it goes on */
	struct cm_listener *listener;	/* NULL if active */
	LIST_HEAD(, cm_conn) conns;
	TAILQ_HEAD(, cm_conn) pending;	/* to be offered, resumed or rekeyed when there is room */
	struct cm_session *next;
	uint8_t *out;			/* unsent bytes; keys among them, so they are wiped */
	size_t out_len, out_size;
	size_t in_len;
	uint8_t in[CM_IN_SIZE];
};

struct cm_conn {
	struct cm_session *session;
	LIST_ENTRY(cm_conn) of_session;
	TAILQ_ENTRY(cm_conn) in_pending;
	struct cm_local cfg;
	enum cm_state state;
	bool pending;			/* it is in the session's list */
	struct cm_values ours;		/* of the OPEN sent; incarnation 0: none is outstanding */
	uint64_t peer_incarnation;	/* of the peer's latest OPEN on this session; 0: none */
	struct cm_security *rekey;	/* that the peer has to answer; NULL: none */
	bool resume_due;		/* the peer on a new session is to know that we are up */
	bool rekey_due;			/* a rekeying is to begin, or to be repeated */
	uint64_t reopen_at;		/* ns; UINT64_MAX: not by itself */
	char reason[CM_REASON_MAX];	/* last one told to the owner; empty after ready() */
};

struct cm {
	const struct cm_ops *ops;
	void *arg;
	struct cm_options opt;
	uint64_t boot;			/* random, of this agent's run */
	int epoll_fd;
	uint64_t now;
	uint64_t reopen_at;		/* no connection's is earlier */
	struct cm_session *sessions;
	struct cm_listener *listeners;
	struct cm_guest guests[CM_GUESTS];
	struct log_limit strangers;	/* messages about peers that are not configured */
	struct log_limit failures;	/* messages about sessions that end */
	struct cm_conn *conns[FALCON_MAX_CONNS];	/* by local CID */
};

union cm_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* net.c: addresses are 16 bytes, IPv4 in the first 4. */
socklen_t cm_addr_fill(union cm_addr *a, int family, const uint8_t *bytes, uint16_t port);
void cm_addr_bytes(const union cm_addr *a, uint8_t *bytes);
const char *cm_addr_text(int family, const uint8_t *bytes, char text[INET6_ADDRSTRLEN]);
int cm_set_option(int fd, int level, int name, int value);
/* Have epoll report |events| of |fd| as |what|, whose first member is its enum cm_watch. */
int cm_watch_fd(struct cm *cm, int op, int fd, uint32_t events, void *what);
uint64_t cm_after_ms(const struct cm *cm, uint64_t ms);
/* A socket for a session or a listener; -1 with errno set. */
int cm_socket(int family);
/* Messages go out at once, and a dead peer is noticed within CM_ALIVE_MS. */
void cm_tune(int fd);

/* session.c */

/* The session for the connection's addresses, made if need be; NULL with *|err| set. */
struct cm_session *cm_session_get(struct cm *cm, const struct cm_local *local, int *err);
/* Close and free a session that has no connection left. */
void cm_session_put(struct cm *cm, struct cm_session *s);
struct cm_session *cm_session_find(struct cm *cm, int family, const uint8_t *local,
				   const uint8_t *peer);
/* Go on with |fd|, on which the peer's HELLO has arrived: it has connected, perhaps anew. */
void cm_session_adopt(struct cm *cm, struct cm_session *s, int fd, const struct cm_msg *hello);
/* Queue a message; the peer has been found, that is, the phase is CM_HELLO or CM_OPEN. */
void cm_session_send(struct cm_session *s, const struct cm_msg *m);
/* Send what is queued, as far as the socket takes it. */
void cm_session_flush(struct cm *cm, struct cm_session *s);
/* Note that the session has to end; cm_session_run() acts. The first reason stands. */
void cm_session_fail(struct cm_session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Have cm_process() look at an open session soon: it has something to send. */
void cm_session_wake(const struct cm *cm, struct cm_session *s);
/* What an epoll event asks for. */
void cm_session_event(struct cm *cm, struct cm_session *s);
/* Deadlines, failures, unsent bytes. */
void cm_session_run(struct cm *cm, struct cm_session *s);

/* listen.c */

/* The listener on |addr|, made if need be, with one more user; NULL with *|err| set. */
struct cm_listener *cm_listener_get(struct cm *cm, int family, const uint8_t *addr, int *err);
void cm_listener_put(struct cm *cm, struct cm_listener *l);
void cm_listener_event(struct cm *cm, struct cm_listener *l);
void cm_guest_event(struct cm *cm, struct cm_guest *g);
/* Show out guests who have been silent for too long. */
void cm_guests_run(struct cm *cm);
/* Show out the guests of a session that goes away. */
void cm_guests_drop(struct cm *cm, const struct cm_session *s);
uint64_t cm_guests_deadline(const struct cm *cm);

/* conn.c: the session's phase has become CM_OPEN, with the peer's agent of run |boot|. */
void cm_on_up(struct cm *cm, struct cm_session *s, uint64_t boot);
/* conn.c: a message about a connection. */
void cm_on_message(struct cm *cm, struct cm_session *s, const struct cm_msg *m);
/* conn.c: the session is gone, or could not be made. */
void cm_on_down(struct cm *cm, struct cm_session *s, const char *reason);
/* conn.c: the session has not come back within the grace time. */
void cm_on_grace_end(struct cm *cm, struct cm_session *s);
/* conn.c: begin what is pending, as far as there is room. True: there is room, and more to do. */
bool cm_run_pending(struct cm *cm, struct cm_session *s);

/* conn.c: what the API does to a connection. */
struct cm_conn *cm_conn_new(const struct cm_local *local, struct cm_session *s);
void cm_conn_free(struct cm_conn *c);
/* Have cm_run_pending() look at it. */
void cm_conn_due(struct cm_conn *c);
void cm_conn_close(struct cm_conn *c, enum cm_code code, const char *text);
/* Give up, and offer anew as soon as there is a session. */
void cm_conn_restart(struct cm_conn *c);
/* Give a connection whose reopen_at has come a new offer, and find out when the next one is due. */
void cm_reopen(struct cm *cm);
/* Random bytes. */
void cm_draw(void *p, size_t len);

#endif /* FALCON_CM_PRIV_H */
