// SPDX-License-Identifier: BSD-2-Clause
#include <jansson.h>
#include <stdio.h>

#include "perf.h"

static const struct {
	const char *name;
	double fraction;
} quantiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p99.9", 0.999 } };

#define QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

static const char *op_name(enum perf_op op)
{
	switch (op) {
	case PERF_PUSH: return "push";
	case PERF_PULL: return "pull";
	case PERF_SEND: return "send";
	}
	return "?";
}

static double seconds(const struct perf_result *res)
{
	return res->elapsed ? (double)res->elapsed / 1e9 : 1e-9;
}

static double gbps(const struct perf_config *cfg, const struct perf_result *res)
{
	return (double)(res->done * cfg->size) * 8 / seconds(res) / 1e9;
}

static json_t *latency_json(const struct histogram *h)
{
	json_t *l = json_object();

	json_object_set_new(l, "min", json_real((double)h->min / 1e3));
	json_object_set_new(l, "mean", json_real(histogram_mean(h) / 1e3));
	for (size_t i = 0; i < QUANTILES; i++)
		json_object_set_new(l, quantiles[i].name,
				    json_real((double)histogram_quantile(h, quantiles[i].fraction) /
					      1e3));
	json_object_set_new(l, "max", json_real((double)h->max / 1e3));
	return l;
}

static void report_json(const struct perf_config *cfg, const struct perf_result *res)
{
	json_t *o = json_pack("{s:s, s:s, s:b, s:I, s:I, s:f, s:I, s:f, s:f}", "op",
			      op_name(cfg->op), "conn", res->info.name, "ordered",
			      res->info.ordered, "size", (json_int_t)cfg->size, "depth",
			      (json_int_t)cfg->depth, "seconds", seconds(res), "operations",
			      (json_int_t)res->done, "ops_per_s",
			      (double)res->done / seconds(res), "goodput_gbps", gbps(cfg, res));

	json_object_set_new(o, "segment", json_integer(res->info.segment));
	json_object_set_new(o, "mtu", json_integer(res->info.mtu));
	json_object_set_new(o, "verified", json_boolean(cfg->verify));
	json_object_set_new(o, "mismatches", json_integer((json_int_t)res->mismatches));
	json_object_set_new(o, "latency_us", latency_json(&res->latency));
	json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	putchar('\n');
	json_decref(o);
}

static void report_text(const struct perf_config *cfg, const struct perf_result *res)
{
	const struct histogram *h = &res->latency;

	printf("%s of %llu bytes to \"%s\" (%s, MTU %u, segment %u), %llu at a time, %.3f s\n",
	       op_name(cfg->op), (unsigned long long)cfg->size, res->info.name,
	       res->info.ordered ? "ordered" : "unordered", res->info.mtu, res->info.segment,
	       (unsigned long long)cfg->depth, seconds(res));
	printf("  operations  %12llu  %14.0f /s\n", (unsigned long long)res->done,
	       (double)res->done / seconds(res));
	printf("  goodput                   %14.3f Gb/s\n", gbps(cfg, res));
	printf("  latency us  min %.1f  mean %.1f", (double)h->min / 1e3,
	       histogram_mean(h) / 1e3);
	for (size_t i = 0; i < QUANTILES; i++)
		printf("  %s %.1f", quantiles[i].name,
		       (double)histogram_quantile(h, quantiles[i].fraction) / 1e3);
	printf("  max %.1f\n", (double)h->max / 1e3);
	if (cfg->verify)
		printf("  verified    %12llu  %14llu mismatches\n", (unsigned long long)res->done,
		       (unsigned long long)res->mismatches);
}

void perf_report(const struct perf_config *cfg, const struct perf_result *res)
{
	if (cfg->json)
		report_json(cfg, res);
	else
		report_text(cfg, res);
}
