// SPDX-License-Identifier: BSD-2-Clause
/* Algorithms from shared objects. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rue/rue.h"

/* Members that version 1 of the ABI has had from its beginning. */
enum { LEAST_SIZE = offsetof(struct rue_algorithm, set_profile) + sizeof(void *) };

static const struct rue_algorithm *fail(char *err, size_t size, const char *path, const char *why)
{
	snprintf(err, size, "%s: %s", path, why);
	return NULL;
}

static const struct rue_algorithm *check(const struct rue_algorithm *a, const char *path, char *err,
					 size_t size)
{
	if (!a)
		return fail(err, size, path, "it exports no " FALCON_RUE_SYMBOL);
	if (a->abi != FALCON_RUE_ABI || a->size < LEAST_SIZE)
		return fail(err, size, path,
			    "built for another version of falcon/rue_engine.h; build it anew");
	if (!a->name || !*a->name || !a->process || !a->create != !a->destroy)
		return fail(err, size, path, "its " FALCON_RUE_SYMBOL " lacks a name, process(), or "
					     "one of create() and destroy()");
	return a;
}

static const struct rue_algorithm *load(const char *path, char *err, size_t size)
{
	void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct rue_algorithm *a;

	if (!object) {
		/* dlerror() begins with the path. */
		snprintf(err, size, "%s", dlerror());
		return NULL;
	}
	a = check(dlsym(object, FALCON_RUE_SYMBOL), path, err, size);
	if (!a)
		dlclose(object);
	return a;
}

/* The directory of this program, without a slash at its end. */
static void own_directory(char dir[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);

	dir[n > 0 ? n : 0] = 0;
	if (strrchr(dir, '/'))
		*strrchr(dir, '/') = 0;
}

const struct rue_algorithm *rue_load(const char *name, char *err, size_t size)
{
	static const char *const places[] = { "rue", "../lib/falcon/rue" };
	const struct rue_algorithm *a = rue_find(name);
	char dir[PATH_MAX], path[PATH_MAX + 300];

	if (a)
		return a;
	if (strchr(name, '/'))
		return load(name, err, size);
	own_directory(dir);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/%.255s.so", dir, places[i], name);
		if (access(path, F_OK) == 0)
			return load(path, err, size);
	}
	snprintf(err, size, "no algorithm \"%.60s\": there are swift, fixed, and those in %s/%s and "
			    "%s/%s", name, dir, places[0], dir, places[1]);
	return NULL;
}
