/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control socket: a Unix stream socket. Whoever connects sends one command as a line and gets
 * one JSON value, then the end. Nothing here waits.
 */
#ifndef FALCON_WIRE_CONTROL_H
#define FALCON_WIRE_CONTROL_H

#include <poll.h>

struct emulator;
struct control;

enum control_const {
	CONTROL_CLIENTS = 8,	/* at a time; the one that came first makes room for a ninth */
	CONTROL_LINE = 1024,	/* longest command, bytes */
	CONTROL_FDS = CONTROL_CLIENTS + 1,
};

/*
 * Open the socket |path|; one that nobody listens to any more is replaced. NULL after a message on
 * standard error.
 */
struct control *control_open(const char *path);
/* Close it and remove the file. NULL is allowed. */
void control_close(struct control *c);

/* The CONTROL_FDS descriptors to wait for, some of them negative. */
void control_pollfds(const struct control *c, struct pollfd *fds);

/* Do what can be done, |fds| being what control_pollfds() filled in, after poll(). */
void control_serve(struct control *c, struct emulator *em, const struct pollfd *fds);

#endif /* FALCON_WIRE_CONTROL_H */
