/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree of files as sysfs has for adapters, for applications that look there: in a directory of the
 * user's own, one tree for each agent's socket. redirect.c leads there from where sysfs would be.
 */
#ifndef FALCON_VERBS_TREE_H
#define FALCON_VERBS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "falcon/abi/verbs.h"

/* The tree's top, which stands for /sys; NULL: no directory can be had. Does not make it. */
const char *fv_tree_top(void);
/* Make or renew what there is about |d|. Who makes a tree takes away those of agents that have gone. */
void fv_tree_write(const struct fverbs_device *d);

/* Note in tree |top| that it is there as long as |socket| is, a path from the root. */
void fv_tree_claim(const char *top, const char *socket);
/* Remove the trees in directory |base| whose sockets are no more; those without a note stay. */
void fv_tree_sweep(const char *base);

#endif /* FALCON_VERBS_TREE_H */
