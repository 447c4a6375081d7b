// SPDX-License-Identifier: BSD-2-Clause
/*
 * Run a command on a host of falcon-lab: enter NETNS BPFFS COMMAND [ARGUMENT]...
 *
 * The command sees the host's network, a /sys that shows that network, and the host's own bpffs, since
 * `ip link` pins maps by name. A program instead of nsenter, unshare, a shell and two times mount: tests
 * run hundreds of commands on hosts.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum status {
	FAILED = 125,		/* as of env(1) and others that run a command: our own failure, */
	NOT_EXECUTABLE = 126,	/* the command is there and cannot be run, */
	NOT_FOUND = 127,	/* there is no such command */
};

static void fail(const char *doing, const char *what)
{
	const char *hint = errno == EPERM ? "; it needs root" : "";

	fprintf(stderr, "falcon-lab: cannot %s %s: %s%s\n", doing, what, strerror(errno), hint);
	exit(FAILED);
}

static void join_network(const char *netns)
{
	int fd = open(netns, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail("join network namespace", netns);
	close(fd);
}

/* As a slave, so that what the machine mounts from now on shows, and what the host mounts stays with it. */
static void mount_own(const char *bpffs)
{
	if (unshare(CLONE_NEWNS))
		fail("leave", "the machine's mount namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		fail("make a slave mount of", "/");
	if (mount("sysfs", "/sys", "sysfs", 0, NULL))
		fail("mount sysfs on", "/sys");
	if (mount(bpffs, "/sys/fs/bpf", NULL, MS_BIND, NULL))
		fail("mount on /sys/fs/bpf", bpffs);
}

int main(int argc, char **argv)
{
	enum status status;

	if (argc < 4) {
		fprintf(stderr, "Usage: %s NETNS BPFFS COMMAND [ARGUMENT]...\n", argv[0]);
		return FAILED;
	}
	join_network(argv[1]);
	mount_own(argv[2]);
	execvp(argv[3], argv + 3);
	status = errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
	fprintf(stderr, "falcon-lab: cannot run %s: %s\n", argv[3], strerror(errno));
	return status;
}
