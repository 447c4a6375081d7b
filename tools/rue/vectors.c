// SPDX-License-Identifier: BSD-2-Clause
/* falcon-rue --vectors: every row of a file through the engine, compared column by column. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "rue.h"

struct replay {
	const struct replay_options *options;
	const struct vector_column *columns;
	size_t n_columns;
	struct swift *engine;
	const struct rue_config *config;	/* that the engine has */
	unsigned long events, mismatches;
	json_t *list;				/* of mismatches, for JSON */
};

/* Give the engine the row's parameters, in all profiles that it may ask for. */
static int configure(struct replay *r, const struct vector_file *f, const char *name, char *err,
		     size_t size)
{
	const struct rue_config *c = rue_configs_find(r->options->configs, name);

	if (c && c == r->config)
		return 0;
	if (!c) {
		snprintf(err, size, "line %lu: no configuration is called \"%s\"", vector_line(f),
			 name);
		return -1;
	}
	r->config = c;
	return swift_set_profile(r->engine, 0, &c->params, err, size);
}

static void mismatch(struct replay *r, const struct vector_file *f, const char *column,
		     uint64_t want, uint64_t got)
{
	if (r->mismatches++ >= r->options->show)
		return;
	if (r->list)
		json_array_append_new(r->list,
				      json_pack("{s:I, s:s, s:I, s:I}", "line",
						(json_int_t)vector_line(f), "column", column,
						"want", (json_int_t)want, "got", (json_int_t)got));
	else
		printf("line %lu: %s is %" PRIu64 ", expected %" PRIu64 "\n", vector_line(f),
		       column, got, want);
}

static void run_row(struct replay *r, const struct vector_file *f, const struct rue_vector *want)
{
	uint32_t base = (uint32_t)falcon_ev_get(&want->event, base_delay_target);
	struct swift_state *state = swift_state(r->engine, base);
	struct rue_vector got = *want;

	*state = want->before;
	memset(&got.result, 0, sizeof(got.result));
	rue_swift.process(r->engine, &want->event, want->now, &got.result);
	got.after = *state;
	r->events++;
	for (size_t i = 0; i < r->n_columns; i++) {
		const struct vector_column *c = &r->columns[i];

		if (c->output && c->get(&got, c) != c->get(want, c))
			mismatch(r, f, c->name, c->get(want, c), c->get(&got, c));
	}
}

static int run_file(struct replay *r, struct vector_file *f, char *err, size_t size)
{
	struct rue_vector v;
	int rc;

	while ((rc = vector_read(f, &v, err, size)) > 0) {
		if (configure(r, f, v.config, err, size))
			return -1;
		run_row(r, f, &v);
	}
	return rc;
}

static void report(const struct replay *r)
{
	if (r->list) {
		json_t *o = json_pack("{s:s, s:I, s:I, s:O}", "file", r->options->path, "events",
				      (json_int_t)r->events, "mismatches",
				      (json_int_t)r->mismatches, "shown", r->list);

		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
		return;
	}
	if (r->mismatches > r->options->show)
		printf("and %lu more\n", r->mismatches - r->options->show);
	printf("%lu events, %lu mismatches\n", r->events, r->mismatches);
}

int replay(const struct replay_options *o)
{
	struct replay r = { .options = o };
	struct vector_file *f;
	char err[256] = "";
	int rc = -1;

	r.columns = vector_columns(&r.n_columns);
	f = vector_open(o->path, o->configs, err, sizeof(err));
	if (f) {
		r.engine = swift_create(1u << SWIFT_INDEX_BITS, SWIFT_STATE_BYTES);
		r.list = o->json ? json_array() : NULL;
		if (r.engine)
			rc = run_file(&r, f, err, sizeof(err));
		else
			snprintf(err, sizeof(err), "out of memory");
		if (!rc)
			report(&r);
		json_decref(r.list);
		swift_destroy(r.engine);
		vector_close(f);
	}
	if (rc) {
		fflush(stdout);
		fprintf(stderr, "falcon-rue: %s: %s\n", o->path, err);
		return 2;
	}
	return r.mismatches ? 1 : 0;
}
