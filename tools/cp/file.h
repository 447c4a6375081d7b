/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of falcon-cp: names confined to a directory, a source that is read once from front to
 * end, and a sink that appears under its name only when it is whole.
 */
#ifndef FALCON_TOOLS_CP_FILE_H
#define FALCON_TOOLS_CP_FILE_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proto.h"

/* A file being read. */
struct cp_source {
	int fd;
	uint64_t size;		/* when it was opened */
	uint64_t offset;	/* bytes read so far */
	uint32_t mode;		/* permission bits */
	XXH3_state_t *hash;
};

/* A file being written, under a temporary name in its directory. */
struct cp_sink {
	int dir;
	int fd;
	uint64_t size;		/* what it is to have */
	uint64_t offset;	/* bytes written so far */
	XXH3_state_t *hash;
	char temp[64];
	char name[NAME_MAX + 1];
};

/*
 * Open the directory that holds |path|, and copy the last part of |path| to |name| (NAME_MAX + 1
 * bytes). With |dirfd| AT_FDCWD the path is a user's own and may lead anywhere; otherwise it comes
 * from a peer and must stay beneath |dirfd|: relative, without "..", through no symbolic link.
 * Returns a descriptor or a negative errno value; -EINVAL: the path names no file; -EXDEV or
 * -ELOOP: it leads outside.
 */
int cp_open_parent(int dirfd, const char *path, char *name);

/*
 * Open a regular file to read; |dirfd| as in cp_open_parent(). 0 or a negative errno value, of
 * which -EISDIR and -ENOTSUP mean a directory, and something else that is no regular file.
 */
int cp_source_open(struct cp_source *s, int dirfd, const char *path);
/* Read the next |len| bytes to |buf|. 0; -ESTALE: the file has become shorter; or from read(). */
int cp_source_read(struct cp_source *s, void *buf, uint32_t len);
/* The digest of what was read so far. */
void cp_source_digest(const struct cp_source *s, uint8_t digest[CP_DIGEST]);
void cp_source_close(struct cp_source *s);

/*
 * Begin to write the file |path|, which is to have |size| bytes and permissions |mode|. |dirfd| as
 * in cp_open_parent(). 0 or a negative errno value; -EFBIG: more than a file can have.
 */
int cp_sink_open(struct cp_sink *s, int dirfd, const char *path, uint64_t size, uint32_t mode);
/* Append |len| bytes. 0, or a negative errno value such as -ENOSPC. */
int cp_sink_write(struct cp_sink *s, const void *buf, uint32_t len);
/*
 * All was written: compare the digest, and force the data to the disk. 0; -EBADMSG: the digest differs;
 * -EINVAL: bytes are missing; or a system call's. Then: give the file its name. Both: cp_sink_commit().
 * The sink is to be closed in any case.
 */
int cp_sink_sync(struct cp_sink *s, const uint8_t digest[CP_DIGEST]);
int cp_sink_place(struct cp_sink *s);
int cp_sink_commit(struct cp_sink *s, const uint8_t digest[CP_DIGEST]);
/* Release everything; what was not committed is removed. */
void cp_sink_close(struct cp_sink *s);

#endif /* FALCON_TOOLS_CP_FILE_H */
