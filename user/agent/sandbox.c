// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the agent gives up at its start, so that whoever gets hold of it gets little else: all but a
 * few capabilities, for good; the system calls that lead out of the process or change the host;
 * core dumps and tracing, which would show keys.
 *
 * The filter names what is refused, not what is allowed: what libraries and plugins call differs
 * from one host to the next, and an agent that dies of a harmless call helps nobody.
 */
#include "agent/sandbox.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };		/* its leak check traces the process itself */
#else
enum { SANITIZED = 0 };
#endif

/* Sockets on interfaces, neighbours, maps, ports below 1024, locked memory. */
static const cap_value_t kept[] = {
	CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF, CAP_NET_BIND_SERVICE, CAP_IPC_LOCK,
};

static const int refused[] = {
	/* other programs and processes */
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(ptrace), SCMP_SYS(kcmp),
	SCMP_SYS(process_madvise), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
	/* other users and namespaces */
	SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid),
	SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(setgroups), SCMP_SYS(setfsuid),
	SCMP_SYS(setfsgid), SCMP_SYS(setns), SCMP_SYS(unshare), SCMP_SYS(personality),
	/* the file systems */
	SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
	SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(fsmount),
	SCMP_SYS(fspick), SCMP_SYS(mount_setattr), SCMP_SYS(open_by_handle_at), SCMP_SYS(mknod),
	SCMP_SYS(mknodat), SCMP_SYS(quotactl), SCMP_SYS(swapon), SCMP_SYS(swapoff),
	/* the host */
	SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(acct),
	SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(adjtimex),
	SCMP_SYS(clock_adjtime), SCMP_SYS(sethostname), SCMP_SYS(setdomainname),
	SCMP_SYS(syslog), SCMP_SYS(iopl), SCMP_SYS(ioperm), SCMP_SYS(add_key),
	SCMP_SYS(request_key), SCMP_SYS(keyctl),
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

static int filter_calls(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int ret = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]) && ret == 0; i++) {
		/* Negative numbers: this architecture has no such call. */
		if (refused[i] >= 0 && !(SANITIZED && refused[i] == SCMP_SYS(ptrace)))
			ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	}
	if (ret == 0)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}

int sandbox_enter(unsigned int keep, char *err, size_t errlen)
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
		ret = filter_calls();
	}
	if (ret)
		snprintf(err, errlen, "cannot give up %s: %s; sandbox = off in [agent] goes without",
			 what, strerror(-ret));
	return ret;
}
