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
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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
	PROCMAP_QUERY_VMA_EXECUTABLE = 4,
	PROCMAP_QUERY_VMA_SHARED = 8,
	PROCMAP_QUERY_COVERING_OR_NEXT_VMA = 16,
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#endif

static const char stack_name[] = "[stack]";

/* The mapping that has |addr|, or the next one. 0, -ENOENT, or -ENOTTY: this kernel answers no questions. */
static int query(int fd, uintptr_t addr, struct fv_vma *m)
{
	char name[64] = "";
	struct procmap_query q = {
		.size = sizeof(q), .query_addr = addr, .query_flags = PROCMAP_QUERY_COVERING_OR_NEXT_VMA,
		.vma_name_size = sizeof(name), .vma_name_addr = (uintptr_t)name,
	};
	int rc = ioctl(fd, PROCMAP_QUERY, &q);

	/* A name that is too long is none that matters. */
	if (rc && errno == ENAMETOOLONG) {
		q.vma_name_size = 0;
		q.vma_name_addr = 0;
		rc = ioctl(fd, PROCMAP_QUERY, &q);
	}
	if (rc)
		return errno == ENOENT ? -ENOENT : -ENOTTY;
	*m = (struct fv_vma){
		.start = q.vma_start, .end = q.vma_end, .offset = q.vma_offset, .inode = q.inode,
		.major = q.dev_major, .minor = q.dev_minor,
		.shared = q.vma_flags & PROCMAP_QUERY_VMA_SHARED,
		.stack = !strcmp(name, stack_name),
		.prot = (q.vma_flags & PROCMAP_QUERY_VMA_READABLE ? PROT_READ : 0) |
			(q.vma_flags & PROCMAP_QUERY_VMA_WRITABLE ? PROT_WRITE : 0) |
			(q.vma_flags & PROCMAP_QUERY_VMA_EXECUTABLE ? PROT_EXEC : 0),
	};
	return 0;
}

/* A line of /proc/PID/maps: 7f00-8f00 rw-p 00000000 00:00 0   [stack]. False: it is none. */
static bool parse(const char *line, struct fv_vma *m)
{
	unsigned long start, end, offset, inode;
	unsigned int major, minor;
	int name = 0;
	char perms[8];

	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &start, &end, perms, &offset, &major, &minor,
		   &inode, &name) < 7 || strlen(perms) != 4)
		return false;
	*m = (struct fv_vma){
		.start = start, .end = end, .offset = offset, .inode = inode,
		.major = major, .minor = minor, .shared = perms[3] == 's',
		.stack = name && !strncmp(line + name, stack_name, sizeof(stack_name) - 1),
		.prot = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
			(perms[2] == 'x' ? PROT_EXEC : 0),
	};
	return true;
}

/*
 * Lines of a file, without memory of malloc()'s: its own locks may be why we are here. The rest of a line
 * that is too long, of which only a file's name can be, is left out.
 */
struct lines {
	int fd;
	size_t len;			/* bytes in |buf| */
	bool skip;			/* until the line's end */
	char buf[1024];
};

/* The next line, in |line|, of as many bytes as |buf|. False: there is none. */
static bool next_line(struct lines *l, char *line)
{
	for (;;) {
		char *end = memchr(l->buf, '\n', l->len);
		size_t n = end ? (size_t)(end - l->buf) + 1 : l->len;
		size_t room = l->len < sizeof(l->buf) ? sizeof(l->buf) - l->len : 0;
		bool skipped = l->skip;
		ssize_t got;

		if (end || !room) {
			memcpy(line, l->buf, n);
			line[n - 1] = 0;
			memmove(l->buf, l->buf + n, l->len - n);
			l->len -= n;
			l->skip = !end;
			if (!skipped)
				return true;
			continue;
		}
		got = read(l->fd, l->buf + l->len, room);
		if (got <= 0)
			return false;
		l->len += (size_t)got;
	}
}

static bool each_by_text(uintptr_t addr, size_t len, bool (*fn)(void *arg, const struct fv_vma *vma),
			 void *arg)
{
	struct lines l = { .fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };
	char line[sizeof(l.buf)];
	struct fv_vma m;

	if (l.fd < 0)
		return false;
	while (next_line(&l, line)) {
		if (!parse(line, &m) || m.end <= addr)
			continue;
		if (m.start > addr && m.start - addr >= len)
			break;
		if (!fn(arg, &m))
			break;
	}
	close(l.fd);
	return true;
}

bool fv_vma_each(enum fv_vma_how how, uintptr_t addr, size_t len,
		 bool (*fn)(void *arg, const struct fv_vma *vma), void *arg)
{
	int fd = how == FV_VMA_TEXT ? -1 : open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -ENOTTY : 0;
	uintptr_t next = addr;
	struct fv_vma m;

	while (!rc && next - addr < len) {
		rc = query(fd, next, &m);
		if (rc || (m.start > addr && m.start - addr >= len) || !fn(arg, &m))
			break;
		next = m.end;
	}
	if (fd >= 0)
		close(fd);
	return rc == -ENOTTY ? each_by_text(addr, len, fn, arg) : true;
}

/* ---- what may be done with memory ---- */

/* A range that has to be all of one kind. */
struct wanted {
	uintptr_t next;			/* as far as it is */
	uintptr_t frame;		/* of the caller: no address of the stack that it must be off */
	int prot;
	bool no;
};

static bool allows(void *arg, const struct fv_vma *m)
{
	struct wanted *w = arg;

	w->no = m->start > w->next || (m->prot & w->prot) != w->prot;
	w->next = m->end;
	return !w->no;
}

bool fv_vma_allows(enum fv_vma_how how, uintptr_t addr, size_t len, bool write)
{
	struct wanted w = { .next = addr, .prot = write ? PROT_WRITE : PROT_READ };

	if (!fv_vma_each(how, addr, len, allows, &w))
		return true;
	return !w.no && w.next - addr >= len;
}

static bool is_private(void *arg, const struct fv_vma *m)
{
	struct wanted *w = arg;

	w->no = m->start > w->next || m->prot != w->prot || m->shared || m->inode || m->stack ||
		(w->frame >= m->start && w->frame < m->end);
	w->next = m->end;
	return !w->no;
}

bool fv_vma_private(enum fv_vma_how how, uintptr_t addr, size_t len)
{
	struct wanted w = {
		.next = addr, .prot = PROT_READ | PROT_WRITE, .frame = (uintptr_t)__builtin_frame_address(0),
	};

	return fv_vma_each(how, addr, len, is_private, &w) && !w.no && w.next - addr >= len;
}

static bool take_end(void *arg, const struct fv_vma *m)
{
	*(uintptr_t *)arg = m->end;
	return false;
}

uintptr_t fv_vma_end(uintptr_t addr)
{
	uintptr_t end = addr;

	fv_vma_each(FV_VMA_BEST, addr, 1, take_end, &end);
	return end;
}

/* ---- where a file is mapped ---- */

struct search {
	const struct fv_vma_file *file;
	struct stat st;			/* of it */
	struct fv_vma_part part;
	size_t len;
	bool (*known)(uintptr_t start);
	bool found;
};

static bool same_file(const struct search *s, const struct fv_vma *m)
{
	return m->shared && m->inode == s->st.st_ino && m->major == major(s->st.st_dev) &&
	       m->minor == minor(s->st.st_dev);
}

static bool find_part(void *arg, const struct fv_vma *m)
{
	struct search *s = arg;
	bool fits = same_file(s, m) && m->offset - s->file->offset == m->start - s->file->addr;

	if (!s->found && fits)
		s->part = (struct fv_vma_part){ m->start, m->end, m->prot };
	else if (s->found && fits && m->start == s->part.end && m->prot == s->part.prot)
		s->part.end = m->end;
	else
		return !s->found;
	s->found = true;
	return true;
}

bool fv_vma_part(enum fv_vma_how how, const struct fv_vma_file *file, uintptr_t addr, size_t len,
		 struct fv_vma_part *part)
{
	struct search s = { .file = file };

	if (fstat(file->fd, &s.st) || !fv_vma_each(how, addr, len, find_part, &s) || !s.found)
		return false;
	*part = s.part;
	if (part->start < addr)
		part->start = addr;
	if (part->end - addr > len)
		part->end = addr + len;
	return true;
}

static bool find_elsewhere(void *arg, const struct fv_vma *m)
{
	struct search *s = arg;
	uint64_t end = m->offset + (m->end - m->start);

	s->found = same_file(s, m) && m->offset < s->file->offset + s->len && end > s->file->offset &&
		   !s->known(m->start);
	return !s->found;
}

bool fv_vma_elsewhere(const struct fv_vma_file *file, size_t len, bool (*known)(uintptr_t start))
{
	struct search s = { .file = file, .len = len, .known = known };

	return fstat(file->fd, &s.st) || !fv_vma_each(FV_VMA_TEXT, 0, SIZE_MAX, find_elsewhere, &s) ||
	       s.found;
}
