/* SPDX-License-Identifier: BSD-2-Clause */
/* libfalcon's own structures, shared by its source files. */
#ifndef FALCON_LIB_H
#define FALCON_LIB_H

#include <jansson.h>
#include <stdbool.h>

#include "falcon/falcon.h"
#include "io/spin.h"

struct falcon {
	int control;			/* the agent's control socket */
	int memfd;
	int doorbell;			/* eventfd: wakes the agent */
	int event;			/* stream socket: the agent wakes us; EOF: it is gone */
	struct falcon_shm *shm;		/* NULL: not mapped */
	uint64_t map_size;
	struct falcon_sqe *sqes;
	struct falcon_cqe *cqes;
	struct falcon_msg *msgs;
	uint8_t *arena;
	uint64_t arena_size;
	uint16_t service;
	bool dead;			/* the agent is gone */
	uint32_t idle_polls;		/* polls in a row that found nothing */
	uint32_t sq_tail, sq_published, cq_head, rq_head;
	struct spin spin;
	char err[256];
};

/* Set the sentence of falcon_error(f) and return |rc|. */
__attribute__((format(printf, 3, 4)))
int lib_fail(struct falcon *f, int rc, const char *fmt, ...);

/* Connect to the agent at |path|. 0 or a negative errno value. */
int lib_connect(struct falcon *f, const char *path);

/*
 * Send |request|, which this call releases, with |nfds| descriptors, and wait for the answer. 0:
 * the answer, which says "ok", is in |*answer|, to be released with json_decref(). Negative: the
 * errno value that the agent named, or what went wrong on the way.
 */
int lib_call(struct falcon *f, json_t *request, const int *fds, int nfds, json_t **answer);

#endif /* FALCON_LIB_H */
