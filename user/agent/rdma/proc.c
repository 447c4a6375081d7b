// SPDX-License-Identifier: BSD-2-Clause
#include "agent/rdma/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

struct rdma_proc {
	pid_t pid;		/* 0: in a PID namespace that the agent does not see */
	int pidfd;
	int mem;		/* /proc/PID/mem: its memory when it attached; -1: not known yet */
	int pagemap;		/* /proc/PID/pagemap, for memory_there(); -1: none */
	bool fast;		/* process_vm_*() may be used */
};

/* The process that has made |sock|; a number alone could have been given to another since. */
static int open_pidfd(int sock, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	if (errno != ENOPROTOOPT)
		return -errno;
	/* Before Linux 6.5. What is found is checked to be of the same user. */
	if (pid == 0)
		return -EPERM;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return fd < 0 ? -errno : fd;
}

static bool alive(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static bool have_ptrace(void)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	if (caps)
		cap_get_flag(caps, CAP_SYS_PTRACE, CAP_EFFECTIVE, &value);
	cap_free(caps);
	return value == CAP_SET;
}

static int check_peer(int sock, pid_t pid, uid_t uid, char *err, size_t errlen)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		cred = (struct ucred){ .uid = (uid_t)-1 };
	if (cred.pid == pid && cred.uid == uid)
		return 0;
	snprintf(err, errlen, "process %d attaches with a command socket that process %d has made",
		 (int)pid, (int)cred.pid);
	return -EPERM;
}

/* Whether the file goes on at |at|: a byte is read there, or refused. */
static bool reads(int fd, off_t at)
{
	char c;

	return pread(fd, &c, 1, at) != 0;
}

/* What is opened before the process is found alive is its own. */
static void open_memory(struct rdma_proc *p, uid_t uid)
{
	char path[64];

	if (p->pid == 0 || (uid != 0 && have_ptrace()))
		return;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)p->pid);
	p->mem = open(path, O_RDWR | O_CLOEXEC);
	p->fast = p->mem >= 0;
	if (!p->fast)
		return;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)p->pid);
	p->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	/* Of the same memory, unless that is gone by now. */
	if (p->pagemap >= 0 && !reads(p->mem, 0)) {
		close(p->pagemap);
		p->pagemap = -1;
	}
}

static void explain(pid_t pid, int rc, char *err, size_t errlen)
{
	if (pid == 0 && rc == -EPERM)
		snprintf(err, errlen,
			 "the agent does not see the application's process: before Linux 6.5 it has to be in "
			 "the application's PID namespace, or in one above it");
	else
		snprintf(err, errlen, "process %d: %s", (int)pid, strerror(-rc));
}

int rdma_proc_open(struct rdma_proc **out, pid_t pid, uid_t uid, int sock, char *err,
		   size_t errlen)
{
	struct rdma_proc *p;
	int rc = check_peer(sock, pid, uid, err, errlen);

	*out = NULL;
	if (rc < 0)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p) {
		snprintf(err, errlen, "out of memory");
		return -ENOMEM;
	}
	p->pid = pid;
	p->mem = p->pagemap = -1;
	p->pidfd = rc = open_pidfd(sock, pid);
	if (rc >= 0) {
		open_memory(p, uid);
		rc = alive(p->pidfd) ? 0 : -ESRCH;
	}
	if (rc < 0) {
		explain(pid, rc, err, errlen);
		rdma_proc_close(p);
		return rc;
	}
	*out = p;
	return 0;
}

/*
 * |fd| is a file of procfs, of whichever PID namespace. A file system is asked by statfs(), which FUSE or NFS
 * may never answer; but their files can be mapped, and those that cannot are of file systems that keep all in
 * the kernel. The kernel looks whether a file can be mapped before it finds that a file's mapping cannot
 * grow downwards, and asks no file system for that.
 */
static bool is_procfs(int fd)
{
	struct statfs st;
	void *at = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_GROWSDOWN, fd, 0);

	if (at != MAP_FAILED) {
		munmap(at, 1);
		return false;
	}
	return errno == ENODEV && fstatfs(fd, &st) == 0 && st.f_type == PROC_SUPER_MAGIC;
}

/*
 * |fd| is a process's memory. Another file of procfs may be mounted at that name, and would be written with
 * the agent's rights; but of the files of a process that can be read and written none else is for its owner
 * alone.
 */
static bool is_memory(int fd)
{
	char path[64], link[PATH_MAX] = "";
	const char *name;
	struct statx st;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, link, sizeof(link) - 1) < 0 ||
	    statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MODE, &st) < 0 ||
	    st.stx_mode != (S_IFREG | 0600) || !is_procfs(fd))
		return false;
	name = strrchr(link, '/');
	return name && strcmp(name, "/mem") == 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

int rdma_proc_memory(struct rdma_proc *p, int fd, char *err, size_t errlen)
{
	if (p->fast)
		return 1;
	if (p->mem >= 0 || fd < 0 || !is_memory(fd)) {
		snprintf(err, errlen,
			 "the agent cannot reach the memory of process %d: its library has to hand over "
			 "its /proc/self/mem, which a set-user-ID program cannot open",
			 (int)p->pid);
		return -EACCES;
	}
	p->mem = fd;
	return 0;
}

void rdma_proc_close(struct rdma_proc *p)
{
	if (!p)
		return;
	if (p->mem >= 0)
		close(p->mem);
	if (p->pagemap >= 0)
		close(p->pagemap);
	if (p->pidfd >= 0)
		close(p->pidfd);
	free(p);
}

int rdma_proc_fd(const struct rdma_proc *p)
{
	return p->pidfd;
}

void rdma_proc_distrust(struct rdma_proc *p)
{
	if (p->mem >= 0)
		close(p->mem);
	p->mem = -1;
	p->fast = false;
}

/*
 * The address space is still there: the process has neither ended nor become another program. Its
 * pagemap says so at least cost: nothing can be read at an odd place, which is looked at after whether
 * there is any memory.
 */
static bool memory_there(const struct rdma_proc *p)
{
	return p->pagemap >= 0 ? reads(p->pagemap, 1) : reads(p->mem, 0);
}

static ssize_t fast_copy(struct rdma_proc *p, const struct iovec *local, unsigned int nlocal,
			 const struct iovec *remote, unsigned int nremote, bool write)
{
	ssize_t n;

	if (!memory_there(p))
		return -ESRCH;
	if (write)
		n = process_vm_writev(p->pid, local, nlocal, remote, nremote, 0);
	else
		n = process_vm_readv(p->pid, local, nlocal, remote, nremote, 0);
	return n < 0 ? -errno : n;
}

/* The next |want| bytes of |local|, of which |skip| bytes are done, as pieces in |out|. */
static unsigned int cut(const struct iovec **local, size_t *skip, size_t want, struct iovec *out)
{
	unsigned int n = 0;

	while (want) {
		size_t len = (*local)->iov_len - *skip;

		if (len > want)
			len = want;
		out[n++] = (struct iovec){ (uint8_t *)(*local)->iov_base + *skip, len };
		want -= len;
		*skip += len;
		if (*skip == (*local)->iov_len) {
			++*local;
			*skip = 0;
		}
	}
	return n;
}

/* The descriptor has one position a call, so each remote piece is one. */
static ssize_t safe_copy(struct rdma_proc *p, const struct iovec *local,
			 const struct iovec *remote, unsigned int nremote, bool write)
{
	struct iovec iov[IOV_MAX];
	ssize_t total = 0;
	size_t skip = 0;

	for (unsigned int i = 0; i < nremote; i++) {
		unsigned int n = cut(&local, &skip, remote[i].iov_len, iov);
		off_t at = (off_t)(uintptr_t)remote[i].iov_base;
		ssize_t got = write ? pwritev(p->mem, iov, (int)n, at)
				    : preadv(p->mem, iov, (int)n, at);

		if (got == 0 && total == 0)
			return -ESRCH;
		if (got < 0 && total == 0)
			return errno == EIO ? -EFAULT : -errno;
		total += got > 0 ? got : 0;
		if (got < (ssize_t)remote[i].iov_len)
			break;
	}
	return total;
}

ssize_t rdma_proc_read(struct rdma_proc *p, const struct iovec *local, unsigned int nlocal,
		       const struct iovec *remote, unsigned int nremote)
{
	return p->fast ? fast_copy(p, local, nlocal, remote, nremote, false)
		       : safe_copy(p, local, remote, nremote, false);
}

ssize_t rdma_proc_write(struct rdma_proc *p, const struct iovec *local, unsigned int nlocal,
			const struct iovec *remote, unsigned int nremote)
{
	return p->fast ? fast_copy(p, local, nlocal, remote, nremote, true)
		       : safe_copy(p, local, remote, nremote, true);
}
