// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which open files are ours, and the functions of the C library that librdmacm reaches them by. All
 * of the program's calls of these come through here, so what is not ours has to cost nothing.
 */
#include "verbs/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "verbs/fv.h"

#define DEVICE "/dev/infiniband/rdma_cm"

enum {
	FDS = 65536,		/* files that can be channels */
};

/* A channel's number, by file; 0: not ours. */
static uint32_t channels[FDS];
static ino_t inodes[FDS];	/* of the socket, should somebody have closed it unnoticed */
static uint32_t open_channels;

/* An agent that we have attached to. It stays while somebody asks it, even if it is dead and replaced. */
struct attachment {
	struct fv_agent agent;
	unsigned int refs;	/* |current|, and those who ask; |lock| */
};

static struct attachment *current;	/* NULL: none yet */
static pid_t owner;		/* who has attached; atomic */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Whoever held it is not here. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static struct attachment *hold(void)
{
	struct attachment *a;

	pthread_mutex_lock(&lock);
	a = current;
	if (a)
		a->refs++;
	pthread_mutex_unlock(&lock);
	if (!a)
		errno = EIO;
	return a;
}

static void release(struct attachment *a)
{
	int err = errno;
	bool last;

	pthread_mutex_lock(&lock);
	last = --a->refs == 0;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	fv_agent_close(&a->agent);
	free(a);
	errno = err;
}

/* With |lock| held. */
static int attach_anew(void)
{
	struct attachment *a = calloc(1, sizeof(*a));
	int rc = a ? fv_agent_open(&a->agent, NULL) : ENOMEM;

	if (rc) {
		free(a);
		return rc;
	}
	a->refs = 1;
	current = a;
	return 0;
}

/* Anew in a child, and when the agent has been started again. */
static int attach(void)
{
	struct attachment *old = NULL;
	int rc = 0;

	pthread_once(&fork_once, watch_forks);
	pthread_mutex_lock(&lock);
	if (current && !fv_live(&current->agent)) {
		old = current;
		current = NULL;
	}
	if (!current)
		rc = attach_anew();
	__atomic_store_n(&owner, getpid(), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	if (old)
		release(old);
	errno = rc ? rc : errno;
	return rc ? -1 : 0;
}

/* 0 or an errno value, and errno. */
static int call(const struct fverbs_cm_req *req, int fd, void *answer, size_t len)
{
	struct attachment *a = hold();
	int rc;

	if (!a)
		return EIO;
	rc = fv_call(&a->agent, FVERBS_CM, req, sizeof(*req), fd, answer, len);
	release(a);
	return rc;
}

int fv_cm_ask(const struct fverbs_cm_req *req, void *answer, size_t len)
{
	return call(req, -1, answer, len) ? -1 : 0;
}

/* The first address of |family| that |d| has. */
static bool address_of(const struct fverbs_device *d, uint16_t family, uint8_t addr[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	for (uint32_t i = 0; i < d->ngids && i < FVERBS_GIDS_MAX; i++) {
		bool v4 = !memcmp(d->gids[i].raw, mapped, sizeof(mapped));

		if (v4 != (family == AF_INET) || d->gids[i].raw[0] == 0xfe)
			continue;
		memset(addr, 0, 16);
		memcpy(addr, d->gids[i].raw + (v4 ? 12 : 0), v4 ? 4 : 16);
		return true;
	}
	return false;
}

bool fv_cm_own_address(uint16_t family, uint8_t addr[16])
{
	struct fverbs_handle index = { 0 };
	struct attachment *a = hold();
	struct fverbs_device d;
	bool found = false;

	if (!a)
		return false;
	for (; index.handle < a->agent.devices && !found; index.handle++) {
		if (fv_call(&a->agent, FVERBS_QUERY_DEVICE, &index, sizeof(index), -1, &d,
			    sizeof(d)))
			break;
		found = address_of(&d, family, addr);
	}
	release(a);
	return found;
}

bool fv_cm_path(const char *path)
{
	return path && !strcmp(path, DEVICE);
}

static void remember(int fd, uint32_t channel)
{
	struct stat st;

	inodes[fd] = syscall(SYS_fstat, fd, &st) ? 0 : st.st_ino;
	__atomic_store_n(&channels[fd], channel, __ATOMIC_RELEASE);
	__atomic_add_fetch(&open_channels, 1, __ATOMIC_ACQ_REL);
}

int fv_cm_open(int flags)
{
	const struct fverbs_cm_req req = { .what = FVERBS_CM_OPEN_CHANNEL };
	struct fverbs_cm_answer answer;
	int sv[2], rc;

	if (attach() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return -1;
	rc = call(&req, sv[1], &answer, sizeof(answer));
	close(sv[1]);
	if (!rc && sv[0] >= FDS)
		rc = EMFILE;
	if (rc) {
		close(sv[0]);
		errno = rc;
		return -1;
	}
	if (flags & O_NONBLOCK)
		fcntl(sv[0], F_SETFL, O_NONBLOCK);
	remember(sv[0], answer.id);
	return sv[0];
}

uint32_t fv_cm_channel(int fd)
{
	struct stat st;
	uint32_t channel;

	if (__builtin_expect(!__atomic_load_n(&open_channels, __ATOMIC_ACQUIRE), 1) || fd < 0 ||
	    fd >= FDS)
		return 0;
	channel = __atomic_load_n(&channels[fd], __ATOMIC_ACQUIRE);
	if (channel && (syscall(SYS_fstat, fd, &st) || st.st_ino != inodes[fd]))
		return 0;
	return channel;
}

static void forget(int fd, uint32_t channel)
{
	const struct fverbs_cm_req req = { .what = FVERBS_CM_CLOSE_CHANNEL, .id = channel };
	int err = errno;

	__atomic_store_n(&channels[fd], 0, __ATOMIC_RELEASE);
	__atomic_sub_fetch(&open_channels, 1, __ATOMIC_ACQ_REL);
	/* An agent that is gone has closed it. */
	fv_cm_ask(&req, NULL, 0);
	errno = err;
}

FV_EXPORT int close(int fd)
{
	static void *seen;
	int (*real)(int);
	uint32_t channel = fv_cm_channel(fd);

	/* A child that has our memory, by vfork(), closes its own descriptors only. */
	if (channel && getpid() == __atomic_load_n(&owner, __ATOMIC_RELAXED))
		forget(fd, channel);
	real = (__typeof__(real))fv_real_once(&seen, "close");
	return real ? real(fd) : (int)syscall(SYS_close, fd);
}

FV_EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	static void *seen;
	ssize_t (*real)(int, const void *, size_t);
	uint32_t channel = fv_cm_channel(fd);

	if (channel)
		return fv_cm_write(fd, channel, buf, len);
	real = (__typeof__(real))fv_real_once(&seen, "write");
	return real ? real(fd, buf, len) : syscall(SYS_write, fd, buf, len);
}

/* librdmacm uses only what is a character device, and the one that the kernel has told it of. */
FV_EXPORT int fstat(int fd, struct stat *st)
{
	static void *seen;
	int (*real)(int, struct stat *);
	struct stat device;
	int rc;

	real = (__typeof__(real))fv_real_once(&seen, "fstat");
	rc = real ? real(fd, st) : (int)syscall(SYS_fstat, fd, st);
	if (rc || !fv_cm_channel(fd))
		return rc;
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = syscall(SYS_newfstatat, AT_FDCWD, DEVICE, &device, 0) ? makedev(10, 0)
									      : device.st_rdev;
	return 0;
}
