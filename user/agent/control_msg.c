// SPDX-License-Identifier: BSD-2-Clause
/* Messages of the control socket: see control_msg.h. */
#include "agent/control_msg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* A sealed memfd with |text|, or -1 with errno set. */
static int make_memfd(const char *text, size_t len)
{
	int fd = memfd_create("falcon-reply", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	for (size_t done = 0; done < len;) {
		ssize_t n = write(fd, text + done, len - done);

		if (n < 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return fd;
}

/* One message with at most one descriptor (-1: none). 0 or a negative errno. */
static int send_message(int fd, const char *text, size_t len, int passed)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} cbuf = {0};
	struct iovec iov = {.iov_base = (char *)text, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (passed >= 0) {
		struct cmsghdr *c;

		msg.msg_control = cbuf.bytes;
		msg.msg_controllen = sizeof(cbuf.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &passed, sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len ? 0 : -errno;
}

static int send_large(int fd, const char *text, size_t len)
{
	char note[64];
	int memfd = make_memfd(text, len), ret;

	if (memfd < 0)
		return -errno;
	snprintf(note, sizeof(note), "{\"ok\":true,\"memfd\":%zu}", len);
	ret = send_message(fd, note, strlen(note), memfd);
	close(memfd);
	return ret;
}

int control_send(int fd, const json_t *reply)
{
	char *text = json_dumps(reply, JSON_COMPACT);
	size_t len;
	int ret;

	if (!text)
		return -ENOMEM;
	len = strlen(text);
	ret = len <= CONTROL_MSG_MAX ? send_message(fd, text, len, -1) : send_large(fd, text, len);
	free(text);
	return ret;
}

/* Collect up to |max| received descriptors. Returns how many. */
static int take_fds(struct msghdr *msg, int *fds, int max)
{
	int n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i + sizeof(int) <= bytes && n < max; i += sizeof(int))
			memcpy(&fds[n++], CMSG_DATA(c) + i, sizeof(int));
	}
	return n;
}

ssize_t control_receive(int fd, char *buf, int *fds, int *nfds, bool *whole)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(CONTROL_FDS_MAX * sizeof(int))];
	} cbuf;
	struct iovec iov = {.iov_base = buf, .iov_len = CONTROL_MSG_MAX};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = cbuf.bytes,
			     .msg_controllen = sizeof(cbuf.bytes)};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*nfds = 0;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	*nfds = take_fds(&msg, fds, CONTROL_FDS_MAX);
	*whole = !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	return n;
}
