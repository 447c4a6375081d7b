/* SPDX-License-Identifier: BSD-2-Clause */
/* The process's own mappings. */
#ifndef FALCON_VERBS_VMA_H
#define FALCON_VERBS_VMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fv_vma {
	uintptr_t start, end;
	int prot;			/* PROT_READ | PROT_WRITE | PROT_EXEC */
	bool shared;			/* MAP_SHARED */
	bool stack;			/* the main thread's */
	uint64_t offset;		/* bytes into the file */
	unsigned int major, minor;	/* of the file's device */
	uint64_t inode;			/* 0: anonymous memory, or one of the kernel's own mappings */
};

/* How the kernel is asked. */
enum fv_vma_how {
	FV_VMA_BEST,
	FV_VMA_TEXT,			/* as kernels before 6.11 have it told */
};

/*
 * Call |fn| with every mapping that has bytes of [addr, addr + len), in their order, until it returns false.
 * It may change no mappings. False: they cannot be found out, as without /proc.
 */
bool fv_vma_each(enum fv_vma_how how, uintptr_t addr, size_t len,
		 bool (*fn)(void *arg, const struct fv_vma *vma), void *arg);

/*
 * Whether all of [addr, addr + len) is mapped so that it may be written (|write|), or read. True also if
 * that cannot be found out.
 */
bool fv_vma_allows(enum fv_vma_how how, uintptr_t addr, size_t len, bool write);

/* Whether all of [addr, addr + len) is private anonymous memory, to be read and written, and no stack. */
bool fv_vma_private(enum fv_vma_how how, uintptr_t addr, size_t len);

/* Where the mapping that has |addr| ends; |addr| if there is none, or that cannot be found out. */
uintptr_t fv_vma_end(uintptr_t addr);

/* A file, and what of it would be mapped at an address. */
struct fv_vma_file {
	int fd;
	uintptr_t addr;
	uint64_t offset;		/* bytes into the file of |addr| */
};

/* What is mapped of it, in one piece of one protection. */
struct fv_vma_part {
	uintptr_t start, end;
	int prot;
};

/*
 * The first part of [addr, addr + len) in which |file| is mapped, shared, as it would be. False: there is
 * none, or that cannot be found out.
 */
bool fv_vma_part(enum fv_vma_how how, const struct fv_vma_file *file, uintptr_t addr, size_t len,
		 struct fv_vma_part *part);

/* Whether any of |len| bytes of |file| is mapped but where |known| says yes. True also if nobody knows. */
bool fv_vma_elsewhere(const struct fv_vma_file *file, size_t len, bool (*known)(uintptr_t start));

#endif /* FALCON_VERBS_VMA_H */
