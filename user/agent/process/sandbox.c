// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the agent gives up at its start, so that whoever gets hold of it gets little else: all but a
 * few capabilities, for good; all system calls but those it needs; core dumps and tracing, which would
 * show keys.
 */
#include "agent/process/sandbox.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "agent/process/sandbox_calls.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };		/* its leak check traces the process itself */
#else
enum { SANITIZED = 0 };
#endif

/* Sockets on interfaces, neighbours, maps, ports below 1024, locked memory. */
static const cap_value_t kept[] = {
	CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF, CAP_NET_BIND_SERVICE, CAP_IPC_LOCK,
};

static int hide_memory(void)
{
	const struct rlimit none = {0, 0};

	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return -errno;
	return !SANITIZED && prctl(PR_SET_DUMPABLE, 0) < 0 ? -errno : 0;
}

static bool keeps(cap_value_t cap, unsigned int keep)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if (kept[i] == cap)
			return true;
	}
	return ((keep & SANDBOX_CHOWN) && cap == CAP_CHOWN) ||
	       ((keep & SANDBOX_SYS_PTRACE) && cap == CAP_SYS_PTRACE) ||
	       ((keep & SANDBOX_SYS_NICE) && cap == CAP_SYS_NICE);
}

/* What is held of the kept ones stays; an agent without root may have less. */
static int drop_capabilities(unsigned int keep)
{
	cap_t caps = cap_get_proc();
	int ret = 0;

	if (!caps)
		return -errno;
	for (cap_value_t cap = 0; cap <= cap_max_bits() && ret == 0; cap++) {
		if (keeps(cap, keep))
			continue;
		if (cap_get_bound(cap) > 0 && cap_drop_bound(cap) < 0 && errno != EPERM)
			ret = -errno;
		if (cap_set_flag(caps, CAP_EFFECTIVE, 1, &cap, CAP_CLEAR) < 0 ||
		    cap_set_flag(caps, CAP_PERMITTED, 1, &cap, CAP_CLEAR) < 0)
			ret = -errno;
	}
	if (ret == 0 && (cap_clear_flag(caps, CAP_INHERITABLE) < 0 || cap_set_proc(caps) < 0))
		ret = -errno;
	cap_free(caps);
	return ret;
}

int sandbox_enter(unsigned int keep, bool strict, char *err, size_t errlen)
{
	const char *what = "core dumps";
	int ret = hide_memory();

	if (ret == 0) {
		what = "capabilities";
		ret = drop_capabilities(keep);
	}
	if (ret == 0) {
		what = "privileges of programs";
		ret = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
	}
	if (ret == 0) {
		what = "system calls";
		ret = sandbox_filter_calls(keep & SANDBOX_IO_URING, keep & SANDBOX_SYS_PTRACE, strict);
	}
	if (ret)
		snprintf(err, errlen, "cannot give up %s: %s; sandbox = off in [agent] goes without",
			 what, strerror(-ret));
	return ret;
}
