// SPDX-License-Identifier: BSD-2-Clause
#include "rue/share.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

union control {
	char bytes[CMSG_SPACE(RUE_ATTACH_FDS * sizeof(int))];
	struct cmsghdr align;
};

int rue_message_send(int sock, const void *data, size_t len, const int *fd, unsigned int n)
{
	struct iovec io = { .iov_base = (void *)data, .iov_len = len };
	union control control = { { 0 } };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *c = &control.align;

		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fd, n * sizeof(int));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

ssize_t rue_message_receive(int sock, void *data, size_t len, int fd[RUE_ATTACH_FDS],
			    unsigned int *n)
{
	struct iovec io = { .iov_base = data, .iov_len = len };
	union control control;
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	ssize_t got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);

	*n = 0;
	if (got < 0)
		return got;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		*n = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fd, CMSG_DATA(c), *n * sizeof(int));
	}
	return got;
}
