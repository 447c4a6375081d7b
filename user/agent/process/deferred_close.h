/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing descriptors that others have sent, and sockets on which they may have sent some. close() asks
 * the file's server (FUSE, NFS), or waits for what a TCP socket with SO_LINGER has to send yet, as long
 * as that takes. So a thread does it, one for each user, who can keep only his own waiting. It frees
 * their memory, too, a gigabyte of which takes a while.
 */
#ifndef FALCON_AGENT_PROCESS_DEFERRED_CLOSE_H
#define FALCON_AGENT_PROCESS_DEFERRED_CLOSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Descriptors of a user that wait, if the agent may have that many more. */
enum { DEFERRED_CLOSE_MAX = 4096 };

/* Close |fd|, of user |uid|, soon. */
void deferred_close(int fd, uid_t uid);
/* Likewise, as struct client_ends.release(): |fd| may be -1, |base| NULL. */
void deferred_close_memory(uid_t uid, int fd, void *base, uint64_t size);
/* How many of |uid|'s are not closed yet. */
unsigned int deferred_close_pending(uid_t uid);
/*
 * Whether these are DEFERRED_CLOSE_MAX, or more than an eighth of the descriptors that the agent may have
 * beside those that wait: then no more are taken from |uid|, so that some are left for others.
 */
bool deferred_close_full(uid_t uid);

#endif /* FALCON_AGENT_PROCESS_DEFERRED_CLOSE_H */
