// SPDX-License-Identifier: BSD-2-Clause
/* The memory of another process: reached in both ways, and lost when it ends or becomes another. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <agent/rdma/proc.h>

#include "ipc/fdpass.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

enum { SIZE = 64 * 1024, HOLE = 32 * 1024 };

/* What the other process is told by a byte. */
enum order { END = 'e', EXEC = 'x' };

/* An application: its memory is where ours is, for it is our child. */
struct other {
	pid_t pid;
	int talk;			/* orders to it; its descriptors come this way */
	int sock;			/* an end of a pair that it has made */
	int mem;			/* its /proc/self/mem */
	struct rdma_proc *proc;
};

static uint8_t *memory;			/* HOLE bytes, a page that is not there, the rest */

static void send_fd(int to, int fd)
{
	const struct iovec iov = { .iov_base = "", .iov_len = 1 };

	if (fdpass_send(to, &iov, 1, &fd, 1, 0) < 0)
		_exit(1);
}

static int receive_fd(int from)
{
	struct fdpass fds;
	char byte;

	assert_int_equal(fdpass_receive(from, &byte, 1, &fds, 0), 1);
	assert_int_equal(fds.n, 1);
	return fds.fd[0];
}

static void be_the_other(int talk)
{
	int pair[2];
	char order = 0;

	for (int i = 0; i < SIZE; i++)
		if (i < HOLE || i >= HOLE + 4096)
			memory[i] = (uint8_t)(i * 3);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		_exit(1);
	send_fd(talk, pair[1]);
	send_fd(talk, open("/proc/self/mem", O_RDWR));
	if (read(talk, &order, 1) == 1 && order == EXEC)
		execl("/bin/sleep", "sleep", "1000", NULL);
	_exit(0);
}

static int set_up(void **state)
{
	static struct other o;
	int talk[2];

	o = (struct other){ .mem = -1 };
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(memory + HOLE, 4096);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, talk), 0);
	o.pid = fork();
	if (o.pid == 0) {
		close(talk[0]);
		be_the_other(talk[1]);
	}
	close(talk[1]);
	o.talk = talk[0];
	o.sock = receive_fd(o.talk);
	o.mem = receive_fd(o.talk);
	*state = &o;
	return 0;
}

static int tear_down(void **state)
{
	struct other *o = *state;

	rdma_proc_close(o->proc);
	kill(o->pid, SIGKILL);
	waitpid(o->pid, NULL, 0);
	close(o->talk);
	close(o->sock);
	if (o->mem >= 0)
		close(o->mem);
	munmap(memory, HOLE);
	munmap(memory + HOLE + 4096, SIZE - HOLE - 4096);
	return 0;
}

static void open_proc(struct other *o, bool distrust)
{
	char err[256] = "";

	if (rdma_proc_open(&o->proc, o->pid, getuid(), o->sock, err, sizeof(err)))
		fail_msg("%s", err);
	if (!distrust)
		return;
	rdma_proc_distrust(o->proc);
	assert_int_equal(rdma_proc_memory(o->proc, o->mem, err, sizeof(err)), 0);
	o->mem = -1;
}

/* Pieces that do not match, either side. */
static void scattered(struct other *o)
{
	uint8_t a[10], b[2], c[88];
	const struct iovec local[] = { { a, 10 }, { b, 2 }, { c, 88 } };
	const struct iovec remote[] = { { memory + 1000, 3 }, { memory + 5000, 90 },
					{ memory + 7, 7 } };

	assert_int_equal(rdma_proc_read(o->proc, local, 3, remote, 3), 100);
	assert_int_equal(a[0], (uint8_t)(1000 * 3));
	assert_int_equal(a[3], (uint8_t)(5000 * 3));
	assert_int_equal(b[0], (uint8_t)(5007 * 3));
	assert_int_equal(c[87], (uint8_t)(13 * 3));
	memset(a, 1, sizeof(a));
	memset(b, 2, sizeof(b));
	memset(c, 3, sizeof(c));
	assert_int_equal(rdma_proc_write(o->proc, local, 3, remote, 3), 100);
	assert_int_equal(rdma_proc_read(o->proc, &(struct iovec){ c, 14 }, 1,
					&(struct iovec){ memory + 5000, 14 }, 1), 14);
	assert_memory_equal(c, "\1\1\1\1\1\1\1\2\2\3\3\3\3\3", 14);
}

static void stops_at_the_hole(struct other *o)
{
	uint8_t buf[4096];
	const struct iovec local = { buf, 300 }, far[] = { { memory + HOLE - 100, 100 },
							   { memory + HOLE, 100 },
							   { memory + 100, 100 } };

	assert_int_equal(rdma_proc_read(o->proc, &local, 1, far, 3), 100);
	assert_int_equal(rdma_proc_write(o->proc, &local, 1, far, 3), 100);
	assert_int_equal(rdma_proc_read(o->proc, &(struct iovec){ buf, 4 }, 1,
					&(struct iovec){ memory + HOLE, 4 }, 1), -EFAULT);
	assert_int_equal(rdma_proc_write(o->proc, &(struct iovec){ buf, 4 }, 1,
					 &(struct iovec){ memory + HOLE + 4, 4 }, 1), -EFAULT);
}

static ssize_t try_one(struct other *o, bool write)
{
	uint8_t byte = 0;
	const struct iovec here = { &byte, 1 }, there = { memory, 1 };

	return (write ? rdma_proc_write : rdma_proc_read)(o->proc, &here, 1, &there, 1);
}

static ssize_t try_both(struct other *o)
{
	ssize_t n = try_one(o, false);

	assert_int_equal(try_one(o, true), n);
	return n;
}

static void ends(struct other *o)
{
	struct pollfd p = { .fd = rdma_proc_fd(o->proc), .events = POLLIN };

	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(try_both(o), 1);
	assert_int_equal(write(o->talk, &(char){ END }, 1), 1);
	assert_int_equal(poll(&p, 1, 10000), 1);
	assert_int_equal(try_both(o), -ESRCH);
}

/* The number is the same; what is behind it is another program. */
static void becomes_another(struct other *o)
{
	assert_int_equal(try_both(o), 1);
	assert_int_equal(write(o->talk, &(char){ EXEC }, 1), 1);
	while (try_one(o, false) == 1)
		;
	assert_int_equal(try_both(o), -ESRCH);
	assert_int_equal(kill(o->pid, 0), 0);
}

#define BOTH(what)                                                                                 \
	static void what##_by_number(void **state)                                                 \
	{                                                                                          \
		open_proc(*state, false);                                                          \
		what(*state);                                                                      \
	}                                                                                          \
	static void what##_by_descriptor(void **state)                                             \
	{                                                                                          \
		open_proc(*state, true);                                                           \
		what(*state);                                                                      \
	}

BOTH(scattered)
BOTH(stops_at_the_hole)
BOTH(ends)
BOTH(becomes_another)

static void a_socket_of_somebody_else(void **state)
{
	struct other *o = *state;
	char err[256] = "";
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(rdma_proc_open(&o->proc, o->pid, getuid(), pair[0], err, sizeof(err)), -EPERM);
	assert_int_not_equal(err[0], 0);
	assert_int_equal(rdma_proc_open(&o->proc, o->pid, getuid() + 1, o->sock, err, sizeof(err)),
			 -EPERM);
	assert_null(o->proc);
	close(pair[0]);
	close(pair[1]);
}

static void descriptors_that_are_no_memory(void **state)
{
	struct other *o = *state;
	char err[256] = "";
	int fds[] = { open("/proc/self/mem", O_RDONLY), open("/proc/self/maps", O_RDONLY),
		      open("/dev/null", O_RDWR), socket(AF_UNIX, SOCK_STREAM, 0), -1 };

	assert_int_equal(rdma_proc_open(&o->proc, o->pid, getuid(), o->sock, err, sizeof(err)), 0);
	rdma_proc_distrust(o->proc);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_int_equal(rdma_proc_memory(o->proc, fds[i], err, sizeof(err)), -EACCES);
		if (fds[i] >= 0)
			close(fds[i]);
	}
	/* Nothing is reached until there is one. */
	assert_true(try_both(o) < 0);
	assert_int_equal(rdma_proc_memory(o->proc, o->mem, err, sizeof(err)), 0);
	o->mem = -1;
	assert_int_equal(try_both(o), 1);
}

/* Somebody who hands over |file| under the name mem, which he has mounted it at in |dir|. */
static void hand_over_as_mem(const char *file, const char *dir, int talk)
{
	char at[64], end;
	int fd;

	snprintf(at, sizeof(at), "%s/mem", dir);
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", dir, "tmpfs", 0, NULL))
		_exit(1);
	fd = open(at, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	close(fd);
	if (mount(file, at, NULL, MS_BIND, NULL))
		_exit(2);
	fd = open(at, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		_exit(3);
	send_fd(talk, fd);
	/* The descriptor has a name as long as the mount is there. */
	(void)!read(talk, &end, 1);
	_exit(0);
}

/* What becomes of |name| of |o|'s process, if it is handed over so. */
static int offered_as_mem(struct other *o, const char *name)
{
	char dir[] = "/tmp/falcon-mem-XXXXXX", file[64], err[256] = "";
	int talk[2], fd, rc;
	pid_t pid;

	snprintf(file, sizeof(file), "/proc/%d/%s", (int)o->pid, name);
	assert_non_null(mkdtemp(dir));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, talk), 0);
	pid = fork();
	if (pid == 0) {
		close(talk[0]);
		hand_over_as_mem(file, dir, talk[1]);
	}
	close(talk[1]);
	fd = receive_fd(talk[0]);
	rc = rdma_proc_memory(o->proc, fd, err, sizeof(err));
	if (rc < 0)
		close(fd);
	close(talk[0]);
	waitpid(pid, NULL, 0);
	rmdir(dir);
	return rc;
}

/* Files of a process that it can write, under the name of the one that is asked for. */
static void files_mounted_as_mem(void **state)
{
	struct other *o = *state;
	char err[256] = "";

	if (getuid()) {
		print_message("needs root, to mount\n");
		skip();
	}
	assert_int_equal(rdma_proc_open(&o->proc, o->pid, getuid(), o->sock, err, sizeof(err)), 0);
	rdma_proc_distrust(o->proc);
	assert_int_equal(offered_as_mem(o, "timerslack_ns"), -EACCES);
	assert_int_equal(offered_as_mem(o, "oom_score_adj"), -EACCES);
	assert_int_equal(offered_as_mem(o, "coredump_filter"), -EACCES);
	assert_int_equal(offered_as_mem(o, "comm"), -EACCES);
	/* Its memory may be mounted anywhere. */
	assert_int_equal(offered_as_mem(o, "mem"), 0);
}

/* A user's own files are not written with the agent's rights, whatever their names and modes. */
static void files_of_other_file_systems(void **state)
{
	char dir[] = "/tmp/falcon-mem-XXXXXX", path[64], err[256] = "";
	struct other *o = *state;
	int fds[2];

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/mem", dir);
	fds[0] = open(path, O_CREAT | O_RDWR, 0600);
	/* Its file cannot be mapped, either; the name is the same in any directory. */
	fds[1] = mq_open("/mem", O_CREAT | O_RDWR, 0600, NULL);
	mq_unlink("/mem");
	assert_int_equal(rdma_proc_open(&o->proc, o->pid, getuid(), o->sock, err, sizeof(err)), 0);
	rdma_proc_distrust(o->proc);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_true(fds[i] >= 0);
		assert_int_equal(rdma_proc_memory(o->proc, fds[i], err, sizeof(err)), -EACCES);
		close(fds[i]);
	}
	unlink(path);
	rmdir(dir);
}

/* In a PID namespace in which |o| is not. The step that has failed, above 2, or 0. */
static int from_beside(struct other *o)
{
	struct pollfd p = { .events = POLLIN };
	struct rdma_proc *none;
	char err[256] = "";
	socklen_t len = sizeof(int);
	int fd, rc = rdma_proc_open(&o->proc, 0, getuid(), o->sock, err, sizeof(err));

	if (getsockopt(o->sock, SOL_SOCKET, SO_PEERPIDFD, &fd, &len))
		return rc == -EPERM && strstr(err, "Linux 6.5") ? 0 : 3;
	if (rc || rdma_proc_open(&none, 0, getuid() + 1, o->sock, err, sizeof(err)) != -EPERM)
		return 4;
	if (try_one(o, false) >= 0 || rdma_proc_memory(o->proc, -1, err, sizeof(err)) != -EACCES)
		return 5;
	if (rdma_proc_memory(o->proc, o->mem, err, sizeof(err)))
		return 6;
	if (try_one(o, false) != 1 || try_one(o, true) != 1)
		return 7;
	p.fd = rdma_proc_fd(o->proc);
	if (poll(&p, 1, 0) || write(o->talk, &(char){ END }, 1) != 1 || poll(&p, 1, 10000) != 1)
		return 8;
	return try_one(o, false) == -ESRCH && try_one(o, true) == -ESRCH ? 0 : 9;
}

/* An agent in a container, and an application in another. */
static void a_process_that_is_not_seen(void **state)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (unshare(CLONE_NEWPID))
			_exit(1);
		pid = fork();
		if (pid == 0)
			_exit(from_beside(*state));
		_exit(waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && getuid()) {
		print_message("needs root, for a PID namespace\n");
		skip();
	}
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(scattered_by_number), TEST(scattered_by_descriptor),
		TEST(stops_at_the_hole_by_number), TEST(stops_at_the_hole_by_descriptor),
		TEST(ends_by_number), TEST(ends_by_descriptor), TEST(becomes_another_by_number),
		TEST(becomes_another_by_descriptor), TEST(a_socket_of_somebody_else),
		TEST(descriptors_that_are_no_memory), TEST(files_mounted_as_mem),
		TEST(files_of_other_file_systems), TEST(a_process_that_is_not_seen),
	};

	return unit_run(tests);
}
