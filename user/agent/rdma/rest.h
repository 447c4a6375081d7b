/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a user's memory costs the shard. Calls for it may sleep: its pages may be another program's to supply,
 * or be on disk, or the application holds its address space's lock. Those that sleep for long are taken over
 * (stall.h); this is about those that do not, of which there may be one after the other. For each moment that
 * a user's memory has had the shard's thread sleep it is left alone REST_FACTOR times as long, so that no
 * user's memory has more than a share of the thread.
 *
 * The shard's thread only. Whether a call has slept the kernel says: it may have taken long for want of a
 * CPU, too, which is nobody's fault.
 */
#ifndef FALCON_AGENT_RDMA_REST_H
#define FALCON_AGENT_RDMA_REST_H

#include <stdbool.h>
#include <stdint.h>

enum rdma_rest_const {
	REST_FACTOR = 3,
	REST_SAMPLE = 16,	/* one of so many calls is looked at, ... */
	REST_WATCH = 64,	/* ... and so many after one that has slept */
	REST_LATE_MS = 200,	/* after one that was taken over: it has taken up to 20 ms */
};

/* A user's account. All zeros to begin with. */
struct rdma_rest {
	uint64_t until;		/* ns (CLOCK_MONOTONIC): not before that */
	uint64_t rests;		/* calls that have slept */
	unsigned int calls;	/* since the last that was looked at */
	unsigned int watch;	/* that are to be looked at yet */
};

/* A call, between begin and end. */
struct rdma_rest_call {
	bool looked_at;
	uint64_t since;		/* ns */
	long sleeps;		/* of the thread, before it */
};

void rdma_rest_begin(struct rdma_rest *r, struct rdma_rest_call *call);
void rdma_rest_end(struct rdma_rest *r, const struct rdma_rest_call *call);
/* A call of the user's was taken over at |now|. */
void rdma_rest_late(struct rdma_rest *r, uint64_t now);

#endif /* FALCON_AGENT_RDMA_REST_H */
