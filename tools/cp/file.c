// SPDX-License-Identifier: BSD-2-Clause
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* openat2(), restricted to what is beneath |dirfd| unless that is AT_FDCWD. */
static int open_confined(int dirfd, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC };
	long fd;

	if (dirfd != AT_FDCWD)
		how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	/* EAGAIN: a rename elsewhere made the kernel unsure whether ".." stayed beneath. */
	do
		fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	while (fd < 0 && (errno == EAGAIN || errno == EINTR));
	return fd < 0 ? -errno : (int)fd;
}

int cp_open_parent(int dirfd, const char *path, char *name)
{
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	char parent[PATH_MAX] = ".";
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
		return -EINVAL;
	if (strlen(last) > NAME_MAX || len >= sizeof(parent))
		return -ENAMETOOLONG;
	strcpy(name, last);
	if (slash == path) {
		strcpy(parent, "/");
	} else if (slash) {
		memcpy(parent, path, len);
		parent[len] = '\0';
	}
	return open_confined(dirfd, parent, O_RDONLY | O_DIRECTORY);
}

static int check_regular(int fd, struct stat *st)
{
	if (fstat(fd, st))
		return -errno;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	return S_ISREG(st->st_mode) ? 0 : -ENOTSUP;
}

int cp_source_open(struct cp_source *s, int dirfd, const char *path)
{
	struct stat st;
	int rc;

	memset(s, 0, sizeof(*s));
	/* Nonblocking, so that a FIFO does not hold us; it means nothing to a regular file. */
	s->fd = open_confined(dirfd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0)
		return s->fd;
	rc = check_regular(s->fd, &st);
	s->hash = rc ? NULL : XXH3_createState();
	if (!s->hash) {
		close(s->fd);
		return rc ? rc : -ENOMEM;
	}
	XXH3_128bits_reset(s->hash);
	posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	s->size = (uint64_t)st.st_size;
	s->mode = st.st_mode & 0777;
	return 0;
}

int cp_source_read(struct cp_source *s, void *buf, uint32_t len)
{
	uint32_t got = 0;

	while (got < len) {
		ssize_t n = read(s->fd, (uint8_t *)buf + got, len - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ESTALE;
		got += (uint32_t)n;
	}
	XXH3_128bits_update(s->hash, buf, len);
	s->offset += len;
	return 0;
}

static void digest_of(const XXH3_state_t *hash, uint8_t digest[CP_DIGEST])
{
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash));
	memcpy(digest, canonical.digest, CP_DIGEST);
}

void cp_source_digest(const struct cp_source *s, uint8_t digest[CP_DIGEST])
{
	digest_of(s->hash, digest);
}

void cp_source_close(struct cp_source *s)
{
	close(s->fd);
	XXH3_freeState(s->hash);
}

/* A temporary file in |s->dir|, whose name nobody can guess or have made before. */
static int make_temp(struct cp_sink *s, uint32_t mode)
{
	uint64_t tag;

	if (getrandom(&tag, sizeof(tag), 0) != (ssize_t)sizeof(tag))
		return -EIO;
	snprintf(s->temp, sizeof(s->temp), ".falcon-cp.%016llx.part", (unsigned long long)tag);
	s->fd = openat(s->dir, s->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       mode & 0777);
	return s->fd < 0 ? -errno : 0;
}

int cp_sink_open(struct cp_sink *s, int dirfd, const char *path, uint64_t size, uint32_t mode)
{
	int rc;

	memset(s, 0, sizeof(*s));
	if (size > INT64_MAX)
		return -EFBIG;
	s->dir = cp_open_parent(dirfd, path, s->name);
	if (s->dir < 0)
		return s->dir;
	s->size = size;
	s->hash = XXH3_createState();
	rc = s->hash ? make_temp(s, mode) : -ENOMEM;
	if (rc) {
		XXH3_freeState(s->hash);
		close(s->dir);
		return rc;
	}
	XXH3_128bits_reset(s->hash);
	return 0;
}

int cp_sink_write(struct cp_sink *s, const void *buf, uint32_t len)
{
	uint32_t put = 0;

	if (len > s->size - s->offset)
		return -EFBIG;
	while (put < len) {
		ssize_t n = write(s->fd, (const uint8_t *)buf + put, len - put);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		put += (uint32_t)n;
	}
	/* Have it written meanwhile, so that the fsync() at the end does not take long. */
	sync_file_range(s->fd, (off_t)s->offset, len, SYNC_FILE_RANGE_WRITE);
	XXH3_128bits_update(s->hash, buf, len);
	s->offset += len;
	return 0;
}

int cp_sink_sync(struct cp_sink *s, const uint8_t digest[CP_DIGEST])
{
	uint8_t ours[CP_DIGEST];

	if (s->offset != s->size)
		return -EINVAL;
	digest_of(s->hash, ours);
	if (memcmp(ours, digest, CP_DIGEST))
		return -EBADMSG;
	return fsync(s->fd) ? -errno : 0;
}

int cp_sink_place(struct cp_sink *s)
{
	if (renameat(s->dir, s->temp, s->dir, s->name))
		return -errno;
	s->temp[0] = '\0';
	return fsync(s->dir) ? -errno : 0;
}

int cp_sink_commit(struct cp_sink *s, const uint8_t digest[CP_DIGEST])
{
	int rc = cp_sink_sync(s, digest);

	return rc ? rc : cp_sink_place(s);
}

void cp_sink_close(struct cp_sink *s)
{
	if (s->temp[0])
		unlinkat(s->dir, s->temp, 0);
	close(s->fd);
	close(s->dir);
	XXH3_freeState(s->hash);
}
