// SPDX-License-Identifier: BSD-2-Clause
/* What a process has lost in the agent's sandbox, each time in a child of its own. */
#include "unit.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <agent/sandbox.h>

static bool had_nice;	/* CAP_SYS_NICE, before the sandbox */

/* 0 if |check| holds in a child within the sandbox, with what is |kept| on request. */
static int within(unsigned int kept, bool (*check)(void))
{
	char err[256];
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		/* Not exit(): the leak check is the parent's. */
		if (sandbox_enter(kept, err, sizeof(err)) < 0)
			_exit(fputs(err, stderr) < 0 ? 3 : 2);
		_exit(check() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static bool no_programs(void)
{
	char *const argv[] = {"true", NULL};

	return execv("/bin/true", argv) < 0 && errno == EPERM;
}

static bool no_namespaces(void)
{
	return unshare(CLONE_NEWNS) < 0 && errno == EPERM &&
	       mount("none", "/tmp", "tmpfs", 0, NULL) < 0 && errno == EPERM;
}

static bool no_users(void)
{
	return setuid(1) < 0 && errno == EPERM;
}

static bool no_core(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_CORE, &r) == 0 && r.rlim_cur == 0 && r.rlim_max == 0;
}

static bool no_new_privileges(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
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

static void everything(void **state)
{
	static bool (*const checks[])(void) = {no_programs, no_namespaces,     no_users,
					       no_core,	    no_new_privileges, few_capabilities};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		assert_int_equal(within(0, checks[i]), 0);
}

static void what_stays(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(within(SANDBOX_CHOWN | SANDBOX_SYS_PTRACE, what_it_needs), 0);
	had_nice = has(CAP_SYS_NICE);
	assert_int_equal(within(SANDBOX_SYS_NICE, its_priority), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything), cmocka_unit_test(what_stays),
	};

	return unit_run(tests);
}
