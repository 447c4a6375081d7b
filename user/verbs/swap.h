/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages exchanged for others at the same address, while the process's other threads go on: whoever touches
 * one of them meanwhile, by a load or store or in a system call, waits in the fault until the exchange is
 * over, and then finds what there was before. It takes a userfaultfd that holds off the kernel's faults,
 * too, and Linux 6.8, where UFFDIO_MOVE says of pages that somebody has pinned them.
 *
 * The calling thread's stack, and what it needs meanwhile, must not be among the pages.
 */
#ifndef FALCON_VERBS_SWAP_H
#define FALCON_VERBS_SWAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* madvise() itself, not what hook.c makes of it for the application. */
static inline int fv_madvise(void *addr, size_t len, int advice)
{
	return (int)syscall(SYS_madvise, addr, len, advice);
}

/* Whether this process may exchange pages. Looked up once. */
bool fv_swap_possible(void);

/* A piece of a file whose pages take the place of others. */
struct fv_piece {
	int fd;
	uint64_t offset;		/* bytes into |fd|, whole pages */
	size_t len;			/* bytes, whole pages */
	uint8_t *view;			/* the same piece, where it is mapped for good */
};

/*
 * Map |to|, which is zero, over the private anonymous memory at |addr|, with what is in that. 0, or a
 * negative errno, and all is as before: -EBUSY: pages are pinned, or another userfaultfd has them; -EINVAL:
 * they are no such memory; -EPERM: fv_swap_possible() says no. A child that is made behind the C library's
 * back does not have the pages.
 */
int fv_swap_in(void *addr, const struct fv_piece *to);

/* What the other way takes: a thread, and the descriptor that ends it. */
struct fv_swapper {
	pthread_t listener;
	int stop;
};

/* 0 or a negative errno. */
int fv_swap_begin(struct fv_swapper *s);
/*
 * Private anonymous memory of protection |prot| over |from|, which is mapped at |addr|, with what is in it.
 * 0, or a negative errno, and all is as before. Allocates nothing from the C library.
 */
int fv_swap_out(void *addr, const struct fv_piece *from, int prot);
void fv_swap_end(struct fv_swapper *s);

/* In a child: the parent's userfaultfds are nothing to it. */
void fv_swap_forked(void);

#endif /* FALCON_VERBS_SWAP_H */
