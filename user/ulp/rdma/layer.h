/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layer itself, for its own sources: what all parts share, and what rdma.c and the commands,
 * which know all parts, call of each.
 */
#ifndef FALCON_ULP_RDMA_LAYER_H
#define FALCON_ULP_RDMA_LAYER_H

#include "ulp/rdma/rdma.h"

struct rdma_qps;	/* qp.c's own */
struct rdma_links;	/* link.c's own */
struct rdma_keys;	/* key.c's own */
struct rdma_cm;		/* cm_*.c's own */

struct rdma {
	struct rdma_host host;
	struct rdma_group *group;	/* that it is in; of itself alone, |alone| */
	struct rdma_group alone;
	uint32_t member;		/* its number there */
	uint64_t now;			/* ns: of the call of struct ulp_ops that is being served */
	struct rdma_qps *qps;
	struct rdma_links *links;
	struct rdma_keys *keys;
	struct rdma_cm *cm;
	struct rdma_ctx *ctxs;		/* all that are open */
	uint32_t nctxs;
	struct rdma_ctx *copying;	/* contexts with copies that are queued: mover.c */
	struct rdma_ctx **copying_tail;
	LIST_HEAD(, rdma_ctx) resting;	/* contexts with copies that have to wait: mover.c */
	struct rdma_run *run, *late;	/* what the mover makes; what it waits for: mover.c */
	struct rdma_copy *orphans;	/* copies whose context has gone: mover.c */
	struct rdma_copy **orphans_tail;
	STAILQ_HEAD(, rdma_cq) dirty_cqs;	/* with completions that are not published: cq.c */
	struct rdma_cq *failed_cqs;	/* that have overrun, whose queue pairs are to be told: cq.c */
	struct rdma_xrcd *xrcds;
	struct rdma_srq **srqs;		/* by number; 0 is none */
	uint32_t srqs_size;		/* elements */
	uint32_t last_srq;		/* number that was given last */
	uint64_t last_pd;		/* number that was given last; 0 is none */
	uint64_t retry_at;		/* ns: events wait for room in a socket; UINT64_MAX: none do */
	struct rdma_past_stats past;
	bool cpu_pressure;			/* as rdma_set_cpu_pressure() has said */
	unsigned int ndevices;
	struct fverbs_device devices[FVERBS_DEVICES_MAX];
};

/* |r| becomes the next member of |group|, or of one that it is alone in, if that is NULL. */
static inline void rdma_join(struct rdma *r, struct rdma_group *group)
{
	r->group = group ? group : &r->alone;
	r->member = r->group->n++;
	r->group->all[r->member] = r;
}

/* ---- qp.c and what belongs to it: called by rdma.c with r->now set --------------------------- */

/* Once, at the start; sets r->qps. 0 or -ENOMEM. */
int rdma_qps_open(struct rdma *r);
/* At the end, when there are no queue pairs left. */
void rdma_qps_close(struct rdma *r);
/* Once a round: timers that are due, work that waited for room. Returns how much was done. */
uint32_t rdma_qps_run(struct rdma *r);
/* When rdma_qps_run() is needed even if nothing happens, ns; UINT64_MAX: never. */
uint64_t rdma_qps_deadline(const struct rdma *r);
/* The shard has just not run for |ns|: requests that wait for a connection have so much more time. */
void rdma_qps_were_away(struct rdma *r, uint64_t ns);

/*
 * |srq|, of XRC, goes, with its completion queue perhaps behind it: nothing is to refer to either any
 * more. Its queue pairs need not be of the same application. |uses| does not count them.
 */
void rdma_qps_srq_gone(struct rdma *r, struct rdma_srq *srq);

/*
 * The callbacks of struct ulp_ops. |link| is that of the connection |c|; NULL only where its owner
 * has given it up already: then the transaction is to be refused or forgotten.
 */
void rdma_qps_push(struct rdma *r, struct rdma_link *link, struct fcore_conn *c, uint32_t rsn,
		   const void *payload, uint32_t len);
void rdma_qps_pull(struct rdma *r, struct rdma_link *link, struct fcore_conn *c, uint32_t rsn,
		   const void *hdr, uint32_t hdr_len, uint16_t request_len);
void rdma_qps_response_done(struct rdma *r, uint64_t cookie);
void rdma_qps_pull_data(struct rdma *r, uint64_t cookie, const void *payload, uint32_t len);
void rdma_qps_completion(struct rdma *r, uint64_t cookie, enum falcon_completion_code code,
			 uint8_t ulp_code);
bool rdma_qps_rnr(struct rdma *r, uint64_t cookie, uint8_t times);
void rdma_qps_xon(struct rdma *r, struct rdma_link *link);
/* resp_exec.c */
enum fcore_exec rdma_qps_exec_give(struct rdma_link *link, struct fcore_conn *c, struct falcon_exec *e);
void rdma_qps_exec_taken(struct rdma_link *link, const struct falcon_exec *e);
/* resp_pull.c */
void rdma_qps_exec_response(struct rdma_link *link, const struct falcon_response *r, uint8_t *hdr,
			    struct fcore_response *out);

/* ---- commands -------------------------------------------------------------------------------- */

/* A command that is being served. Handlers return 0 or a negative errno with a sentence. */
struct rdma_call {
	struct rdma *r;
	struct rdma_ctx *ctx;
	const void *req;	/* what follows struct fverbs_cmd; aligned for 8 bytes */
	size_t len;		/* bytes of it */
	int fd;			/* descriptor that came along, -1: none; -1 once somebody has taken it */
	int answer_fd;		/* that goes with the answer, -1: none */
	void *answer;		/* what follows struct fverbs_reply; aligned for 8 bytes; zeros */
	size_t answer_max;	/* bytes there is room for */
	size_t answer_len;	/* bytes of it; 0 at first */
	char err[256];
};

/* |fmt| into call->err; returns |error|, negative. */
int rdma_call_fail(struct rdma_call *call, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* cm*.c: FVERBS_CM, and the end of a context that may have used it. */
int rdma_cm_command(struct rdma_call *call);
void rdma_cm_ctx_gone(struct rdma_ctx *ctx);

#endif /* FALCON_ULP_RDMA_LAYER_H */
