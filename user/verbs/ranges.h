/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of ranges of addresses that do not overlap, and how many regions have which part of the memory. */
#ifndef FALCON_VERBS_RANGES_H
#define FALCON_VERBS_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* [start, end), not empty. The first member of what is in a set. */
struct fv_range {
	uintptr_t start, end;
};

/* A set: a tree of tsearch(3). */
struct fv_ranges {
	void *root;
};

/* The first of the set that has bytes of [start, end). NULL: none. */
struct fv_range *fv_ranges_first(const struct fv_ranges *set, uintptr_t start, uintptr_t end);
/* |r| overlaps none that is there. False: memory is short. */
bool fv_ranges_add(struct fv_ranges *set, struct fv_range *r);
void fv_ranges_remove(struct fv_ranges *set, const struct fv_range *r);

/* One region more, and one less, has [start, end). False: memory is short. */
bool fv_count_add(struct fv_ranges *counts, uintptr_t start, uintptr_t end);
void fv_count_sub(struct fv_ranges *counts, uintptr_t start, uintptr_t end);

#endif /* FALCON_VERBS_RANGES_H */
