/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handshake of static connections: agents agree over TCP on what each incarnation of a
 * connection starts from. PROTOCOL.md describes it byte for byte.
 *
 * There is one TCP session for each pair of a local and a remote address; the end with the lower
 * address connects, the other listens. A connection is named by its local CID. For each:
 *
 *   our OPEN sent, peer's OPEN received   -> ops->establish(): set up for receiving
 *   peer's READY received                 -> ops->ready(): the peer receives, transmit
 *   CLOSE, REJECT or the session is lost  -> ops->lost(); the handshake starts over by itself
 *
 * Nothing blocks; time comes in as an argument. The callbacks must not call back into cm.
 */
#ifndef FALCON_AGENT_CM_H
#define FALCON_AGENT_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cm;

enum cm_const {
	CM_RETRY_MIN_MS = 100,		/* first pause before a session is tried again ... */
	CM_RETRY_MAX_MS = 1000,		/* ... doubling up to this */
	CM_REOPEN_MS = 1000,		/* pause after ops->establish() has failed */
	CM_ALIVE_MS = 3000,		/* a peer silent for this long, on TCP's level, is lost */
	CM_REASON_MAX = 160,		/* bytes of a reason, with the final 0 */
};

/* A configured connection. */
struct cm_local {
	int family;			/* AF_INET or AF_INET6 */
	uint8_t local_addr[16];		/* IPv4 in the first 4 bytes, network order */
	uint8_t peer_addr[16];
	uint32_t local_cid;		/* 1..FALCON_MAX_CONNS - 1, unique */
	uint32_t remote_cid;
	bool ordered;
	uint32_t mtu;			/* of our link, bytes; 0: not known yet */
};

/* What one end brings into an incarnation of a connection; random but for the MTU. */
struct cm_values {
	uint64_t incarnation;		/* not 0 */
	uint32_t spi;			/* of packets that this end receives; not 0 */
	uint32_t data_psn;		/* first data PSN of this end's packets */
	uint32_t req_psn;		/* first request PSN */
	uint32_t rsn;			/* first RSN */
	uint32_t mtu;			/* bytes; 0: not known */
};

struct cm_ops {
	/*
	 * Both ends have said what they bring: be ready to receive by these values. 0, or a
	 * negative errno with a sentence in |err|: the peer is told, and after CM_REOPEN_MS the
	 * handshake starts over. lost() comes before another establish() of the same connection.
	 */
	int (*establish)(void *arg, uint32_t cid, const struct cm_values *ours,
			 const struct cm_values *peer, char *err, size_t errlen);
	/* The peer is ready to receive: transmit. Follows establish(). */
	void (*ready)(void *arg, uint32_t cid);
	/*
	 * The connection is not up, for |reason|. Also called without an establish() before, when
	 * the reason is news: no session, or the peer refuses.
	 */
	void (*lost)(void *arg, uint32_t cid, const char *reason);
};

enum cm_state {
	CM_NO_SESSION,		/* no TCP session with the peer's agent yet */
	CM_OPENING,		/* OPEN sent, waiting for the peer's */
	CM_RECEIVING,		/* established; waiting for the peer's READY */
	CM_READY,		/* up */
	CM_REJECTED,		/* one end refuses; a new OPEN is awaited */
};

/*
 * Start without connections on TCP port |port|. 0 and *|out| to be freed by cm_close(), or a
 * negative errno with a sentence in |err|. |ops| must stay valid.
 */
int cm_open(struct cm **out, const struct cm_ops *ops, void *arg, uint16_t port, char *err,
	    size_t errlen);

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
 * of range; -ENOMEM; or the errno of listening on the local address. A sentence in |err|.
 */
int cm_add(struct cm *cm, const struct cm_local *local, char *err, size_t errlen);

/* Close the connection with |reason| and forget it. No callback. */
void cm_remove(struct cm *cm, uint32_t cid, const char *reason);

/* Our end is broken: close with |reason|, no callback, and start over with a new incarnation. */
void cm_reset(struct cm *cm, uint32_t cid, const char *reason);

/* The MTU that the next incarnation's OPEN tells the peer, bytes. */
void cm_set_mtu(struct cm *cm, uint32_t cid, uint32_t mtu);

enum cm_state cm_conn_state(const struct cm *cm, uint32_t cid);
/* "no-session", "opening", "receiving", "ready" or "rejected". */
const char *cm_state_name(enum cm_state state);

#endif /* FALCON_AGENT_CM_H */
