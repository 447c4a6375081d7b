/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rate update engine on a thread of its own, or in another process, behind the two queues of Falcon
 * 10.6.2.
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
/* End the thread, or let go of the process; events that wait are dropped. */
void rue_worker_stop(struct rue_worker *w);

/*
 * Ask the process that listens at |path| (serve.h) to process events for |flows| indexes, a power of
 * two from 64 on, with the profiles of |h|, and queues of |entries|. Never blocks; events may be put in
 * when rue_worker_look() has said that it is ready. NULL with the reason in |err|.
 */
struct rue_worker *rue_worker_connect(struct rue_host *h, const char *path, uint32_t flows,
				      uint32_t entries, char *err, size_t size);
/* The socket to the process, to be watched; -1 of a thread. */
int rue_worker_sock(const struct rue_worker *w);
/* 1: the process has become ready; 0: no news; -1: it is gone, or gives up, for the reason in |err|. */
int rue_worker_look(struct rue_worker *w, char *err, size_t size);
/* Swift's state of all flows, which process and caller share, for rue_host_swift_memory(). */
void *rue_worker_states(const struct rue_worker *w);
/* Have the process start an engine, which has to get |number|, as rue_host_engine(). False: it hangs. */
bool rue_worker_engine(struct rue_worker *w, uint32_t number, const char *name,
		       const char *const *params);
/*
 * Have the process record into |fd|, memory of a struct rue_trace with room for |records|, as
 * rue_host_trace(); 0 records: no more. False: it hangs.
 */
bool rue_worker_trace(struct rue_worker *w, int fd, uint32_t records, int64_t only);
/* As rue_host_reset(), before any event that is put in later. Of a thread, whose host was told: nothing. */
void rue_worker_reset(struct rue_worker *w, uint32_t base_delay_target);

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
