/* SPDX-License-Identifier: BSD-2-Clause */
/* What chan.c (the service and its thread) and relay.c (one channel) share. */
#ifndef FALCON_CM_CHAN_PRIV_H
#define FALCON_CM_CHAN_PRIV_H

#include <pthread.h>
#include <sys/queue.h>

#include "base/addr.h"
#include "cm/chan.h"
#include "cm/tls.h"

enum {
	RELAY_BUF = 16384,		/* bytes on the way, each way: a TLS record */
	RELAY_LINGER_MS = 1000,		/* to say goodbye */
};

/* What an epoll event points to begins with its kind. */
enum chan_watch {
	CHAN_WATCH_COMMANDS,
	CHAN_WATCH_LISTENER,
	CHAN_WATCH_NET,			/* a relay's TCP connection */
	CHAN_WATCH_OWNER,		/* a relay's end of the socketpair */
};

struct relay;

struct relay_side {
	enum chan_watch kind;
	int fd;				/* -1: none */
	uint32_t events;		/* that epoll reports now */
	struct relay *relay;
};

enum relay_phase {
	RELAY_CONNECTING,		/* TCP */
	RELAY_HANDSHAKE,		/* TLS */
	RELAY_OPEN,
	RELAY_LINGER,			/* nothing more is said; what was is to arrive */
	RELAY_DEAD,			/* to be freed at the end of the round */
};

struct relay_buf {
	size_t from, to;		/* bytes data[from..to) are unsent */
	uint8_t data[RELAY_BUF];
};

/* A channel, as the thread sees it. */
struct relay {
	struct relay_side net, owner;
	enum relay_phase phase;
	uint64_t id;
	bool accepted;
	bool owner_gone;		/* nothing more comes from the owner */
	bool wants_write;		/* TLS waits for room in TCP */
	uint64_t deadline;		/* ns; UINT64_MAX: none */
	struct tls_ends ends;
	SSL *ssl;
	struct relay_buf in, out;	/* plaintext to and from the owner */
	LIST_ENTRY(relay) list;
};

struct chan_command {
	enum { CMD_CONNECT, CMD_CANCEL, CMD_LISTEN, CMD_UNLISTEN, CMD_STOP } what;
	uint64_t id;
	int fd;				/* CMD_LISTEN, CMD_UNLISTEN */
	struct tls_ends ends;
	STAILQ_ENTRY(chan_command) list;
};

struct chan_listener {
	enum chan_watch kind;
	int fd;
	int family;
	struct falcon_addr addr;
	LIST_ENTRY(chan_listener) list;
};

struct chan_service {
	/* Set before the thread starts, not changed since. */
	bool plain, ready;
	uint16_t port;
	int epoll_fd, command_fd, event_fd;
	pthread_t thread;
	uint64_t next_id;			/* the owner's, even; the thread's are odd */

	pthread_mutex_t lock;			/* of the two queues */
	STAILQ_HEAD(, chan_command) commands;
	struct chan_event *events, **events_tail;
	unsigned int nevents;

	/* The thread's. */
	enum chan_watch kind;			/* CHAN_WATCH_COMMANDS */
	struct tls tls;
	uint64_t now, next_accepted_id, refresh_at, stop_at;
	uint64_t stale_at;			/* ns, when |stale| files are tried again */
	bool stopping, stale;
	LIST_HEAD(, relay) relays;
	LIST_HEAD(, chan_listener) listeners;
};

/* chan.c: |r| may be NULL. */
struct chan_event *chan_event_new(enum chan_event_type type, const struct relay *r,
				  const char *reason);
/* Hand |e|, which may be NULL, to the owner. */
void chan_event_post(struct chan_service *s, struct chan_event *e);
/* Take back what rang |fd|. */
void chan_silence(int fd);
/* |peer| may be NULL. */
struct tls_ends chan_ends(int family, const struct falcon_addr *local, const struct falcon_addr *peer);

/* chan_thread.c: the thread; |arg| is the struct chan_service. */
void *chan_run(void *arg);
uint64_t chan_after_ms(const struct chan_service *s, uint64_t ms);
void chan_drop_listener(struct chan_listener *l);

/* relay.c. Both begin a channel, on failure with an event. */
void relay_connect(struct chan_service *s, uint64_t id, const struct tls_ends *ends);
void relay_accept(struct chan_service *s, uint64_t id, int fd, const struct tls_ends *ends);
/* Go on, whichever side has something to say. */
void relay_run(struct chan_service *s, struct relay *r);
/* End with |reason| for the owner. */
void relay_fail(struct chan_service *s, struct relay *r, const char *reason);
/* The owner does not want it any more. */
void relay_cancel(struct relay *r);
void relay_free(struct chan_service *s, struct relay *r);

#endif /* FALCON_CM_CHAN_PRIV_H */
