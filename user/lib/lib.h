/* SPDX-License-Identifier: BSD-2-Clause */
/* libfalcon's own structures, shared by its source files. */
#ifndef FALCON_LIB_H
#define FALCON_LIB_H

#include <jansson.h>
#include <stdbool.h>

#include "falcon/falcon.h"
#include "base/spin.h"
#include "ipc/client.h"

/* The application's side of one ring set (falcon/shm.h). */
struct ring_set {
	struct falcon_ring_set *rings;
	struct falcon_sqe *sqes;
	struct falcon_cqe *cqes;
	struct falcon_msg *msgs;
	int doorbell;			/* eventfd: wakes the agent's thread; -1: not made yet */
	uint32_t sq_tail, sq_published, cq_head, rq_head;
};

struct falcon {
	struct ipc_client control;	/* of the agent's control socket */
	int memfd;
	int event;			/* stream socket: the agent wakes us; EOF: it is gone */
	struct falcon_shm *shm;		/* NULL: not mapped */
	uint64_t map_size;
	uint8_t *arena;
	uint64_t arena_size;
	struct ring_set sets[FALCON_RING_SETS_MAX];
	unsigned int nsets;		/* of them, at least 1 */
	unsigned int cq_next;		/* set whose completions are taken first next time */
	unsigned int rq_next;		/* set whose message is next */
	uint16_t service;
	bool dead;			/* the agent is gone */
	uint32_t idle_polls;		/* polls in a row that found nothing */
	struct spin spin;
	char err[256];
};

/* Set the sentence of falcon_error(f) and return |rc|. */
__attribute__((format(printf, 3, 4)))
int lib_fail(struct falcon *f, int rc, const char *fmt, ...);

/* ipc_client_call() without descriptors; the sentence of a failure becomes that of falcon_error(f). */
int lib_call(struct falcon *f, json_t *request, json_t **answer);

/*
 * Attach as |request|, which this call releases, says, to all of the agent's threads that carry packets if
 * |all_threads|, else to one: the answer in |*answer|, the handle in |*out|. On failure a negative errno
 * value, the sentence is that of falcon_error(NULL).
 */
int lib_open(const struct falcon_attr *attr, json_t *request, bool all_threads, json_t **answer,
	     struct falcon **out);
/* |f|, which is being opened, has failed with |rc|: keep its sentence, close it, return |rc|. */
int lib_open_failed(struct falcon *f, int rc);

/* Put a submission of 64 bytes into the ring of set |set|. 0, -EAGAIN or -EPIPE. */
int lib_submit(struct falcon *f, unsigned int set, const void *entry);

#endif /* FALCON_LIB_H */
