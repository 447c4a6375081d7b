/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offload memory and the regions in it: falcon_memory and falcon_regions (falcon/maps.h). Each change of the
 * former waits for a grace period of RCU in the kernel, some 10 ms; so a thread makes them, in order.
 */
#ifndef FALCON_IO_MEMORY_H
#define FALCON_IO_MEMORY_H

#include "io/maps.h"

/*
 * Make memory of |size| bytes, whole blocks, all 0. Returns its index, with our mapping in *|base| and a
 * descriptor of it, the caller's to close, in *|fd|; or a negative errno with a sentence in |err|: -ENOSPC:
 * there are FALCON_MEMORIES; -ENOMEM, -EPERM. XDP reaches it soon.
 */
int memory_new(struct maps *m, uint64_t size, void **base, int *fd, char *err, size_t errlen);
/* We reach memory |index|, of |size| bytes, no more at |base|, and soon XDP does not, either. */
void memory_free(struct maps *m, uint32_t index, void *base, uint64_t size);
/* All changes are made, and there will be none. For maps_close(). */
void memory_stop(struct maps *m);
/* Of an agent that ended without doing so, all of it. */
void memory_empty(struct maps *m);

/* Peers may reach |region| by |key|. 0, or a negative errno: -E2BIG: there are FALCON_REGIONS. */
int memory_region_add(struct maps *m, uint32_t key, const struct falcon_region *region);
/* Requests that begin after this do not find it. */
void memory_region_del(struct maps *m, uint32_t key);

#endif /* FALCON_IO_MEMORY_H */
