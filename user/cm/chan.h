/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Channels: streams of bytes between agents over TCP, encrypted and mutually authenticated by
 * TLS 1.3 unless the service is told to be plain.
 *
 * A service connects, accepts, and does all cryptography in a thread of its own. Its owner sees a
 * channel as a descriptor: the TCP connection itself if plain, else one end of a socketpair whose
 * other end the thread relays. So the owner reads, writes and closes as with TCP, and never waits
 * for a handshake. What happens to channels arrives as events.
 */
#ifndef FALCON_CM_CHAN_H
#define FALCON_CM_CHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct chan_service;

enum chan_const {
	CHAN_NAME_MAX = 64,		/* bytes of a name, with the final 0 */
	CHAN_NAMES_MAX = 8,		/* names of one peer that are looked at */
	CHAN_REASON_MAX = 160,		/* bytes of a reason, with the final 0 */
	/*
	 * To connect. Short: a path of several may be dead, and the next try has another port and so perhaps
	 * another path, while a SYN sent again has not.
	 */
	CHAN_CONNECT_MS = 1000,
	CHAN_HANDSHAKE_MS = 3000,	/* and then to shake hands */
	CHAN_PENDING_MAX = 64,		/* handshakes of accepted connections at once ... */
	CHAN_PENDING_PEER_MAX = 4,	/* ... of one source address ... */
	CHAN_PENDING_NET_MAX = 16,	/* ... and of one IPv6 /64, all of which one host may have */
	CHAN_EVENTS_MAX = 256,		/* failures that are kept for an owner who is busy */
	CHAN_STALE_MS = 60000,		/* between attempts to load files that could not be */
};

/* Files are PEM. Either certificate, key and CA are given, or psk_file, or plain is set. */
struct chan_config {
	bool plain;			/* no TLS: laboratories only */
	uint16_t port;			/* TCP port of all agents */
	const char *cert;		/* our certificate and what leads to the CA; "": none */
	const char *key;		/* its key; only its owner may be able to read it */
	const char *ca;			/* whose certificates are accepted */
	const char *crl;		/* what the CA has revoked; "": nothing is looked up */
	const char *psk_file;		/* pre-shared keys; "": none */
};

/* Who the peer has proved to be. */
struct chan_identity {
	bool authenticated;		/* false: plain */
	bool of_address;		/* entitled to the address that it speaks from */
	unsigned int nnames;
	char names[CHAN_NAMES_MAX][CHAN_NAME_MAX];	/* DNS names; PSK: the address */
};

enum chan_event_type {
	CHAN_UP,			/* |fd| is the owner's now */
	CHAN_FAILED,			/* no channel came of it */
	CHAN_CLOSED,			/* |fd| given earlier ends; |reason| is empty if in good order */
	/*
	 * Files have changed and cannot be loaded, for |reason|: what was loaded before stays in force. Again
	 * every CHAN_STALE_MS; with an empty |reason| when they have been loaded.
	 */
	CHAN_STALE,
};

struct chan_event {
	enum chan_event_type type;
	uint64_t id;			/* of the channel */
	bool accepted;			/* the peer has connected */
	int fd;				/* CHAN_UP */
	int family;			/* AF_INET or AF_INET6 */
	struct falcon_addr local;
	struct falcon_addr peer;
	struct chan_identity who;	/* CHAN_UP */
	char reason[CHAN_REASON_MAX];
	struct chan_event *next;
};

/*
 * Start a service. 0 and *|out| to be closed with chan_service_close(), or a negative errno with
 * the reason and the remedy in |err|. |cfg| is copied. Without plain, files or PSK the service
 * starts, but makes no channels: chan_ready() is false.
 */
int chan_service_open(struct chan_service **out, const struct chan_config *cfg, char *err,
		      size_t errlen);

/* Send what is on the way, for a second at most, and end the thread. NULL is allowed. */
void chan_service_close(struct chan_service *s);

/* Whether channels can be made, and whether they are plain. */
bool chan_ready(const struct chan_service *s);
bool chan_plain(const struct chan_service *s);

/* Readable when there is an event. */
int chan_event_fd(const struct chan_service *s);

/* The next event, to be freed by free(), or NULL. */
struct chan_event *chan_next_event(struct chan_service *s);

/*
 * Connect to |peer| from |local|. Returns the channel's id, not 0; CHAN_UP or CHAN_FAILED follows,
 * unless memory is short: 0.
 */
uint64_t chan_connect(struct chan_service *s, int family, const struct falcon_addr *local,
		      const struct falcon_addr *peer);

/* Forget a channel of chan_connect() that is not up yet. An event may be on its way already. */
void chan_cancel(struct chan_service *s, uint64_t id);

/* Accept channels on |addr|. Returns a listener, not negative, or a negative errno. */
int chan_listen(struct chan_service *s, int family, const struct falcon_addr *addr);
void chan_unlisten(struct chan_service *s, int listener);

#endif /* FALCON_CM_CHAN_H */
