/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an upper layer is to the agent, and the agent to it. An upper layer uses the core's
 * transactions (core/core.h); it knows nothing of packets, keys and sockets.
 *
 * A connection belongs to one upper layer, the same at both ends, as long as it lives. It is either
 * configured, or dialled by the upper layer of one end and accepted by that of the other. All calls
 * are made by one thread, that of the shard which carries the connection's packets.
 */
#ifndef FALCON_ULP_ULP_H
#define FALCON_ULP_ULP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "core/core.h"

enum ulp_const {
	ULP_MAX = 4,			/* upper layers in an agent */
	ULP_DATA_MAX = 48,		/* bytes that each end's offer of a connection carries */
	ULP_NOTE_MAX = 400,		/* bytes of a note */
};

/* What one end's upper layer says with its offer of a connection. */
struct ulp_data {
	uint8_t len;			/* bytes, at most ULP_DATA_MAX */
	uint8_t bytes[ULP_DATA_MAX];
};

/* The two ends of a connection. */
struct ulp_ends {
	int family;			/* AF_INET or AF_INET6 */
	struct falcon_addr local;
	struct falcon_addr remote;
	uint32_t function;		/* Destination Function */
	bool ordered;
};

/* A peer dials. */
struct ulp_request {
	struct ulp_ends ends;
	const char *peer;		/* the name that it has proved; "" if it has none */
	struct ulp_data data;		/* from its upper layer */
	uint32_t cid;			/* that the connection will have here */
};

/* A connection has come up. */
struct ulp_conn {
	struct fcore_conn *core;	/* valid until conn_down() */
	uint32_t cid;			/* ours */
	uint32_t max_len;		/* bytes of a transaction: the layer's header and payload */
	int64_t owner;			/* user for whose applications it is; -1: for all */
	struct ulp_ends ends;
	struct ulp_data data;		/* from the peer's upper layer */
};

/* A connection to be made. */
struct ulp_dial {
	uint8_t proto;			/* enum falcon_protocol_type */
	struct ulp_ends ends;
	const char *peer;		/* name that the peer must prove; "": that of its address */
	uint32_t uid;			/* of the user for whom it is dialled: users take turns with a peer */
	struct ulp_data data;		/* for the peer's upper layer */
};

/* What an upper layer says to that of another host, beside any connection. */
struct ulp_note {
	int family;			/* AF_INET or AF_INET6 */
	struct falcon_addr local;		/* from, or to */
	struct falcon_addr remote;
	uint16_t len;			/* bytes of |data| */
	uint8_t data[ULP_NOTE_MAX];
};

/* The agent, for upper layers. |agent| is what came with this. */
struct ulp_host {
	/*
	 * Set up a connection. Returns its CID, and conn_up() or conn_down() will be called for it,
	 * never from within; or a negative errno with a sentence in |err|: -ENETUNREACH, -ENOSPC,
	 * -ENOKEY, -ENOMEM. Not to be called from the core's callbacks.
	 */
	int (*dial)(void *agent, const struct ulp_dial *dial, char *err, size_t errlen);
	/*
	 * The upper layer is done with connection |cid|, dialled or accepted. conn_down() follows
	 * if it was up. May be called from anywhere.
	 */
	void (*hangup)(void *agent, uint32_t cid, const char *why);
	/*
	 * Send |note| to the upper layer |proto| of the host that has |note->remote|, which may be this
	 * one. It arrives once, after those sent before it, or not at all, of which there is no word. 0,
	 * or a negative errno with a sentence in |err|: -ENOBUFS: too many wait. Not to be called from
	 * within the callbacks of struct ulp_ops, but for pump().
	 */
	int (*note)(void *agent, uint8_t proto, const struct ulp_note *note, char *err,
		    size_t errlen);
};

/*
 * The functions of an upper layer; |ulp| is its own object. Those of the core, from on_push() on,
 * are called from within fcore_*() with its time |now|, ns; core.h describes them.
 */
struct ulp_ops {
	const char *name;		/* for people: "raw" */
	uint8_t proto;			/* enum falcon_protocol_type */

	/*
	 * If there are several shards, each with a layer of this kind: for which of them a peer dials with
	 * |data|. That is asked of the first one's by another thread, of what never changes. NULL: for the
	 * first, or if |any_shard| for that with the fewest connections.
	 */
	uint32_t (*dial_for)(const void *ulp, const struct ulp_data *data);
	bool any_shard;
	/*
	 * For which of them |note| is, or -1, if only |all| of them together know. That is asked, of the
	 * first one's, while no shard runs. NULL: for the first.
	 */
	int (*note_for)(const void *ulp, const struct ulp_note *note, bool all);
	/*
	 * A peer dials. 0, with what the other end is to know in |reply|: conn_up() or conn_down()
	 * follows; or a negative errno with a sentence for the peer in |err|: -ENOENT
	 * if all that is missing is an application that may still come. NULL: nobody may.
	 */
	int (*accept)(void *ulp, const struct ulp_request *req, struct ulp_data *reply, char *err,
		      size_t errlen);
	/* 0, or -ENOMEM: the connection ends. */
	int (*conn_up)(void *ulp, const struct ulp_conn *conn);
	/*
	 * Connection |cid|, which is up, carries transactions of |max_len| bytes from now on: more or fewer
	 * than before. Larger ones that are under way may still arrive; if they do not, the connection goes
	 * down. NULL: it goes down in any case when |max_len| shrinks, and does not hear when it grows.
	 */
	void (*conn_resized)(void *ulp, uint32_t cid, uint32_t max_len);
	/*
	 * Connection |cid| is not up, for |why|. What the core has of it ends after this, with
	 * kCmplDeadConn. A connection that was dialled here or is configured is tried again by
	 * itself, until hangup(); one that was accepted is gone.
	 */
	void (*conn_down)(void *ulp, uint32_t cid, const char *why);
	/*
	 * The peer has refused connection |cid|, which was dialled here, for |why|. It is dialled
	 * again after a pause, until hangup(). NULL: conn_down() is called instead.
	 */
	void (*refused)(void *ulp, uint32_t cid, const char *why);

	/*
	 * A note has arrived from the upper layer of a host that may connect; |peer| is the name that
	 * it has proved, "" if it has none. NULL: they are dropped.
	 */
	void (*note)(void *ulp, const struct ulp_note *note, const char *peer);
	/*
	 * Connection |cid|, which is down if it ever was up, is removed for good: free what is kept
	 * for it. Another may have the number thereafter. May be NULL.
	 */
	void (*conn_gone)(void *ulp, uint32_t cid);

	/* A round of the loop. Returns how much there was to do. */
	uint32_t (*pump)(void *ulp, uint64_t now);
	/* Announce to applications that the agent sleeps. False: there is work, do not. */
	bool (*sleep_begin)(void *ulp);
	void (*sleep_end)(void *ulp);
	/* When pump() is needed even if nothing happens, ns; UINT64_MAX: never. May be NULL. */
	uint64_t (*deadline)(const void *ulp);
	/* The shard has just not run for |ns|: what waits for peers has so much more time. May be NULL. */
	void (*was_away)(void *ulp, uint64_t ns);

	void (*on_push)(void *ulp, struct fcore_conn *c, uint32_t rsn, const void *payload,
			uint32_t len, uint64_t now);
	void (*on_pull)(void *ulp, struct fcore_conn *c, uint32_t rsn, const void *hdr,
			uint32_t hdr_len, uint16_t request_len, uint64_t now);
	void (*on_response_done)(void *ulp, struct fcore_conn *c, uint64_t cookie);
	void (*on_pull_data)(void *ulp, struct fcore_conn *c, uint64_t cookie, const void *payload,
			     uint32_t len);
	void (*on_completion)(void *ulp, struct fcore_conn *c, uint64_t cookie,
			      enum falcon_completion_code code, uint8_t ulp_code);
	void (*on_xon)(void *ulp, struct fcore_conn *c);
	/* As fcore_ops.on_rnr(); may be NULL. */
	bool (*on_rnr)(void *ulp, struct fcore_conn *c, uint64_t cookie, uint8_t times);
	/* As those of fcore_ops; all may be NULL. */
	enum fcore_exec (*exec_give)(void *ulp, struct fcore_conn *c, struct falcon_exec *e);
	void (*exec_taken)(void *ulp, struct fcore_conn *c, const struct falcon_exec *e);
	void (*exec_response)(void *ulp, struct fcore_conn *c, const struct falcon_response *r, uint8_t *hdr,
			      struct fcore_response *out);
};

/* An upper layer as the agent holds it. */
struct ulp {
	const struct ulp_ops *ops;
	void *self;
};

#endif /* FALCON_ULP_ULP_H */
