// SPDX-License-Identifier: BSD-2-Clause
#include "agent/process/deferred_close.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* A user's part of the descriptors that do not wait, as deferred_close_full() says. */
enum { CLOSE_SHARE = 8 };

struct closing {
	struct closing *next;
	int fd;			/* -1: none */
	void *base;		/* NULL: none */
	uint64_t size;
};

/* A user with descriptors to close. */
struct closer {
	struct closer *next;
	uid_t uid;
	struct closing *first, **tail;
	unsigned int pending;		/* those, and the one that is being closed */
	bool running;			/* a thread is at it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct closer *closers;
static unsigned int all_pending;	/* of all users */

static struct closer **find(uid_t uid)
{
	struct closer **p = &closers;

	while (*p && (*p)->uid != uid)
		p = &(*p)->next;
	return p;
}

static void release(const struct closing *x)
{
	if (x->base)
		munmap(x->base, x->size);
	if (x->fd >= 0)
		close(x->fd);
}

/* A shard that starts this thread may have one CPU, and have it to itself: go where the process may run. */
static void leave_shard(void)
{
	cpu_set_t set;

	pthread_setname_np(pthread_self(), "falcon-close");
	if (sched_getaffinity(getpid(), sizeof(set), &set) == 0)
		pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void *close_all(void *arg)
{
	struct closer *d = arg, **p;
	struct closing *x;

	leave_shard();
	pthread_mutex_lock(&lock);
	while ((x = d->first)) {
		d->first = x->next;
		if (!d->first)
			d->tail = &d->first;
		pthread_mutex_unlock(&lock);
		release(x);
		free(x);
		pthread_mutex_lock(&lock);
		d->pending--;
		all_pending--;
	}
	p = find(d->uid);
	*p = d->next;
	free(d);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* If that fails, the next descriptor tries again. Signals are the loop's business. */
static bool start(struct closer *d)
{
	sigset_t all, before;
	pthread_t thread;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&thread, NULL, close_all, d);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		pthread_detach(thread);
	return rc == 0;
}

/* The user's list, made if need be. NULL: memory is short. */
static struct closer *obtain(uid_t uid)
{
	struct closer **p = find(uid), *d = *p;

	if (!d)
		d = *p = calloc(1, sizeof(*d));
	if (d && !d->tail) {
		d->uid = uid;
		d->tail = &d->first;
	}
	return d;
}

void deferred_close_memory(uid_t uid, int fd, void *base, uint64_t size)
{
	const struct closing what = { .fd = fd, .base = base, .size = size };
	struct closing *x = malloc(sizeof(*x));
	struct closer *d;

	pthread_mutex_lock(&lock);
	d = x ? obtain(uid) : NULL;
	if (d) {
		*x = what;
		*d->tail = x;
		d->tail = &x->next;
		d->pending++;
		all_pending++;
		if (!d->running)
			d->running = start(d);
	}
	pthread_mutex_unlock(&lock);
	if (d)
		return;
	free(x);
	release(&what);
}

void deferred_close(int fd, uid_t uid)
{
	deferred_close_memory(uid, fd, NULL, 0);
}

unsigned int deferred_close_pending(uid_t uid)
{
	struct closer *d;
	unsigned int n;

	pthread_mutex_lock(&lock);
	d = *find(uid);
	n = d ? d->pending : 0;
	pthread_mutex_unlock(&lock);
	return n;
}

bool deferred_close_full(uid_t uid)
{
	unsigned int n = deferred_close_pending(uid);
	struct rlimit files;
	bool full;

	if (!n)
		return false;
	getrlimit(RLIMIT_NOFILE, &files);
	pthread_mutex_lock(&lock);
	full = n >= DEFERRED_CLOSE_MAX || all_pending >= files.rlim_cur ||
	       n > (files.rlim_cur - all_pending) / CLOSE_SHARE;
	pthread_mutex_unlock(&lock);
	return full;
}
