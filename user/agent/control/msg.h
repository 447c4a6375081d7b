/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of the control socket: text and descriptors on a SOCK_SEQPACKET socket. */
#ifndef FALCON_AGENT_CONTROL_MSG_H
#define FALCON_AGENT_CONTROL_MSG_H

#include <jansson.h>
#include <sys/types.h>

#include "agent/control/control.h"
#include "ipc/fdpass.h"

/*
 * Receive one message without waiting. |buf| has room for CONTROL_MSG_MAX bytes. The descriptors in
 * |fds| are the caller's, also if there is no message. Returns the length in bytes, 0 at the end,
 * -EAGAIN, or another negative errno.
 */
ssize_t control_receive(int fd, char *buf, struct fdpass *fds);

/* Send |reply| without waiting, in a memfd if it is long. 0 or a negative errno. */
int control_send(int fd, const json_t *reply);

#endif /* FALCON_AGENT_CONTROL_MSG_H */
