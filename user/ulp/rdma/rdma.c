// SPDX-License-Identifier: BSD-2-Clause
/* The layer: its life, and its round of the agent's loop. */
#include <stdlib.h>

#include "ulp/rdma/cm.h"
#include "ulp/rdma/link.h"
#include "ulp/rdma/objects.h"

/* XDP compares domains' numbers, whatever layer has made a key. */
enum { PD_MEMBER_SHIFT = 56 };

const struct rdma_past_stats *rdma_past_stats(const struct rdma *r)
{
	return &r->past;
}

struct rdma *rdma_create(const struct rdma_host *host)
{
	struct rdma *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->host = *host;
	rdma_join(r, host->group);
	r->last_pd = (uint64_t)r->member << PD_MEMBER_SHIFT;
	STAILQ_INIT(&r->dirty_cqs);
	r->retry_at = UINT64_MAX;
	if (rdma_mover_open(r) < 0)
		goto out_free;
	if (rdma_keys_open(r) < 0)
		goto out_mover;
	if (rdma_qps_open(r) < 0)
		goto out_keys;
	if (rdma_links_open(r) < 0)
		goto out_qps;
	if (rdma_cm_open(r) < 0)
		goto out_links;
	rdma_devices_refresh(r);
	return r;
out_links:
	rdma_links_close(r);
out_qps:
	rdma_qps_close(r);
out_keys:
	rdma_keys_close(r);
out_mover:
	rdma_mover_close(r);
out_free:
	free(r);
	return NULL;
}

void rdma_destroy(struct rdma *r)
{
	while (r->ctxs)
		rdma_ctx_close(r->ctxs);
	rdma_copies_run(r);
	rdma_cm_close(r);
	rdma_links_close(r);
	/* A thread that is held up yet may still write into buffers. */
	if (!r->late)
		rdma_qps_close(r);
	rdma_mover_close(r);
	rdma_keys_close(r);
	free(r->srqs);
	free(r);
}

void rdma_set_cpu_pressure(struct rdma *r, bool pressure)
{
	r->cpu_pressure = pressure;
	for (struct rdma_ctx *ctx = r->ctxs; ctx; ctx = ctx->next)
		falcon_store(&ctx->shm->cpu_pressure, (uint32_t)pressure);
}

static int accept_dialled(void *ulp, const struct ulp_request *req, struct ulp_data *reply,
			  char *err, size_t errlen)
{
	return rdma_links_accept(ulp, req, reply, err, errlen);
}

static int conn_up(void *ulp, const struct ulp_conn *conn)
{
	return rdma_links_conn_up(ulp, conn);
}

static void conn_resized(void *ulp, uint32_t cid, uint32_t max_len)
{
	rdma_links_conn_resized(ulp, cid, max_len);
}

static void conn_down(void *ulp, uint32_t cid, const char *why)
{
	rdma_links_conn_down(ulp, cid, why);
}

static void refused(void *ulp, uint32_t cid, const char *why)
{
	rdma_links_refused(ulp, cid, why);
}

/* Everything that can change what is copied, then the copies, then what both have completed. */
static uint32_t pump(void *ulp, uint64_t now)
{
	struct rdma *r = ulp;
	uint32_t work = 0;

	r->now = now;
	for (struct rdma_ctx *ctx = r->ctxs; ctx; ctx = ctx->next)
		work += rdma_ctx_poll(ctx);
	work += rdma_cm_run(r);
	work += rdma_links_run(r);
	work += rdma_qps_run(r);
	work += rdma_copies_run(r);
	work += rdma_cqs_publish(r);
	for (struct rdma_ctx *ctx = r->ctxs; ctx; ctx = ctx->next)
		rdma_ctx_tell(ctx);
	rdma_events_retry(r);
	return work;
}

static void sleep_end(void *ulp)
{
	struct rdma *r = ulp;

	for (struct rdma_ctx *ctx = r->ctxs; ctx; ctx = ctx->next)
		rdma_ctx_sleep_end(ctx);
}

static bool sleep_begin(void *ulp)
{
	struct rdma *r = ulp;
	bool quiet = !r->orphans && !r->copying && STAILQ_EMPTY(&r->dirty_cqs) && !r->failed_cqs;

	for (struct rdma_ctx *ctx = r->ctxs; ctx; ctx = ctx->next)
		quiet &= rdma_ctx_sleep_begin(ctx);
	if (!quiet)
		sleep_end(r);
	return quiet;
}

static void conn_gone(void *ulp, uint32_t cid)
{
	rdma_links_conn_gone(ulp, cid);
}

static void note(void *ulp, const struct ulp_note *in, const char *peer)
{
	(void)peer;
	rdma_cm_note(ulp, in);
}

static uint32_t dial_for(const void *ulp, const struct ulp_data *data)
{
	(void)ulp;
	return rdma_links_dial_for(data);
}

static int note_for(const void *ulp, const struct ulp_note *note, bool all)
{
	return rdma_cm_note_for(ulp, note, all);
}

static uint64_t deadline(const void *ulp)
{
	const struct rdma *r = ulp;
	uint64_t next = r->retry_at, at = rdma_links_deadline(r);

	next = at < next ? at : next;
	at = rdma_cm_deadline(r) < at ? rdma_cm_deadline(r) : at;
	next = at < next ? at : next;
	at = rdma_copies_deadline(r) < at ? rdma_copies_deadline(r) : at;
	next = at < next ? at : next;
	at = rdma_qps_deadline(r);
	return at < next ? at : next;
}

static void was_away(void *ulp, uint64_t ns)
{
	rdma_qps_were_away(ulp, ns);
}

static void on_push(void *ulp, struct fcore_conn *c, uint32_t rsn, const void *payload,
		    uint32_t len, uint64_t now)
{
	struct rdma *r = ulp;

	r->now = now;
	rdma_qps_push(r, rdma_link_of(r, c), c, rsn, payload, len);
}

static void on_pull(void *ulp, struct fcore_conn *c, uint32_t rsn, const void *hdr,
		    uint32_t hdr_len, uint16_t request_len, uint64_t now)
{
	struct rdma *r = ulp;

	r->now = now;
	rdma_qps_pull(r, rdma_link_of(r, c), c, rsn, hdr, hdr_len, request_len);
}

static void on_response_done(void *ulp, struct fcore_conn *c, uint64_t cookie)
{
	(void)c;
	rdma_qps_response_done(ulp, cookie);
}

static void on_pull_data(void *ulp, struct fcore_conn *c, uint64_t cookie, const void *payload,
			 uint32_t len)
{
	(void)c;
	rdma_qps_pull_data(ulp, cookie, payload, len);
}

static void on_completion(void *ulp, struct fcore_conn *c, uint64_t cookie,
			  enum falcon_completion_code code, uint8_t ulp_code)
{
	(void)c;
	rdma_qps_completion(ulp, cookie, code, ulp_code);
}

static void on_xon(void *ulp, struct fcore_conn *c)
{
	struct rdma *r = ulp;
	struct rdma_link *link = rdma_link_of(r, c);

	if (link)
		rdma_qps_xon(r, link);
}

static bool on_rnr(void *ulp, struct fcore_conn *c, uint64_t cookie, uint8_t times)
{
	(void)c;
	return rdma_qps_rnr(ulp, cookie, times);
}

static enum fcore_exec exec_give(void *ulp, struct fcore_conn *c, struct falcon_exec *e)
{
	return rdma_qps_exec_give(rdma_link_of(ulp, c), c, e);
}

static void exec_taken(void *ulp, struct fcore_conn *c, const struct falcon_exec *e)
{
	rdma_qps_exec_taken(rdma_link_of(ulp, c), e);
}

static void exec_response(void *ulp, struct fcore_conn *c, const struct falcon_response *r, uint8_t *hdr,
			  struct fcore_response *out)
{
	rdma_qps_exec_response(rdma_link_of(ulp, c), r, hdr, out);
}

const struct ulp_ops rdma_ulp_ops = {
	.name = "rdma",
	.proto = FALCON_PROTO_RDMA,
	.dial_for = dial_for,
	.note_for = note_for,
	.accept = accept_dialled,
	.conn_up = conn_up,
	.conn_resized = conn_resized,
	.conn_down = conn_down,
	.refused = refused,
	.note = note,
	.conn_gone = conn_gone,
	.pump = pump,
	.sleep_begin = sleep_begin,
	.sleep_end = sleep_end,
	.deadline = deadline,
	.was_away = was_away,
	.on_push = on_push,
	.on_pull = on_pull,
	.on_response_done = on_response_done,
	.on_pull_data = on_pull_data,
	.on_completion = on_completion,
	.on_xon = on_xon,
	.on_rnr = on_rnr,
	.exec_give = exec_give,
	.exec_taken = exec_taken,
	.exec_response = exec_response,
};
