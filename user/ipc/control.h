/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the agent's control socket, a Unix socket of type SOCK_SEQPACKET: one JSON object a message
 * each way, descriptors beside it (fdpass.h).
 *
 * A request is an object with a string member "op". Every request gets a reply, in order, with a boolean
 * member "ok"; on failure also "errno" (a name such as "ENOENT") and "error" (a sentence). A message is at
 * most CONTROL_MSG_MAX bytes. A reply whose text is longer comes as {"ok":true,"memfd":BYTES} with one
 * descriptor, a memfd of so many bytes that holds the reply's text and is sealed against every change.
 *
 * The server is agent/control/control.h, the client client.h.
 */
#ifndef FALCON_IPC_CONTROL_H
#define FALCON_IPC_CONTROL_H

enum control_msg_const {
	CONTROL_MSG_MAX = 64 * 1024,	/* bytes of a message */
	CONTROL_FDS_MAX = 10,		/* descriptors with a request; more: it is refused */
};

#endif /* FALCON_IPC_CONTROL_H */
