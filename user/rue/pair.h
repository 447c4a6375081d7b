/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two queues of Falcon 10.6.2 with their doorbells, in memory that can be handed to another thread
 * or process, and the loop of the engine at their far end. It spins a little when it runs out of events,
 * then sleeps.
 */
#ifndef FALCON_USER_RUE_PAIR_H
#define FALCON_USER_RUE_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "falcon/abi/rue_queue.h"
#include "rue/host.h"

/* One direction. All zeros but for the descriptors, -1, is one that is not open. */
struct rue_way {
	struct falcon_rue_queue *q;
	size_t bytes;		/* mapped */
	int memory;		/* memfd, sealed against shrinking; of whoever made it */
	int bell;		/* eventfd that ends the consumer's sleep */
};

struct rue_pair {
	struct rue_way events, results;
};

/* Make two queues of |entries|, a power of two. 0, or -1 with errno set and nothing open. */
int rue_pair_open(struct rue_pair *p, uint32_t entries);
/*
 * Take over the queues that another process has made: memory and bell of the events, then of the
 * results, which are this process' from then on. 0, or -1 with the reason in |err|, and they are closed.
 */
int rue_pair_adopt(struct rue_pair *p, const int fd[4], char *err, size_t size);
void rue_pair_close(struct rue_pair *p);

/* Wake whoever sleeps over |way|. */
void rue_way_ring(const struct rue_way *way);

/* What the engine's loop asks of its owner. */
struct rue_run {
	struct rue_host *host;
	/*
	 * Asked all the time, with |look| set after a sleep and while results find no room: there is time
	 * to look at descriptors. False: end.
	 */
	bool (*go_on)(void *arg, bool look);
	void *arg;
	int watch;		/* one more descriptor that ends a sleep; -1: none */
};

/* Process events until |run->go_on| says no. */
void rue_pair_run(struct rue_pair *p, const struct rue_run *run);

#endif /* FALCON_USER_RUE_PAIR_H */
