// SPDX-License-Identifier: BSD-2-Clause
#include "agent/shard/stall.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_NS = 10 * 1000 * 1000,	/* a call that is seen at two looks in a row is late */
};

struct stall {
	/*
	 * The number of the call that the loop's thread is in, 0: none. That thread writes it, and takes
	 * it back when it returns; if the watcher has taken it first, the loop is no longer that thread's.
	 */
	uint64_t inside;
	uint64_t last;			/* number given last; the loop's thread's */
	struct stall_call *call;	/* that |inside| stands for; valid while it is not 0 */
	struct stall_call *late;	/* the loop's next thread is to tell of it; NULL: none */
	uint32_t held;			/* threads that are held up; atomic */
	int fd;

	const struct stall_ops *ops;
	void *arg;
	pthread_t thread;		/* the loop's */
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* |ended| or |watching| */
	bool ended;			/* the loop has returned */
	bool watching;
};

struct stall *stall_open(void)
{
	struct stall *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return NULL;
	s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->fd < 0) {
		free(s);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	return s;
}

void stall_close(struct stall *s)
{
	static struct stall *kept;	/* who is held up yet refers to it when he comes back */

	if (!s)
		return;
	if (__atomic_load_n(&s->held, __ATOMIC_ACQUIRE)) {
		kept = s;
		return;
	}
	(void)kept;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	close(s->fd);
	free(s);
}

int stall_fd(const struct stall *s)
{
	return s->fd;
}

void stall_read(struct stall *s)
{
	uint64_t n;

	(void)!read(s->fd, &n, sizeof(n));
}

static void *turn(void *arg)
{
	struct stall *s = arg;

	if (s->late)
		s->ops->stalled(s->arg, s->late);
	s->late = NULL;
	s->ops->loop(s->arg);
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* Take the loop from its thread, if that is still in call |number|. */
static void take_over(struct stall *s, uint64_t number)
{
	static const struct timespec again = { .tv_nsec = TICK_NS };
	struct stall_call *call = __atomic_load_n(&s->call, __ATOMIC_RELAXED);

	__atomic_add_fetch(&s->held, 1, __ATOMIC_RELAXED);
	if (!__atomic_compare_exchange_n(&s->inside, &number, 0, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED)) {
		__atomic_sub_fetch(&s->held, 1, __ATOMIC_RELAXED);
		return;
	}
	s->late = call;
	pthread_detach(s->thread);
	while (pthread_create(&s->thread, NULL, turn, s))
		nanosleep(&again, NULL);
}

/* Wait for a tick, or for a change if nothing is to be watched. */
static void wait_tick(struct stall *s)
{
	struct timespec until;

	if (!s->watching) {
		pthread_cond_wait(&s->changed, &s->lock);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

int stall_run(struct stall *s, const struct stall_ops *ops, void *arg)
{
	uint64_t seen = 0;
	int rc;

	s->ops = ops;
	s->arg = arg;
	s->ended = false;
	rc = pthread_create(&s->thread, NULL, turn, s);
	if (rc)
		return -rc;
	pthread_mutex_lock(&s->lock);
	while (!s->ended) {
		uint64_t number;

		wait_tick(s);
		number = __atomic_load_n(&s->inside, __ATOMIC_ACQUIRE);
		if (number && number == seen) {
			pthread_mutex_unlock(&s->lock);
			take_over(s, number);
			pthread_mutex_lock(&s->lock);
			number = 0;
		}
		seen = number;
	}
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	return 0;
}

void stall_watch(struct stall *s, bool on)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->watching = on;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void stall_begin(struct stall *s, struct stall_call *call)
{
	if (!s)
		return;
	call->number = ++s->last;
	call->over = false;
	__atomic_store_n(&s->call, call, __ATOMIC_RELAXED);
	__atomic_store_n(&s->inside, call->number, __ATOMIC_RELEASE);
}

void stall_end(struct stall *s, struct stall_call *call, ssize_t result)
{
	static const uint64_t one = 1;
	uint64_t number = call->number;

	if (!s || __atomic_compare_exchange_n(&s->inside, &number, 0, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED))
		return;
	call->result = result;
	__atomic_store_n(&call->over, true, __ATOMIC_RELEASE);
	(void)!write(s->fd, &one, sizeof(one));
	__atomic_sub_fetch(&s->held, 1, __ATOMIC_RELEASE);
	pthread_exit(NULL);
}
