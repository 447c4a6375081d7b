/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors that travel with messages over Unix sockets (SCM_RIGHTS). Nothing else in user/ or tools/
 * builds or reads such control data.
 *
 * A receiver takes every descriptor of a message, also those that it has no use for: what is cut off the
 * kernel closes in the receiver's name, and the last close of a socket can block for as long as its
 * sender liked (SO_LINGER). So the receiver decides where each is closed.
 */
#ifndef FALCON_IPC_FDPASS_H
#define FALCON_IPC_FDPASS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FDPASS_MAX = 253 };	/* descriptors in one message: the kernel's SCM_MAX_FD */

union fdpass_control {
	char bytes[CMSG_SPACE(FDPASS_MAX * sizeof(int))];
	struct cmsghdr align;
};

struct fdpass {
	bool whole;		/* neither bytes nor descriptors of the message were cut off */
	unsigned int n;		/* descriptors, the caller's to close; up to FDPASS_MAX */
	int fd[FDPASS_MAX];
};

/*
 * Send the bytes of |iov| as one message with |n| descriptors, at most FDPASS_MAX; they stay the caller's.
 * |flags| are sendmsg's. Returns what sendmsg returns.
 */
static inline ssize_t fdpass_send(int sock, const struct iovec *iov, size_t iovlen, const int *fd,
				  unsigned int n, int flags)
{
	union fdpass_control control;
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = iovlen };

	if (n) {
		struct cmsghdr *c = &control.align;

		memset(&control, 0, CMSG_SPACE(n * sizeof(int)));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fd, n * sizeof(int));
	}
	return sendmsg(sock, &msg, flags);
}

/*
 * Receive a message of at most |len| bytes into |data|, and its descriptors, close-on-exec, into |got|,
 * which is valid in any case. |flags| are recvmsg's. Returns what recvmsg returns; a message of no
 * bytes, which looks like the end, may have brought descriptors.
 */
static inline ssize_t fdpass_receive(int sock, void *data, size_t len, struct fdpass *got, int flags)
{
	union fdpass_control control;
	struct iovec iov = { .iov_base = data, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t bytes = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);

	got->n = 0;
	got->whole = bytes >= 0 && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	if (bytes < 0)
		return bytes;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || n > FDPASS_MAX - got->n)
			continue;
		memcpy(&got->fd[got->n], CMSG_DATA(c), n * sizeof(int));
		got->n += (unsigned int)n;
	}
	return bytes;
}

/*
 * Close what came with a message. A caller that must not wait for it (an agent, whose clients are not
 * trusted) closes each elsewhere instead: agent/process/deferred_close.h.
 */
static inline void fdpass_close(struct fdpass *got)
{
	for (unsigned int i = 0; i < got->n; i++)
		close(got->fd[i]);
	got->n = 0;
}

/* The first descriptor that came with a message, from now on the caller's; -1: none. Closes the others. */
static inline int fdpass_first(struct fdpass *got)
{
	int first = got->n ? got->fd[0] : -1;

	for (unsigned int i = 1; i < got->n; i++)
		close(got->fd[i]);
	got->n = 0;
	return first;
}

#endif /* FALCON_IPC_FDPASS_H */
