// SPDX-License-Identifier: BSD-2-Clause
/* Extended completion queues: one completion at a time, field by field. */
#include <errno.h>
#include <time.h>

#include "verbs/fv.h"

static struct fv_cq *of(struct ibv_cq_ex *ex)
{
	return FV_CAST(struct fv_cq, ex, ex);
}

static int take(struct fv_cq *cq)
{
	if (!fv_cq_take(cq, &cq->now))
		return ENOENT;
	cq->ex.wr_id = cq->now.wr_id;
	cq->ex.status = cq->now.status;
	return 0;
}

/* The lock stays with whoever has found something, until end_poll(). */
static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct fv_ctx *ctx = fv_ctx_of(ex->context);
	struct fv_cq *cq = of(ex);
	int rc;

	if (attr->comp_mask)
		return EINVAL;
	if (fv_forked(&ctx->agent))
		return EIO;
	fv_lock(&cq->lock);
	rc = take(cq);
	if (!rc) {
		fv_busy();
		return 0;
	}
	fv_unlock(&cq->lock);
	fv_cq_idle(cq);
	return rc;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return take(of(ex));
}

static void end_poll(struct ibv_cq_ex *ex)
{
	fv_unlock(&of(ex)->lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return of(ex)->now.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return of(ex)->now.vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return of(ex)->now.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return of(ex)->now.imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return of(ex)->now.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return of(ex)->now.src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return of(ex)->now.wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return of(ex)->now.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return of(ex)->now.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return of(ex)->now.dlid_path_bits;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return of(ex)->now.timestamp;
}

static uint64_t read_wallclock(struct ibv_cq_ex *ex)
{
	return of(ex)->now.timestamp + (uint64_t)of(ex)->wallclock;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

void fv_cq_ex_fill(struct fv_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->ex;

	cq->wallclock = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_wallclock;
}
