/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tree of files as sysfs has for adapters, for applications that look there: in a directory of the
 * user's own, one tree for each agent's socket. redirect.c leads there from where sysfs would be.
 */
#ifndef FALCON_VERBS_TREE_H
#define FALCON_VERBS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "falcon/verbs_abi.h"

/* The tree's top, which stands for /sys; NULL: no directory can be had. Does not make it. */
const char *fv_tree_top(void);
/* Make or renew what there is about |d|. */
void fv_tree_write(const struct fverbs_device *d);

#endif /* FALCON_VERBS_TREE_H */
