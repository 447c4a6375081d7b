/* SPDX-License-Identifier: BSD-2-Clause */
/* A descriptor whose last close() takes as long as its peer likes. */
#ifndef FALCON_SELFTESTS_LINGERING_H
#define FALCON_SELFTESTS_LINGERING_H

#include "unit.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A TCP socket that closes only when its peer, *|peer|, has read what it was sent, or has gone. */
static inline int lingering(int *peer)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct linger linger = { .l_onoff = 1, .l_linger = 600 };
	static const char bytes[65536];
	socklen_t len = sizeof(sin);
	int l = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(l, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&sin, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	*peer = accept(l, NULL, NULL);
	assert_true(*peer >= 0);
	close(l);
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	return fd;
}

#endif /* FALCON_SELFTESTS_LINGERING_H */
