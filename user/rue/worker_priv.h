/* SPDX-License-Identifier: BSD-2-Clause */
/* What worker.c and worker_process.c share. */
#ifndef FALCON_USER_RUE_WORKER_PRIV_H
#define FALCON_USER_RUE_WORKER_PRIV_H

#include <pthread.h>

#include "rue/pair.h"
#include "rue/share.h"
#include "rue/worker.h"

struct rue_worker {
	struct rue_host *host;
	struct rue_pair pair;
	struct falcon_rue_producer put;		/* events; the owner's */
	struct falcon_rue_consumer get;		/* results; the owner's */
	/* On a thread. */
	pthread_t thread;
	bool running;
	bool stop;				/* atomic */
	/* In another process. */
	int sock;				/* -1: on a thread */
	int memory;				/* of |share|; -1: sent, or none */
	struct rue_share *share;
	size_t share_bytes;
	uint32_t flows;
	uint32_t told;				/* messages sent after RUE_ATTACH */
	bool ready;				/* the process has answered */
};

/* A worker with open queues, or NULL with the reason in |err|. */
struct rue_worker *rue_worker_new(struct rue_host *h, uint32_t entries, char *err, size_t size);
/* Let go of the process. */
void rue_worker_part(struct rue_worker *w);

#endif /* FALCON_USER_RUE_WORKER_PRIV_H */
