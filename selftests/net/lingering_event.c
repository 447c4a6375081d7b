// SPDX-License-Identifier: BSD-2-Clause
/*
 * An application that leaves the agent a descriptor to close for it, in its event socket: one that closes
 * when a process it has left behind ends, which that does when its standard input does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <falcon/falcon.h>

#include "../unit/lingering.h"
#include "ipc/fdpass.h"

static void stay(int peer)
{
	int null = open("/dev/null", O_WRONLY);
	char byte;

	/* Whoever waits for our output is not to wait for this process. */
	dup2(null, 1);
	dup2(null, 2);
	dup2(peer, 3);
	closefrom(4);
	while (read(0, &byte, 1) > 0)
		;
	exit(0);
}

int main(void)
{
	const struct falcon_attr attr = { .arena_size = 4096 };
	const struct iovec iov = { .iov_base = "x", .iov_len = 1 };
	struct falcon *f;
	int peer, slow;

	if (falcon_open(&attr, &f) < 0) {
		fprintf(stderr, "%s\n", falcon_error(NULL));
		return 1;
	}
	slow = lingering(&peer);
	assert_int_equal(fdpass_send(falcon_fd(f), &iov, 1, &slow, 1, MSG_NOSIGNAL), 1);
	if (fork() == 0)
		stay(peer);
	/* The child's end of everything but |peer| is closed: what is left is the agent's. */
	close(slow);
	return 0;
}
