/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of the agent's control socket (control.h): requests and their replies, one thread at a time.
 *
 * Functions that can fail return 0 or a negative errno value, with a sentence for people in |err|.
 */
#ifndef FALCON_IPC_CLIENT_H
#define FALCON_IPC_CLIENT_H

#include <jansson.h>

struct ipc_client {
	int sock;		/* -1: not connected */
	unsigned int late;	/* replies that nobody waits for any more */
	char path[108];		/* of the socket, as far as it fits: for sentences */
	char err[256];		/* what failed last */
};

/* A client that may be closed, and connected. */
#define IPC_CLIENT_CLOSED { .sock = -1 }

/*
 * Where the agent's socket is: |given| unless that is NULL or empty, else $FALCON_SOCKET, else the usual
 * place.
 */
const char *ipc_client_path(const char *given);

/*
 * Connect |c|, whatever it held, to the agent at ipc_client_path(|path|). -ENOENT, -ECONNREFUSED: there is no
 * agent. On failure |c| is closed.
 */
int ipc_client_connect(struct ipc_client *c, const char *path);

/* Close the connection, if there is one. */
void ipc_client_close(struct ipc_client *c);

/*
 * Send |request|, which this call releases (NULL: it could not be made), with |nfds| descriptors, which stay
 * the caller's. -EINVAL: the request is not UTF-8; -EPIPE: the agent is gone.
 */
int ipc_client_ask(struct ipc_client *c, json_t *request, const int *fds, unsigned int nfds);

/*
 * Wait for the next reply. 0: it says "ok", and is in |*reply|, to be released with json_decref(); |reply|
 * may be NULL. Otherwise |*reply| is NULL, and the error is the one that the agent named, with its sentence,
 * or what went wrong on the way: -EPIPE: the agent is gone; -ETIMEDOUT: it has not answered for some seconds,
 * and if it does so later then that reply is passed over; -EPROTO: what came is no reply, or an error without
 * a name.
 */
int ipc_client_answer(struct ipc_client *c, json_t **reply);

/* Both, for a client that has no other request under way. */
int ipc_client_call(struct ipc_client *c, json_t *request, const int *fds, unsigned int nfds,
		    json_t **reply);

#endif /* FALCON_IPC_CLIENT_H */
