/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the connection manager share. */
#ifndef FALCON_CM_PRIV_H
#define FALCON_CM_PRIV_H

#include <sys/queue.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "base/log.h"
#include "cm/chan.h"
#include "cm/cm.h"
#include "cm/net.h"
#include "cm/wire.h"
#include "falcon/abi/maps.h"

enum cm_session_const {
	CM_IN_SIZE = 4096,		/* bytes read at once */
	CM_GUESTS = 16,			/* connections whose HELLO is awaited */
	CM_OUT_PAUSE = 64 * 1024,	/* with so many bytes unsent nothing more is read or begun */
	CM_HELD_MAX = 8,		/* messages that wait for one connection */
	CM_STARTS_AT_ONCE = 64,		/* connections that cm_process() offers or resumes a session */
	CM_OFFERS_MAX = 128,		/* of an owner on a session, begun here and not answered */
};

enum cm_phase {
	CM_IDLE,	/* no channel; the next attempt is at |deadline| */
	CM_CONNECTING,	/* our own channel is being made */
	CM_HELLO,	/* our HELLO sent on it, the peer's not here yet */
	CM_OPEN,	/* messages flow */
};

/* What an epoll event points to begins with its kind. */
enum cm_watch {
	CM_WATCH_CHANNELS,
	CM_WATCH_SESSION,
	CM_WATCH_GUEST,
};

/* An accepted channel whose HELLO has not arrived. */
struct cm_guest {
	enum cm_watch kind;
	int fd;
	uint64_t chan_id;
	struct cm_session *session;	/* that it is to serve; NULL: the place is free */
	uint64_t deadline;		/* ns */
	struct chan_identity who;
	size_t in_len;
	uint8_t in[CM_WIRE_HELLO_LEN];
};

/* Listening on one of our addresses. */
struct cm_listener {
	int handle;			/* chan_listen()'s */
	int family;
	struct falcon_addr addr;
	unsigned int users;		/* sessions, and cm_listen() */
	bool open;			/* to peers without a connection, by cm_listen() */
	struct cm_listener *next;
};

/* The session with one peer from one of our addresses. */
struct cm_session {
	enum cm_watch kind;
	enum cm_phase phase;
	int fd;				/* -1: none */
	int family;
	struct falcon_addr local;
	struct falcon_addr peer;
	bool lower;			/* our address is: our attempts come first, and win */
	bool deferred;			/* the other end's attempts have had their time */
	bool blocked;			/* epoll waits for room to send */
	uint64_t chan_id;		/* of the channel that is being made or in use */
	struct chan_identity who;
	uint64_t deadline;		/* ns; UINT64_MAX: none */
	uint64_t grace_end;		/* ns, when up connections end without it; UINT64_MAX: no */
	uint64_t heard;			/* ns, when bytes came last */
	uint64_t spoke;			/* ns, when bytes went last */
	uint64_t peer_boot;		/* of the last session; 0: there was none */
	uint32_t keepalive_ms;		/* as the peer needs it */
	uint32_t backoff_ms;
	char failure[CM_REASON_MAX];	/* why it has to end; empty: it goes on */
	char ending[CM_REASON_MAX];	/* why the channel ends, once all is read; empty: unknown */
	char lost[CM_REASON_MAX];	/* why the last one ended */
	struct cm_listener *listener;	/* NULL: there are no channels */
	LIST_HEAD(, cm_conn) conns;
	LIST_HEAD(, cm_owner) owners;	/* of |conns| */
	TAILQ_HEAD(, cm_owner) turns;	/* who have connections to begin, the next first */
	TAILQ_HEAD(, cm_dial) dials;	/* not answered, in order */
	STAILQ_HEAD(, cm_queued_note) notes;	/* that wait for the session */
	unsigned int nnotes;
	uint64_t noted;			/* ns, when the last note went or came; 0: never */
	struct cm_session *next;
	uint8_t *out;			/* unsent bytes; keys among them, so they are wiped */
	size_t out_len, out_size;
	size_t in_len;
	uint8_t in[CM_IN_SIZE];
};

struct cm_queued_note {
	STAILQ_ENTRY(cm_queued_note) entry;
	uint8_t proto;
	uint16_t len;
	uint8_t data[];
};

/* A user's connections on a session. */
struct cm_owner {
	uint32_t id;			/* struct cm_local's |owner| */
	unsigned int nconns;
	unsigned int noffered;		/* on |offered| */
	unsigned int ndials;		/* on the session's |dials|, of removed connections, too */
	TAILQ_HEAD(, cm_conn) pending;	/* to be offered, resumed or rekeyed when there is room */
	/* Of CIDs that are configured: whose offer was begun here, and some that were answered since. */
	TAILQ_HEAD(, cm_conn) offered;
	LIST_ENTRY(cm_owner) of_session;
	TAILQ_ENTRY(cm_owner) in_turns;	/* unless |pending| is empty */
};

struct cm_conn {
	struct cm_session *session;
	struct cm_owner *owner;
	LIST_ENTRY(cm_conn) of_session;
	TAILQ_ENTRY(cm_conn) in_pending;
	TAILQ_ENTRY(cm_conn) in_offered;
	struct cm_local cfg;
	enum cm_state state;
	bool pending;			/* it is in its owner's list */
	bool offered;			/* likewise */
	bool accepted;			/* the peer has dialled it */
	bool dials;			/* the peer chooses its CID, each time */
	struct cm_values ours;		/* of the OPEN sent; incarnation 0: none is outstanding */
	uint64_t peer_incarnation;	/* of the peer's latest OPEN on this session; 0: none */
	struct cm_security *rekey;	/* that the peer has to answer; NULL: none */
	struct cm_path path;		/* to the peer; |len| 0: not known */
	bool path_due;			/* the peer is to hear of |path| */
	bool resume_due;		/* the peer on a new session is to know that we are up */
	bool rekey_due;			/* a rekeying is to begin, or to be repeated */
	uint64_t reopen_at;		/* ns; UINT64_MAX: not by itself */
	LIST_ENTRY(cm_conn) in_reopening;	/* unless that is never */
	LIST_ENTRY(cm_conn) in_holding;	/* |nheld| is not 0 */
	STAILQ_HEAD(, cm_held) held;	/* messages that wait: the first is the peer's OPEN */
	unsigned int nheld;
	char reason[CM_REASON_MAX];	/* last one told to the owner; empty after ready() */
};

LIST_HEAD(cm_conn_list, cm_conn);

struct cm {
	const struct cm_ops *ops;
	void *arg;
	struct cm_options opt;
	enum cm_watch kind;		/* CM_WATCH_CHANNELS */
	struct chan_service *chan;	/* NULL: sessions are given, not made */
	uint64_t boot;			/* random, of this agent's run */
	int epoll_fd;
	uint64_t now;
	uint64_t look_at;		/* ns, when cm_process() is to come; UINT64_MAX: no sessions */
	LIST_HEAD(, cm_conn) reopening;
	struct cm_conn_list holding;
	uint64_t reopen_at;		/* no connection's is earlier */
	struct cm_session *sessions;
	struct cm_listener *listeners;
	struct cm_guest guests[CM_GUESTS];
	char stale[CHAN_REASON_MAX];	/* why changed files were not loaded; empty: they are */
	struct log_limit strangers;	/* messages about peers that are not configured */
	struct log_limit failures;	/* messages about sessions that end */
	struct cm_conn *conns[FALCON_MAX_CONNS];	/* by local CID */
};

/* hold.c: messages that wait until a connection can be set up */

/* Have |m| wait for |c|. False: there are too many, or memory is short. */
bool cm_hold(struct cm *cm, struct cm_conn *c, const struct cm_msg *m);
/* What waits is void. */
void cm_unhold(struct cm_conn *c);

/* Have epoll report |events| of |fd| as |what|, whose first member is its enum cm_watch. */
int cm_watch_fd(struct cm *cm, int op, int fd, uint32_t events, void *what);
uint64_t cm_after_ms(const struct cm *cm, uint64_t ms);

/* owners.c: whose connection is begun next */

/* |c|, of cfg.owner, has been given its session. False: there is no memory. */
bool cm_owner_join(struct cm_conn *c);
/* ... and leaves it. */
void cm_owner_leave(struct cm_conn *c);
/* Free |o| if it has neither connections nor dials. */
void cm_owner_put(struct cm_owner *o);
/* |c| is to be offered, resumed or rekeyed when it is its turn; it is not any more. */
void cm_conn_due(struct cm_conn *c);
void cm_conn_not_due(struct cm_conn *c);
/* Whether it would be offered. */
bool cm_conn_to_offer(const struct cm_conn *c);
/* It was, without a dial. */
void cm_conn_offered(struct cm_conn *c);
/* The connection whose turn it is; NULL: there is none, or its owner waits for answers. */
struct cm_conn *cm_owner_next(const struct cm_session *s);
/* |c|, which that was, is begun. */
void cm_owner_took_turn(struct cm_session *s, struct cm_conn *c);

/* dials.c: OPENs that leave the choice of a CID to the peer */

/* |c| is about to dial. False: there is no memory. */
bool cm_dial_begin(struct cm_conn *c);
/* The peer has answered our earliest dial from |cid|: the incarnation of that offer; 0: there is none. */
uint64_t cm_dial_answered(struct cm_session *s, uint32_t cid);
/* It has refused that offer, which may not have been a dial, or one that it had answered. */
void cm_dial_refused(struct cm_session *s, uint32_t cid, uint64_t incarnation);
/* No answers will come any more. */
void cm_dials_void(struct cm_session *s);

/* session.c */

/* The session for the connection's addresses, made if need be; NULL with *|err| set. */
struct cm_session *cm_session_get(struct cm *cm, const struct cm_local *local, int *err);
/* The same for what an accepted channel brings: there is no connection yet. */
struct cm_session *cm_session_new(struct cm *cm, int family, const struct falcon_addr *local,
				  const struct falcon_addr *peer, int *err);
/* Close and free a session that has no connection left. */
void cm_session_put(struct cm *cm, struct cm_session *s);
struct cm_session *cm_session_find(struct cm *cm, int family, const struct falcon_addr *local,
				   const struct falcon_addr *peer);
/* Our own channel is up, and is |fd|. */
void cm_session_connected(struct cm *cm, struct cm_session *s, int fd,
			  const struct chan_identity *who);
/*
 * Go on with |fd|, channel |id|, on which the peer's HELLO has arrived: it has connected, perhaps
 * anew. Closes it if our own attempt goes first.
 */
void cm_session_adopt(struct cm *cm, struct cm_session *s, int fd, uint64_t id,
		      const struct chan_identity *who, const struct cm_msg *hello);
/*
 * Whether a peer that is |who| may have this session; if not, |*why| says it for people. What the
 * session serves is another matter: for who has proved a name alone, connections that ask for it.
 */
bool cm_session_trusts(const struct cm *cm, const struct cm_session *s,
		       const struct chan_identity *who, const char **why);
/* A connection has been removed, which may have been all that the session was trusted for. */
void cm_session_conn_gone(struct cm *cm, struct cm_session *s);
/* Close |fd| so that what was sent on it arrives. */
void cm_close_channel(int fd);
/* Whether |who| has proved to be |name|. */
bool cm_has_name(const struct chan_identity *who, const char *name);
/* Whether |who| has proved the address that it speaks from, as far as sessions are to prove anything. */
bool cm_has_address(const struct cm *cm, const struct chan_identity *who);
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
/* Of the time since the last look, |late| ns are not to count: this agent did not run. */
void cm_session_forgive(struct cm_session *s, uint64_t late);
/* Deadlines, failures, unsent bytes. */
void cm_session_run(struct cm *cm, struct cm_session *s);

/* listen.c */

/* The listener on |addr|, made if need be, with one more user; NULL with *|err| set. */
struct cm_listener *cm_listener_get(struct cm *cm, int family, const struct falcon_addr *addr, int *err);
void cm_listener_put(struct cm *cm, struct cm_listener *l);
/* Take what the channel service has to tell. */
void cm_take_channels(struct cm *cm);
void cm_guest_event(struct cm *cm, struct cm_guest *g);
/* Show out guests who have been silent for too long. */
void cm_guests_run(struct cm *cm);
/* Show out the guests of a session that goes away. */
void cm_guests_drop(struct cm *cm, const struct cm_session *s);
uint64_t cm_guests_deadline(const struct cm *cm);
/* Whether a guest waits to serve |s|. */
bool cm_guests_have(const struct cm *cm, const struct cm_session *s);

/* conn.c: the session's phase has become CM_OPEN, with the peer's agent of run |boot|. */
void cm_on_up(struct cm *cm, struct cm_session *s, uint64_t boot);
/* handshake.c: the peer's |open| and our own offer are a pair. */
void cm_conn_establish(struct cm *cm, struct cm_conn *c, const struct cm_msg *open);
/* handshake.c: a message about a connection. */
void cm_on_message(struct cm *cm, struct cm_session *s, const struct cm_msg *m);
/* conn.c: the session is gone, or could not be made. */
void cm_on_down(struct cm *cm, struct cm_session *s, const char *reason);
/* conn.c: the session has not come back within the grace time. */
void cm_on_grace_end(struct cm *cm, struct cm_session *s);
/* conn.c: begin what is pending, as far as there is room. True: there is room, and more to do. */
bool cm_run_pending(struct cm *cm, struct cm_session *s);

/* note.c */

/* A note has arrived on |s|. */
void cm_on_note(struct cm *cm, struct cm_session *s, const struct cm_msg *m);
/* Send what waits, as far as there is room. */
void cm_run_notes(struct cm *cm, struct cm_session *s);
void cm_drop_notes(struct cm_session *s);
/* Nobody uses |s|, nor has lately. */
bool cm_session_unused(const struct cm *cm, const struct cm_session *s);

/* cm.c: the means of making sessions. 0, or -ENOKEY with a sentence in |err|. */
int cm_need_channels(const struct cm *cm, char *err, size_t errlen);
/* cm.c: whether |local| can be added; if not, a negative errno and a sentence in |err|. */
int cm_check_local(const struct cm *cm, const struct cm_local *l, char *err, size_t errlen);

/* conn.c, for handshake.c */

/* Its peer's offer and ours have met. */
bool cm_conn_paired(const struct cm_conn *c);
/* Leave the pair for |state| and tell the owner, unless that would be no news. */
void cm_conn_lose(struct cm *cm, struct cm_conn *c, enum cm_state state, const char *reason);
/* As after a failed establish(): wait, then offer anew. */
void cm_conn_fail_for_now(struct cm *cm, struct cm_conn *c, const char *reason);
/* Offer anew in |ms|. */
void cm_conn_reopen_after(struct cm *cm, struct cm_conn *c, uint64_t ms);
/* Offer a new incarnation. False: there is none, for want of a key. */
bool cm_conn_send_open(struct cm *cm, struct cm_conn *c);
void cm_conn_forget_rekey(struct cm_conn *c);
/* Whether the session's peer is the one that the connection is configured for. */
bool cm_conn_entitled(struct cm *cm, struct cm_conn *c);
/* A message about the pair, of |type|. */
struct cm_msg cm_conn_pair_message(const struct cm_conn *c, enum cm_msg_type type);
/* |text| as what the peer's operator gets to read. */
void cm_say(struct cm_msg *m, const char *text);

/* conn.c: what the API does to a connection. */
struct cm_conn *cm_conn_new(const struct cm_local *local, struct cm_session *s);
void cm_conn_free(struct cm_conn *c);
void cm_conn_close(struct cm_conn *c, enum cm_code code, const char *text);
/* Give up, and offer anew as soon as there is a session. */
void cm_conn_restart(struct cm_conn *c);
/* Give a connection whose reopen_at has come a new offer, and find out when the next one is due. */
void cm_reopen(struct cm *cm);
/* Random bytes. */
void cm_draw(void *p, size_t len);

#endif /* FALCON_CM_PRIV_H */
