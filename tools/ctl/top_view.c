// SPDX-License-Identifier: BSD-2-Clause
#include "top_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING_MORE { NULL }

const struct top_view top_views[TOP_VIEWS] = {
	[TOP_CONN] = { "connections", { "conn", "rue" }, { "name" }, 3, {
		{ "NAME", "name", -14, 0, TOP_VALUE, "name", NOTHING_MORE },
		{ "STATE", "state", -9, 0, TOP_VALUE, "state", NOTHING_MORE },
		{ "CC", "algorithm", -8, 1, TOP_VALUE, "algorithm", NOTHING_MORE },
		{ "TX/S", "tx_per_s", 9, 0, TOP_RATE, "tx_packets", NOTHING_MORE },
		{ "RX/S", "rx_per_s", 9, 0, TOP_RATE, "rx_packets", NOTHING_MORE },
		{ "RETX/S", "retx_per_s", 7, 0, TOP_RATE, "tx_retx_rto", { "tx_retx_early", "tx_retx_own" } },
		{ "OPS/S", "ops_per_s", 9, 0, TOP_RATE, "completed", NOTHING_MORE },
		{ "EVENTS/S", "events_per_s", 9, 1, TOP_RATE, "events", NOTHING_MORE },
		{ "FCWND", "fcwnd", 7, 1, TOP_VALUE, "fcwnd", NOTHING_MORE },
		{ "NCWND", "ncwnd", 6, 1, TOP_VALUE, "ncwnd", NOTHING_MORE },
		{ "DELAY_US", "delay_us", 9, 1, TOP_VALUE, "delay_us", NOTHING_MORE },
		{ "RTT_US", "rtt_us", 8, 1, TOP_VALUE, "rtt_us", NOTHING_MORE },
		{ "GAP_US", "gap_us", 8, 1, TOP_VALUE, "gap_us", NOTHING_MORE },
	} },
	[TOP_QP] = { "queue pairs", { "qp" }, { "pid", "qpn" }, 6, {
		{ "PID", "pid", -8, 0, TOP_VALUE, "pid", NOTHING_MORE },
		{ "QPN", "qpn", -8, 0, TOP_VALUE, "qpn", NOTHING_MORE },
		{ "TYPE", "type", -11, 0, TOP_VALUE, "type", NOTHING_MORE },
		{ "STATE", "state", -6, 0, TOP_VALUE, "state", NOTHING_MORE },
		{ "SENT/S", "sent_per_s", 9, 0, TOP_RATE, "sent", NOTHING_MORE },
		{ "RECV/S", "received_per_s", 9, 0, TOP_RATE, "received", NOTHING_MORE },
		{ "TX_B/S", "tx_bytes_per_s", 11, 0, TOP_RATE, "tx_bytes", NOTHING_MORE },
		{ "RX_B/S", "rx_bytes_per_s", 11, 0, TOP_RATE, "rx_bytes", NOTHING_MORE },
		{ "FAILED", "failed", 7, 0, TOP_VALUE, "sent_in_error", NOTHING_MORE },
		{ "RNR/S", "not_ready_per_s", 7, 0, TOP_RATE, "not_ready", NOTHING_MORE },
		{ "LOST", "lost", 6, 0, TOP_VALUE, "lost", NOTHING_MORE },
	} },
	[TOP_NVME] = { "disks", { "nvme" }, { "name" }, 5, {
		{ "NAME", "name", -14, 0, TOP_VALUE, "name", NOTHING_MORE },
		{ "READY", "ready", -5, 0, TOP_VALUE, "ready", NOTHING_MORE },
		{ "UP", "connected", 3, 0, TOP_VALUE, "connected", NOTHING_MORE },
		{ "READS/S", "reads_per_s", 9, 0, TOP_RATE, "reads", NOTHING_MORE },
		{ "WRITES/S", "writes_per_s", 9, 0, TOP_RATE, "writes", NOTHING_MORE },
		{ "READ_B/S", "read_bytes_per_s", 11, 0, TOP_RATE, "read_bytes", NOTHING_MORE },
		{ "WRITE_B/S", "written_bytes_per_s", 11, 0, TOP_RATE, "written_bytes", NOTHING_MORE },
		{ "OTHER/S", "others_per_s", 8, 0, TOP_RATE, "others", NOTHING_MORE },
		{ "ERRORS", "errors", 7, 0, TOP_VALUE, "errors", NOTHING_MORE },
		{ "RETRIED", "retried", 8, 0, TOP_VALUE, "retried", NOTHING_MORE },
	} },
	[TOP_SHARD] = { "threads", { "shard" }, { "shard" }, 5, {
		{ "SHARD", "shard", -5, 0, TOP_VALUE, "shard", NOTHING_MORE },
		{ "PRIORITY", "priority", -8, 0, TOP_VALUE, "priority", NOTHING_MORE },
		{ "CONNS", "connections", 6, 0, TOP_VALUE, "connections", NOTHING_MORE },
		{ "APPS", "applications", 5, 0, TOP_VALUE, "applications", NOTHING_MORE },
		{ "TURNS/S", "turns_per_s", 10, 0, TOP_RATE, "turns", NOTHING_MORE },
		{ "FRAMES/S", "rx_frames_per_s", 10, 0, TOP_RATE, "rx_frames", NOTHING_MORE },
		{ "HANDED/S", "handed_over_per_s", 9, 0, TOP_RATE, "handed_over", NOTHING_MORE },
		{ "SLEEPS/S", "sleeps_per_s", 9, 0, TOP_RATE, "sleeps", NOTHING_MORE },
		{ "CALLS/S", "calls_per_s", 8, 0, TOP_RATE, "calls", NOTHING_MORE },
		{ "LONGEST_US", "longest_turn_us", 10, 0, TOP_VALUE, "longest_turn_us", NOTHING_MORE },
	} },
};

int top_columns(const struct top_view *view)
{
	int n = 0;

	while (view->columns[n].title)
		n++;
	return n;
}

/* What tells |row| from others of its table. */
static void id_of(const struct top_view *view, const json_t *row, char *id, size_t size)
{
	char part[2][TOP_CELL] = { "", "" };

	for (int i = 0; i < 2 && view->id[i]; i++)
		ctl_cell(json_object_get(row, view->id[i]), part[i], TOP_CELL);
	snprintf(id, size, "%s %s", part[0], part[1]);
}

static json_t *by_id(const struct top_view *view, json_t *rows)
{
	json_t *index = json_object(), *row;
	char id[2 * TOP_CELL];
	size_t i;

	json_array_foreach (rows, i, row) {
		id_of(view, row, id, sizeof(id));
		if (!json_object_get(index, id))
			json_object_set(index, id, row);
	}
	return index;
}

static void forget(struct top_look *look)
{
	json_decref(look->rows);
	for (int i = 0; i < TOP_TABLES; i++)
		json_decref(look->by_id[i]);
	*look = (struct top_look){ .rows = NULL };
}

void top_start(struct top_sample *s, const struct top_view *view)
{
	forget(&s->before);
	forget(&s->now);
	s->view = view;
}

bool top_look(struct top_sample *s, struct ipc_client *agent, const char *path, double at)
{
	struct top_look look = { .at = at };

	if (agent->sock < 0 && ctl_reach(agent, path) < 0)
		return false;
	for (int i = 0; i < TOP_TABLES && s->view->tables[i]; i++) {
		json_t *rows = ctl_pages(agent, s->view->tables[i], NULL);

		if (!rows) {
			forget(&look);
			ipc_client_close(agent);
			return false;
		}
		look.by_id[i] = by_id(s->view, rows);
		if (i == 0)
			look.rows = rows;
		else
			json_decref(rows);
	}
	forget(&s->before);
	s->before = s->now;
	s->now = look;
	return true;
}

static double sum(const json_t *row, const struct top_column *c)
{
	double n = json_number_value(json_object_get(row, c->key));

	for (int i = 0; i < 2 && c->more[i]; i++)
		n += json_number_value(json_object_get(row, c->more[i]));
	return n;
}

static double rate(const struct top_sample *s, const struct top_column *c, const char *id)
{
	const json_t *row = json_object_get(s->now.by_id[c->table], id);
	const json_t *old = json_object_get(s->before.by_id[c->table], id);
	double d = row && old ? sum(row, c) - sum(old, c) : 0;

	/* What was set up anew counts from 0. */
	return d > 0 ? d / (s->now.at - s->before.at) : 0;
}

json_t *top_json_of(const struct top_sample *s, const struct top_column *c, const json_t *row)
{
	char id[2 * TOP_CELL];

	id_of(s->view, row, id, sizeof(id));
	if (c->source == TOP_RATE)
		return json_real(rate(s, c, id));
	return json_incref(json_object_get(json_object_get(s->now.by_id[c->table], id), c->key));
}

struct top_cell top_cell_of(const struct top_sample *s, const struct top_column *c, const json_t *row)
{
	json_t *value = top_json_of(s, c, row);
	struct top_cell cell = { .order = json_number_value(value) };

	if (c->source == TOP_RATE)
		snprintf(cell.text, sizeof(cell.text), "%.0f", cell.order);
	else
		ctl_cell(value, cell.text, sizeof(cell.text));
	json_decref(value);
	return cell;
}

struct order {
	int column;
	bool reverse;
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct top_line *x = a, *y = b;
	const struct order *o = arg;
	double left = x->cell[o->column].order, right = y->cell[o->column].order;
	int d = (left < right) - (left > right);

	if (!d)
		d = strcmp(x->cell[o->column].text, y->cell[o->column].text);
	if (o->reverse)
		d = -d;
	return d ? d : strcmp(x->cell[0].text, y->cell[0].text);
}

struct top_line *top_lines(const struct top_sample *s, int column, bool reverse, size_t *n)
{
	struct order order = { column, reverse };
	struct top_line *lines;

	*n = json_array_size(s->now.rows);
	lines = calloc(*n ? *n : 1, sizeof(*lines));
	if (!lines)
		return NULL;
	for (size_t i = 0; i < *n; i++) {
		const json_t *row = json_array_get(s->now.rows, i);

		for (int c = 0; s->view->columns[c].title; c++)
			lines[i].cell[c] = top_cell_of(s, &s->view->columns[c], row);
	}
	qsort_r(lines, *n, sizeof(*lines), compare, &order);
	return lines;
}
