// SPDX-License-Identifier: BSD-2-Clause
/* Files of falconctl ca: they are replaced as a whole, under a lock on their directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ca.h"
#include "ctl.h"

int ca_complain(const char *what, const char *of, const char *why)
{
	fprintf(stderr, "falconctl: ca: %s %s: %s\n", what, of, why);
	return CTL_FAILED;
}

void ca_path(char *path, size_t size, const char *dir, const char *name, const char *suffix)
{
	snprintf(path, size, "%s/%s%s", dir, name, suffix);
}

int ca_lock(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX) == 0)
		return fd;
	ca_complain("directory", dir, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A new file beside |path| for finish_file() to put in its place. */
static FILE *begin_file(const char *path, mode_t mode)
{
	char name[CA_PATH_MAX + 8];
	int fd;

	snprintf(name, sizeof(name), "%s.new", path);
	unlink(name);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return fd < 0 ? NULL : fdopen(fd, "w");
}

static int finish_file(FILE *f, const char *path, bool written)
{
	char name[CA_PATH_MAX + 8];
	bool ok = written && fflush(f) == 0 && fsync(fileno(f)) == 0;

	snprintf(name, sizeof(name), "%s.new", path);
	ok = fclose(f) == 0 && ok && rename(name, path) == 0;
	return ok ? CTL_OK : ca_complain("cannot write", path, strerror(errno));
}

int ca_put_file(const char *path, mode_t mode, bool (*write)(FILE *f, const void *what), const void *what)
{
	FILE *f = begin_file(path, mode);

	if (!f)
		return ca_complain("cannot write", path, strerror(errno));
	return finish_file(f, path, write(f, what));
}

int ca_make_dir(const char *dir, mode_t mode)
{
	char path[CA_PATH_MAX];

	snprintf(path, sizeof(path), "%s", dir);
	for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
}
