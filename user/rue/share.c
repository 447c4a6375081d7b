// SPDX-License-Identifier: BSD-2-Clause
#include "rue/share.h"

int rue_message_send(int sock, const void *data, size_t len, const int *fd, unsigned int n)
{
	const struct iovec io = { .iov_base = (void *)data, .iov_len = len };

	return fdpass_send(sock, &io, 1, fd, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}
