// SPDX-License-Identifier: BSD-2-Clause
/* Namespaces' stores on a file, through io_uring. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/nvme/store.h"

enum { MEMORY = 1 << 20, BYTES = 1 << 20 };

static char path[UNIT_PATH], err[256];

struct request {
	struct nvme_io io;
	bool ended;
	int res;
};

static void done(struct nvme_io *io, int res)
{
	struct request *r = (struct request *)io;

	assert_false(r->ended);
	r->ended = true;
	r->res = res;
}

static int wait_for(struct nvme_ring *ring, struct request *r)
{
	struct pollfd pfd = { .fd = nvme_ring_fd(ring), .events = POLLIN };

	while (!r->ended)
		if (!nvme_ring_poll(ring) && nvme_ring_sleep_begin(ring)) {
			poll(&pfd, 1, 100);
			nvme_ring_sleep_end(ring);
		}
	return r->res;
}

static int run(struct nvme_ring *ring, struct nvme_store *s, enum nvme_io_op op, bool fua, void *buf,
	       uint64_t offset, uint64_t len)
{
	struct request r = { .io = { .store = s, .op = op, .fua = fua, .buf = buf,
				     .offset = offset, .len = len, .done = done } };

	assert_int_equal(s->ops->submit(&r.io), 0);
	assert_false(nvme_ring_sleep_begin(ring));
	return wait_for(ring, &r);
}

static int no_ring(struct nvme_ring **ring, void *memory)
{
	int rc = nvme_ring_open(ring, memory, MEMORY, err, sizeof(err));

	if (rc == -ENOSYS || rc == -EPERM) {
		print_message("# skipped: this kernel gives no io_uring\n");
		skip();
	}
	return rc;
}

static void reads_what_it_wrote(void **state)
{
	uint8_t *memory = aligned_alloc(4096, MEMORY), *back = memory + 65536;
	struct nvme_ring *ring;
	struct nvme_store *s;
	int fd = open(path, O_RDWR);

	(void)state;
	assert_int_equal(no_ring(&ring, memory), 0);
	s = nvme_store_open(path, 4096, 0, err, sizeof(err));
	assert_non_null(s);
	assert_int_equal(s->bytes, BYTES);
	nvme_store_attach(s, ring);
	memset(memory, 0x5a, 65536);
	assert_int_equal(run(ring, s, NVME_IO_WRITE, false, memory, 4096, 65536), 0);
	assert_int_equal(run(ring, s, NVME_IO_WRITE, true, memory, BYTES - 4096, 4096), 0);
	assert_int_equal(run(ring, s, NVME_IO_FLUSH, false, NULL, 0, 0), 0);
	assert_int_equal(pread(fd, back, 65536, 4096), 65536);
	assert_memory_equal(back, memory, 65536);
	memset(back, 0, 65536);
	assert_int_equal(run(ring, s, NVME_IO_READ, false, back, BYTES - 4096, 4096), 0);
	assert_memory_equal(back, memory, 4096);
	assert_int_equal(run(ring, s, NVME_IO_ZERO, true, NULL, 8192, 8192), 0);
	assert_int_equal(run(ring, s, NVME_IO_DISCARD, false, NULL, 32768, 4096), 0);
	assert_int_equal(run(ring, s, NVME_IO_READ, false, back, 4096, 65536), 0);
	for (int i = 0; i < 65536; i++) {
		int at = i + 4096;
		bool zero = (at >= 8192 && at < 16384) || (at >= 32768 && at < 36864);

		assert_int_equal(back[i], zero ? 0 : 0x5a);
	}
	/* The file becomes shorter behind its back. */
	assert_int_equal(ftruncate(fd, BYTES / 2), 0);
	assert_true(run(ring, s, NVME_IO_READ, false, back, BYTES - 4096, 4096) < 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	nvme_ring_close(ring);
	nvme_store_close(s);
	close(fd);
	free(memory);
}

/* Which parts of a file take up room. */
static void holes(void **state)
{
	uint8_t *memory = aligned_alloc(4096, MEMORY);
	struct nvme_ring *ring;
	struct nvme_store *s;
	uint64_t n;
	int fd = open(path, O_RDWR);

	(void)state;
	assert_int_equal(no_ring(&ring, memory), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	s = nvme_store_open(path, 4096, false, err, sizeof(err));
	nvme_store_attach(s, ring);
	assert_false(s->ops->allocated(s, 0, BYTES, &n));
	assert_int_equal(n, BYTES);
	memset(memory, 0x5a, 65536);
	assert_int_equal(run(ring, s, NVME_IO_WRITE, false, memory, 131072, 65536), 0);
	assert_false(s->ops->allocated(s, 0, BYTES, &n));
	assert_int_equal(n, 131072);
	assert_true(s->ops->allocated(s, 131072, 4096, &n));
	assert_int_equal(n, 4096);
	assert_true(s->ops->allocated(s, 131072, BYTES - 131072, &n));
	assert_int_equal(n, 65536);
	assert_int_equal(run(ring, s, NVME_IO_DISCARD, false, NULL, 131072, 65536), 0);
	assert_false(s->ops->allocated(s, 4096, BYTES - 4096, &n));
	assert_int_equal(n, BYTES - 4096);
	nvme_ring_close(ring);
	nvme_store_close(s);
	close(fd);
	free(memory);
}

/* More requests than a ring has room for: refused for now, and none lost. */
static void many(void **state)
{
	enum { N = 3000 };
	struct request *r = calloc(N, sizeof(*r));
	uint8_t *memory = aligned_alloc(4096, MEMORY);
	struct nvme_ring *ring;
	struct nvme_store *s;
	int refused = 0;

	(void)state;
	assert_int_equal(no_ring(&ring, memory), 0);
	s = nvme_store_open(path, 4096, NVME_STORE_READ_ONLY | NVME_STORE_CACHED, err, sizeof(err));
	assert_non_null(s);
	assert_true(s->read_only);
	assert_false(nvme_store_direct(s));
	nvme_store_attach(s, ring);
	for (int i = 0; i < N; i++) {
		r[i].io = (struct nvme_io){ .store = s, .op = NVME_IO_READ, .buf = memory,
					    .offset = 4096 * (uint64_t)(i % 256), .len = 4096,
					    .done = done };
		while (s->ops->submit(&r[i].io) == -EAGAIN) {
			refused++;
			nvme_ring_poll(ring);
		}
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(wait_for(ring, &r[i]), 0);
	assert_true(refused > 0);
	/* Closed with a write to what is read-only under way. */
	assert_true(run(ring, s, NVME_IO_WRITE, false, memory, 0, 4096) < 0);
	nvme_ring_close(ring);
	nvme_store_close(s);
	free(memory);
	free(r);
}

/* A store that has taken all it may leaves room for another's. */
static void room_for_others(void **state)
{
	enum { N = 2000 };
	struct request *r = calloc(N, sizeof(*r)), other;
	uint8_t *memory = aligned_alloc(4096, MEMORY);
	struct nvme_store *s[2];
	struct nvme_ring *ring;
	unsigned int n = 0;

	(void)state;
	assert_int_equal(no_ring(&ring, memory), 0);
	for (int i = 0; i < 2; i++) {
		s[i] = nvme_store_open(path, 4096, NVME_STORE_READ_ONLY, err, sizeof(err));
		assert_non_null(s[i]);
		nvme_store_attach(s[i], ring);
	}
	do {
		assert_true(n < N);
		r[n].io = (struct nvme_io){ .store = s[0], .op = NVME_IO_FLUSH, .done = done };
	} while (s[0]->ops->submit(&r[n].io) == 0 && ++n);
	other = (struct request){ .io = { .store = s[1], .op = NVME_IO_FLUSH, .done = done } };
	assert_int_equal(s[1]->ops->submit(&other.io), 0);
	assert_int_equal(wait_for(ring, &other), 0);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(wait_for(ring, &r[i]), 0);
	assert_int_equal(run(ring, s[0], NVME_IO_FLUSH, false, NULL, 0, 0), 0);
	nvme_ring_close(ring);
	nvme_store_close(s[0]);
	nvme_store_close(s[1]);
	free(memory);
	free(r);
}

/* Serve the FUSE file system behind |fd|: one file, whose data never come; it has BYTES, later twice that. */
static void serve_hanging(int fd)
{
	static const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
						   .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096 };
	static const struct fuse_open_out opened;
	static struct fuse_attr_out attr = {
		.attr = { .ino = FUSE_ROOT_ID, .mode = S_IFREG | 0600, .nlink = 1 },
	};
	static _Alignas(8) uint8_t in[FUSE_MIN_READ_BUFFER * 2];
	const struct fuse_in_header *head = (const void *)in;
	unsigned int asked = 0;

	while (read(fd, in, sizeof(in)) >= (ssize_t)sizeof(*head)) {
		struct fuse_out_header out = { .len = sizeof(out), .unique = head->unique };
		struct iovec iov[2] = { { &out, sizeof(out) }, { NULL, 0 } };

		switch (head->opcode) {
		case FUSE_READ:
		case FUSE_FORGET:
		case FUSE_INTERRUPT:
			continue;
		case FUSE_INIT: iov[1] = (struct iovec){ (void *)&init, sizeof(init) }; break;
		case FUSE_GETATTR:
			attr.attr.size = ++asked > 4 ? 2 * BYTES : BYTES;
			iov[1] = (struct iovec){ &attr, sizeof(attr) };
			break;
		case FUSE_OPEN: iov[1] = (struct iovec){ (void *)&opened, sizeof(opened) }; break;
		default: out.error = -ENOSYS;
		}
		out.len += (uint32_t)iov[1].iov_len;
		(void)!writev(fd, iov, 2);
	}
}

/*
 * That file at |at|, and the process that serves it, with which it ends: also when what waits for it cannot
 * be killed. Skips the test where nothing may be mounted.
 */
static pid_t mount_hanging(const char *at)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];
	pid_t server;

	snprintf(options, sizeof(options), "fd=%d,rootmode=100600,user_id=0,group_id=0", fd);
	if (fd < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("hangs", at, "fuse", 0, options)) {
		print_message("# skipped: a FUSE file system cannot be mounted: %s\n", strerror(errno));
		unlink(at);
		skip();
	}
	server = fork();
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve_hanging(fd);
		_exit(0);
	}
	close(fd);
	return server;
}

/* One's medium hangs, with all the requests that it may have: the other's work. */
static void hanging_medium(void **state)
{
	enum { N = 2000 };
	static struct request r[N];
	static _Alignas(4096) uint8_t memory[MEMORY];
	char hangs[UNIT_PATH + 8];
	struct nvme_store *s[2];
	struct nvme_ring *ring;
	unsigned int n = 0;
	pid_t server;

	(void)state;
	snprintf(hangs, sizeof(hangs), "%s.hangs", path);
	close(open(hangs, O_CREAT | O_CLOEXEC, 0600));
	server = mount_hanging(hangs);
	assert_true(server > 0);
	assert_int_equal(no_ring(&ring, memory), 0);
	s[0] = nvme_store_open(hangs, 4096, NVME_STORE_READ_ONLY | NVME_STORE_CACHED, err, sizeof(err));
	s[1] = nvme_store_open(path, 4096, 0, err, sizeof(err));
	assert_true(s[0] && s[1]);
	nvme_store_attach(s[0], ring);
	nvme_store_attach(s[1], ring);
	assert_int_equal(s[0]->bytes, BYTES);
	while (!nvme_store_look(s[0]))
		nvme_ring_poll(ring);
	assert_int_equal(s[0]->bytes, 2 * BYTES);
	do {
		assert_true(n < N);
		r[n].io = (struct nvme_io){ .store = s[0], .op = NVME_IO_READ, .buf = memory,
					    .offset = 4096 * (n % (BYTES / 4096)), .len = 4096,
					    .done = done };
	} while (s[0]->ops->submit(&r[n].io) == 0 && ++n);
	for (int i = 0; i < 10; i++)
		assert_int_equal(run(ring, s[1], NVME_IO_FLUSH, false, NULL, 0, 0), 0);
	for (unsigned int i = 0; i < n; i++)
		assert_false(r[i].ended);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	for (unsigned int i = 0; i < n; i++)
		assert_true(wait_for(ring, &r[i]) < 0);
	nvme_ring_close(ring);
	nvme_store_close(s[0]);
	nvme_store_close(s[1]);
	assert_int_equal(umount2(hangs, MNT_DETACH), 0);
	unlink(hangs);
}

static void refused(void **state)
{
	char small[UNIT_PATH];
	int fd = mkstemp(unit_template(small, "falcon-store"));

	(void)state;
	assert_null(nvme_store_open("/nonexistent", 512, 0, err, sizeof(err)));
	assert_non_null(strstr(err, "No such file"));
	assert_null(nvme_store_open("/tmp", 512, NVME_STORE_READ_ONLY, err, sizeof(err)));
	assert_null(nvme_store_open("/dev/null", 512, 0, err, sizeof(err)));
	assert_non_null(strstr(err, "neither a file nor a block device"));
	assert_null(nvme_store_open(small, 512, 0, err, sizeof(err)));
	assert_non_null(strstr(err, "no room for one block"));
	unlink(small);
	close(fd);
}

static void metadata_file(void **state)
{
	char small[UNIT_PATH];
	uint8_t *memory = aligned_alloc(4096, MEMORY);
	struct nvme_ring *ring;
	struct nvme_store *s;

	(void)state;
	close(mkstemp(unit_template(small, "falcon-store")));
	unlink(small);
	assert_int_equal(no_ring(&ring, memory), 0);
	s = nvme_store_open_metadata(small, 100, 8, false, err, sizeof(err));
	assert_non_null(s);
	assert_int_equal(s->bytes, 800);
	nvme_store_attach(s, ring);
	memset(memory, 0x5a, 24);
	assert_int_equal(run(ring, s, NVME_IO_WRITE, true, memory, 8, 24), 0);
	assert_int_equal(run(ring, s, NVME_IO_ZERO, false, NULL, 16, 8), 0);
	nvme_ring_close(ring);
	nvme_store_close(s);
	/* Found as it was left, and longer. */
	assert_int_equal(no_ring(&ring, memory), 0);
	s = nvme_store_open_metadata(small, 200, 8, false, err, sizeof(err));
	assert_non_null(s);
	assert_int_equal(s->bytes, 1600);
	nvme_store_attach(s, ring);
	assert_int_equal(run(ring, s, NVME_IO_READ, false, memory + 64, 0, 40), 0);
	assert_memory_equal(memory + 64, "\0\0\0\0\0\0\0\0ZZZZZZZZ\0\0\0\0\0\0\0\0ZZZZZZZZ\0\0\0\0\0\0\0",
			    40);
	nvme_ring_close(ring);
	nvme_store_close(s);
	free(memory);
	unlink(small);
	assert_null(nvme_store_open_metadata("/dev/null", 1, 8, false, err, sizeof(err)));
	assert_non_null(strstr(err, "needs a file"));
	assert_null(nvme_store_open_metadata("/nonexistent/x", 1, 8, false, err, sizeof(err)));
	assert_non_null(strstr(err, "No such file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_it_wrote),
		cmocka_unit_test(holes),
		cmocka_unit_test(many),
		cmocka_unit_test(room_for_others),
		cmocka_unit_test(hanging_medium),
		cmocka_unit_test(refused),
		cmocka_unit_test(metadata_file),
	};
	int fd = mkstemp(unit_template(path, "falcon-store")), rc = ftruncate(fd, BYTES);

	close(fd);
	rc = rc ? rc : unit_run(tests);
	unlink(path);
	return rc;
}
