// SPDX-License-Identifier: BSD-2-Clause
/*
 * falconctl config save: what "conn add" and "nvme connect" have made becomes sections of falcon.conf, with
 * the keys that were given. All that is in the file stays as it is written; the new file takes its place as a
 * whole, and only if falcond could start with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/config/config.h"
#include "ctl.h"

/* Objects that commands make, and that sections of the file can be. */
enum { CONNS, NVMES, KINDS };

static const struct {
	const char *section, *object;
} kinds[KINDS] = {
	[CONNS] = { "connection", "conn" },
	[NVMES] = { "nvme", "nvme" },
};

/* What the agent has. */
struct state {
	json_t *rows[KINDS];
	json_t *keys;
};

static const char *member(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static int complain(const char *path, const char *why)
{
	fprintf(stderr, "falconctl: config save: %s: %s\n", path, why);
	return CTL_FAILED;
}

/* The file that the agent has read. False, after a sentence: there is none. */
static bool agents_file(const struct options *o, char *path, size_t size)
{
	json_t *rows = ctl_rows(o, "version", NULL);
	const char *file = rows ? member(json_array_get(rows, 0), "config") : "";

	snprintf(path, size, "%s", file);
	if (rows && !path[0])
		complain("the agent", "does not say which file it has read; name one");
	json_decref(rows);
	return path[0];
}

/* Whether the section [KIND |name|] is among those that were read. */
static bool has_section(const struct agent_config *cfg, unsigned int kind, const char *name)
{
	unsigned int n = kind == CONNS ? cfg->nconns : cfg->nnvmes;

	for (unsigned int i = 0; i < n; i++)
		if (strcmp(kind == CONNS ? cfg->conns[i].name : cfg->nvmes[i].name, name) == 0)
			return true;
	return false;
}

/* The section |title|, whose keys are among |keys|. */
static void write_section(FILE *f, const char *title, const json_t *keys)
{
	const json_t *row;
	size_t i;

	fprintf(f, "\n[%s]\n", title);
	json_array_foreach((json_t *)keys, i, row)
		if (strcmp(member(row, "section"), title) == 0 &&
		    strcmp(member(row, "source"), "configured") == 0)
			fprintf(f, "%s = %s\n", member(row, "key"), member(row, "value"));
}

/* Sections of |kind| for what |cfg| has not. Returns how many. */
static unsigned int write_sections(FILE *f, const struct agent_config *cfg, const struct state *state,
				   unsigned int kind)
{
	char title[CONFIG_NAME_MAX + 16];
	unsigned int n = 0;
	const json_t *row;
	size_t i;

	json_array_foreach(state->rows[kind], i, row) {
		const char *name = member(row, "name");

		if (strcmp(member(row, "by"), "command") != 0)
			continue;
		snprintf(title, sizeof(title), "%s %s", kinds[kind].section, name);
		if (has_section(cfg, kind, name)) {
			fprintf(stderr, "falconctl: config save: there is a section [%s] already, "
				"which stays\n", title);
			continue;
		}
		write_section(f, title, state->keys);
		n++;
	}
	return n;
}

/* |from| as it is into |to|, ended by a line's end. */
static bool copy(FILE *from, FILE *to)
{
	int c, last = '\n';

	while ((c = getc(from)) != EOF)
		last = putc(c, to);
	if (last != '\n')
		putc('\n', to);
	return !ferror(from) && !ferror(to);
}

/* A new file beside |path|, with its owner and mode. NULL, after a sentence. */
static FILE *begin(const char *path, const char *new, FILE *old)
{
	struct stat st;
	FILE *f;
	int fd;

	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f && fstat(fileno(old), &st) == 0 && fchown(fd, st.st_uid, st.st_gid) == 0 &&
	    fchmod(fd, st.st_mode & 07777) == 0)
		return f;
	complain(path, strerror(errno));
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	unlink(new);
	return NULL;
}

/* Whether falcond could start with |path|; says why not. */
static bool usable(const char *path)
{
	struct agent_config cfg = {};
	char err[512];

	if (config_load(path, &cfg, err, sizeof(err)) < 0) {
		complain(path, err);
		return false;
	}
	config_free(&cfg);
	return true;
}

/* |path|, which is open as |old| and has |cfg| in it, with more sections. */
static int replace(const char *path, FILE *old, const struct agent_config *cfg, const struct state *state)
{
	char new[PATH_MAX + 8];
	unsigned int n = 0;
	FILE *f;
	bool ok;

	snprintf(new, sizeof(new), "%s.new", path);
	f = begin(path, new, old);
	if (!f)
		return CTL_FAILED;
	ok = copy(old, f);
	for (unsigned int kind = 0; ok && kind < KINDS; kind++)
		n += write_sections(f, cfg, state, kind);
	ok = fflush(f) == 0 && fsync(fileno(f)) == 0 && ok;
	ok = fclose(f) == 0 && ok;
	if (!ok)
		complain(new, strerror(errno));
	else if (n && usable(new) && rename(new, path) == 0)
		return printf("%s: %u sections added\n", path, n) > 0 ? CTL_OK : CTL_FAILED;
	unlink(new);
	if (ok && !n)
		printf("%s: there is nothing to add\n", path);
	return ok && !n ? CTL_OK : CTL_FAILED;
}

static bool ask(const struct options *o, struct state *state)
{
	bool ok = true;

	for (unsigned int kind = 0; kind < KINDS && ok; kind++) {
		state->rows[kind] = ctl_rows(o, kinds[kind].object, NULL);
		ok = state->rows[kind];
	}
	if (ok)
		state->keys = ctl_rows(o, "config", NULL);
	return state->keys;
}

static int save_to(const struct options *o, const char *path)
{
	struct agent_config cfg = {};
	struct state state = {};
	char err[512];
	FILE *old = NULL;
	int ret = CTL_FAILED;

	if (!ask(o, &state))
		goto out;
	if (config_load(path, &cfg, err, sizeof(err)) < 0) {
		complain(path, err);
		goto out;
	}
	old = fopen(path, "re");
	ret = old ? replace(path, old, &cfg, &state) : complain(path, strerror(errno));
	if (old)
		fclose(old);
	config_free(&cfg);
out:
	for (unsigned int kind = 0; kind < KINDS; kind++)
		json_decref(state.rows[kind]);
	json_decref(state.keys);
	return ret;
}

int ctl_config_save(const struct options *o, const struct object *obj, int argc, char **argv)
{
	char path[PATH_MAX];

	(void)obj;
	if (argc > 1)
		return ctl_usage_error("unexpected argument \"%s\"", argv[1]);
	if (argc == 0 && !agents_file(o, path, sizeof(path)))
		return CTL_FAILED;
	return save_to(o, argc ? argv[0] : path);
}
