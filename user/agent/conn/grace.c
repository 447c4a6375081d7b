// SPDX-License-Identifier: BSD-2-Clause
#include "agent/conn/grace.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct grace {
	void (*wait)(void);
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted_more;
	uint64_t wanted;	/* the latest period that somebody asked for */
	uint64_t begun;		/* the latest that has begun */
	uint64_t over;		/* the latest that is over: |begun|, or the one before */
	bool stop;
	int fd;
};

static void tell(const struct grace *g)
{
	static const uint64_t one = 1;

	/* Fails only when it has been told very often already. */
	(void)!write(g->fd, &one, sizeof(one));
}

static void *run(void *arg)
{
	struct grace *g = arg;

	pthread_mutex_lock(&g->lock);
	while (!g->stop) {
		if (g->wanted == g->begun) {
			pthread_cond_wait(&g->wanted_more, &g->lock);
			continue;
		}
		g->begun++;
		pthread_mutex_unlock(&g->lock);
		g->wait();
		pthread_mutex_lock(&g->lock);
		g->over = g->begun;
		tell(g);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* Signals are the loop's business. */
static int start_thread(struct grace *g)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&g->thread, NULL, run, g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		pthread_setname_np(g->thread, "falcon-grace");
	return rc;
}

static void release(struct grace *g)
{
	pthread_cond_destroy(&g->wanted_more);
	pthread_mutex_destroy(&g->lock);
	if (g->fd >= 0)
		close(g->fd);
	free(g);
}

struct grace *grace_start(void (*wait)(void))
{
	struct grace *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->wait = wait;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->wanted_more, NULL);
	g->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (g->fd >= 0 && start_thread(g) == 0)
		return g;
	release(g);
	return NULL;
}

void grace_stop(struct grace *g)
{
	if (!g)
		return;
	pthread_mutex_lock(&g->lock);
	g->stop = true;
	pthread_cond_signal(&g->wanted_more);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
	release(g);
}

uint64_t grace_ask(struct grace *g)
{
	uint64_t next;

	pthread_mutex_lock(&g->lock);
	next = g->begun + 1;
	if (g->wanted < next) {
		g->wanted = next;
		pthread_cond_signal(&g->wanted_more);
	}
	pthread_mutex_unlock(&g->lock);
	return next;
}

uint64_t grace_over(struct grace *g)
{
	uint64_t over;

	pthread_mutex_lock(&g->lock);
	over = g->over;
	pthread_mutex_unlock(&g->lock);
	return over;
}

int grace_fd(const struct grace *g)
{
	return g->fd;
}
