// SPDX-License-Identifier: BSD-2-Clause
/* What has been counted, as JSON, and that as text: whoever asks gets the same figures. */
#include "emulator.h"
#include "hop.h"

/* Mean, percentiles and ends of |h|, each divided by |unit|. */
static json_t *histogram_json(const struct histogram *h, double unit)
{
	double max = h->count ? (double)h->max : 0;

	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "mean", histogram_mean(h) / unit, "p50",
			 (double)histogram_quantile(h, 0.5) / unit, "p90",
			 (double)histogram_quantile(h, 0.9) / unit, "p99",
			 (double)histogram_quantile(h, 0.99) / unit, "p99.9",
			 (double)histogram_quantile(h, 0.999) / unit, "max", max / unit);
}

/* NULL without RIFL. */
static json_t *rifl_json(const struct emulator *em, unsigned int to, unsigned int path)
{
	struct hop_stats s;

	if (!em->wire->hop[path])
		return NULL;
	hop_stats(em->wire->hop[path], to, &s);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "frames", (json_int_t)s.frames, "damaged",
			 (json_int_t)s.damaged, "errors", (json_int_t)s.errors, "retransmissions",
			 (json_int_t)s.retransmissions, "altered", (json_int_t)s.altered, "restarts",
			 (json_int_t)s.restarts);
}

static json_t *link_json(const struct emulator *em, unsigned int to, unsigned int path)
{
	const struct link *l = &em->wire->link[to][path];
	const struct link_stats *s = &l->stats;
	json_t *dropped = json_pack("{s:I, s:I, s:I, s:I, s:I}", "queue", (json_int_t)s->queue_full,
				    "loss", (json_int_t)s->lost, "down", (json_int_t)s->down,
				    "no_buffer", (json_int_t)s->no_buffer, "bit_errors",
				    (json_int_t)s->bit_errors);
	json_t *depth = histogram_json(&s->depth, 1);

	json_object_set_new(depth, "now", json_integer((json_int_t)l->bytes));
	json_object_set_new(depth, "max_packets", json_integer((json_int_t)s->max_packets));
	return json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, "
			 "s:o*, s:o}",
			 "to", em->port[to].name, "path", (int)path, "offered",
			 (json_int_t)s->offered, "offered_bytes", (json_int_t)s->offered_bytes,
			 "delivered", (json_int_t)s->delivered, "delivered_bytes",
			 (json_int_t)s->delivered_bytes, "dropped", dropped, "marked",
			 (json_int_t)s->marked, "duplicated", (json_int_t)s->duplicated, "corrupted",
			 (json_int_t)s->corrupted, "reordered", (json_int_t)s->reordered, "under_way",
			 (json_int_t)l->under_way, "queue_bytes", depth, "wait_us",
			 histogram_json(&s->wait, 1000), "delay_us", histogram_json(&s->delay, 1000),
			 "rifl", rifl_json(em, to, path), "settings", settings_json(&l->set));
}

static json_t *port_json(struct port *p)
{
	if (p->io != PORT_AUTO)
		port_count(p);
	return json_pack("{s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I}", "name", p->name, "io",
			 port_io_name(p->io), "queues", (int)p->queues, "received",
			 (json_int_t)p->stats.received, "sent", (json_int_t)p->stats.sent, "overrun",
			 (json_int_t)p->stats.overrun, "unsent", (json_int_t)p->stats.unsent,
			 "oversize", (json_int_t)p->stats.oversize);
}

json_t *report_json(struct emulator *em)
{
	struct wire *w = em->wire;
	json_t *ports = json_array(), *links = json_array();

	for (unsigned int i = 0; i < em->ports; i++)
		json_array_append_new(ports, port_json(&em->port[i]));
	for (unsigned int to = 0; to < w->ports; to++)
		for (unsigned int path = 0; path < w->paths; path++)
			json_array_append_new(links, link_json(em, to, path));
	return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "frames", (json_int_t)em->pool.frames,
			 "free_frames", (json_int_t)em->pool.frees, "unknown",
			 (json_int_t)w->unknown, "late_us", histogram_json(&w->late, 1000), "ports",
			 ports, "links", links);
}

static long long count(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

static double real(const json_t *o, const char *group, const char *key)
{
	return json_number_value(json_object_get(json_object_get(o, group), key));
}

static void link_text(const json_t *l, FILE *out)
{
	const json_t *dropped = json_object_get(l, "dropped");

	fprintf(out,
		"%-10s %4lld %9lld %9lld %8lld %8lld %8lld %8lld %8lld %8lld %8lld %8lld %9.0f %9.0f %9.0f "
		"%9.1f %9.1f %9.1f %9.1f %9.1f%s\n",
		json_string_value(json_object_get(l, "to")), count(l, "path"), count(l, "offered"),
		count(l, "delivered"), count(dropped, "queue"), count(dropped, "loss"),
		count(dropped, "bit_errors"), count(dropped, "down"), count(l, "marked"),
		count(l, "duplicated"), count(l, "corrupted"), count(l, "reordered"),
		real(l, "queue_bytes", "mean"), real(l, "queue_bytes", "p99"),
		real(l, "queue_bytes", "max"), real(l, "wait_us", "p50"),
		real(l, "wait_us", "p99"), real(l, "wait_us", "max"), real(l, "delay_us", "p50"),
		real(l, "delay_us", "p99"),
		json_is_true(json_object_get(json_object_get(l, "settings"), "down")) ? " down" : "");
}

static void rifl_text(const json_t *links, FILE *out)
{
	const char *head = "\n%-10s %4s %11s %9s %9s %9s %9s %9s\n";
	const json_t *l;
	size_t i;

	json_array_foreach(links, i, l) {
		const json_t *r = json_object_get(l, "rifl");

		if (!r)
			continue;
		if (head)
			fprintf(out, head, "to", "path", "RIFL frames", "damaged", "errors", "again",
				"altered", "restarts");
		head = NULL;
		fprintf(out, "%-10s %4lld %11lld %9lld %9lld %9lld %9lld %9lld\n",
			json_string_value(json_object_get(l, "to")), count(l, "path"), count(r, "frames"),
			count(r, "damaged"), count(r, "errors"), count(r, "retransmissions"),
			count(r, "altered"), count(r, "restarts"));
	}
}

void report_text(const json_t *report, FILE *out)
{
	const json_t *ports = json_object_get(report, "ports");
	const json_t *links = json_object_get(report, "links"), *o;
	size_t i;

	fprintf(out, "%-10s %-8s %6s %10s %10s %8s %8s\n", "port", "io", "queues", "received",
		"sent", "overrun", "unsent");
	json_array_foreach(ports, i, o)
		fprintf(out, "%-10s %-8s %6lld %10lld %10lld %8lld %8lld\n",
			json_string_value(json_object_get(o, "name")),
			json_string_value(json_object_get(o, "io")), count(o, "queues"),
			count(o, "received"), count(o, "sent"), count(o, "overrun"),
			count(o, "unsent"));
	fprintf(out, "\n%-10s %4s %9s %9s %8s %8s %8s %8s %8s %8s %8s %8s %9s %9s %9s %9s %9s %9s %9s %9s\n",
		"to", "path", "offered", "delivered", "q.full", "lost", "bits", "down", "marked", "dup",
		"corrupt", "reorder", "q.mean", "q.p99", "q.max", "wait.p50", "wait.p99", "wait.max",
		"delay.p50", "delay.p99");
	json_array_foreach(links, i, o)
		link_text(o, out);
	rifl_text(links, out);
	fprintf(out, "\nqueues in bytes, times in us; done late by %.1f us (median), %.1f us (p99)\n",
		real(report, "late_us", "p50"), real(report, "late_us", "p99"));
}
