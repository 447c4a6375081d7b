/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control socket's server. ipc/control.h says what messages look like.
 *
 * Nothing here blocks the agent: a client that does not take its replies is dropped.
 */
#ifndef FALCON_AGENT_CONTROL_H
#define FALCON_AGENT_CONTROL_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/control.h"

struct control;
struct nvme_app;
struct nvme_dev;
struct raw_app;

enum control_const {
	CONTROL_CLIENTS_MAX = 256,
	CONTROL_REFUSED_MAX = 8,	/* that are connected to be told so; more: the oldest goes */
	CONTROL_SNDBUF = 256 * 1024,	/* replies that wait for a client, bytes */
};

/* One connected client. */
struct control_client {
	pid_t pid;		/* who connected (SO_PEERCRED) */
	uid_t uid;
	gid_t gid;
	struct raw_app *raw;	/* the handler's: what it has attached, NULL at first */
	struct nvme_app *nvme;	/* the same, with an NVMe device */
	struct nvme_dev *discovery;	/* a target that is asked what it has */
};

/*
 * Serve |req| of |cl|. |fds| are |nfds| received descriptors: the handler takes one by setting its
 * element to -1, the rest is closed after the call. Sets *|reply| to a new object that is sent and
 * released; the member "ok" is added as true if it is absent. Returns 0, or a negative errno for
 * which a reply is made up if *|reply| is NULL.
 */
typedef int (*control_handler)(void *arg, struct control_client *cl, json_t *req, int *fds,
			       int nfds, json_t **reply);

/*
 * Listen on |path|: mode 0600, or 0660 and of |group| unless that is empty. A socket file that
 * nobody listens on is replaced; a listener there is -EADDRINUSE. |closed|, which may be NULL, is
 * called before a client goes away. 0 and
 * *|out| to be freed by control_close(), or a negative errno with a sentence in |err|.
 */
int control_open(struct control **out, const char *path, const char *group,
		 control_handler handler, void (*closed)(void *arg, struct control_client *cl),
		 void *arg, char *err, size_t errlen);

/*
 * Whether |cl|, which has just connected, may be a client; |groups| are the |n| that its process has.
 * 0, or a negative errno with a sentence in |err|, which is the reply to its first request and the
 * end: neither the handler nor |closed| sees such a client.
 */
typedef int (*control_admit)(void *arg, const struct control_client *cl, const gid_t *groups,
			     size_t n, char *err, size_t errlen);

/* Ask |admit|, with the handler's argument, about clients from now on. */
void control_guard(struct control *ctl, control_admit admit);

/* Let every user of the host connect: whoever guards decides. 0 or a negative errno. */
int control_open_to_all(struct control *ctl);

/* Disconnect every client (with |closed|), remove the socket file and free. NULL is allowed. */
void control_close(struct control *ctl);

/* An epoll descriptor, readable when control_process() has something to do. */
int control_fd(const struct control *ctl);
void control_process(struct control *ctl);

/*
 * Disconnect |cl|, now or, from within control_process(), at its end: after the reply, if its own
 * handler asks. Calls |closed|.
 */
void control_drop(struct control *ctl, struct control_client *cl);

/* Call |fn| for each client; |fn| may not drop clients. */
void control_each(struct control *ctl, void (*fn)(void *arg, struct control_client *cl),
		  void *arg);

/* {"ok":false,"errno":name of |err|,"error":the formatted sentence}, as *|reply|; returns |err|. */
int control_error(json_t **reply, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* FALCON_AGENT_CONTROL_H */
