// SPDX-License-Identifier: BSD-2-Clause
/*
 * A filter that names what is allowed: what the agent was seen to call, and what the C library, its name
 * services and its threads call in its stead on other hosts. What is not named fails with ENOSYS, as on a
 * kernel that does not have it, because libraries have another way then; the audit log has its number.
 *
 * Of some calls a part is allowed:
 *	clone()		threads, no processes; clone3(), whose flags a filter cannot see, says ENOSYS for good
 *	mmap(), mprotect()	no memory that is written and executed, none that is made executable later
 *	socket()	the families that the agent uses
 *	bpf()		maps, no programs
 *	prctl()		names, what capabilities there may be
 */
#include "agent/process/sandbox_calls.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };		/* its leak check is a process that traces this one */
#else
enum { SANITIZED = 0 };
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41	/* names of memory, by later C libraries */
#endif

#define CALL(name) SCMP_SYS(name)
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const int always[] = {
	/* descriptors */
	CALL(read), CALL(readv), CALL(pread64), CALL(preadv), CALL(preadv2), CALL(write), CALL(writev),
	CALL(pwrite64), CALL(pwritev), CALL(pwritev2), CALL(lseek), CALL(_llseek), CALL(close),
	CALL(close_range), CALL(dup), CALL(dup2), CALL(dup3), CALL(fcntl), CALL(fcntl64), CALL(ioctl),
	CALL(pipe), CALL(pipe2), CALL(eventfd2), CALL(memfd_create), CALL(flock),
	/* files */
	CALL(open), CALL(openat), CALL(stat), CALL(fstat), CALL(lstat), CALL(newfstatat), CALL(statx),
	CALL(statfs), CALL(fstatfs), CALL(access), CALL(faccessat), CALL(faccessat2), CALL(readlink),
	CALL(readlinkat), CALL(getdents64), CALL(getcwd), CALL(mkdir), CALL(mkdirat), CALL(unlink),
	CALL(unlinkat), CALL(rename), CALL(renameat), CALL(renameat2), CALL(chmod), CALL(fchmod),
	CALL(fchmodat), CALL(chown), CALL(fchown), CALL(fchownat), CALL(umask), CALL(fsync),
	CALL(fdatasync), CALL(ftruncate), CALL(fallocate), CALL(fadvise64),
	/* sockets, but for socket() */
	CALL(socketpair), CALL(bind), CALL(listen), CALL(accept), CALL(accept4), CALL(connect),
	CALL(getsockname), CALL(getpeername), CALL(setsockopt), CALL(getsockopt), CALL(sendto),
	CALL(recvfrom), CALL(sendmsg), CALL(recvmsg), CALL(sendmmsg), CALL(recvmmsg), CALL(shutdown),
	/* waiting, time */
	CALL(poll), CALL(ppoll), CALL(select), CALL(pselect6), CALL(epoll_create1), CALL(epoll_ctl),
	CALL(epoll_wait), CALL(epoll_pwait), CALL(epoll_pwait2), CALL(timerfd_create),
	CALL(timerfd_settime), CALL(timerfd_gettime), CALL(signalfd4), CALL(nanosleep),
	CALL(clock_nanosleep), CALL(clock_gettime), CALL(clock_getres), CALL(gettimeofday), CALL(time),
	CALL(restart_syscall),
	/* memory, but for mmap() and mprotect() */
	CALL(munmap), CALL(mremap), CALL(madvise), CALL(mlock), CALL(mlock2), CALL(munlock), CALL(brk),
	CALL(mincore), CALL(membarrier),
	/* threads and signals, but for clone() */
	CALL(exit), CALL(exit_group), CALL(futex), CALL(futex_waitv), CALL(set_robust_list),
	CALL(get_robust_list), CALL(rseq), CALL(set_tid_address), CALL(arch_prctl), CALL(rt_sigaction),
	CALL(rt_sigprocmask), CALL(rt_sigreturn), CALL(rt_sigtimedwait), CALL(rt_sigpending),
	CALL(sigaltstack), CALL(tgkill), CALL(sched_yield), CALL(sched_getaffinity),
	CALL(sched_setaffinity), CALL(sched_getscheduler), CALL(sched_setscheduler),
	CALL(sched_getparam), CALL(sched_setparam), CALL(sched_getattr), CALL(sched_setattr),
	CALL(sched_get_priority_max), CALL(sched_get_priority_min), CALL(getpriority),
	CALL(setpriority), CALL(getcpu),
	/* what the process is, and may be at most */
	CALL(getpid), CALL(getppid), CALL(gettid), CALL(getuid), CALL(geteuid), CALL(getgid),
	CALL(getegid), CALL(getgroups), CALL(getresuid), CALL(getresgid), CALL(capget), CALL(capset),
	CALL(prlimit64), CALL(getrlimit), CALL(setrlimit), CALL(getrusage), CALL(times), CALL(uname),
	CALL(sysinfo), CALL(getrandom),
};

/* Memory and descriptors of applications: agent/rdma/proc.c. */
static const int of_processes[] = {
	CALL(process_vm_readv), CALL(process_vm_writev), CALL(pidfd_open), CALL(pidfd_getfd),
};

static const int of_disks[] = {
	CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
};

static const int of_sanitizers[] = {
	CALL(clone), CALL(ptrace), CALL(wait4), CALL(kill), CALL(personality), CALL(prctl), CALL(mmap),
	CALL(mprotect), CALL(clone3),
};

static const unsigned int families[] = {
	AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_XDP,
};

static const unsigned int map_commands[] = {
	BPF_MAP_CREATE, BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM,
	BPF_MAP_GET_NEXT_KEY, BPF_MAP_LOOKUP_BATCH, BPF_MAP_UPDATE_BATCH, BPF_MAP_DELETE_BATCH,
	BPF_MAP_FREEZE, BPF_OBJ_GET, BPF_OBJ_GET_INFO_BY_FD,
};

static const unsigned int names_and_bounds[] = {
	PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_CAPBSET_READ,
};

/* A rule of a call that this architecture does not have, whose number is negative, is none. */
static int allow(scmp_filter_ctx ctx, const int *calls, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && ret == 0; i++) {
		if (calls[i] >= 0)
			ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);
	}
	return ret;
}

/* |call| with one of |values| as its first argument. */
static int allow_first(scmp_filter_ctx ctx, int call, const unsigned int *values, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && ret == 0; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, call, 1, SCMP_A0_32(SCMP_CMP_EQ, values[i]));
	return ret;
}

static int allow_memory(scmp_filter_ctx ctx)
{
	static const unsigned int fine[] = {0, PROT_WRITE, PROT_EXEC};
	int ret = 0;

	for (size_t i = 0; i < COUNT(fine) && ret == 0; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(mmap), 1,
				       SCMP_A2_32(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC, fine[i]));
	return ret ? ret : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(mprotect), 1,
					    SCMP_A2_32(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

/* A rule that does what is done without it is an error. */
static int allow_threads(scmp_filter_ctx ctx, bool fatal)
{
	int ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, CALL(clone), 1,
				   SCMP_A0_32(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));

	return ret || !fatal ? ret : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), CALL(clone3), 0);
}

/* libbpf tries programs to find out about the kernel, and goes without what it has not found. */
static int allow_maps(scmp_filter_ctx ctx)
{
	int ret = allow_first(ctx, CALL(bpf), map_commands, COUNT(map_commands));

	return ret ? ret : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), CALL(bpf), 1,
					    SCMP_A0_32(SCMP_CMP_EQ, BPF_PROG_LOAD));
}

static int add_rules(scmp_filter_ctx ctx, bool disks, bool memory, bool fatal)
{
	int ret = allow(ctx, always, COUNT(always));

	if (ret == 0 && disks)
		ret = allow(ctx, of_disks, COUNT(of_disks));
	if (ret == 0 && memory)
		ret = allow(ctx, of_processes, COUNT(of_processes));
	if (ret == 0)
		ret = allow_first(ctx, CALL(socket), families, COUNT(families));
	if (ret == 0)
		ret = allow_maps(ctx);
	if (ret)
		return ret;
	if (SANITIZED)
		return allow(ctx, of_sanitizers, COUNT(of_sanitizers));
	if ((ret = allow_first(ctx, CALL(prctl), names_and_bounds, COUNT(names_and_bounds))) < 0 ||
	    (ret = allow_memory(ctx)) < 0)
		return ret;
	return allow_threads(ctx, fatal);
}

int sandbox_filter_calls(bool disks, bool memory, bool fatal)
{
	scmp_filter_ctx ctx = seccomp_init(fatal && !SANITIZED ? SCMP_ACT_KILL_PROCESS :
								 SCMP_ACT_ERRNO(ENOSYS));
	int ret = ctx ? 0 : -ENOMEM;

	/* Kernels and libraries that cannot log, or search the rules as a tree, do without. */
	if (ret == 0) {
		seccomp_attr_set(ctx, SCMP_FLTATR_CTL_LOG, 1);
		seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
		ret = add_rules(ctx, disks, memory, fatal);
	}
	if (ret == 0)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}
