// SPDX-License-Identifier: BSD-2-Clause
#include "results.h"

#include <jansson.h>
#include <stdlib.h>

void results_open(struct results *r, const struct scenario *sc)
{
	*r = (struct results){ .sc = sc };
}

void results_close(struct results *r)
{
	free(r->row);
}

static struct result *new_row(struct results *r)
{
	if (r->rows == r->size) {
		r->size = r->size ? r->size * 2 : 64;
		r->row = realloc(r->row, r->size * sizeof(*r->row));
		if (!r->row)
			abort();
	}
	return &r->row[r->rows++];
}

void results_add(struct results *r, uint32_t n, const struct sim *s)
{
	for (uint32_t g = 0; g < s->cfg->nconns; g++) {
		struct result *row = new_row(r);

		row->n = n;
		snprintf(row->group, sizeof(row->group), "%s", s->cfg->conn[g].name);
		summarize(s, g, &row->sum);
	}
}

void results_csv(const struct results *r, FILE *out)
{
	const struct summary_column *c;

	for (uint32_t l = 0; l < r->sc->nlists; l++)
		fprintf(out, "%s,", r->sc->list[l].name);
	fprintf(out, "group");
	for (uint32_t i = 0; (c = summary_column(i)); i++)
		fprintf(out, ",%s", c->name);
	for (uint32_t k = 0; k < r->rows; k++) {
		fprintf(out, "\n");
		for (uint32_t l = 0; l < r->sc->nlists; l++)
			fprintf(out, "%s,", scenario_value(r->sc, l, r->row[k].n));
		fprintf(out, "%s", r->row[k].group);
		for (uint32_t i = 0; (c = summary_column(i)); i++)
			fprintf(out, ",%.6g", summary_get(&r->row[k].sum, c));
	}
	fprintf(out, "\n");
}

static json_t *row_json(const struct results *r, const struct result *row)
{
	json_t *object = json_object();
	const struct summary_column *c;

	for (uint32_t l = 0; l < r->sc->nlists; l++)
		json_object_set_new(object, r->sc->list[l].name,
				    json_string(scenario_value(r->sc, l, row->n)));
	json_object_set_new(object, "group", json_string(row->group));
	for (uint32_t i = 0; (c = summary_column(i)); i++)
		json_object_set_new(object, c->name, json_real(summary_get(&row->sum, c)));
	return object;
}

bool results_json(const struct results *r, FILE *out)
{
	json_t *rows = json_array();
	int rc;

	for (uint32_t k = 0; k < r->rows; k++)
		json_array_append_new(rows, row_json(r, &r->row[k]));
	rc = json_dumpf(rows, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	json_decref(rows);
	return rc == 0 && fputc('\n', out) != EOF;
}

void results_table(const struct results *r, FILE *out)
{
	for (uint32_t l = 0; l < r->sc->nlists; l++)
		fprintf(out, "%-10s ", r->sc->list[l].name);
	fprintf(out, "%-10s %6s %9s %9s %9s %9s %9s %7s %7s %7s\n", "section", "conns",
		"Gbit/s", "mean us", "p50 us", "p99 us", "rtt us", "retx %", "again %",
		"spread%");
	for (uint32_t k = 0; k < r->rows; k++) {
		const struct summary *s = &r->row[k].sum;

		for (uint32_t l = 0; l < r->sc->nlists; l++)
			fprintf(out, "%-10s ", scenario_value(r->sc, l, r->row[k].n));
		fprintf(out, "%-10s %6.0f %9.3f %9.2f %9.2f %9.2f %9.2f %7.2f %7.2f %7.2f\n",
			r->row[k].group, s->connections, s->goodput_gbps, s->mean_us, s->p50_us,
			s->p99_us, s->rtt_us, s->retx, s->spurious, s->spread);
	}
}
