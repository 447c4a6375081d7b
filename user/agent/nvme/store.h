/* SPDX-License-Identifier: BSD-2-Clause */
/* Namespaces' stores: files and block devices, through io_uring. */
#ifndef FALCON_AGENT_NVME_STORE_H
#define FALCON_AGENT_NVME_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ulp/nvme/store.h"

struct nvme_ring;

enum nvme_store_flags {
	NVME_STORE_READ_ONLY = 1,
	NVME_STORE_CACHED = 2,		/* through the page cache */
};

/*
 * An opened file or block device, not yet on a ring. Past the page cache where the file system can
 * do that in units of |block| bytes, unless |flags| want it; what is beyond the last whole block is
 * cut off. NULL with a sentence in |err|.
 */
struct nvme_store *nvme_store_open(const char *path, uint32_t block, unsigned int flags, char *err,
				   size_t errlen);
/*
 * The metadata of |blocks| blocks, |bytes| each, in the file |path|, which is made if there is none,
 * and made longer if it is too short. As nvme_store_open().
 */
struct nvme_store *nvme_store_open_metadata(const char *path, uint64_t blocks, uint32_t bytes,
					    bool read_only, char *err, size_t errlen);
void nvme_store_close(struct nvme_store *s);
/*
 * Make the file |bytes| long; nothing beyond is under way. 0, or a negative errno: -EMEDIUMTYPE: it is
 * no file, -EROFS: it was opened for reading.
 */
int nvme_store_resize(struct nvme_store *s, uint64_t bytes);
/* 0, or one of those two. */
int nvme_store_resizable(const struct nvme_store *s);
/*
 * Look at how large it is. True: s->bytes has changed. Of a file whose file system has a server the answer
 * may be that of the call before: nobody waits for the server.
 */
bool nvme_store_look(struct nvme_store *s);
/* Whether the page cache is not used. */
bool nvme_store_direct(const struct nvme_store *s);

/*
 * A ring for requests whose buffers are in [|memory|, |memory| + |bytes|). 0, or a negative errno
 * with a sentence in |err|.
 */
int nvme_ring_open(struct nvme_ring **out, void *memory, size_t bytes, char *err, size_t errlen);
/* Waits for what is under way. NULL is allowed. */
void nvme_ring_close(struct nvme_ring *r);
/* |s| is to use |r| from now on. */
void nvme_store_attach(struct nvme_store *s, struct nvme_ring *r);

/* Readable when requests have ended; for epoll, edge-triggered, never read. */
int nvme_ring_fd(const struct nvme_ring *r);
/* Hand submitted requests to the kernel, and call done() of those that have ended. How many. */
uint32_t nvme_ring_poll(struct nvme_ring *r);
/*
 * From here on, until nvme_ring_sleep_end(), nvme_ring_fd() becomes readable when a request ends. False:
 * nvme_ring_poll() has something to do already, and nothing has changed.
 */
bool nvme_ring_sleep_begin(struct nvme_ring *r);
void nvme_ring_sleep_end(struct nvme_ring *r);

#endif /* FALCON_AGENT_NVME_STORE_H */
