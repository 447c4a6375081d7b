// SPDX-License-Identifier: BSD-2-Clause
#include "rue/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "falcon/wire/psp.h"
#include "base/spin.h"

static const struct rue_way closed = { .memory = -1, .bell = -1 };

static int map(struct rue_way *way)
{
	void *at = mmap(NULL, way->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, way->memory, 0);

	if (at == MAP_FAILED)
		return -1;
	way->q = at;
	return 0;
}

static int open_way(struct rue_way *way, const char *name, uint32_t entries)
{
	*way = closed;
	way->bytes = falcon_rue_queue_bytes(entries);
	way->memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (way->memory < 0 || ftruncate(way->memory, (off_t)way->bytes) < 0 ||
	    fcntl(way->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
	    map(way))
		return -1;
	falcon_rue_queue_init(way->q, entries);
	way->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return way->bell < 0 ? -1 : 0;
}

static void close_way(struct rue_way *way)
{
	if (way->q)
		munmap(way->q, way->bytes);
	if (way->memory >= 0)
		close(way->memory);
	if (way->bell >= 0)
		close(way->bell);
	*way = closed;
}

int rue_pair_open(struct rue_pair *p, uint32_t entries)
{
	int why;

	p->results = closed;
	if (open_way(&p->events, "falcon-rue-events", entries) == 0 &&
	    open_way(&p->results, "falcon-rue-results", entries) == 0)
		return 0;
	why = errno;
	rue_pair_close(p);
	errno = why;
	return -1;
}

/* Memory that could shrink would end this process with a signal. */
static const char *adopt_way(struct rue_way *way, int memory, int bell)
{
	int seals = fcntl(memory, F_GET_SEALS);
	struct stat st;

	*way = closed;
	way->memory = memory;
	way->bell = bell;
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return "the memory of a queue is not a memfd sealed against shrinking";
	if (fstat(memory, &st) < 0)
		return strerror(errno);
	way->bytes = (size_t)st.st_size;
	if (way->bytes < sizeof(struct falcon_rue_queue) || map(way))
		return "the memory of a queue cannot be mapped";
	return falcon_rue_queue_valid(way->q, way->bytes) ? NULL : "no queue is in the memory";
}

int rue_pair_adopt(struct rue_pair *p, const int fd[4], char *err, size_t size)
{
	const char *why = adopt_way(&p->events, fd[0], fd[1]);
	const char *other = adopt_way(&p->results, fd[2], fd[3]);

	if (!why && !other)
		return 0;
	snprintf(err, size, "%s", why ? why : other);
	rue_pair_close(p);
	return -1;
}

void rue_pair_close(struct rue_pair *p)
{
	close_way(&p->events);
	close_way(&p->results);
}

void rue_way_ring(const struct rue_way *way)
{
	const uint64_t one = 1;

	/* It can only fail because it rings already. */
	if (write(way->bell, &one, sizeof(one)) < 0)
		return;
}

static void rest(const struct rue_way *way, int watch)
{
	struct pollfd fd[2] = { { .fd = way->bell, .events = POLLIN },
				{ .fd = watch, .events = POLLIN } };
	uint64_t n;

	if (poll(fd, 2, -1) > 0 && fd[0].revents && read(way->bell, &n, sizeof(n)) < 0)
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
static bool give_batch(const struct rue_pair *p, const struct rue_run *run,
		       struct falcon_rue_producer *out, const struct falcon_rue_result *r,
		       uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		while (!falcon_rue_put(out, r[i].w)) {
			if (!run->go_on(run->arg, true))
				return false;
			sched_yield();
		}
	}
	if (falcon_rue_must_wake(out))
		rue_way_ring(&p->results);
	return true;
}

void rue_pair_run(struct rue_pair *p, const struct rue_run *run)
{
	struct falcon_rue_event e[RUE_BATCH];
	struct falcon_rue_result r[RUE_BATCH];
	struct falcon_rue_consumer in;
	struct falcon_rue_producer out;
	struct spin spin = { 0 };
	uint64_t busy_at = 0;
	bool slept = false;

	falcon_rue_consume_from(&in, p->events.q);
	falcon_rue_produce_into(&out, p->results.q);
	while (run->go_on(run->arg, slept)) {
		uint32_t n = take_batch(&in, e);
		uint64_t now = spin_clock();

		slept = false;
		if (n) {
			/* Whatever was asked for before these events were written. */
			if (!run->go_on(run->arg, false))
				return;
			rue_host_process(run->host, e, n, falcon_time_of_ns(now) & 0xffffff, r);
			if (!give_batch(p, run, &out, r, n))
				return;
			busy_at = now;
		} else if (!spin_once(&spin, busy_at, now) && falcon_rue_sleep(&in)) {
			rest(&p->events, run->watch);
			slept = true;
		}
	}
}
