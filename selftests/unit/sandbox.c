// SPDX-License-Identifier: BSD-2-Clause
/* What a process has lost in the agent's sandbox, each time in a child of its own. */
#include "unit.h"

#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <agent/process/sandbox.h>

static bool had_nice;	/* CAP_SYS_NICE, before the sandbox */

/* The status of a child within the sandbox, with what is |kept| on request: 0 if |check| holds there. */
static int run_within(unsigned int kept, bool fatal, bool (*check)(void))
{
	char err[256];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (sandbox_enter(kept, fatal, err, sizeof(err)) < 0)
			_exit(fputs(err, stderr) < 0 ? 3 : 2);
		_exit(check() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int within(unsigned int kept, bool (*check)(void))
{
	return run_within(kept, false, check);
}

static bool no_programs(void)
{
	char *const argv[] = {"true", NULL};

	return execv("/bin/true", argv) < 0 && errno == ENOSYS;
}

static bool no_processes(void)
{
	return fork() < 0 && errno == ENOSYS;
}

static bool no_namespaces(void)
{
	return unshare(CLONE_NEWNS) < 0 && errno == ENOSYS &&
	       mount("none", "/tmp", "tmpfs", 0, NULL) < 0 && errno == ENOSYS;
}

static bool no_users(void)
{
	return setuid(1) < 0 && errno == ENOSYS;
}

static bool no_memory_of_others(void)
{
	char from = 0, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) < 0 && errno == ENOSYS &&
	       syscall(SYS_pidfd_open, getpid(), 0) < 0 && errno == ENOSYS;
}

static bool no_new_code(void)
{
	const int rwx = PROT_READ | PROT_WRITE | PROT_EXEC;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED && mprotect(p, 4096, PROT_READ | PROT_EXEC) < 0 && errno == ENOSYS &&
	       mprotect(p, 4096, PROT_READ) == 0 &&
	       mmap(NULL, 4096, rwx, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED && errno == ENOSYS;
}

static bool no_other_sockets(void)
{
	return socket(AF_VSOCK, SOCK_STREAM, 0) < 0 && errno == ENOSYS &&
	       socket(AF_ALG, SOCK_SEQPACKET, 0) < 0 && errno == ENOSYS;
}

static bool no_bpf_programs(void)
{
	union bpf_attr attr = {0};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)) < 0 && errno == EPERM &&
	       syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr)) < 0 && errno == ENOSYS &&
	       syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) < 0 && errno != ENOSYS;
}

static bool no_io_uring(void)
{
	return syscall(SYS_io_uring_setup, 0, NULL) < 0 && errno == ENOSYS;
}

/* A number that no kernel knows. */
static bool nothing_unknown(void)
{
	return syscall(4000) < 0 && errno == ENOSYS;
}

static bool no_tracing(void)
{
	return prctl(PR_SET_DUMPABLE, 1) < 0 && errno == ENOSYS && ptrace(PTRACE_TRACEME, 0, 0, 0) < 0 &&
	       errno == ENOSYS;
}

static bool no_core(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_CORE, &r) == 0 && r.rlim_cur == 0 && r.rlim_max == 0;
}

static bool no_new_privileges(void)
{
	char line[64];
	bool found = false;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strcmp(line, "NoNewPrivs:\t1\n") == 0;
	return f && fclose(f) == 0 && found;
}

static bool has(cap_value_t cap)
{
	cap_flag_value_t value = CAP_CLEAR;
	cap_t caps = cap_get_proc();

	cap_get_flag(caps, cap, CAP_PERMITTED, &value);
	cap_free(caps);
	return value == CAP_SET;
}

static bool few_capabilities(void)
{
	return !has(CAP_SYS_ADMIN) && !has(CAP_DAC_OVERRIDE) && !has(CAP_SETUID) &&
	       !has(CAP_SYS_PTRACE) && !has(CAP_CHOWN) && !has(CAP_SYS_NICE) &&
	       cap_get_bound(CAP_SYS_ADMIN) == 0;
}

static bool what_it_needs(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return has(CAP_NET_ADMIN) && has(CAP_NET_RAW) && has(CAP_BPF) && has(CAP_CHOWN) &&
	       has(CAP_SYS_PTRACE) && fd >= 0;
}

static bool its_priority(void)
{
	return has(CAP_SYS_NICE) == had_nice && !has(CAP_CHOWN) && !has(CAP_SYS_PTRACE);
}

/* Threads, io_uring and other processes' memory, which an agent with disks and verbs needs. */
static void *in_thread(void *arg)
{
	*(bool *)arg = prctl(PR_SET_NAME, "thread") == 0;
	return NULL;
}

static bool its_calls(void)
{
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};
	bool ran = false;
	pthread_t thread;

	return pthread_create(&thread, NULL, in_thread, &ran) == 0 &&
	       pthread_join(thread, NULL) == 0 && ran &&
	       process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 && to == 1 &&
	       syscall(SYS_io_uring_setup, 0, NULL) < 0 && errno != ENOSYS;
}

static void everything(void **state)
{
	static const struct {
		const char *name;
		bool (*check)(void);
	} checks[] = {
		{"no programs", no_programs},
		{"no processes", no_processes},
		{"no namespaces", no_namespaces},
		{"no users", no_users},
		{"no memory of others", no_memory_of_others},
		{"no new code", no_new_code},
		{"no other sockets", no_other_sockets},
		{"no BPF programs", no_bpf_programs},
		{"no io_uring", no_io_uring},
		{"nothing unknown", nothing_unknown},
		{"no tracing", no_tracing},
		{"no core", no_core},
		{"no new privileges", no_new_privileges},
		{"few capabilities", few_capabilities},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		if (within(0, checks[i].check) != 0)
			fail_msg("%s", checks[i].name);
	}
}

static void what_stays(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(within(SANDBOX_CHOWN | SANDBOX_SYS_PTRACE, what_it_needs), 0);
	had_nice = has(CAP_SYS_NICE);
	assert_int_equal(within(SANDBOX_SYS_NICE, its_priority), 0);
	assert_int_equal(within(SANDBOX_SYS_PTRACE | SANDBOX_IO_URING, its_calls), 0);
}

/* A call that is not allowed ends the process; the calls that libraries try first and can do without fail. */
static void strict(void **state)
{
	int status = run_within(0, true, no_users);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
	assert_int_equal(run_within(SANDBOX_SYS_PTRACE | SANDBOX_IO_URING, true, its_calls), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything), cmocka_unit_test(what_stays), cmocka_unit_test(strict),
	};

	return unit_run(tests);
}
