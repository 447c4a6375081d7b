/* SPDX-License-Identifier: BSD-2-Clause */
/* Where applications look for a device's files: a tree of ours in place of sysfs. */
#ifndef FALCON_VERBS_TREE_H
#define FALCON_VERBS_TREE_H

#include "verbs/fv.h"

/* Fill in the paths of |device|. */
void fv_tree_paths(struct fv_device *device);

#endif /* FALCON_VERBS_TREE_H */
