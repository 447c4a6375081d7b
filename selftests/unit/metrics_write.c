// SPDX-License-Identifier: BSD-2-Clause
/* Prints metrics of made objects, of every kind that there is, for metrics.t.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <agent/metrics/metrics.h>

enum { BYTES = 1 << 16 };	/* more than the largest structure with counters */

/* Two objects of each table, the second with everything at its largest. */
static void add_tables(struct metrics *m)
{
	static uint64_t few[BYTES / 8], many[BYTES / 8];

	for (size_t i = 0; i < BYTES / 8; i++)
		few[i] = i;
	memset(many, 0xff, sizeof(many));
	for (int id = 0; id < STAT_TABLES; id++) {
		char first[METRICS_LABELS_MAX] = "", second[METRICS_LABELS_MAX] = "";

		metrics_label(first, "name", "plain");
		metrics_label(second, "name", "a \"b\"\\ \n\xff{}, ");
		if (stat_tables[id].prefix) {
			metrics_add(m, (enum stat_table_id)id, first, few);
			metrics_add(m, (enum stat_table_id)id, second, many);
		}
		if (stat_tables[id].one) {
			metrics_add_one(m, (enum stat_table_id)id, first, few);
			metrics_add_one(m, (enum stat_table_id)id, second, many);
		}
	}
}

/* The names of all that tables describe, as metrics. */
static void print_names(void)
{
	for (int id = 0; id < STAT_TABLES; id++) {
		const struct stat_table *t = &stat_tables[id];
		char name[STAT_NAME_MAX];

		for (size_t i = 0; i < t->n; i++) {
			if (t->label)
				printf("%s{%s=%s}\n", t->prefix, t->label, t->stats[i].name);
			if (t->prefix && !t->label && !(t->sums && t->stats[i].kind == STAT_gauge)) {
				stat_metric_name(&t->stats[i], t->prefix, name);
				puts(name);
			}
			if (t->one) {
				stat_metric_name(&t->stats[i], t->one, name);
				puts(name);
			}
		}
	}
}

int main(int argc, char **argv)
{
	struct metrics *m = metrics_new();
	struct fcore_rtt rtt = { .sum_ns = 123456789012 };
	bool open = argc > 1 && !strcmp(argv[1], "openmetrics");
	size_t len;
	char *text;

	if (argc > 1 && !strcmp(argv[1], "names")) {
		print_names();
		metrics_free(m);
		return 0;
	}
	for (unsigned int i = 0; i < FCORE_RTT_BUCKETS; i++)
		rtt.bucket[i] = i;
	add_tables(m);
	metrics_add_rtt(m, "shard=\"0\"", &rtt);
	text = metrics_text(m, open ? METRICS_OPENMETRICS : METRICS_PROMETHEUS, &len);
	fwrite(text, 1, len, stdout);
	free(text);
	metrics_free(m);
	return 0;
}
