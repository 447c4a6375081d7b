// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rue/worker_priv.h"

static bool go_on(void *arg, bool look)
{
	const struct rue_worker *w = arg;

	(void)look;
	return !falcon_load(&w->stop);
}

static void *work(void *arg)
{
	struct rue_worker *w = arg;
	const struct rue_run run = { .host = w->host, .go_on = go_on, .arg = w, .watch = -1 };

	rue_pair_run(&w->pair, &run);
	return NULL;
}

struct rue_worker *rue_worker_new(struct rue_host *h, uint32_t entries, char *err, size_t size)
{
	struct rue_worker *w = calloc(1, sizeof(*w));

	if (!w) {
		snprintf(err, size, "out of memory");
		return NULL;
	}
	w->host = h;
	w->sock = w->memory = -1;
	if (rue_pair_open(&w->pair, entries)) {
		snprintf(err, size, "cannot make the queues of the rate update engine: %s",
			 strerror(errno));
		free(w);
		return NULL;
	}
	falcon_rue_produce_into(&w->put, w->pair.events.q);
	falcon_rue_consume_from(&w->get, w->pair.results.q);
	return w;
}

struct rue_worker *rue_worker_start(struct rue_host *h, uint32_t entries, char *err, size_t size)
{
	struct rue_worker *w = rue_worker_new(h, entries, err, size);
	int rc;

	if (!w)
		return NULL;
	rc = pthread_create(&w->thread, NULL, work, w);
	if (rc) {
		snprintf(err, size, "cannot start the rate update engine's thread: %s",
			 strerror(rc));
		rue_worker_stop(w);
		return NULL;
	}
	w->running = true;
	return w;
}

void rue_worker_stop(struct rue_worker *w)
{
	if (!w)
		return;
	if (w->running) {
		falcon_store(&w->stop, true);
		rue_way_ring(&w->pair.events);
		pthread_join(w->thread, NULL);
	}
	rue_worker_part(w);
	rue_pair_close(&w->pair);
	free(w);
}

uint32_t rue_worker_used(struct rue_worker *w)
{
	return falcon_rue_used(&w->put);
}

bool rue_worker_put(struct rue_worker *w, const struct falcon_rue_event *e)
{
	return falcon_rue_put(&w->put, e->w);
}

void rue_worker_flush(struct rue_worker *w)
{
	if (falcon_rue_must_wake(&w->put))
		rue_way_ring(&w->pair.events);
}

bool rue_worker_get(struct rue_worker *w, struct falcon_rue_result *r)
{
	return falcon_rue_get(&w->get, r->w);
}

bool rue_worker_idle(struct rue_worker *w)
{
	return falcon_rue_sleep(&w->get);
}

int rue_worker_fd(const struct rue_worker *w)
{
	return w->pair.results.bell;
}
