// SPDX-License-Identifier: BSD-2-Clause
/*
 * Of ranges that do not overlap one is before the other, or they are the same: a tree finds by that some
 * range that overlaps another.
 */
#include "verbs/ranges.h"

#include <search.h>
#include <stdlib.h>

/* A part of the memory that the same regions have. */
struct count {
	struct fv_range at;
	uint32_t regions;
};

static int compare(const void *a, const void *b)
{
	const struct fv_range *x = a, *y = b;

	return x->end <= y->start ? -1 : x->start >= y->end;
}

struct fv_range *fv_ranges_first(const struct fv_ranges *set, uintptr_t start, uintptr_t end)
{
	struct fv_range key = { start, end }, *found = NULL;
	struct fv_range *const *node;

	while (key.start < key.end && (node = tfind(&key, &set->root, compare))) {
		found = *node;
		key.end = found->start;
	}
	return found;
}

bool fv_ranges_add(struct fv_ranges *set, struct fv_range *r)
{
	return tsearch(r, &set->root, compare) != NULL;
}

void fv_ranges_remove(struct fv_ranges *set, const struct fv_range *r)
{
	tdelete(r, &set->root, compare);
}

static struct count *count_new(struct fv_ranges *counts, uintptr_t start, uintptr_t end, uint32_t regions)
{
	struct count *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = (struct count){ .at = { start, end }, .regions = regions };
	if (fv_ranges_add(counts, &c->at))
		return c;
	free(c);
	return NULL;
}

/* Have |c| end at |at|, within it, and another begin there. False: memory is short. */
static bool split(struct fv_ranges *counts, struct count *c, uintptr_t at)
{
	uintptr_t end = c->at.end;

	c->at.end = at;
	if (count_new(counts, at, end, c->regions))
		return true;
	c->at.end = end;
	return false;
}

/* The part that begins at |start|, and ends at |end| or before; made or cut as necessary. */
static struct count *part(struct fv_ranges *counts, uintptr_t start, uintptr_t end)
{
	struct count *c = (struct count *)fv_ranges_first(counts, start, end);

	if (!c || c->at.start > start)
		return count_new(counts, start, c ? c->at.start : end, 0);
	if (c->at.start < start)
		return split(counts, c, start) ? part(counts, start, end) : NULL;
	return c->at.end <= end || split(counts, c, end) ? c : NULL;
}

bool fv_count_add(struct fv_ranges *counts, uintptr_t start, uintptr_t end)
{
	struct count *c;

	for (uintptr_t at = start; at < end; at = c->at.end) {
		c = part(counts, at, end);
		if (!c) {
			if (at > start)
				fv_count_sub(counts, start, at);
			return false;
		}
		c->regions++;
	}
	return true;
}

/* What was added is there in parts, none of which reaches over its ends. */
void fv_count_sub(struct fv_ranges *counts, uintptr_t start, uintptr_t end)
{
	struct count *c;

	while ((c = (struct count *)fv_ranges_first(counts, start, end))) {
		start = c->at.end;
		if (--c->regions)
			continue;
		fv_ranges_remove(counts, &c->at);
		free(c);
	}
}
