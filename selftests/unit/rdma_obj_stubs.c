// SPDX-License-Identifier: BSD-2-Clause
/* Queue pairs and links of rdma_obj_env.h: they only take note of what they are told. */
#include "rdma_obj_env.h"

int rdma_qps_open(struct rdma *r)
{
	(void)r;
	return 0;
}

void rdma_qps_close(struct rdma *r)
{
	(void)r;
}

uint32_t rdma_qps_run(struct rdma *r)
{
	(void)r;
	return 0;
}

void rdma_qps_were_away(struct rdma *r, uint64_t ns)
{
	(void)r;
	(void)ns;
}

uint64_t rdma_qps_deadline(const struct rdma *r)
{
	(void)r;
	return UINT64_MAX;
}

void rdma_qps_srq_gone(struct rdma *r, struct rdma_srq *srq)
{
	(void)r, (void)srq;
	env.srqs_gone++;
}

void rdma_qps_push(struct rdma *r, struct rdma_link *link, struct fcore_conn *c, uint32_t rsn,
		   const void *payload, uint32_t len)
{
	(void)r, (void)link, (void)c, (void)rsn, (void)payload, (void)len;
}

void rdma_qps_pull(struct rdma *r, struct rdma_link *link, struct fcore_conn *c, uint32_t rsn,
		   const void *hdr, uint32_t hdr_len, uint16_t request_len)
{
	(void)r, (void)link, (void)c, (void)rsn, (void)hdr, (void)hdr_len, (void)request_len;
}

void rdma_qps_response_done(struct rdma *r, uint64_t cookie)
{
	(void)r, (void)cookie;
}

void rdma_qps_pull_data(struct rdma *r, uint64_t cookie, const void *payload, uint32_t len)
{
	(void)r, (void)cookie, (void)payload, (void)len;
}

void rdma_qps_completion(struct rdma *r, uint64_t cookie, enum falcon_completion_code code,
			 uint8_t ulp_code)
{
	(void)r, (void)cookie, (void)code, (void)ulp_code;
}

void rdma_qps_xon(struct rdma *r, struct rdma_link *link)
{
	(void)r, (void)link;
}

enum fcore_exec rdma_qps_exec_give(struct rdma_link *link, struct fcore_conn *c, struct falcon_exec *e)
{
	(void)link, (void)c, (void)e;
	return FCORE_EXEC_NEVER;
}

void rdma_qps_exec_taken(struct rdma_link *link, const struct falcon_exec *e)
{
	(void)link, (void)e;
}

void rdma_qps_exec_response(struct rdma_link *link, const struct falcon_response *r, uint8_t *hdr,
			    struct fcore_response *out)
{
	(void)link, (void)r, (void)hdr, (void)out;
}

void rdma_exec_wait(struct rdma_qp *qp)
{
	(void)qp;
	env.waits++;
}

bool rdma_qps_rnr(struct rdma *r, uint64_t cookie, uint8_t times)
{
	(void)r, (void)cookie, (void)times;
	return false;
}

int rdma_qp_create(struct rdma *r, const struct rdma_qp_init *init, struct rdma_qp **out, char *err,
		   size_t errlen)
{
	struct rdma_qp *qp;
	uint32_t num = 1;

	(void)r;
	while (num < ENV_QPS && env.qps[num])
		num++;
	if (num == ENV_QPS || init->req.type == IBV_QPT_RAW_PACKET) {
		snprintf(err, errlen, "no such queue pair");
		return -EINVAL;
	}
	qp = calloc(1, sizeof(*qp));
	qp->init = *init;
	qp->num = num;
	*out = env.qps[num] = qp;
	return 0;
}

void rdma_qp_destroy(struct rdma_qp *qp)
{
	env.qps[qp->num] = NULL;
	rdma_ring_close(&qp->init.sq);
	rdma_ring_close(&qp->init.rq);
	free(qp);
}

int rdma_qp_modify(struct rdma_qp *qp, uint32_t mask, const struct fverbs_qp_attr *attr, char *err,
		   size_t errlen)
{
	if (mask & ~(uint32_t)IBV_QP_STATE) {
		snprintf(err, errlen, "no such attribute");
		return -EINVAL;
	}
	qp->state = attr->qp_state;
	return 0;
}

void rdma_qp_query(const struct rdma_qp *qp, struct fverbs_qp_attr *out)
{
	out->qp_state = qp->state;
}

void rdma_qp_rung(struct rdma_qp *qp)
{
	qp->rung++;
}

void rdma_qp_fatal(struct rdma_qp *qp, int event)
{
	qp->fatal++;
	qp->event = event;
}

uint32_t rdma_qp_num(const struct rdma_qp *qp)
{
	return qp->num;
}

uint32_t rdma_qp_events(const struct rdma_qp *qp)
{
	return qp->fatal;
}

struct rdma_qp *rdma_qp_find(struct rdma *r, uint32_t num)
{
	(void)r;
	return num < ENV_QPS ? env.qps[num] : NULL;
}

void rdma_qp_drain_begin(struct rdma *r, uint32_t num, struct rdma_drain *d)
{
	(void)r, (void)num, (void)d;
}

enum rdma_drain_state rdma_qp_drain(struct rdma *r, uint32_t num, struct rdma_drain *d)
{
	(void)r, (void)num, (void)d;
	return RDMA_DRAIN_DONE;
}

const struct rdma_qp_init *rdma_qp_parts(const struct rdma_qp *qp)
{
	return &qp->init;
}

struct rdma_mr **rdma_qp_windows(struct rdma_qp *qp)
{
	return &qp->windows;
}

uint32_t rdma_links_dial_for(const struct ulp_data *data)
{
	(void)data;
	return 0;
}

int rdma_links_open(struct rdma *r)
{
	(void)r;
	return 0;
}

void rdma_links_close(struct rdma *r)
{
	(void)r;
}

uint32_t rdma_links_run(struct rdma *r)
{
	(void)r;
	return 0;
}

uint64_t rdma_links_deadline(const struct rdma *r)
{
	(void)r;
	return UINT64_MAX;
}

int rdma_links_accept(struct rdma *r, const struct ulp_request *req, struct ulp_data *reply,
		      char *err, size_t errlen)
{
	(void)r, (void)req, (void)reply, (void)err, (void)errlen;
	return -ENOENT;
}

int rdma_links_conn_up(struct rdma *r, const struct ulp_conn *conn)
{
	(void)r, (void)conn;
	return -ENOMEM;
}

void rdma_links_conn_resized(struct rdma *r, uint32_t cid, uint32_t max_len)
{
	(void)r, (void)cid, (void)max_len;
}

void rdma_links_conn_down(struct rdma *r, uint32_t cid, const char *why)
{
	(void)r, (void)cid, (void)why;
}

void rdma_links_refused(struct rdma *r, uint32_t cid, const char *why)
{
	(void)r, (void)cid, (void)why;
}

void rdma_links_conn_gone(struct rdma *r, uint32_t cid)
{
	(void)r, (void)cid;
}

struct rdma_link *rdma_link_of(struct rdma *r, const struct fcore_conn *c)
{
	(void)r, (void)c;
	return NULL;
}

struct rdma_link *rdma_link_datagram(struct rdma_ctx *ctx, uint32_t device, const struct fverbs_ah_attr *ah,
				     uint32_t peer_member, bool ordered, char *err, size_t errlen)
{
	(void)ctx, (void)device, (void)peer_member, (void)ordered;
	if (!ah->is_global) {
		snprintf(err, errlen, "no GID");
		errno = EINVAL;
		return NULL;
	}
	env.links++;
	return calloc(1, sizeof(struct rdma_link));
}

void rdma_link_put_datagram(struct rdma_link *link, const struct rdma_ctx *ctx)
{
	(void)ctx;
	env.links--;
	free(link);
}
