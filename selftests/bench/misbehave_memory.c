// SPDX-License-Identifier: BSD-2-Clause
/*
 * What misbehave does with memory: it sends from pages of a file that it serves itself, by FUSE, and late.
 * Each makes whoever reads it sleep, for less time than after which the agent has another thread go on.
 *
 * Not userfaultfd: the kernel fails whoever comes by /proc/PID/mem, as the agent does for all users but root.
 * Nor a mount in a user namespace: nobody from outside may read there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../net/to_self.h"
#include "misbehave.h"

enum {
	PAGE = 4096,
	PAGES = 32,			/* one for each request under way */
	LATE_NS = 5 * 1000 * 1000,
	FUSE_BYTES = 64 * 1024,		/* of a request, at most */
};

static int fuse;

static void reply(const struct fuse_in_header *to, int error, const void *data, size_t len)
{
	const struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + len), .error = -error,
					      .unique = to->unique };
	const struct iovec iov[2] = { { (void *)&head, sizeof(head) }, { (void *)data, len } };

	/* What was interrupted meanwhile is no longer known. */
	(void)!writev(fuse, iov, 2);
}

static void serve(const struct fuse_in_header *in)
{
	static const uint8_t zeros[PAGES * PAGE];
	static const struct timespec late = { .tv_nsec = LATE_NS };
	const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
					    .max_write = PAGE };
	const struct fuse_attr_out attr = { .attr_valid = 3600,
					    .attr = { .ino = FUSE_ROOT_ID, .size = sizeof(zeros),
						      .mode = S_IFREG | 0600, .nlink = 1, .blksize = PAGE } };
	const struct fuse_open_out open = { .open_flags = FOPEN_KEEP_CACHE };
	const struct fuse_read_in *read = (const void *)(in + 1);

	switch (in->opcode) {
	case FUSE_INIT: reply(in, 0, &init, sizeof(init)); break;
	case FUSE_GETATTR: reply(in, 0, &attr, sizeof(attr)); break;
	case FUSE_OPEN: reply(in, 0, &open, sizeof(open)); break;
	case FUSE_READ:
		nanosleep(&late, NULL);
		reply(in, 0, zeros, read->size < sizeof(zeros) ? read->size : sizeof(zeros));
		break;
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		break;
	default: reply(in, ENOSYS, NULL, 0);
	}
}

/* A process of its own: whoever reads the file may hold a lock of ours meanwhile. It ends when we do. */
static void serve_all(void)
{
	static union {
		struct fuse_in_header head;
		uint8_t bytes[FUSE_BYTES];
	} in;
	pid_t child = fork();

	check(child >= 0, "fork");
	if (child > 0) {
		/* With the child's the file system ends, and nobody waits for it any more. */
		close(fuse);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Who ends us ends the whole process group; our parent may wait for a page. */
	signal(SIGTERM, SIG_IGN);
	while (read(fuse, &in, sizeof(in)) >= (ssize_t)sizeof(in.head))
		serve(&in.head);
	_exit(0);
}

/* What is served at |path|, mapped; its descriptor in *|file|. */
static uint8_t *map_late_pages(const char *path, int *file)
{
	struct stat st;
	void *pages;

	*file = open(path, O_RDONLY | O_CLOEXEC);
	/* That brings its size, without which there are no pages. */
	check(*file >= 0 && !fstat(*file, &st), path);
	pages = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, *file, 0);
	check(pages != MAP_FAILED && !madvise(pages, PAGES * PAGE, MADV_RANDOM), "mmap");
	return pages;
}

/* It is to be read again. */
static void forget_page(int file, uint8_t *pages, uint64_t i)
{
	check(!madvise(pages + i * PAGE, PAGE, MADV_DONTNEED) &&
	      !posix_fadvise(file, (off_t)(i * PAGE), PAGE, POSIX_FADV_DONTNEED), "madvise");
}

static void post(const struct to_self *s, uint64_t i, struct ibv_sge *source, struct ibv_sge *sink)
{
	struct ibv_recv_wr recv = { .wr_id = PAGES, .sg_list = sink, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = i, .sg_list = source, .num_sge = 1, .opcode = IBV_WR_SEND },
			   *bad;

	check(!ibv_post_recv(s->qp, &recv, &bad_recv) && !ibv_post_send(s->qp, &send, &bad), "post");
}

static struct ibv_sge element(const struct to_self *s, uint8_t *pages, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(s->pd, pages, PAGES * PAGE, access | IBV_ACCESS_ON_DEMAND);

	check(mr != NULL, "region");
	return (struct ibv_sge){ (uintptr_t)pages, PAGE, mr->lkey };
}

/* |arg| is "FD FILE": an open /dev/fuse, and where that is mounted, as fusermount3 does it for all users. */
void misbehave_memory(const char *arg)
{
	static uint8_t sinks[PAGES * PAGE];
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_sge source, sink;
	struct to_self self;
	char path[256];
	struct ibv_wc wc;
	uint8_t *pages;
	int file;

	if (!ctx || !arg || sscanf(arg, "%d %255s", &fuse, path) != 2)
		die("memory", "wants \"FD FILE\", and a device");
	serve_all();
	pages = map_late_pages(path, &file);
	connect_to_self(ctx, PAGES, &self);
	sink = element(&self, sinks, IBV_ACCESS_LOCAL_WRITE);
	source = element(&self, pages, 0);
	for (uint64_t i = 0; i < PAGES; i++, source.addr += PAGE) {
		forget_page(file, pages, i);
		post(&self, i, &source, &sink);
	}
	while (go_on()) {
		if (ibv_poll_cq(self.cq, 1, &wc) <= 0)
			continue;
		did(wc.status == IBV_WC_SUCCESS);
		if (wc.wr_id == PAGES || wc.status != IBV_WC_SUCCESS)
			continue;
		forget_page(file, pages, wc.wr_id);
		source.addr = (uintptr_t)pages + wc.wr_id * PAGE;
		post(&self, wc.wr_id, &source, &sink);
	}
	close(file);
}
