// SPDX-License-Identifier: BSD-2-Clause
#include "agent/rdma/show.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/conn/rows.h"
#include "agent/rdma/priv.h"
#include "agent/rdma/rdma.h"
#include "agent/shard/call.h"
#include "agent/stats/stat.h"
#include "agent/tenant/operator.h"
#include "ulp/rdma/objects.h"

/* Appends a row about the object of handle |handle|, which begins as |row|. */
typedef void (*row_fn)(const struct rdma_ctx *ctx, uint32_t handle, json_t *row);

static void put(json_t *row, const char *key, uint64_t value)
{
	json_object_set_new(row, key, json_integer((json_int_t)value));
}

static void put_text(json_t *row, const char *key, const char *text)
{
	json_object_set_new(row, key, json_string(text));
}

static void put_hex(json_t *row, const char *key, uint64_t value, int digits)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%0*llx", digits, (unsigned long long)value);
	put_text(row, key, text);
}

static void put_gid(json_t *row, const char *key, const uint8_t gid[16])
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, gid, text, sizeof(text));
	put_text(row, key, text);
}

static void put_device(const struct rdma_ctx *ctx, json_t *row, uint32_t index)
{
	const struct fverbs_device *d = rdma_device(ctx->r, index);

	put_text(row, "device", d ? d->name : "");
}

enum {
	HANDLES_AT_ONCE = 4096,		/* that a call looks at */
	/* Where a page begins (struct show_query): from the lowest bits handle, application, shard. */
	HANDLE_BITS = 24,
	APP_BITS = 32,
};
_Static_assert(RDMA_MAX_HANDLES <= 1 << HANDLE_BITS, "a handle has its place");

/* The way through all objects. */
struct walk {
	const struct show_query *q;
	uint32_t kinds;			/* 1 << enum rdma_kind of each that is wanted */
	row_fn fn;
	json_t *rows;
	const struct agent_rdma *v;
	uint32_t app, handle;		/* the next; of |app|, or of the first one that came before it */
	bool through;			/* |v| has no more */
};

static void add_row(const struct walk *w, const struct rdma_app *app)
{
	json_t *row = json_pack("{s:i, s:I, s:I}", "pid", (int)app->pid, "uid", (json_int_t)app->uid,
				"handle", (json_int_t)w->handle);

	w->fn(app->ctx, w->handle, row);
	json_array_append_new(w->rows, row);
}

/* In a call: the next rows of |w|. Only applications that |w->q| is about are looked through. */
static void some_objects(void *arg)
{
	struct walk *w = arg;
	size_t most = json_array_size(w->rows) + ROWS_AT_ONCE;
	uint32_t looks = HANDLES_AT_ONCE;

	for (const struct rdma_app *app = w->v->apps; app; app = app->next) {
		if (app->number > w->app || (app->uid != w->q->uid && !user_is_operator(w->q->uid)))
			continue;
		if (app->number < w->app)
			w->handle = 1;
		w->app = app->number;
		for (; w->handle < app->ctx->handles_size; w->handle++) {
			if (!looks-- || json_array_size(w->rows) == most)
				return;
			if (w->kinds >> app->ctx->handles[w->handle].kind & 1)
				add_row(w, app);
		}
	}
	w->through = true;
}

/* A page of rows about the objects of |kinds|, of all applications that |q| is about. */
static void each(struct agent *a, const struct show_query *q, uint32_t kinds, row_fn fn, json_t *rows)
{
	struct walk w = { .q = q, .kinds = kinds, .fn = fn, .rows = rows, .app = UINT32_MAX, .handle = 1 };
	uint64_t shard = q->from >> (HANDLE_BITS + APP_BITS);
	int looks = 0;

	if (q->from) {
		w.app = (uint32_t)(q->from >> HANDLE_BITS);
		w.handle = q->from & ((1U << HANDLE_BITS) - 1);
	}
	for (; shard < a->plane.nshards; shard++, w.app = UINT32_MAX, w.handle = 1) {
		w.v = a->plane.shards[shard].rdma;
		w.through = !w.v;
		while (!w.through && looks++ < SHOW_LOOKS && json_array_size(rows) < SHOW_ROWS)
			call_run(&a->plane.shards[shard].call, some_objects, &w);
		if (w.through)
			continue;
		*q->next = shard << (HANDLE_BITS + APP_BITS) | (uint64_t)w.app << HANDLE_BITS | w.handle;
		return;
	}
}

static const char *name_of(const char *const *names, size_t n, uint32_t i)
{
	return i < n && names[i] ? names[i] : "?";
}

#define NAME(names, i) name_of(names, sizeof(names) / sizeof(names[0]), i)

static void qp_stats(const struct rdma_qp_stats *s, json_t *row)
{
	STAT_PUT(row, RDMA_QP_STATS, s);
	if (s->copy_error)
		json_object_set_new(row, "copy_error", json_string(strerror(-s->copy_error)));
}

static void qp_row(const struct rdma_ctx *ctx, uint32_t handle, json_t *row)
{
	static const char *const types[] = { [IBV_QPT_RC] = "RC", [IBV_QPT_UC] = "UC",
					     [IBV_QPT_UD] = "UD", [IBV_QPT_XRC_SEND] = "XRC send",
					     [IBV_QPT_XRC_RECV] = "XRC receive" };
	static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
	static const char *const orderings[] = { "strong", "weak", "unordered" };
	const struct rdma_qp *qp = rdma_qp_of_handle(ctx, handle);
	const struct rdma_qp_init *parts = qp ? rdma_qp_parts(qp) : NULL;
	struct fverbs_qp_attr attr = {};

	/* Of another application's queue pair only the number is this one's business. */
	if (!qp) {
		put_text(row, "type", "opened");
		return;
	}
	/* What XDP has carried out is counted when it is taken back. */
	rdma_exec_recall(qp);
	rdma_qp_query(qp, &attr);
	put_device(ctx, row, parts->device);
	put_hex(row, "qpn", rdma_qp_num(qp), 6);
	put_text(row, "type", NAME(types, parts->req.type));
	put_text(row, "state", NAME(states, attr.qp_state));
	put_text(row, "ordering", NAME(orderings, parts->req.ordering));
	put_text(row, "errors", parts->req.errors ? "complete-in-error" : "verbs");
	put_hex(row, "remote_qpn", attr.dest_qp_num, 6);
	put_gid(row, "remote", attr.ah.dgid);
	qp_stats(rdma_qp_stats(qp), row);
}

static void cq_row(const struct rdma_ctx *ctx, uint32_t handle, json_t *row)
{
	const struct rdma_cq *cq = ctx->handles[handle].object;

	put(row, "entries", cq->ring.entries);
	put(row, "unread", cq->published - falcon_load(&rdma_ring_idx(&cq->ring)->head));
	put(row, "queues", cq->uses);
	json_object_set_new(row, "channel", json_boolean(cq->channel));
	json_object_set_new(row, "failed", json_boolean(cq->failed));
	STAT_PUT(row, RDMA_CQ_STATS, &cq->stats);
	put(row, "events", cq->events.completion);
}

/* enum ibv_access_flags as letters: local and remote writing, remote reading, atomics, windows. */
static void put_access(json_t *row, uint32_t access)
{
	static const char letters[] = "wWRAM";
	char text[sizeof(letters)];
	size_t n = 0;

	for (size_t i = 0; letters[i]; i++)
		text[n++] = access & (1U << i) ? letters[i] : '-';
	text[n] = 0;
	put_text(row, "access", text);
}

static void put_range(const struct rdma_mr *mr, json_t *row)
{
	put_hex(row, "key", mr->key, 8);
	put_access(row, mr->access);
	put_hex(row, "iova", mr->iova, 1);
	put(row, "length", mr->length);
}

static void mr_row(const struct rdma_ctx *ctx, uint32_t handle, json_t *row)
{
	const struct rdma_mr *mr = ctx->handles[handle].object;

	put_text(row, "kind", mr->implicit ? "all memory" : !mr->area ? "region" :
		 mr->area->memory ? "offload" : "shared");
	put_range(mr, row);
	put(row, "pd", mr->made.pd);
	put(row, "windows", mr->windows);
}

static void mw_row(const struct rdma_ctx *ctx, uint32_t handle, json_t *row)
{
	const struct rdma_mr *mw = ctx->handles[handle].object;

	put_text(row, "kind", mw->kind == RDMA_MR_WINDOW_1 ? "window 1" : "window 2");
	put_hex(row, "key", mw->key, 8);
	if (mw->bound)
		put_range(mw, row);
}

static void key_row(const struct rdma_ctx *ctx, uint32_t handle, json_t *row)
{
	if (ctx->handles[handle].kind == RDMA_KIND_MR)
		mr_row(ctx, handle, row);
	else
		mw_row(ctx, handle, row);
}

static void pd_row(const struct rdma_ctx *ctx, uint32_t handle, json_t *row)
{
	const struct rdma_pd *pd = ctx->handles[handle].object;

	put_device(ctx, row, pd->device);
	put(row, "objects", pd->uses);
}

void agent_show_qp(struct agent *a, const struct show_query *q, json_t *rows)
{
	each(a, q, 1 << RDMA_KIND_QP, qp_row, rows);
}

void agent_show_cq(struct agent *a, const struct show_query *q, json_t *rows)
{
	each(a, q, 1 << RDMA_KIND_CQ, cq_row, rows);
}

void agent_show_mr(struct agent *a, const struct show_query *q, json_t *rows)
{
	each(a, q, 1 << RDMA_KIND_MR | 1 << RDMA_KIND_MW, key_row, rows);
}

void agent_show_pd(struct agent *a, const struct show_query *q, json_t *rows)
{
	each(a, q, 1 << RDMA_KIND_PD, pd_row, rows);
}

static unsigned int applications(const struct agent *a)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < a->plane.nshards; i++)
		n += a->plane.shards[i].rdma->napps;
	return n;
}

/* A row for each address: what GID index an application has to give. */
void agent_show_device(struct agent *a, const struct show_query *q, json_t *rows)
{
	static const uint8_t none[16];
	const struct agent_rdma *v = a->plane.shards[0].rdma;
	const struct fverbs_device *d;

	(void)q;
	for (uint32_t i = 0; v && (d = rdma_device(v->layer, i)); i++) {
		for (uint32_t g = 0; g < d->ngids; g++) {
			json_t *row;

			if (!memcmp(d->gids[g].raw, none, 16))
				continue;
			row = json_pack("{s:s, s:s, s:s, s:i, s:i}", "name", d->name, "dev", d->netdev,
					"state", d->port_state == IBV_PORT_ACTIVE ? "active" : "down",
					"mtu", 128 << d->active_mtu, "index", (int)g);
			put_gid(row, "gid", d->gids[g].raw);
			put(row, "applications", applications(a));
			json_array_append_new(rows, row);
		}
	}
}
