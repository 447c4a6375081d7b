/* SPDX-License-Identifier: BSD-2-Clause */
/* Two hosts for the tests of links: connections that only exist as messages, delivered on request. */
#ifndef FALCON_SELFTESTS_RDMA_LINK_ENV_H
#define FALCON_SELFTESTS_RDMA_LINK_ENV_H

#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ulp/rdma/link.h>
#include <ulp/rdma/objects.h>

enum { ENV_CIDS = 256, ENV_QUEUE = 256 };

/* What the connection managers would say to each other, in order for each direction. */
struct env_msg {
	enum { OPEN, ANSWER, READY, REJECT, CLOSE } type;
	uint32_t src, dst;		/* CIDs; 0: unknown */
	bool ordered;
	int family;
	struct falcon_addr from, to;
	struct ulp_data data;
	char text[128];
};

struct env_queue {
	struct env_msg msgs[ENV_QUEUE];
	unsigned int head, tail;
};

struct env_conn {
	bool used, hung, up;
	uint32_t peer;
	struct ulp_ends ends;
	struct ulp_data data;		/* ours */
	bool sent;			/* its OPEN is on the way */
};

struct env_host {
	struct rdma r;
	struct rdma_ctx ctx;
	struct env_queue *out;
	struct env_host *peer;
	struct env_conn conns[ENV_CIDS];
	uint32_t ncids;
	unsigned int dials;
	const char *deaf;		/* refuses all that peers dial, with this sentence */
	int dial_error;			/* dial() fails */
};

struct rdma_qp {
	struct rdma_qp_init init;
	uint32_t num, dest;
	uint8_t modes;			/* enum rdma_link_mode */
	struct rdma_link *link;
	unsigned int ups, resizes, downs;
	uint32_t max_len;		/* that the last up or resize came with */
	char why[192];
};

struct fcore_conn {
	uint32_t cid;
};

extern struct env_host env_a, env_b;
extern struct fcore_conn env_cores[ENV_CIDS];

void env_open(void);
void env_close(void);
/* |host| has GIDs 0: IPv4, 1: IPv6. */
void env_path(const struct env_host *to, unsigned int gid, struct fverbs_ah_attr *ah);
void env_qp(struct env_host *h, struct rdma_qp *qp, uint32_t num, uint32_t dest);
/* Go to RTR. False: refused, with a sentence in qp->why. */
bool env_rtr(struct rdma_qp *qp, const struct env_host *to, uint64_t timeout);
void env_put(struct rdma_qp *qp);
/* One OPEN leaves the host. False: there is none. */
bool env_flush(struct env_host *h);
/* One message of |h| arrives at its peer. False: there is none. */
bool env_deliver(struct env_host *h);
/* All messages arrive, and both layers run at |now|. */
void env_settle(uint64_t now);
void env_lose(struct env_host *h, uint32_t cid, const char *why);
/* Connections that are not hung up. */
unsigned int env_live(const struct env_host *h);

#endif /* FALCON_SELFTESTS_RDMA_LINK_ENV_H */
