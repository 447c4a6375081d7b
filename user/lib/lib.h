/* SPDX-License-Identifier: BSD-2-Clause */
/* libfalcon's own structures, shared by its source files. */
#ifndef FALCON_LIB_H
#define FALCON_LIB_H

#include <jansson.h>
#include <stdbool.h>

#include "falcon/falcon.h"
#include "base/spin.h"
#include "ipc/client.h"

struct falcon {
	struct ipc_client control;	/* of the agent's control socket */
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

/* ipc_client_call() without descriptors; the sentence of a failure becomes that of falcon_error(f). */
int lib_call(struct falcon *f, json_t *request, json_t **answer);

/*
 * Attach as |request|, which this call releases, says: the answer in |*answer|, the handle in |*out|.
 * On failure a negative errno value, the sentence is that of falcon_error(NULL).
 */
int lib_open(const struct falcon_attr *attr, json_t *request, json_t **answer, struct falcon **out);
/* |f|, which is being opened, has failed with |rc|: keep its sentence, close it, return |rc|. */
int lib_open_failed(struct falcon *f, int rc);

/* Put a submission of 64 bytes into the ring. 0, -EAGAIN or -EPIPE. */
int lib_submit(struct falcon *f, const void *entry);

#endif /* FALCON_LIB_H */
