/* SPDX-License-Identifier: BSD-2-Clause */
/* What a namespace's data are on, as the target sees it: requests go in, ends come back. */
#ifndef FALCON_NVME_STORE_H
#define FALCON_NVME_STORE_H

#include <stdbool.h>
#include <stdint.h>

enum nvme_io_op {
	NVME_IO_READ,
	NVME_IO_WRITE,
	NVME_IO_FLUSH,		/* all that was written before reaches the medium */
	NVME_IO_ZERO,		/* the range reads as zeros thereafter */
	NVME_IO_DISCARD,	/* the range's contents are no longer needed */
};

struct nvme_store;

/* A request; the caller's, who leaves it alone until |done|. */
struct nvme_io {
	struct nvme_store *store;
	enum nvme_io_op op;
	bool fua;		/* write and zero: it ends when the medium has it */
	bool deallocate;	/* zero: without keeping room for it, if that can be done */
	void *buf;		/* read and write: of the pool */
	uint64_t offset;	/* bytes */
	uint64_t len;		/* bytes; read and write: at most NVME_TARGET_MDTS */
	void (*done)(struct nvme_io *io, int res);	/* 0 or a negative errno */
};

struct nvme_store_ops {
	/*
	 * Start |io|. 0: its done() comes, never from within; -EAGAIN: there is no room until one of
	 * the store's requests has ended, or, if it has none, until the next round of the loop.
	 */
	int (*submit)(struct nvme_io *io);
	/*
	 * Whether the byte at |offset| takes up room on the medium; *|run|: so many bytes, 1 to |len|,
	 * are like it. What takes up none reads as zeros. NULL: everything does.
	 */
	bool (*allocated)(struct nvme_store *store, uint64_t offset, uint64_t len, uint64_t *run);
};

struct nvme_store {
	const struct nvme_store_ops *ops;
	uint64_t bytes;		/* capacity; changed by the thread that serves it, atomic */
	bool read_only;
};

static inline uint64_t nvme_store_bytes(const struct nvme_store *s)
{
	return __atomic_load_n(&s->bytes, __ATOMIC_RELAXED);
}

static inline void nvme_store_set_bytes(struct nvme_store *s, uint64_t bytes)
{
	__atomic_store_n(&s->bytes, bytes, __ATOMIC_RELAXED);
}

#endif /* FALCON_NVME_STORE_H */
