// SPDX-License-Identifier: BSD-2-Clause
/* Namespaces' stores on a file, through io_uring. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/nvme_store.h"

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
		cmocka_unit_test(refused),
		cmocka_unit_test(metadata_file),
	};
	int fd = mkstemp(unit_template(path, "falcon-store")), rc = ftruncate(fd, BYTES);

	close(fd);
	rc = rc ? rc : unit_run(tests);
	unlink(path);
	return rc;
}
