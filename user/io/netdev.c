// SPDX-License-Identifier: BSD-2-Clause
#include "io/netdev.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/xsk.h"

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

const char *netdev_xdp_section(const char *ifname)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {};
	bool large;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	large = fd >= 0 && ioctl(fd, SIOCGIFMTU, &ifr) == 0 && ifr.ifr_mtu > XSK_MAX_MTU;
	if (fd >= 0)
		close(fd);
	return large ? "xdp.frags" : "xdp";
}

bool netdev_driver_is(const char *ifname, const char *driver)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ifr = { .ifr_data = (void *)&info };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool known;

	if (fd < 0)
		return false;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	known = ioctl(fd, SIOCETHTOOL, &ifr) == 0;
	close(fd);
	return known && strcmp(info.driver, driver) == 0;
}

/* Connecting a datagram socket sends nothing, but chooses an address. */
int netdev_source(int family, const struct falcon_addr *dst, uint32_t scope, struct falcon_addr *src)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(9),
				    .sin6_scope_id = scope };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(9) };
	bool v4 = family == AF_INET;
	struct sockaddr *addr = v4 ? (struct sockaddr *)&in : (struct sockaddr *)&in6;
	void *at = v4 ? (void *)&in.sin_addr : (void *)&in6.sin6_addr;
	size_t size = v4 ? sizeof(in.sin_addr) : sizeof(in6.sin6_addr);
	socklen_t len = v4 ? sizeof(in) : sizeof(in6);
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	memcpy(at, dst->b, size);
	rc = connect(fd, addr, len) < 0 || getsockname(fd, addr, &len) < 0 ? -errno : 0;
	close(fd);
	if (rc < 0)
		return rc;
	*src = (struct falcon_addr){ 0 };
	memcpy(src->b, at, size);
	return 0;
}
