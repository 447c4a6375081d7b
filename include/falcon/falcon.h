/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfalcon: raw Falcon transactions for applications, through the agent.
 *
 *	struct falcon_attr attr = { .arena_size = 1 << 20 };
 *	struct falcon *f;
 *	uint32_t conn;
 *
 *	falcon_open(&attr, &f);
 *	falcon_lookup(f, "b", &conn);
 *	memcpy(falcon_arena(f), "hello", 5);
 *	falcon_submit(f, &(struct falcon_sqe){ .op = FALCON_RAW_SEND, .conn = conn,
 *					       .dst_service = 7, .len = 5 });
 *
 * Functions return 0 or a count on success and a negative errno value on failure; after a failure
 * falcon_error() has the sentence for a person. A handle belongs to one thread at a time.
 */
#ifndef FALCON_FALCON_H
#define FALCON_FALCON_H

#include <stddef.h>
#include <stdint.h>

#include "codes.h"
#include "raw.h"
#include "shm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define FALCON_DEFAULT_SOCKET "/run/falcon/falcond.sock"

struct falcon;

/* The version of the library that is linked, MAJOR.MINOR.PATCH. A constant string. */
const char *falcon_version(void);

/* How to attach. Zero is a valid value of every field. */
struct falcon_attr {
	const char *socket;	/* NULL: $FALCON_SOCKET, else FALCON_DEFAULT_SOCKET */
	uint16_t service;	/* name to listen under; 0: the agent picks one from 32768 up */
	uint64_t arena_size;	/* bytes of shared memory for data; rounded up to a page */
	uint64_t remote_offset;	/* part of the arena that peers may reach ... */
	uint64_t remote_len;	/* ... bytes; 0: none */
	int remote_write;	/* peers may PUT there */
	int remote_read;	/* peers may GET there */
};

/* What a connection is, for falcon_conn_info(). */
struct falcon_conn_info {
	char name[64];
	uint32_t conn;
	int up;			/* 1: established */
	int ordered;
	uint32_t segment;	/* bytes of a transaction; SEND: at most FALCON_MSG_MAX, too */
	uint32_t mtu;		/* of the path, bytes */
};

/*
 * Attach to the agent. On success *|out| is a handle to be closed with falcon_close().
 * -ECONNREFUSED or -ENOENT: no agent at that socket; -EADDRINUSE: the service is taken;
 * -EINVAL: ranges outside the arena, or the agent has another version of the shared memory;
 * -EOPNOTSUPP: the agent is older than this library;
 * -EUSERS: too many applications; -ENOMEM; -EPROTO: the agent's answer makes no sense;
 * -ETIMEDOUT: there is none.
 * On failure *|out| is NULL and falcon_error(NULL) has the sentence.
 */
int falcon_open(const struct falcon_attr *attr, struct falcon **out);

/* Detach and free. Operations under way end without a completion. NULL is allowed. */
void falcon_close(struct falcon *f);

/* The last failure of |f| in words; of falcon_open() if |f| is NULL. Valid until the next call. */
const char *falcon_error(const struct falcon *f);

/* The shared memory for data, falcon_arena_size() bytes, valid until falcon_close(). */
void *falcon_arena(struct falcon *f);
uint64_t falcon_arena_size(const struct falcon *f);

/* The service name this handle is reached under. */
uint16_t falcon_service(const struct falcon *f);

/*
 * Find a connection by its configured name, or by the peer's address in text form: its handle in
 * |*conn|, valid as long as the connection exists. -ENOENT: no such connection.
 */
int falcon_lookup(struct falcon *f, const char *name, uint32_t *conn);

/* What connection |conn| is. -ENOENT: it is gone. */
int falcon_conn_info(struct falcon *f, uint32_t conn, struct falcon_conn_info *info);

/*
 * Start an operation; its memory must stay untouched until its completion. -EAGAIN: the
 * submission ring is full, take completions first; -EINVAL: range outside the arena;
 * -EPIPE: the agent is gone. The agent is told of it by falcon_flush(), falcon_poll() or
 * falcon_wait(), whichever comes first.
 */
int falcon_submit(struct falcon *f, const struct falcon_sqe *sqe);

/* Make the agent look at what was submitted. */
void falcon_flush(struct falcon *f);

/*
 * Take up to |n| completions, those of a connection in the order in which its operations ended, those of
 * different connections in any. Returns how many; 0 if there are none yet; -EPIPE: agent gone.
 */
int falcon_poll(struct falcon *f, struct falcon_cqe *cqes, int n);

/*
 * The next message, or NULL: the same one until falcon_message_done(), up to which it stays valid, and
 * which frees its place in the ring. Messages of a connection come in their order.
 */
const struct falcon_msg *falcon_message(struct falcon *f);
void falcon_message_done(struct falcon *f);

/*
 * Divide the range that peers may reach into slots of |bytes| each, the last perhaps shorter. From then on
 * an operation has to keep to one slot, and to one that is granted to whoever sends it: none is yet. 0;
 * -EINVAL: more than FALCON_GRANTS_MAX slots; -EOPNOTSUPP: the agent is older than this library, and would
 * let all peers reach all of it.
 */
int falcon_divide(struct falcon *f, uint64_t bytes);

/*
 * Grant |slot| to service |service| behind connection |conn|, as a message has them, and to nobody else; or
 * take it back. Operations that came before may still be under way. 0, or -EINVAL: no such slot.
 */
int falcon_grant(struct falcon *f, unsigned int slot, uint32_t conn, uint16_t service);
int falcon_revoke(struct falcon *f, unsigned int slot);

/*
 * Wait until there is a completion or a message, at most |timeout_ms| (-1: forever).
 * Returns 1 if there is something, 0 on timeout, -EPIPE if the agent is gone, -EINTR.
 */
int falcon_wait(struct falcon *f, int timeout_ms);

/*
 * For an event loop: readable when falcon_wait() would have something, after falcon_arm(), and
 * when the agent is gone.
 */
int falcon_fd(const struct falcon *f);
/* Ask for a signal on falcon_fd(). Returns 1 if there is something already, else 0. */
int falcon_arm(struct falcon *f);

#ifdef __cplusplus
}
#endif

#endif /* FALCON_FALCON_H */
