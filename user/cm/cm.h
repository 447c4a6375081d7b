/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The connection manager: agents agree on what each incarnation of a connection starts from, and
 * on its keys. PROTOCOL.md describes it byte for byte.
 *
 * There is one session for each pair of a local and a remote address, whatever the number of
 * connections. A connection is named by its local CID. For each:
 *
 *   our OPEN sent, peer's OPEN received   -> ops->establish(): set up for receiving
 *   peer's READY received                 -> ops->ready(): the peer receives, transmit
 *   CLOSE or REJECT                       -> ops->lost(); the handshake starts over by itself
 *   the session is lost                   -> nothing for cm_options.grace_ms, then ops->lost()
 *   cm_rekey(), peer's REKEY              -> ops->use_remote_security(), ops->rekeyed()
 *
 * A connection has either a fixed CID at both ends, and is configured there; or one end dials, and
 * the other accepts, if its owner does, under a CID that it chooses then.
 *
 * Nothing blocks; time comes in as an argument. The callbacks must not call back into cm, but for
 * cm_conn_state() and cm_tell_path().
 */
#ifndef FALCON_CM_CM_H
#define FALCON_CM_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "cm/chan.h"

struct cm;

enum cm_const {
	CM_RETRY_MIN_MS = 100,		/* first pause before a session is tried again ... */
	CM_RETRY_MAX_MS = 1000,		/* ... doubling up to this */
	CM_DEFER_MS = 500,		/* that the end with the higher address waits for the other's */
	CM_REOPEN_MS = 1000,		/* pause after ops->establish() has failed */
	CM_REDIAL_MS = 2000,		/* pause of an end that dials, after it was refused */
	CM_UNUSED_SESSIONS = 64,	/* that strangers may hold without a connection */
	CM_ALIVE_MS = 3000,		/* a host silent for this long is lost */
	CM_SILENT_MS = 30000,		/* so is an agent; its host answers for it meanwhile */
	CM_KEEPALIVE_MS = 1000,		/* an end that has nothing to say says so this often ... */
	CM_KEEPALIVE_MIN_MS = 100,	/* ... or as often as the peer wishes, down to this */
	CM_REASON_MAX = 160,		/* bytes of a reason, with the final 0 */
	CM_KEY_MAX = 36,		/* bytes of a key, with ESP's salt */
	CM_ULP_DATA_MAX = 48,		/* bytes that an upper layer adds to an offer */
	CM_NOTE_MAX = 400,		/* bytes of a note */
	CM_NOTES_MAX = 256,		/* notes that wait for a session */
	CM_NOTE_LINGER_MS = 30000,	/* that a session is kept after the last note */
};

/*
 * How the packets towards one end are protected. That end chooses it and tells the other: SPI and
 * key are the receiver's (Falcon 9.2.2.3).
 */
struct cm_security {
	uint32_t spi;			/* not 0 */
	uint32_t generation;		/* Falcon 9.2.1 Current SPI Generation of the key */
	uint64_t pcid;			/* Falcon 9.2.1 PSP Connection ID; 0: none, as with ESP */
	uint8_t version;		/* enum falcon_encap; clear: no key */
	uint8_t key_len;		/* bytes, ESP's salt at the end; 0 if clear */
	uint8_t key[CM_KEY_MAX];
};

/* What an end can do and offers for a connection; both ends act on the smaller of the two. */
struct cm_params {
	uint32_t mtu;			/* of the link, bytes; 0: not known */
	uint32_t features;		/* enum cm_feature; used is what both have */
	uint16_t data_window;		/* packets the data window takes */
	uint16_t req_window;		/* packets the request window takes */
	uint8_t flows;			/* paths it can use, at least 1 */
};

/* What an end has found out of the path to the other. */
struct cm_path {
	uint32_t len;			/* bytes of payload in the packets that it carries, not 0 */
	uint32_t mtu;			/* of the end's own link by now, bytes; 0: it has no route */
};

enum cm_feature {
	CM_FEATURE_RACK = 0x1,		/* EACKs for every hole, as RACK-TLP needs (Falcon 9.1.6) */
	CM_FEATURE_PATH = 0x2,		/* tells what its direction of the path carries */
};

/* Which security a connection has; both ends must agree. */
enum cm_security_kind {
	CM_SECURITY_CLEAR = 0,		/* PSP version 15 */
	CM_SECURITY_PSP = 1,		/* PSP versions 0 to 3; each direction its own */
	CM_SECURITY_ESP = 2,		/* AES-GCM with 128 or 256 bits; each direction its own */
};

/* Which kind of security |version|, an enum falcon_encap, is of. */
enum cm_security_kind cm_security_kind(uint8_t version);

/* What a connection is for; both ends must agree on |proto|. The rest is between the upper layers. */
struct cm_ulp {
	uint8_t proto;			/* enum falcon_protocol_type, not 0 */
	uint8_t len;			/* bytes of |data|, at most CM_ULP_DATA_MAX */
	uint8_t data[CM_ULP_DATA_MAX];
};

/* A connection as its owner wants it. */
struct cm_local {
	int family;			/* AF_INET or AF_INET6 */
	struct falcon_addr local_addr;
	struct falcon_addr peer_addr;
	uint32_t local_cid;		/* 1..FALCON_MAX_CONNS - 1, unique */
	uint32_t remote_cid;		/* 0: dial, the peer chooses one */
	uint32_t function;		/* Destination Function of the packets we send, 24 bits */
	char peer[CHAN_NAME_MAX];	/* name that the peer must prove; "": that of its address */
	uint32_t owner;			/* whose: owners of connections to a peer take turns with it */
	bool ordered;
	enum cm_security_kind security;
	struct cm_ulp ulp;
	struct cm_params params;
};

/* What one end brings into an incarnation of a connection. */
struct cm_values {
	uint64_t incarnation;		/* random, not 0 */
	uint32_t cid;			/* of packets to this end */
	uint32_t data_psn;		/* first data PSN of this end's packets; random */
	uint32_t req_psn;		/* first request PSN; random */
	uint32_t rsn;			/* first RSN; random */
	uint32_t function;		/* Destination Function of this end's packets */
	struct cm_params params;
	struct cm_ulp ulp;
	struct cm_security security;	/* of packets to this end; our own comes without the key */
};

/* What a peer that dials asks for. */
struct cm_request {
	int family;
	struct falcon_addr local_addr;
	struct falcon_addr peer_addr;
	const struct chan_identity *who;	/* of peer_addr, unless sessions are plain */
	uint32_t function;		/* Destination Function of its packets */
	bool ordered;
	enum cm_security_kind security;
	uint8_t version;		/* enum falcon_encap of the packets to the peer */
	struct cm_ulp ulp;
};

/* What an upper layer says to that of another host, beside any connection. */
struct cm_note {
	int family;
	struct falcon_addr local_addr;		/* ours: to, or from */
	struct falcon_addr peer_addr;
	uint8_t proto;			/* enum falcon_protocol_type: whose it is */
	uint16_t len;			/* bytes of |data| */
	uint8_t data[CM_NOTE_MAX];
};

struct cm_ops {
	/*
	 * Both ends have said what they bring: be ready to receive by these values. 0, or a
	 * negative errno with a sentence in |err|: the peer is told, and after CM_REOPEN_MS the
	 * handshake starts over; -EAGAIN: not yet, it is called again after cm_settled(). lost() comes
	 * before another establish() of the same connection.
	 */
	int (*establish)(void *arg, uint32_t cid, const struct cm_values *ours,
			 const struct cm_values *peer, char *err, size_t errlen);
	/* The peer is ready to receive: transmit. Follows establish(), once. */
	void (*ready)(void *arg, uint32_t cid);
	/*
	 * The connection is not up, for |reason|. Also called without an establish() before, when
	 * the reason is news: no session, or the peer refuses.
	 */
	void (*lost)(void *arg, uint32_t cid, const char *reason);
	/*
	 * Choose how the packets that we receive are protected: for a new incarnation before
	 * establish(), and for a rekeyed one, from when on packets of the new SPI must be taken.
	 * 0, or a negative errno: the connection fails. NULL: clear, with a random SPI.
	 */
	int (*fill_local_security)(void *arg, uint32_t cid, struct cm_security *out);
	/*
	 * The peer has changed how packets to it are protected: send so from now on. The first such
	 * choice comes with establish(). 0, or a negative errno: the connection fails. NULL: the
	 * peer may not rekey.
	 */
	int (*use_remote_security)(void *arg, uint32_t cid, const struct cm_security *in);
	/* The peer has taken what cm_rekey() had sent, of |generation|, into use. May be NULL. */
	void (*rekeyed)(void *arg, uint32_t cid, uint32_t generation);
	/*
	 * A peer dials. 0: the connection is to be |out|, of which local_cid, function, params and
	 * the upper layer's data are to be set and the rest is; establish() follows, and after
	 * lost() the owner removes it. A negative errno: refused, with a sentence for the peer in
	 * |err|. NULL: nobody may.
	 */
	int (*accept)(void *arg, const struct cm_request *req, struct cm_local *out, char *err,
		      size_t errlen);
	/* What the peer has found of the path to us. Follows ready(), perhaps more than once. May be NULL. */
	void (*path)(void *arg, uint32_t cid, const struct cm_path *path);
	/* A note from |who| has arrived. NULL: they are dropped. */
	void (*note)(void *arg, const struct cm_note *note, const struct chan_identity *who);
};

enum cm_state {
	CM_NO_SESSION,		/* no session with the peer's agent yet */
	CM_OPENING,		/* OPEN due or sent, waiting for the peer's */
	CM_RECEIVING,		/* established; waiting for the peer's READY */
	CM_READY,		/* up; the session may be away for the grace time */
	CM_REJECTED,		/* one end refuses; a new OPEN is awaited */
};

struct cm_options {
	const struct chan_config *chan;	/* how sessions are made; NULL: not at all */
	uint32_t grace_ms;		/* that connections stay up without a session */
};

/*
 * Start without connections. 0 and *|out| to be freed by cm_close(), or a negative errno with a
 * sentence in |err|. |ops| must stay valid.
 */
int cm_open(struct cm **out, const struct cm_ops *ops, void *arg, const struct cm_options *opt,
	    char *err, size_t errlen);

/* Tell the peers that all connections close, and free |cm|. No callbacks. NULL is allowed. */
void cm_close(struct cm *cm);

/* An epoll descriptor, readable when cm_process() has something to do. */
int cm_fd(const struct cm *cm);

/* Serve what has arrived and what is due at |now_ns| (CLOCK_MONOTONIC). */
void cm_process(struct cm *cm, uint64_t now_ns);

/* When cm_process() is needed even if cm_fd() stays quiet, ns; UINT64_MAX: never. */
uint64_t cm_next_deadline(const struct cm *cm);

/*
 * Handshake for one more connection. 0; -EEXIST: the CID is taken; -EINVAL: addresses or CID out
 * of range, or keys would have to go over a plain session; -ENOKEY: there is nothing to
 * authenticate sessions with; -ENOMEM; or the errno of listening on the local address. A sentence
 * in |err|.
 */
int cm_add(struct cm *cm, const struct cm_local *local, char *err, size_t errlen);

/*
 * Listen for peers without a connection of ours, too, on |addr|. 0; -ENOKEY as for cm_add(); -ENOMEM;
 * or the errno of listening. A sentence in |err|.
 */
int cm_listen(struct cm *cm, int family, const struct falcon_addr *addr, char *err, size_t errlen);

/*
 * Send |note| over the session between its addresses, which is made if there is none. It arrives once,
 * after those sent before it, or is lost with the session: there is no word of that. 0; -ENOBUFS: too
 * many wait; -ENOKEY, -ENOMEM or the errno of listening as for cm_add(), with a sentence in |err|.
 */
int cm_send_note(struct cm *cm, const struct cm_note *note, char *err, size_t errlen);

/* Close the connection with |reason| and forget it. No callback. */
void cm_remove(struct cm *cm, uint32_t cid, const char *reason);

/* Our end is broken: close with |reason|, no callback, and start over with a new incarnation. */
void cm_reset(struct cm *cm, uint32_t cid, const char *reason);

/*
 * Give the peer a new SPI and key, which ops->fill_local_security() will be asked for soon. If the
 * session is lost meanwhile they are sent again on the next. 0; -ENOTCONN: the connection is not
 * up; -EALREADY: the peer has not answered the last rekeying yet.
 */
int cm_rekey(struct cm *cm, uint32_t cid);

/* Connections for which establish() has said -EAGAIN can be set up now, some of them at least. */
void cm_settled(struct cm *cm);

/*
 * A packet of connection |cid| has come by what establish() has set up. The peer transmits only when it
 * is ready itself, so that stands for a READY that has not come yet, and ops->ready() follows. May be
 * called from within the callbacks for other connections.
 */
void cm_heard(struct cm *cm, uint32_t cid);

/*
 * Tell the peer of connection |cid|, which is ready, what we have found of the path to it. It is told again
 * on every session that resumes. The peer must have CM_FEATURE_PATH.
 */
void cm_tell_path(struct cm *cm, uint32_t cid, const struct cm_path *path);

/* The MTU that the next incarnation's OPEN tells the peer, bytes. */
void cm_set_mtu(struct cm *cm, uint32_t cid, uint32_t mtu);

/*
 * Why certificates, keys or lists that have changed could not be loaded, so that those of before are still in
 * force; NULL: all are as in their files.
 */
const char *cm_stale(const struct cm *cm);

/* How far |cid| is; CM_NO_SESSION also if there is no such connection. */
enum cm_state cm_conn_state(const struct cm *cm, uint32_t cid);

#endif /* FALCON_CM_CM_H */
