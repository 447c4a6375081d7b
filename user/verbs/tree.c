// SPDX-License-Identifier: BSD-2-Clause
/* Writing the tree of files that stands for sysfs. */
#include "verbs/tree.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/env.h"

enum {
	PATH = 512,
	TEXT = 128,
	ACTIVE = 4,	/* IBV_PORT_ACTIVE */
};

static char top[PATH];
static char base[PATH / 2];	/* where all trees are */
static pthread_once_t top_once = PTHREAD_ONCE_INIT;

/* Whether |dir| is there, made if need be, and nobody else's. */
static bool own_directory(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0755) && errno != EEXIST)
		return false;
	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static void find_top(void)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *socket = fv_env_string(FV_ENV_SOCKET);
	size_t len;

	if (!geteuid())
		snprintf(base, sizeof(base), "/run/falcon-verbs");
	else if (run && *run == '/')
		snprintf(base, sizeof(base), "%s/falcon-verbs", run);
	else
		snprintf(base, sizeof(base), "/tmp/falcon-verbs-%u", (unsigned int)geteuid());
	if (!own_directory(base))
		return;
	len = (size_t)snprintf(top, sizeof(top), "%s/", base);
	for (const char *p = socket; *p && len + 1 < sizeof(top); p++)
		top[len++] = *p == '/' ? '_' : *p;
	top[len] = 0;
}

const char *fv_tree_top(void)
{
	pthread_once(&top_once, find_top);
	return top[0] ? top : NULL;
}

/* Make the directories above the last part of |path|. */
static void make_directories(const char *path)
{
	char part[PATH];

	for (const char *p = strchr(path + strlen(top) - 1, '/'); p; p = strchr(p + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		mkdir(part, 0755);
	}
}

static bool same(const char *path, const char *text, size_t len)
{
	char buf[TEXT];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf));
	close(fd);
	return n == (ssize_t)len && !memcmp(buf, text, len);
}

/* File |name| of |dir| holds |fmt| and a newline; others see the old text or the new. */
__attribute__((format(printf, 3, 4)))
static void put(const char *dir, const char *name, const char *fmt, ...)
{
	char path[PATH + TEXT], new[PATH + TEXT + 16], text[TEXT];
	va_list ap;
	size_t len;
	int fd;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text) - 1, fmt, ap);
	va_end(ap);
	strcat(text, "\n");
	len = strlen(text);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (same(path, text, len))
		return;
	make_directories(path);
	snprintf(new, sizeof(new), "%s.%d", path, (int)getpid());
	fd = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (write(fd, text, len) != (ssize_t)len || rename(new, path))
		unlink(new);
	close(fd);
}

/* The GUID as sysfs writes it. */
static void put_guid(const char *dir, const char *name, uint64_t guid)
{
	uint64_t n = be64toh(guid);

	put(dir, name, "%04x:%04x:%04x:%04x", (unsigned int)(n >> 48), (unsigned int)(n >> 32 & 0xffff),
	    (unsigned int)(n >> 16 & 0xffff), (unsigned int)(n & 0xffff));
}

static void put_gids(const char *dir, const struct fverbs_device *d)
{
	for (uint32_t i = 0; i < d->ngids && i < FVERBS_GIDS_MAX; i++) {
		const uint8_t *g = d->gids[i].raw;
		char name[32], text[40];
		size_t len = 0;

		for (int w = 0; w < 8; w++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%02x%02x",
						w ? ":" : "", g[2 * w], g[2 * w + 1]);
		snprintf(name, sizeof(name), "gids/%u", i);
		put(dir, name, "%s", text);
		snprintf(name, sizeof(name), "gid_attrs/types/%u", i);
		put(dir, name, "RoCE v2");
		snprintf(name, sizeof(name), "gid_attrs/ndevs/%u", i);
		put(dir, name, "%.*s", (int)sizeof(d->netdev), d->netdev);
	}
}

static void put_port(const char *dir, const struct fverbs_device *d)
{
	bool up = d->port_state == ACTIVE;

	put(dir, "state", "%s", up ? "4: ACTIVE" : "1: DOWN");
	put(dir, "phys_state", "%s", up ? "5: LinkUp" : "3: Disabled");
	put(dir, "link_layer", "Ethernet");
	put(dir, "lid", "0x0");
	put(dir, "rate", "%.1f Gb/sec", (double)d->speed_mbps / 1000);
	put(dir, "pkeys/0", "0xffff");
	put_gids(dir, d);
}

void fv_tree_write(const struct fverbs_device *d)
{
	char dir[PATH], link[PATH + 128], target[64];

	if (!fv_tree_top() || !d->name[0] || memchr(d->name, '/', sizeof(d->name)) ||
	    !memchr(d->name, 0, sizeof(d->name)) || !memchr(d->netdev, 0, sizeof(d->netdev)))
		return;
	if (!mkdir(top, 0755))
		fv_tree_sweep(base);
	fv_tree_claim(top, fv_env_string(FV_ENV_SOCKET));
	if (snprintf(dir, sizeof(dir), "%s/class/infiniband/%s", top, d->name) >= (int)sizeof(dir))
		return;
	put(dir, "node_type", "1: CA");
	put(dir, "node_desc", "%s", d->name);
	put_guid(dir, "node_guid", d->guid);
	put_guid(dir, "sys_image_guid", d->guid);
	/* As behind a real one, in device/net, is the interface. */
	snprintf(link, sizeof(link), "%s/device/net/%s", dir, d->netdev);
	snprintf(target, sizeof(target), "/sys/class/net/%s", d->netdev);
	make_directories(link);
	if (symlink(target, link) && errno != EEXIST)
		return;
	snprintf(link, sizeof(link), "%s/ports/1", dir);
	put_port(link, d);
}
