/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closing descriptors that others have sent, and sockets on which they may have sent some. close() asks
 * the file's server (FUSE, NFS), or waits for what a TCP socket with SO_LINGER has to send yet, as long
 * as that takes. So a thread does it, one for each user, who can keep only his own waiting.
 */
#ifndef FALCON_AGENT_DROP_H
#define FALCON_AGENT_DROP_H

#include <sys/types.h>

enum { DROP_MAX = 4096 };	/* descriptors of a user that wait: he gets no more connections */

/* Close |fd|, of user |uid|, soon. */
void drop_fd(int fd, uid_t uid);
/* How many of |uid|'s are not closed yet. */
unsigned int drop_pending(uid_t uid);

#endif /* FALCON_AGENT_DROP_H */
