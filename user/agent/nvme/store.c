// SPDX-License-Identifier: BSD-2-Clause
#include "agent/nvme/store.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ipc/sleep.h"

enum {
	RING_ENTRIES = 1024,	/* of its submission queue */
	RING_IOS = 16384,	/* requests under way: entries of its completion queue */
	STORE_IOS = 128,	/* ... of a store: one whose medium hangs leaves room for the others */
	/*
	 * Threads in which the kernel does what would block, made as they are needed. By itself it has four
	 * for each CPU, and the requests of one medium that hangs would keep them all.
	 */
	WORKERS = 8 * STORE_IOS,
	REAP = 64,
};

struct nvme_ring {
	struct io_uring ring;
	int event;
	bool fixed;		/* the memory is registered */
	uint32_t inflight;	/* requests that have not ended */
};

struct file_store {
	struct nvme_store store;
	struct nvme_ring *ring;
	int fd;
	uint32_t inflight;	/* requests that have not ended */
	bool direct;
	bool device;		/* no file */
	bool no_zero_range;	/* the file system has only holes */
	bool served;		/* hangs if the file system's server does: no thread of ours waits for it */
	bool looking;		/* |served|: |look| is under way */
	struct nvme_io look;	/* ... and brings |seen| */
	struct statx seen;
};

static const struct nvme_store_ops file_ops;

/* Whether |path| can be read and written past the page cache in units of |block| bytes. */
static bool direct_fits(const char *path, uint32_t block)
{
#ifdef STATX_DIOALIGN
	struct statx st;

	if (statx(AT_FDCWD, path, 0, STATX_DIOALIGN, &st) == 0 && st.stx_mask & STATX_DIOALIGN)
		return st.stx_dio_offset_align && st.stx_dio_offset_align <= block;
#endif
	(void)path;
	/* Not said: what all file systems and devices take that can do it at all. */
	return block >= 4096;
}

static int capacity(int fd, uint64_t *bytes, bool *device)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*device = S_ISBLK(st.st_mode);
	if (*device)
		return ioctl(fd, BLKGETSIZE64, bytes) < 0 ? -errno : 0;
	if (!S_ISREG(st.st_mode))
		return -ENOTBLK;
	*bytes = (uint64_t)st.st_size;
	return 0;
}

/* Whether the file system of |fd| is a server's, of this host or another one. */
static bool has_server(int fd)
{
	static const unsigned int types[] = {
		FUSE_SUPER_MAGIC, NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC,
		CEPH_SUPER_MAGIC, V9FS_MAGIC, AFS_SUPER_MAGIC, AFS_FS_MAGIC, CODA_SUPER_MAGIC,
		OCFS2_SUPER_MAGIC,
	};
	struct statfs fs;

	/* A server of FUSE's is asked, and may not know. */
	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((unsigned int)fs.f_type == types[i])
			return true;
	return false;
}

struct nvme_store *nvme_store_open(const char *path, uint32_t block, unsigned int flags, char *err,
				   size_t errlen)
{
	bool read_only = flags & NVME_STORE_READ_ONLY;
	bool direct = !(flags & NVME_STORE_CACHED) && direct_fits(path, block);
	int mode = (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC, rc;
	struct file_store *f = calloc(1, sizeof(*f));

	if (!f) {
		snprintf(err, errlen, "out of memory");
		return NULL;
	}
	f->fd = direct ? open(path, mode | O_DIRECT) : -1;
	f->direct = f->fd >= 0;
	if (f->fd < 0)
		f->fd = open(path, mode);
	rc = f->fd < 0 ? -errno : capacity(f->fd, &f->store.bytes, &f->device);
	f->served = rc == 0 && has_server(f->fd);
	f->store.ops = &file_ops;
	f->store.read_only = read_only;
	if (rc == 0 && f->store.bytes >= block)
		return &f->store;
	snprintf(err, errlen, "%s: %s", path,
		 rc == 0 ? "has no room for one block" :
		 rc == -ENOTBLK ? "neither a file nor a block device" : strerror(-rc));
	nvme_store_close(&f->store);
	return NULL;
}

struct nvme_store *nvme_store_open_metadata(const char *path, uint64_t blocks, uint32_t bytes,
					    bool read_only, char *err, size_t errlen)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), rc = 0;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode))
		rc = -EMEDIUMTYPE;
	else if ((uint64_t)st.st_size / bytes < blocks)
		rc = ftruncate(fd, (off_t)(blocks * bytes)) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (rc == 0)
		return nvme_store_open(path, bytes, read_only ? NVME_STORE_READ_ONLY : 0, err,
				       errlen);
	snprintf(err, errlen, "%s: %s", path,
		 rc == -EMEDIUMTYPE ? "protection information needs a file" : strerror(-rc));
	return NULL;
}

void nvme_store_close(struct nvme_store *s)
{
	struct file_store *f = (struct file_store *)s;

	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

int nvme_store_resizable(const struct nvme_store *s)
{
	if (s->read_only)
		return -EROFS;
	return ((const struct file_store *)s)->device ? -EMEDIUMTYPE : 0;
}

int nvme_store_resize(struct nvme_store *s, uint64_t bytes)
{
	struct file_store *f = (struct file_store *)s;
	int rc = nvme_store_resizable(s);

	if (rc < 0)
		return rc;
	if (bytes > INT64_MAX)
		return -EFBIG;
	if (ftruncate(f->fd, (off_t)bytes) < 0)
		return -errno;
	nvme_store_set_bytes(s, bytes);
	f->seen.stx_mask = 0;
	return 0;
}

bool nvme_store_direct(const struct nvme_store *s)
{
	return ((const struct file_store *)s)->direct;
}

void nvme_store_attach(struct nvme_store *s, struct nvme_ring *r)
{
	((struct file_store *)s)->ring = r;
}

/* The loop is never long without a system call, so that completions need not interrupt it. */
static int init_ring(struct io_uring *ring)
{
	struct io_uring_params p = { .flags = IORING_SETUP_CQSIZE | IORING_SETUP_COOP_TASKRUN,
				     .cq_entries = RING_IOS };
	unsigned int workers[2] = { WORKERS, 0 };	/* 0: as it is */
	int rc = io_uring_queue_init_params(RING_ENTRIES, ring, &p);

	if (rc == -EINVAL) {
		p = (struct io_uring_params){ .flags = IORING_SETUP_CQSIZE, .cq_entries = RING_IOS };
		rc = io_uring_queue_init_params(RING_ENTRIES, ring, &p);
	}
	/* A kernel before 5.15 cannot: then media that hang may hold up others. */
	if (rc == 0)
		io_uring_register_iowq_max_workers(ring, workers);
	return rc;
}

int nvme_ring_open(struct nvme_ring **out, void *memory, size_t bytes, char *err, size_t errlen)
{
	struct nvme_ring *r = calloc(1, sizeof(*r));
	struct iovec iov = { .iov_base = memory, .iov_len = bytes };
	int rc = r ? init_ring(&r->ring) : -ENOMEM;

	if (rc < 0) {
		snprintf(err, errlen, "namespaces need io_uring, and there is none: %s; look at "
			 "sysctl kernel.io_uring_disabled", strerror(-rc));
		free(r);
		return rc;
	}
	r->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = r->event < 0 ? -errno : io_uring_register_eventfd(&r->ring, r->event);
	if (rc == 0)
		nvme_ring_sleep_end(r);
	if (rc < 0) {
		snprintf(err, errlen, "io_uring: %s", strerror(-rc));
		nvme_ring_close(r);
		return rc;
	}
	/* Saves the kernel finding the pages of each request; not to be had is no error. */
	r->fixed = io_uring_register_buffers(&r->ring, &iov, 1) == 0;
	*out = r;
	return 0;
}

static void drain(struct nvme_ring *r)
{
	while (r->inflight && io_uring_submit_and_wait(&r->ring, 1) >= 0)
		nvme_ring_poll(r);
}

void nvme_ring_close(struct nvme_ring *r)
{
	if (!r)
		return;
	drain(r);
	io_uring_queue_exit(&r->ring);
	if (r->event >= 0)
		close(r->event);
	free(r);
}

int nvme_ring_fd(const struct nvme_ring *r)
{
	return r->event;
}

bool nvme_ring_sleep_begin(struct nvme_ring *r)
{
	io_uring_cq_eventfd_toggle(&r->ring, true);
	/* The kernel is the waker: it sees that, or its completion is seen here. */
	sleep_announced();
	if (!io_uring_cq_ready(&r->ring) && !io_uring_sq_ready(&r->ring))
		return true;
	nvme_ring_sleep_end(r);
	return false;
}

void nvme_ring_sleep_end(struct nvme_ring *r)
{
	io_uring_cq_eventfd_toggle(&r->ring, false);
}

static void prepare(struct file_store *f, struct nvme_io *io, struct io_uring_sqe *sqe)
{
	unsigned int len = (unsigned int)io->len;

	if (io == &f->look)
		return io_uring_prep_statx(sqe, f->fd, "", AT_EMPTY_PATH, STATX_SIZE, &f->seen);
	switch (io->op) {
	case NVME_IO_READ:
		if (f->ring->fixed)
			io_uring_prep_read_fixed(sqe, f->fd, io->buf, len, io->offset, 0);
		else
			io_uring_prep_read(sqe, f->fd, io->buf, len, io->offset);
		break;
	case NVME_IO_WRITE:
		if (f->ring->fixed)
			io_uring_prep_write_fixed(sqe, f->fd, io->buf, len, io->offset, 0);
		else
			io_uring_prep_write(sqe, f->fd, io->buf, len, io->offset);
		sqe->rw_flags = io->fua ? RWF_DSYNC : 0;
		break;
	case NVME_IO_FLUSH:
		io_uring_prep_fsync(sqe, f->fd, IORING_FSYNC_DATASYNC);
		break;
	case NVME_IO_ZERO:
	case NVME_IO_DISCARD:
		io_uring_prep_fallocate(sqe, f->fd, FALLOC_FL_KEEP_SIZE |
					(io->op == NVME_IO_ZERO && !io->deallocate &&
							 !f->no_zero_range ?
						 FALLOC_FL_ZERO_RANGE : FALLOC_FL_PUNCH_HOLE),
					(off_t)io->offset, (off_t)io->len);
		break;
	}
}

/* A place in the submission queue, which takes less than may be under way. NULL: the kernel takes nothing. */
static struct io_uring_sqe *get_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	return sqe || io_uring_submit(ring) <= 0 ? sqe : io_uring_get_sqe(ring);
}

static int submit(struct nvme_io *io)
{
	struct file_store *f = (struct file_store *)io->store;
	struct io_uring_sqe *sqe;

	/* Its completion must find room. */
	if (f->inflight >= STORE_IOS || f->ring->inflight >= RING_IOS)
		return -EAGAIN;
	sqe = get_sqe(&f->ring->ring);
	if (!sqe)
		return -EAGAIN;
	prepare(f, io, sqe);
	/* io_uring tries first without a thread, and some file systems wait even so. */
	if (f->served)
		io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
	io_uring_sqe_set_data(sqe, io);
	f->inflight++;
	f->ring->inflight++;
	return 0;
}

static void looked(struct nvme_io *io, int res)
{
	struct file_store *f = (struct file_store *)io->store;

	f->looking = false;
	if (res < 0)
		f->seen.stx_mask = 0;
}

/* Take what the last look has brought, and look again. */
static bool look_by_ring(struct file_store *f)
{
	bool changed = !f->looking && f->seen.stx_mask & STATX_SIZE && f->seen.stx_size != f->store.bytes;

	if (changed)
		nvme_store_set_bytes(&f->store, f->seen.stx_size);
	if (f->looking)
		return false;
	f->look = (struct nvme_io){ .store = &f->store, .op = NVME_IO_FLUSH, .done = looked };
	f->looking = submit(&f->look) == 0;
	return changed;
}

bool nvme_store_look(struct nvme_store *s)
{
	struct file_store *f = (struct file_store *)s;
	uint64_t bytes;

	if (f->served)
		return look_by_ring(f);
	if (capacity(f->fd, &bytes, &f->device) < 0 || bytes == s->bytes)
		return false;
	nvme_store_set_bytes(s, bytes);
	return true;
}

/* Block devices say that all of them is data. */
static bool allocated(struct nvme_store *store, uint64_t offset, uint64_t len, uint64_t *run)
{
	const struct file_store *f = (const struct file_store *)store;
	off_t at = (off_t)offset, data, next;
	bool is;

	*run = len;
	if (f->served)
		return true;
	data = lseek(f->fd, at, SEEK_DATA);
	is = data == at || (data < 0 && errno != ENXIO);
	next = is ? lseek(f->fd, at, SEEK_HOLE) : data;
	if (next > at && (uint64_t)(next - at) < len)
		*run = (uint64_t)(next - at);
	return is;
}

static const struct nvme_store_ops file_ops = { .submit = submit, .allocated = allocated };

/* What is to be tried once more, or goes on: true. Else the end: the result in *|res|. */
static bool again(struct file_store *f, struct nvme_io *io, int *res)
{
	bool moves = io->op == NVME_IO_READ || io->op == NVME_IO_WRITE;

	if (*res == -EINTR || *res == -EAGAIN)
		return true;
	if (*res == -EOPNOTSUPP && io->op == NVME_IO_ZERO && io->deallocate) {
		io->deallocate = false;
		return true;
	}
	if (*res == -EOPNOTSUPP && io->op == NVME_IO_ZERO && !f->no_zero_range) {
		f->no_zero_range = true;
		return true;
	}
	if (*res == 0 && io->op == NVME_IO_ZERO && io->fua) {
		io->op = NVME_IO_FLUSH;
		return true;
	}
	if (*res < 0 || !moves) {
		*res = *res < 0 ? *res : 0;
		return false;
	}
	if (*res == 0 && io->len) {
		*res = -EIO;	/* the file has become shorter */
		return false;
	}
	io->buf = (uint8_t *)io->buf + *res;
	io->offset += (uint64_t)*res;
	io->len -= (uint64_t)*res;
	*res = 0;
	return io->len > 0;
}

uint32_t nvme_ring_poll(struct nvme_ring *r)
{
	struct io_uring_cqe *cqes[REAP];
	unsigned int n, sent = 0;

	if (io_uring_sq_ready(&r->ring))
		sent = (unsigned int)io_uring_submit(&r->ring) > 0;
	n = io_uring_peek_batch_cqe(&r->ring, cqes, REAP);
	for (unsigned int i = 0; i < n; i++) {
		struct nvme_io *io = io_uring_cqe_get_data(cqes[i]);
		struct file_store *f = (struct file_store *)io->store;
		int res = cqes[i]->res;

		f->inflight--;
		r->inflight--;
		io_uring_cqe_seen(&r->ring, cqes[i]);
		if (again(f, io, &res)) {
			if (submit(io) == 0)
				continue;
			res = -EIO;
		}
		io->done(io, res);
	}
	return n + sent;
}
