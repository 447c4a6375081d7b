// SPDX-License-Identifier: BSD-2-Clause
#include "io/netdev.h"

#include <dirent.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

unsigned int netdev_rx_queues(const char *ifname)
{
	char path[64 + IF_NAMESIZE];
	const struct dirent *e;
	unsigned int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/net/%s/queues", ifname);
	dir = opendir(path);
	if (!dir)
		return 0;
	while ((e = readdir(dir)))
		n += strncmp(e->d_name, "rx-", 3) == 0;
	closedir(dir);
	return n;
}
