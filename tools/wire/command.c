// SPDX-License-Identifier: BSD-2-Clause
/* What can be asked of a falcon-wire while it runs. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "emulator.h"

/* Which links a command is about. */
struct choice {
	int path;	/* -1: all */
	int to;		/* port, -1: all */
};

static __attribute__((format(printf, 1, 2))) json_t *error(const char *fmt, ...)
{
	json_t *text;
	va_list ap;

	va_start(ap, fmt);
	text = json_vsprintf(fmt, ap);
	va_end(ap);
	/* Not to be had if the request was not UTF-8. */
	return json_pack("{s:o}", "error", text ? text : json_string("not understood"));
}

static json_t *choose_path(const struct emulator *em, const char *value, int *path)
{
	unsigned long n;
	char *end;

	if (!strcmp(value, "all")) {
		*path = -1;
		return NULL;
	}
	n = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end || n >= em->wire->paths)
		return error("path: \"%.40s\" is not a number from 0 to %u", value,
			     em->wire->paths - 1);
	*path = (int)n;
	return NULL;
}

static json_t *choose_port(const struct emulator *em, const char *value, int *to)
{
	for (unsigned int i = 0; i < em->ports; i++) {
		if (!strcmp(em->port[i].name, value)) {
			*to = (int)i;
			return NULL;
		}
	}
	return error("to: no interface \"%.40s\" here", value);
}

/* What |words| of "set" choose. Returns an error or NULL. */
static json_t *choose(const struct emulator *em, char *const *words, unsigned int n,
		      struct choice *c)
{
	json_t *why = NULL;

	*c = (struct choice){ .path = -1, .to = -1 };
	for (unsigned int i = 0; i < n && !why; i++) {
		if (!strncmp(words[i], "path=", 5))
			why = choose_path(em, words[i] + 5, &c->path);
		else if (!strncmp(words[i], "to=", 3))
			why = choose_port(em, words[i] + 3, &c->to);
	}
	return why;
}

static bool chosen(const struct choice *c, unsigned int to, unsigned int path)
{
	return (c->to < 0 || (unsigned int)c->to == to) &&
	       (c->path < 0 || (unsigned int)c->path == path);
}

/* The settings |words| applied to |set|. Returns an error or NULL. */
static json_t *change(struct wire_settings *set, char *const *words, unsigned int n)
{
	const struct wire_settings old = *set;
	char err[WIRE_ERR_LEN];
	unsigned int changed = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (!strncmp(words[i], "path=", 5) || !strncmp(words[i], "to=", 3))
			continue;
		if (settings_assign(set, words[i], err))
			return error("%s", err);
		changed++;
	}
	if (!changed)
		return error("set: want KEY=VALUE");
	if (settings_check(set, err) || settings_check_change(&old, set, err))
		return error("%s", err);
	return NULL;
}

/* All or nothing: try on every chosen link before any is changed. */
static json_t *run_set(struct emulator *em, char *const *words, unsigned int n)
{
	struct wire *w = em->wire;
	struct wire_settings set;
	struct choice c;
	json_t *why = choose(em, words, n, &c);

	for (int doing = 0; doing < 2; doing++) {
		for (unsigned int i = 0; i < w->ports * w->paths && !why; i++) {
			unsigned int to = i / w->paths, path = i % w->paths;

			if (!chosen(&c, to, path))
				continue;
			set = w->link[to][path].set;
			why = change(&set, words, n);
			if (!why && doing)
				wire_configure(w, to, path, &set);
		}
	}
	return why ? why : json_object();
}

static json_t *run_reset(struct emulator *em)
{
	wire_reset_stats(em->wire);
	for (unsigned int i = 0; i < em->ports; i++)
		port_reset_stats(&em->port[i]);
	return json_object();
}

json_t *command_run(struct emulator *em, char *line)
{
	enum { MAX_WORDS = 32 };
	char *words[MAX_WORDS], *word;
	unsigned int n = 0;

	while ((word = strsep(&line, " \t\r\n"))) {
		if (!*word)
			continue;
		if (n == MAX_WORDS)
			return error("more than %d words", MAX_WORDS);
		words[n++] = word;
	}
	if (n && !strcmp(words[0], "set"))
		return run_set(em, words + 1, n - 1);
	if (n == 1 && !strcmp(words[0], "show"))
		return report_json(em);
	if (n == 1 && !strcmp(words[0], "reset"))
		return run_reset(em);
	return error("\"%.40s\" is none of: set KEY=VALUE..., show, reset", n ? words[0] : "");
}
