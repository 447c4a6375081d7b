/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rate update engine on a thread of its own, behind the two queues of Falcon 10.6.2. It spins a
 * little when it runs out of events, then sleeps.
 */
#ifndef FALCON_USER_RUE_WORKER_H
#define FALCON_USER_RUE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rue/host.h"

struct rue_worker;

/*
 * Start a thread that processes events by |h|, a threaded host, with queues of |entries|, a power of
 * two. NULL with the reason in |err|.
 */
struct rue_worker *rue_worker_start(struct rue_host *h, uint32_t entries, char *err, size_t size);
/* End the thread; events that wait are dropped. */
void rue_worker_stop(struct rue_worker *w);

/* Events that the worker has not taken yet. */
uint32_t rue_worker_used(struct rue_worker *w);
/* Append an event. False if the queue is full. */
bool rue_worker_put(struct rue_worker *w, const struct falcon_rue_event *e);
/* Wake the worker if it sleeps: after a series of rue_worker_put(). */
void rue_worker_flush(struct rue_worker *w);

/* Take the next result. False if there is none. */
bool rue_worker_get(struct rue_worker *w, struct falcon_rue_result *r);
/* The caller is about to sleep. True: no result waits, and the next one makes rue_worker_fd() readable. */
bool rue_worker_idle(struct rue_worker *w);
int rue_worker_fd(const struct rue_worker *w);

#endif /* FALCON_USER_RUE_WORKER_H */
