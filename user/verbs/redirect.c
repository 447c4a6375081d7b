// SPDX-License-Identifier: BSD-2-Clause
/*
 * Files of RDMA adapters where applications look for them, in sysfs and /dev: what the kernel has not
 * is looked for in our tree, and a device node is the null device, for nobody can do more with it than
 * see that it is there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "verbs/cm.h"
#include "verbs/fv.h"
#include "verbs/tree.h"

#define SYS "/sys"
#define SYS_CLASS "/sys/class/infiniband"
#define DEV "/dev/infiniband/"

enum {
	PATH = 1024,
};

/* Neither is through functions that are redirected. */
static bool exists(const char *path)
{
	return !syscall(SYS_faccessat, AT_FDCWD, path, F_OK);
}

static const char *elsewhere(const char *path, char *buf)
{
	bool dev = !strncmp(path, DEV, sizeof(DEV) - 1);
	const char *top, *result = path;
	int err = errno;

	if (!dev && strncmp(path, SYS_CLASS, sizeof(SYS_CLASS) - 1))
		return path;
	top = fv_tree_top();
	if (!top || exists(path))
		goto out;
	if (dev) {
		if (snprintf(buf, PATH, "%s/class/infiniband/%s", top, path + sizeof(DEV) - 1) < PATH &&
		    path[sizeof(DEV) - 1] && exists(buf))
			result = "/dev/null";
	} else if (snprintf(buf, PATH, "%s%s", top, path + sizeof(SYS) - 1) < PATH && exists(buf)) {
		result = buf;
	}
out:
	errno = err;
	return result;
}

/* Where |path| leads; |buf| has PATH bytes. */
static inline const char *redirect(const char *path, char *buf)
{
	/* Most are not concerned: tell at the fifth letter at the latest. */
	if (!path || path[0] != '/' || (path[1] != 's' && path[1] != 'd'))
		return path;
	return elsewhere(path, buf);
}

/* A function of the C library's that has a path first, or after a directory. */
#define REDIRECT(type, failure, name, params, args) \
	FV_EXPORT type name params \
	{ \
		static void *seen; \
		__typeof__(&name) real; \
		char buf[PATH]; \
		\
		real = (__typeof__(&name))fv_real_once(&seen, #name); \
		if (!real) { \
			errno = ENOSYS; \
			return failure; \
		} \
		path = redirect(path, buf); \
		return real args; \
	}

#define REDIRECT_OPEN(name) \
	FV_EXPORT int name(const char *path, int flags, ...) \
	{ \
		static void *seen; \
		int (*real)(const char *, int, ...); \
		char buf[PATH]; \
		mode_t mode; \
		va_list ap; \
		\
		va_start(ap, flags); \
		mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0; \
		va_end(ap); \
		if (fv_cm_path(path)) { \
			int channel = fv_cm_open(flags); \
			\
			if (channel >= 0) \
				return channel; \
		} \
		real = (__typeof__(real))fv_real_once(&seen, #name); \
		if (!real) \
			return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode); \
		return real(redirect(path, buf), flags, mode); \
	}

#define REDIRECT_OPENAT(name) \
	FV_EXPORT int name(int dir, const char *path, int flags, ...) \
	{ \
		static void *seen; \
		int (*real)(int, const char *, int, ...); \
		char buf[PATH]; \
		mode_t mode; \
		va_list ap; \
		\
		va_start(ap, flags); \
		mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0; \
		va_end(ap); \
		real = (__typeof__(real))fv_real_once(&seen, #name); \
		if (!real) \
			return (int)syscall(SYS_openat, dir, path, flags, mode); \
		return real(dir, redirect(path, buf), flags, mode); \
	}

#undef fopen64
#undef open64
#undef openat64
#undef stat64
#undef lstat64
#undef fstatat64

REDIRECT_OPEN(open)
REDIRECT_OPEN(open64)
REDIRECT_OPENAT(openat)
REDIRECT_OPENAT(openat64)
REDIRECT(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
REDIRECT(FILE *, NULL, fopen64, (const char *path, const char *mode), (path, mode))
REDIRECT(DIR *, NULL, opendir, (const char *path), (path))
REDIRECT(int, -1, access, (const char *path, int mode), (path, mode))
REDIRECT(int, -1, faccessat, (int dir, const char *path, int mode, int flags),
	 (dir, path, mode, flags))
REDIRECT(int, -1, stat, (const char *path, struct stat *st), (path, st))
REDIRECT(int, -1, lstat, (const char *path, struct stat *st), (path, st))
REDIRECT(int, -1, fstatat, (int dir, const char *path, struct stat *st, int flags),
	 (dir, path, st, flags))
REDIRECT(int, -1, stat64, (const char *path, struct stat64 *st), (path, st))
REDIRECT(int, -1, lstat64, (const char *path, struct stat64 *st), (path, st))
REDIRECT(int, -1, fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
	 (dir, path, st, flags))
REDIRECT(int, -1, statx,
	 (int dir, const char *path, int flags, unsigned int mask, struct statx *st),
	 (dir, path, flags, mask, st))
REDIRECT(ssize_t, -1, readlink, (const char *path, char *out, size_t len), (path, out, len))

/* Of libibverbs' driver interface, in no header that is installed. */
const char *ibv_get_sysfs_path(void);

FV_EXPORT const char *ibv_get_sysfs_path(void)
{
	const char *top = fv_tree_top();

	/* Who has real adapters finds theirs. */
	if (top && !exists(SYS_CLASS))
		return top;
	FV_FORWARD(ibv_get_sysfs_path, SYS);
}
