// SPDX-License-Identifier: BSD-2-Clause
/* A tree of files like sysfs'. */
#include "verbs/tree.h"

#include <stdio.h>

void fv_tree_paths(struct fv_device *device)
{
	snprintf(device->dev.dev_path, sizeof(device->dev.dev_path),
		 "/sys/class/infiniband_verbs/%s", device->dev.dev_name);
	snprintf(device->dev.ibdev_path, sizeof(device->dev.ibdev_path),
		 "/sys/class/infiniband/%s", device->dev.name);
}
