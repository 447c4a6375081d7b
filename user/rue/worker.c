// SPDX-License-Identifier: BSD-2-Clause
#include "rue/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "falcon/psp.h"
#include "falcon/rue_queue.h"
#include "io/spin.h"

/* One direction: a queue in memory that could be handed to another process, and its doorbell. */
struct way {
	struct falcon_rue_queue *q;
	size_t bytes;
	int bell;		/* eventfd that ends the consumer's sleep; -1: none */
};

struct rue_worker {
	struct rue_host *host;
	struct way events, results;
	struct falcon_rue_producer put;		/* events; the owner's */
	struct falcon_rue_consumer get;		/* results; the owner's */
	pthread_t thread;
	bool running;
	bool stop;		/* atomic */
};

static int open_way(struct way *way, const char *name, uint32_t entries)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	void *at = MAP_FAILED;

	way->bytes = falcon_rue_queue_bytes(entries);
	if (fd >= 0 && ftruncate(fd, (off_t)way->bytes) == 0)
		at = mmap(NULL, way->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (at == MAP_FAILED)
		return -1;
	way->q = at;
	falcon_rue_queue_init(way->q, entries);
	way->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return way->bell < 0 ? -1 : 0;
}

static void close_way(struct way *way)
{
	if (way->q)
		munmap(way->q, way->bytes);
	if (way->bell >= 0)
		close(way->bell);
}

static void ring(const struct way *way)
{
	const uint64_t one = 1;

	/* It can only fail because it rings already. */
	if (write(way->bell, &one, sizeof(one)) < 0)
		return;
}

static void wait_for_bell(const struct way *way)
{
	struct pollfd fd = { .fd = way->bell, .events = POLLIN };
	uint64_t n;

	if (poll(&fd, 1, -1) == 1 && read(way->bell, &n, sizeof(n)) < 0)
		return;
}

static uint32_t take_batch(struct falcon_rue_consumer *in, struct falcon_rue_event *e)
{
	uint32_t n = 0;

	while (n < RUE_BATCH && falcon_rue_get(in, e[n].w))
		n++;
	return n;
}

/* The owner takes results before it adds events, so a full queue is a matter of a moment. */
static void give_batch(struct rue_worker *w, struct falcon_rue_producer *out,
		       const struct falcon_rue_result *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		while (!falcon_rue_put(out, r[i].w)) {
			if (falcon_load(&w->stop))
				return;
			sched_yield();
		}
	}
	if (falcon_rue_must_wake(out))
		ring(&w->results);
}

static void *work(void *arg)
{
	struct rue_worker *w = arg;
	struct falcon_rue_event e[RUE_BATCH];
	struct falcon_rue_result r[RUE_BATCH];
	struct falcon_rue_consumer in;
	struct falcon_rue_producer out;
	struct spin spin = { 0 };
	uint64_t busy_at = 0;

	falcon_rue_consume_from(&in, w->events.q);
	falcon_rue_produce_into(&out, w->results.q);
	while (!falcon_load(&w->stop)) {
		uint32_t n = take_batch(&in, e);
		uint64_t now = spin_clock();

		if (n) {
			rue_host_process(w->host, e, n, falcon_time_of_ns(now) & 0xffffff, r);
			give_batch(w, &out, r, n);
			busy_at = now;
		} else if (!spin_once(&spin, busy_at, now) && falcon_rue_sleep(&in)) {
			wait_for_bell(&w->events);
		}
	}
	return NULL;
}

struct rue_worker *rue_worker_start(struct rue_host *h, uint32_t entries, char *err, size_t size)
{
	struct rue_worker *w = calloc(1, sizeof(*w));
	int rc;

	if (!w) {
		snprintf(err, size, "out of memory");
		return NULL;
	}
	w->host = h;
	w->events.bell = w->results.bell = -1;
	if (open_way(&w->events, "falcon-rue-events", entries) ||
	    open_way(&w->results, "falcon-rue-results", entries)) {
		snprintf(err, size, "cannot make the queues of the rate update engine: %s",
			 strerror(errno));
		rue_worker_stop(w);
		return NULL;
	}
	falcon_rue_produce_into(&w->put, w->events.q);
	falcon_rue_consume_from(&w->get, w->results.q);
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
		ring(&w->events);
		pthread_join(w->thread, NULL);
	}
	close_way(&w->events);
	close_way(&w->results);
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
		ring(&w->events);
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
	return w->results.bell;
}
