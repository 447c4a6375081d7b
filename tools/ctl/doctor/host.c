// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "doctor.h"

enum {
	KERNEL_MAJOR = 6, /* the oldest that is served */
	KERNEL_MINOR = 1,
};

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static void check_kernel(struct doctor *d)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;

	uname(&u);
	if (sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	    (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))) {
		doctor_say(d, DOCTOR_FAIL, "kernel", "Linux %s is too old", u.release);
		doctor_advise(d, "boot Linux %d.%d or newer", KERNEL_MAJOR, KERNEL_MINOR);
	} else {
		doctor_say(d, DOCTOR_OK, "kernel", "Linux %s", u.release);
	}
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		doctor_say(d, DOCTOR_FAIL, "kernel", "no BTF of the kernel: XDP programs cannot be loaded");
		doctor_advise(d, "boot a kernel with CONFIG_DEBUG_INFO_BTF");
	}
}

static void check_af_xdp(struct doctor *d)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		close(fd);
	else if (errno == EAFNOSUPPORT) {
		doctor_say(d, DOCTOR_FAIL, "kernel", "no AF_XDP sockets");
		doctor_advise(d, "boot a kernel with CONFIG_XDP_SOCKETS");
	}
}

static void check_bpffs(struct doctor *d)
{
	struct statfs fs;

	if (statfs("/sys/fs/bpf", &fs) == 0 && fs.f_type == BPF_FS_MAGIC)
		return;
	doctor_say(d, DOCTOR_FAIL, "bpffs", "no BPF file system at /sys/fs/bpf: maps cannot be pinned");
	doctor_advise(d, "mount -t bpf bpf /sys/fs/bpf");
}

/* Reading the clock must not be a system call: the agent does it in each turn. */
static void check_clocksource(struct doctor *d)
{
	static const char *const quick[] = { "tsc", "kvm-clock", "hyperv_clocksource_tsc_page",
					     "arch_sys_counter" };
	char name[64] = "";
	FILE *f = fopen(CLOCKSOURCE, "re");

	if (!f)
		return;
	if (fscanf(f, "%63s", name) != 1)
		name[0] = '\0';
	fclose(f);
	for (size_t i = 0; i < sizeof(quick) / sizeof(quick[0]); i++)
		if (!strcmp(name, quick[i]))
			return;
	doctor_say(d, DOCTOR_WARN, "clock", "the clock source is %s: each look at it is a system call", name);
	doctor_advise(d, "echo tsc >%s, if the kernel offers it (available_clocksource)", CLOCKSOURCE);
}

/* Certificates are valid from one date to another. */
static void check_time(struct doctor *d)
{
	struct timex t = {};

	if (adjtimex(&t) >= 0 && !(t.status & STA_UNSYNC))
		return;
	doctor_say(d, DOCTOR_WARN, "clock",
		   "the time of day is not synchronised: certificates may seem expired, "
		   "or not valid yet");
	doctor_advise(d, "run an NTP client, such as systemd-timesyncd or chrony");
}

static void check_cpus(struct doctor *d)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!d->configured || (long)d->config.agent.threads <= cpus)
		return;
	doctor_say(d, DOCTOR_WARN, "cpus", "threads = %u, but there are %ld CPUs", d->config.agent.threads,
		   cpus);
	doctor_advise(d, "set threads in [agent] to the number of CPUs that packets may have, or fewer");
}

void doctor_host(struct doctor *d)
{
	check_kernel(d);
	check_af_xdp(d);
	check_bpffs(d);
	check_cpus(d);
	check_clocksource(d);
	check_time(d);
}
