// SPDX-License-Identifier: BSD-2-Clause
/* Messages of the control socket: see msg.h. */
#include "agent/control/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
	const struct iovec iov = {.iov_base = (char *)text, .iov_len = len};

	return fdpass_send(fd, &iov, 1, &passed, passed >= 0, MSG_NOSIGNAL | MSG_DONTWAIT) ==
	       (ssize_t)len ? 0 : -errno;
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

ssize_t control_receive(int fd, char *buf, struct fdpass *fds)
{
	ssize_t n = fdpass_receive(fd, buf, CONTROL_MSG_MAX, fds, MSG_DONTWAIT);

	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return n;
}
