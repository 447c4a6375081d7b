// SPDX-License-Identifier: BSD-2-Clause
#include "io/memory.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* An entry of falcon_memory that is to change. */
struct change {
	struct change *next;
	uint32_t index;
	int fd;				/* of the memory that it gets; -1: it goes */
};

/* Changes in the order in which they are to be made, and the thread that makes them. */
struct memory_changes {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t some;
	struct change *first, **tail;
	bool stop;
	struct maps *maps;
};

static void give_index(struct maps *m, uint32_t index)
{
	__atomic_fetch_and(&m->memories[index / 64], ~(1ULL << (index % 64)), __ATOMIC_ACQ_REL);
}

/* The kernel waits here for a grace period of RCU. */
static void make(struct maps *m, const struct change *c)
{
	if (c->fd >= 0) {
		/* If that fails, XDP does not find the memory, and leaves what is for it to the agent. */
		bpf_map_update_elem(m->memory_fd, &c->index, &c->fd, BPF_ANY);
		close(c->fd);
	} else {
		bpf_map_delete_elem(m->memory_fd, &c->index);
		give_index(m, c->index);
	}
}

static void *make_changes(void *arg)
{
	struct memory_changes *w = arg;
	struct change *c;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->first && !w->stop)
			pthread_cond_wait(&w->some, &w->lock);
		c = w->first;
		if (!c)
			break;
		w->first = c->next;
		if (!w->first)
			w->tail = &w->first;
		pthread_mutex_unlock(&w->lock);
		make(w->maps, c);
		free(c);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* Signals are the loop's business. */
static int start_thread(struct memory_changes *w)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&w->thread, NULL, make_changes, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static struct memory_changes *start(struct maps *m)
{
	struct memory_changes *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->maps = m;
	w->tail = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->some, NULL);
	if (start_thread(w)) {
		pthread_cond_destroy(&w->some);
		pthread_mutex_destroy(&w->lock);
		free(w);
		return NULL;
	}
	return w;
}

void memory_stop(struct maps *m)
{
	struct memory_changes *w = m->changes;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->some);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->some);
	pthread_mutex_destroy(&w->lock);
	free(w);
	m->changes = NULL;
}

/* Have entry |index| changed. False: memory is short. */
static bool change(struct maps *m, uint32_t index, int fd)
{
	struct change *c = malloc(sizeof(*c));

	if (!m->changes)
		m->changes = start(m);
	if (!c || !m->changes) {
		free(c);
		return false;
	}
	*c = (struct change){ .index = index, .fd = fd };
	pthread_mutex_lock(&m->changes->lock);
	*m->changes->tail = c;
	m->changes->tail = &c->next;
	pthread_cond_signal(&m->changes->some);
	pthread_mutex_unlock(&m->changes->lock);
	return true;
}

static int take_index(struct maps *m)
{
	for (uint32_t i = 0; i < FALCON_MEMORIES / 64; i++) {
		uint64_t free = ~__atomic_load_n(&m->memories[i], __ATOMIC_ACQUIRE);

		if (!free)
			continue;
		__atomic_fetch_or(&m->memories[i], free & -free, __ATOMIC_ACQ_REL);
		return (int)(i * 64) + __builtin_ctzll(free);
	}
	return -ENOSPC;
}

static int make_map(uint64_t size)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "falcon_mem", sizeof(__u32), FALCON_MEMORY_BLOCK,
				(__u32)(size >> FALCON_MEMORY_SHIFT), &opts);

	return fd < 0 ? -errno : fd;
}

/* Map |fd|, and have XDP know it as |index|. 0 or a negative errno. */
static int enter(struct maps *m, int fd, uint32_t index, uint64_t size, void **base)
{
	int copy = dup(fd), rc = copy < 0 ? -errno : 0;

	*base = rc ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*base == MAP_FAILED && !rc)
		rc = -errno;
	if (!rc && !change(m, index, copy)) {
		munmap(*base, size);
		rc = -ENOMEM;
	}
	if (rc && copy >= 0)
		close(copy);
	return rc;
}

int memory_new(struct maps *m, uint64_t size, void **base, int *fd, char *err, size_t errlen)
{
	int index = take_index(m), rc = index < 0 ? index : make_map(size);

	*fd = rc;
	if (rc >= 0)
		rc = enter(m, *fd, (uint32_t)index, size, base);
	if (rc >= 0)
		return index;
	snprintf(err, errlen, "cannot make %llu bytes of offload memory: %s", (unsigned long long)size,
		 strerror(-rc));
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	if (index >= 0)
		give_index(m, (uint32_t)index);
	return rc;
}

void memory_free(struct maps *m, uint32_t index, void *base, uint64_t size)
{
	munmap(base, size);
	if (!change(m, index, -1))
		make(m, &(struct change){ .index = index, .fd = -1 });
}

void memory_empty(struct maps *m)
{
	uint32_t key, id;

	while (bpf_map_get_next_key(m->regions_fd, NULL, &key) == 0)
		if (bpf_map_delete_elem(m->regions_fd, &key) < 0)
			break;
	for (uint32_t i = 0; i < FALCON_MEMORIES; i++)
		if (bpf_map_lookup_elem(m->memory_fd, &i, &id) == 0)
			bpf_map_delete_elem(m->memory_fd, &i);
}

int memory_region_add(struct maps *m, uint32_t key, const struct falcon_region *region)
{
	return bpf_map_update_elem(m->regions_fd, &key, region, BPF_ANY) < 0 ? -errno : 0;
}

void memory_region_del(struct maps *m, uint32_t key)
{
	bpf_map_delete_elem(m->regions_fd, &key);
}
