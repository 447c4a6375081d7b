// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernel says of the process's mappings: in answer to questions since Linux 6.11, which takes a
 * microsecond; before, as text, a line for each.
 */
#include "verbs/vma.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef PROCMAP_QUERY
/* The kernel's, from the linux/fs.h of 6.11. */
struct procmap_query {
	uint64_t size;			/* bytes of this struct */
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start, vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};

enum {
	PROCMAP_QUERY_VMA_READABLE = 1,
	PROCMAP_QUERY_VMA_WRITABLE = 2,
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#endif

/* A mapping: where it ends, and what it allows. */
struct mapping {
	uintptr_t start, end;
	bool read, write;
};

/* The mapping that has |addr|. 0, -ENOENT, or -ENOTTY: this kernel answers no questions. */
static int query(int fd, uintptr_t addr, struct mapping *m)
{
	struct procmap_query q = { .size = sizeof(q), .query_addr = addr };

	if (ioctl(fd, PROCMAP_QUERY, &q))
		return errno == ENOENT ? -ENOENT : -ENOTTY;
	m->start = q.vma_start;
	m->end = q.vma_end;
	m->read = q.vma_flags & PROCMAP_QUERY_VMA_READABLE;
	m->write = q.vma_flags & PROCMAP_QUERY_VMA_WRITABLE;
	return 0;
}

/* A line of /proc/PID/maps: 7f00-8f00 rw-p ... False: it is none. */
static bool parse(const char *line, struct mapping *m)
{
	char *at;

	m->start = strtoul(line, &at, 16);
	if (*at != '-')
		return false;
	m->end = strtoul(at + 1, &at, 16);
	if (at[0] != ' ' || !at[1])
		return false;
	m->read = at[1] == 'r';
	m->write = at[2] == 'w';
	return true;
}

static bool text_allows(FILE *maps, uintptr_t addr, size_t len, bool write)
{
	uintptr_t next = addr;
	struct mapping m;
	char *line = NULL;
	size_t room = 0;

	while (next - addr < len && getline(&line, &room, maps) > 0) {
		if (!parse(line, &m) || m.end <= next)
			continue;
		if (m.start > next || !(write ? m.write : m.read))
			break;
		next = m.end;
	}
	free(line);
	return next - addr >= len;
}

bool fv_vma_allows_by_text(uintptr_t addr, size_t len, bool write)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool allows = maps ? text_allows(maps, addr, len, write) : true;

	if (maps)
		fclose(maps);
	return allows;
}

bool fv_vma_allows(uintptr_t addr, size_t len, bool write)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), rc = fd < 0 ? -ENOTTY : 0;
	uintptr_t next = addr;
	struct mapping m;

	while (!rc && next - addr < len) {
		rc = query(fd, next, &m);
		if (rc)
			break;
		if (!(write ? m.write : m.read))
			rc = -EACCES;
		next = m.end;
	}
	if (fd >= 0)
		close(fd);
	return rc == -ENOTTY ? fv_vma_allows_by_text(addr, len, write) : !rc;
}
