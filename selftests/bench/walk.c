// SPDX-License-Identifier: BSD-2-Clause
/*
 * What functions compiled with -finstrument-functions call: each call and return of each thread, in a ring
 * a thread, in a file PROGRAM.PID of the folder that FALCON_WALK names. Linked into an agent and a library
 * that are built for walk.sh. The file is mapped before main(), for the agent's sandbox; nothing here makes
 * a system call later.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum walk_const {
	MAPS_SIZE = 1 << 18,	/* bytes of /proc/self/maps */
	THREADS = 32,		/* that are recorded, the first ones to call anything */
	EVENTS = 1 << 18,	/* of a thread; a power of 2 */
};

/* As walk.py reads it. */
struct walk_event {
	uint64_t function;	/* its address; the top bit: it returns */
	uint64_t site;		/* address behind the call */
};

struct walk_thread {
	uint64_t n;		/* events so far; the last EVENTS of them are there */
	struct walk_event event[EVENTS];
};

struct walk_file {
	char maps[MAPS_SIZE];	/* text, zeros behind it */
	struct walk_thread thread[THREADS];
};

static struct walk_file *walk;
static uint32_t threads;	/* that have a ring; atomic */
static __thread struct walk_thread *own;
static __thread int ignored;	/* more threads than there are rings */

static void forget(void)
{
	walk = NULL;
	own = NULL;
}

static void read_maps(char *to)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, to + len, MAPS_SIZE - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
}

__attribute__((constructor)) static void start(void)
{
	const char *folder = getenv("FALCON_WALK");
	struct walk_file *file;
	char path[4096];
	int fd;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%s.%d", folder, program_invocation_short_name, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*walk)))
		goto failed;
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		goto failed;
	read_maps(file->maps);
	/* A child's calls are not its parent's. */
	pthread_atfork(NULL, NULL, forget);
	walk = file;
	return;
failed:
	perror(path);
	_exit(1);
}

static void record(uint64_t function, const void *site)
{
	struct walk_thread *t = own;
	uint32_t index;

	if (!walk || ignored)
		return;
	if (!t) {
		index = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
		ignored = index >= THREADS;
		if (ignored)
			return;
		t = own = &walk->thread[index];
	}
	t->event[t->n++ % EVENTS] = (struct walk_event){ function, (uint64_t)(uintptr_t)site };
}

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	record((uint64_t)(uintptr_t)function, site);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	record((uint64_t)(uintptr_t)function | 1ULL << 63, site);
}
