// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reading vector files. Columns are found by the names in the header, in any order. All that mean
 * something must be there; of others, dbg_* and those without a known prefix are skipped.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rue.h"

enum { FIELDS_MAX = 256, LINE_BYTES = 1 << 16 };

/* What a field of a row is; other values are indexes into vector_columns(). */
enum { SKIPPED = -1, CONFIG = -2 };

struct vector_file {
	FILE *in;
	const struct vector_column *columns;
	size_t n_columns;
	size_t fields;			/* of every row */
	int meaning[FIELDS_MAX];
	unsigned long line;
	char *text;
	size_t room;
};

static int __attribute__((format(printf, 4, 5)))
fail(const struct vector_file *f, char *err, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(err, size, "line %lu: ", f->line);

	va_start(ap, fmt);
	if (n > 0 && (size_t)n < size)
		vsnprintf(err + n, size - (size_t)n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Read a line without its end. 1, 0 at the end of the file, or an error. */
static int read_line(struct vector_file *f, char *err, size_t size)
{
	ssize_t n = getline(&f->text, &f->room, f->in);

	f->line++;
	if (n < 0) {
		if (!ferror(f->in))
			return 0;
		fail(f, err, size, "%s", strerror(errno));
		return -EIO;
	}
	if (n > LINE_BYTES)
		return fail(f, err, size, "too long");
	if (strlen(f->text) != (size_t)n)
		return fail(f, err, size, "a NUL byte, this is no text");
	while (n && strchr("\r\n \t", f->text[n - 1]))
		f->text[--n] = 0;
	return 1;
}

/* Cut |*rest| at the next comma, blanks around the field off; NULL after the last field. */
static char *next_field(char **rest)
{
	char *field = strsep(rest, ",");
	size_t n;

	if (!field)
		return NULL;
	field += strspn(field, " \t");
	n = strlen(field);
	while (n && strchr(" \t", field[n - 1]))
		field[--n] = 0;
	return field;
}

static int meaning_of(const struct vector_file *f, const char *name)
{
	if (!strcmp(name, "config"))
		return CONFIG;
	for (size_t i = 0; i < f->n_columns; i++)
		if (!strcmp(f->columns[i].name, name))
			return (int)i;
	return SKIPPED;
}

/* True if a column of this name must not be skipped: its prefix says that it means something. */
static bool must_know(const char *name)
{
	static const char *const prefixes[] = { "in_", "st_in_", "out_", "st_out_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static bool has_meaning(const struct vector_file *f, int meaning)
{
	for (size_t i = 0; i < f->fields; i++)
		if (f->meaning[i] == meaning)
			return true;
	return false;
}

/* The remarks that the file begins with; its header stays in f->text. As read_line(). */
static int read_remarks(struct vector_file *f, struct rue_configs *configs, char *err, size_t size)
{
	char *remarks = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&remarks, &len), *from;
	int rc;

	if (!to) {
		snprintf(err, size, "out of memory");
		return -ENOMEM;
	}
	while ((rc = read_line(f, err, size)) > 0 && *f->text == '#')
		fprintf(to, "%s\n", f->text + 1);
	fclose(to);
	from = rc > 0 && len ? fmemopen(remarks, len, "r") : NULL;
	if (from && rue_configs_read(configs, from, err, size))
		rc = -EINVAL;
	if (from)
		fclose(from);
	free(remarks);
	return rc;
}

static int read_header(struct vector_file *f, struct rue_configs *configs, char *err, size_t size)
{
	char *rest, *name;
	int rc = read_remarks(f, configs, err, size), meaning;

	if (rc <= 0)
		return rc < 0 ? rc : fail(f, err, size, "no header, the file is empty");
	rest = f->text;
	while ((name = next_field(&rest))) {
		meaning = meaning_of(f, name);
		if (meaning == SKIPPED && must_know(name))
			return fail(f, err, size, "unknown column \"%.60s\"", name);
		if (meaning != SKIPPED && has_meaning(f, meaning))
			return fail(f, err, size, "column \"%.60s\" twice", name);
		if (f->fields == FIELDS_MAX)
			return fail(f, err, size, "more than %d columns", FIELDS_MAX);
		f->meaning[f->fields++] = meaning;
	}
	if (!has_meaning(f, CONFIG))
		return fail(f, err, size, "no column \"config\"; is this a vector file?");
	for (size_t i = 0; i < f->n_columns; i++)
		if (!has_meaning(f, (int)i))
			return fail(f, err, size, "no column \"%s\"", f->columns[i].name);
	return 0;
}

struct vector_file *vector_open(const char *path, struct rue_configs *configs, char *err,
				size_t size)
{
	struct vector_file *f = calloc(1, sizeof(*f));

	if (!f) {
		snprintf(err, size, "out of memory");
		return NULL;
	}
	f->columns = vector_columns(&f->n_columns);
	f->in = strcmp(path, "-") ? fopen(path, "r") : stdin;
	if (!f->in)
		snprintf(err, size, "%s", strerror(errno));
	else if (!read_header(f, configs, err, size))
		return f;
	vector_close(f);
	return NULL;
}

/* A decimal number of at most |max|. */
static int parse_value(const char *text, uint64_t max, uint64_t *value)
{
	uint64_t v = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		v = v * 10 + (uint64_t)(*text - '0');
		if (v > max)
			return -ERANGE;
	}
	*value = v;
	return 0;
}

static int read_field(struct vector_file *f, struct rue_vector *v, int meaning, const char *text,
		      char *err, size_t size)
{
	const struct vector_column *c;
	uint64_t value;

	if (meaning == SKIPPED)
		return 0;
	if (meaning == CONFIG) {
		if (!*text || strlen(text) >= sizeof(v->config))
			return fail(f, err, size, "config is no name: \"%.40s\"", text);
		strcpy(v->config, text);
		return 0;
	}
	c = &f->columns[meaning];
	switch (parse_value(text, c->max, &value)) {
	case 0: c->put(v, c, value); return 0;
	case -ERANGE:
		return fail(f, err, size, "%s is at most %llu, not %.40s", c->name,
			    (unsigned long long)c->max, text);
	default: return fail(f, err, size, "%s is no number: \"%.40s\"", c->name, text);
	}
}

int vector_read(struct vector_file *f, struct rue_vector *v, char *err, size_t size)
{
	char *rest, *field;
	size_t n = 0;
	int rc;

	do {
		rc = read_line(f, err, size);
		if (rc <= 0)
			return rc;
	} while (!*f->text);
	memset(v, 0, sizeof(*v));
	rest = f->text;
	while ((field = next_field(&rest))) {
		if (n == f->fields)
			return fail(f, err, size, "more than the header's %zu fields", n);
		rc = read_field(f, v, f->meaning[n++], field, err, size);
		if (rc)
			return rc;
	}
	if (n != f->fields)
		return fail(f, err, size, "%zu fields, the header has %zu", n, f->fields);
	return 1;
}

unsigned long vector_line(const struct vector_file *f)
{
	return f->line;
}

void vector_close(struct vector_file *f)
{
	if (f->in && f->in != stdin)
		fclose(f->in);
	free(f->text);
	free(f);
}
