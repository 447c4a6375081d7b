// SPDX-License-Identifier: BSD-2-Clause
/* Taking away the trees of agents that have gone. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verbs/tree.h"

enum { DEPTH = 16 };	/* descriptors: a tree is no deeper */

void fv_tree_claim(const char *top, const char *socket)
{
	char link[PATH_MAX], was[PATH_MAX];
	ssize_t n;

	if (*socket != '/' || snprintf(link, sizeof(link), "%s/agent", top) >= (int)sizeof(link))
		return;
	n = readlink(link, was, sizeof(was));
	if (n == (ssize_t)strlen(socket) && !memcmp(was, socket, (size_t)n))
		return;
	/* Two sockets can have the same tree: the last is asked after. */
	if (n >= 0)
		unlink(link);
	/* Without it the tree stays, no more. */
	(void)!symlink(socket, link);
}

/* Whether the socket that |top| was claimed for is no more. Nothing is known of one not claimed. */
static bool stale(const char *top)
{
	char link[PATH_MAX];
	struct stat st;

	if (snprintf(link, sizeof(link), "%s/agent", top) >= (int)sizeof(link) ||
	    lstat(link, &st) || !S_ISLNK(st.st_mode))
		return false;
	return stat(link, &st) && (errno == ENOENT || errno == ENOTDIR);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);	/* what another process took first is gone as well */
	return 0;
}

void fv_tree_sweep(const char *base)
{
	DIR *dir = opendir(base);
	char top[PATH_MAX];
	struct dirent *e;

	if (!dir)
		return;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.' ||
		    snprintf(top, sizeof(top), "%s/%s", base, e->d_name) >= (int)sizeof(top))
			continue;
		if (stale(top))
			nftw(top, remove_one, DEPTH, FTW_DEPTH | FTW_PHYS);
	}
	closedir(dir);
}
