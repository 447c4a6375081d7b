// SPDX-License-Identifier: BSD-2-Clause
#include "agent/metrics/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"

/* An object's values as they were. */
struct object {
	struct object *next;
	char *labels;			/* allocated with it */
	uint64_t values[];		/* as many as its table has */
};

struct list {
	struct object *first, **end;
};

enum { RTT_VALUES = sizeof(struct fcore_rtt) / sizeof(uint64_t) };

struct metrics {
	struct list host[STAT_TABLES], one[STAT_TABLES];
	struct list rtt;
	bool failed;			/* memory was short */
};

/* What is written about a metric. */
struct family {
	const char *name;		/* without _total */
	const char *type, *unit, *help;
};

struct metrics *metrics_new(void)
{
	struct metrics *m = calloc(1, sizeof(*m));

	for (int i = 0; m && i < STAT_TABLES; i++) {
		m->host[i].end = &m->host[i].first;
		m->one[i].end = &m->one[i].first;
	}
	if (m)
		m->rtt.end = &m->rtt.first;
	return m;
}

static void empty(struct list *l)
{
	while (l->first) {
		struct object *o = l->first;

		l->first = o->next;
		free(o);
	}
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (int i = 0; i < STAT_TABLES; i++) {
		empty(&m->host[i]);
		empty(&m->one[i]);
	}
	empty(&m->rtt);
	free(m);
}

void metrics_label(char labels[METRICS_LABELS_MAX], const char *name, const char *value)
{
	size_t n = strlen(labels);

	if (n + strlen(name) + 16 > METRICS_LABELS_MAX)
		return;
	n += (size_t)snprintf(labels + n, METRICS_LABELS_MAX - n, "%s%s=\"", n ? "," : "", name);
	/* A character takes five bytes at most, and the end two. */
	for (const char *c = value; *c && n + 8 < METRICS_LABELS_MAX; c++) {
		const char *form = *c == '"' || *c == '\\' ? "\\%c" :
				   *c < ' ' || *c > '~' ? "\\\\x%02x" : "%c";

		n += (size_t)snprintf(labels + n, METRICS_LABELS_MAX - n, form, (unsigned char)*c);
	}
	snprintf(labels + n, METRICS_LABELS_MAX - n, "\"");
}

void metrics_label_number(char labels[METRICS_LABELS_MAX], const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	metrics_label(labels, name, text);
}

/* An object of |n| values at the end of |l|; NULL: no memory. */
static struct object *add(struct metrics *m, struct list *l, const char *labels, size_t n)
{
	size_t len = strlen(labels) + 1;
	struct object *o = malloc(sizeof(*o) + n * sizeof(o->values[0]) + len);

	m->failed |= !o;
	if (!o)
		return NULL;
	o->next = NULL;
	o->labels = (char *)&o->values[n];
	memcpy(o->labels, labels, len);
	*l->end = o;
	l->end = &o->next;
	return o;
}

static void add_table(struct metrics *m, struct list *l, enum stat_table_id id, const char *labels,
		      const void *base)
{
	const struct stat_table *t = &stat_tables[id];
	struct object *o = add(m, l, labels, t->n);

	for (size_t i = 0; o && i < t->n; i++)
		o->values[i] = stat_get(&t->stats[i], base);
}

void metrics_add(struct metrics *m, enum stat_table_id id, const char *labels, const void *base)
{
	add_table(m, &m->host[id], id, labels, base);
}

void metrics_add_one(struct metrics *m, enum stat_table_id id, const char *labels, const void *base)
{
	add_table(m, &m->one[id], id, labels, base);
}

void metrics_add_rtt(struct metrics *m, const char *labels, const struct fcore_rtt *rtt)
{
	struct object *o = add(m, &m->rtt, labels, RTT_VALUES);

	if (o)
		memcpy(o->values, rtt, sizeof(*rtt));
}

static void put_head(FILE *f, enum metrics_format format, const struct family *m)
{
	bool open = format == METRICS_OPENMETRICS;
	/* Counters are called after their samples in the older format. */
	const char *total = !open && !strcmp(m->type, "counter") ? "_total" : "";

	fprintf(f, "# HELP %s%s %s\n# TYPE %s%s %s\n", m->name, total, m->help, m->name, total, m->type);
	if (open && m->unit[0])
		fprintf(f, "# UNIT %s %s\n", m->name, m->unit);
}

static void put_seconds(FILE *f, uint64_t ns)
{
	fprintf(f, "%" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

/* A sample of |name|; |key|="|value|" follows its other labels unless |key| is NULL. */
static void put_sample(FILE *f, const char *name, const char *suffix, const char *labels, const char *key,
		       const char *value)
{
	fprintf(f, "%s%s", name, suffix);
	if (labels[0] || key)
		fprintf(f, "{%s", labels);
	if (key)
		fprintf(f, "%s%s=\"%s\"", labels[0] ? "," : "", key, value);
	fputs(labels[0] || key ? "} " : " ", f);
}

static void put_value(FILE *f, const struct stat_desc *s, uint64_t value)
{
	if (s->unit == STAT_ns || s->unit == STAT_ns_us)
		put_seconds(f, value);
	else if (s->kind == STAT_gauge)
		fprintf(f, "%" PRId64 "\n", (int64_t)value);
	else
		fprintf(f, "%" PRIu64 "\n", value);
}

static const char *unit_name(enum stat_unit unit)
{
	static const char *const names[] = { [STAT_none] = "", [STAT_bytes] = "bytes", [STAT_ns] = "seconds",
					     [STAT_ns_us] = "seconds" };

	return names[unit];
}

/* One metric of each element of table |t|. */
static void put_table(FILE *f, enum metrics_format format, const struct stat_table *t, const char *prefix,
		      bool counters, const struct list *l)
{
	for (size_t i = 0; l->first && i < t->n; i++) {
		const struct stat_desc *s = &t->stats[i];
		char name[STAT_NAME_MAX];
		const struct family family = {
			.name = name, .type = s->kind == STAT_counter ? "counter" : "gauge",
			.unit = unit_name(s->unit), .help = s->help,
		};

		if (counters && s->kind != STAT_counter)
			continue;
		stat_metric_name(s, prefix, name);
		put_head(f, format, &family);
		for (const struct object *o = l->first; o; o = o->next) {
			put_sample(f, name, s->kind == STAT_counter ? "_total" : "", o->labels, NULL, NULL);
			put_value(f, s, o->values[i]);
		}
	}
}

/* One metric of all counters of table |t|, which a label tells apart. */
static void put_labelled(FILE *f, enum metrics_format format, const struct stat_table *t,
			 const struct list *l)
{
	const struct family family = { .name = t->prefix, .type = "counter", .unit = "", .help = t->help };

	if (!l->first)
		return;
	put_head(f, format, &family);
	for (const struct object *o = l->first; o; o = o->next) {
		for (size_t i = 0; i < t->n; i++) {
			put_sample(f, t->prefix, "_total", o->labels, t->label, t->stats[i].name);
			put_value(f, &t->stats[i], o->values[i]);
		}
	}
}

static void put_rtt(FILE *f, enum metrics_format format, const struct list *l)
{
	static const struct family family = {
		.name = "falcon_rtt_seconds", .type = "histogram", .unit = "seconds",
		.help = "round-trip times of packets, as their ACKs have it",
	};

	if (l->first)
		put_head(f, format, &family);
	for (const struct object *o = l->first; o; o = o->next) {
		struct fcore_rtt rtt;
		uint64_t n = 0;
		char le[32];

		memcpy(&rtt, o->values, sizeof(rtt));
		for (unsigned int i = 0; i < FCORE_RTT_BUCKETS; i++) {
			n += rtt.bucket[i];
			snprintf(le, sizeof(le), "%.10g", (double)(1ULL << (FCORE_RTT_SHIFT + i)) / 1e9);
			put_sample(f, family.name, "_bucket", o->labels, "le",
				   i + 1 < FCORE_RTT_BUCKETS ? le : "+Inf");
			fprintf(f, "%" PRIu64 "\n", n);
		}
		put_sample(f, family.name, "_count", o->labels, NULL, NULL);
		fprintf(f, "%" PRIu64 "\n", n);
		put_sample(f, family.name, "_sum", o->labels, NULL, NULL);
		put_seconds(f, rtt.sum_ns);
	}
}

/* The older format knows no type info. */
static void put_build(FILE *f, enum metrics_format format)
{
	bool open = format == METRICS_OPENMETRICS;
	const struct family family = {
		.name = open ? "falcon_build" : "falcon_build_info", .type = open ? "info" : "gauge",
		.unit = "", .help = "version of the agent",
	};

	put_head(f, format, &family);
	put_sample(f, "falcon_build_info", "", "", "version", FALCON_VERSION_STRING);
	fputs("1\n", f);
}

char *metrics_text(const struct metrics *m, enum metrics_format format, size_t *len)
{
	char *text = NULL;
	FILE *f = m->failed ? NULL : open_memstream(&text, len);
	bool failed;

	if (!f)
		return NULL;
	put_build(f, format);
	for (int i = 0; i < STAT_TABLES; i++) {
		const struct stat_table *t = &stat_tables[i];

		if (t->label)
			put_labelled(f, format, t, &m->host[i]);
		else
			put_table(f, format, t, t->prefix, t->sums, &m->host[i]);
		put_table(f, format, t, t->one, false, &m->one[i]);
	}
	put_rtt(f, format, &m->rtt);
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", f);
	failed = ferror(f);
	failed |= fclose(f) != 0;
	if (failed) {
		free(text);
		return NULL;
	}
	return text;
}

const char *metrics_content_type(enum metrics_format format)
{
	return format == METRICS_OPENMETRICS ?
		       "application/openmetrics-text; version=1.0.0; charset=utf-8" :
		       "text/plain; version=0.0.4; charset=utf-8";
}

/* The number behind ";q=" in |range|, |len| bytes of an Accept header, in thousandths; 1000 without one. */
static int quality(const char *range, size_t len)
{
	char text[128];
	const char *q;
	double value;

	snprintf(text, sizeof(text), "%.*s", (int)(len < sizeof(text) ? len : sizeof(text) - 1), range);
	for (q = strchr(text, ';'); q; q = strchr(q, ';')) {
		q += 1 + strspn(q + 1, " \t");
		if (*q == 'q' && q[1] == '=') {
			value = strtod(q + 2, NULL);
			return value >= 0 && value <= 1 ? (int)(value * 1000) : 0;
		}
	}
	return 1000;
}

static bool is_range(const char *range, size_t len, const char *type)
{
	size_t n = strlen(type);

	return len >= n && !strncmp(range, type, n) && (len == n || strchr("; \t", range[n]));
}

/* Versions of OpenMetrics before 1.0 are not written. */
static bool is_old(const char *range, size_t len)
{
	const char *version = memmem(range, len, "version=", 8);

	return version && !(range + len - version > 8 && (version[8] == '1' || version[8] == '"'));
}

enum metrics_format metrics_negotiate(const char *accept)
{
	int open = 0, text = 0;

	for (const char *range = accept; range && *range;) {
		size_t len;

		range += strspn(range, ", \t");
		len = strcspn(range, ",");
		if (is_range(range, len, "application/openmetrics-text") && !is_old(range, len))
			open = quality(range, len) > open ? quality(range, len) : open;
		else if (is_range(range, len, "text/plain") || is_range(range, len, "text/*") ||
			 is_range(range, len, "*/*"))
			text = quality(range, len) > text ? quality(range, len) : text;
		range += len;
	}
	return open > 0 && open >= text ? METRICS_OPENMETRICS : METRICS_PROMETHEUS;
}
