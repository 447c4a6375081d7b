/* SPDX-License-Identifier: BSD-2-Clause */
/* A verbs application of fuzz_tenants.c that misbehaves, for the files that do so. */
#ifndef FALCON_FUZZ_TENANTS_VERBS_H
#define FALCON_FUZZ_TENANTS_VERBS_H

#include "tenants.h"
#include "ulp/rdma/cm.h"
#include "ulp/rdma/objects.h"

enum tenant_const {
	KNOWN = 16,			/* handles and numbers that were given, the latest */
	PAIRS = 4,			/* of queue pairs that are connected, at a time */
	TENANT_UID = 100,		/* and up */
};

struct known {
	uint32_t list[KNOWN], n;
};

struct tenant {
	struct env_app app;
	struct known handles[RDMA_KINDS];
	struct known ids, channels;	/* rdma_cm's */
	struct env_cq cq;		/* of its pairs */
	struct env_mr mr;
	uint64_t msg[FVERBS_MSG_MAX / 8];	/* the latest command, ... */
	size_t len;
	bool fd;			/* ... with a descriptor */
};

extern struct tenant tenants[TENANTS];

/* ---- tenants_verbs.c ---- */

void known_add(struct known *k, uint32_t v);
/* Mostly one that is known, 0 the latest. */
uint32_t known_pick(const struct known *k);
/* The same of |t|'s objects of |kind|. */
uint32_t handle_pick(const struct tenant *t, enum rdma_kind kind);
/* A command. Returns the errno value, and up to |outlen| bytes of the answer in |out|. */
int tenant_command(struct tenant *t, uint16_t op, const void *req, size_t len, bool fd, void *out,
		   size_t outlen);
/* One of the peer's, some that nobody has. */
void tenant_target(uint8_t gid[16]);

/* ---- tenants_cm.c ---- */

void tenant_cm(struct tenant *t);
/* As many ids as the input says, each bound to a port in a row. */
void tenant_squat(struct tenant *t);
/* What the connection manager of a host has for its applications. */
struct tenants_cm {
	uint32_t channels, ids;
	uint32_t events;		/* that nobody has fetched */
};

struct tenants_cm tenants_cm(const struct env_host *h);

/* ---- tenants_pairs.c: queue pairs that work, and what is done with them ---- */

void pairs_open(void);
/* |t| has begun anew: it has none any more. */
void pairs_forget(const struct tenant *t);
void tenant_pair(struct tenant *t);
void tenant_post(struct tenant *t);
void tenant_modify(struct tenant *t);
/* Write anything anywhere in memory shared with the agent; ring for anything; change a ring's index. */
void tenant_scribble(struct tenant *t);
void tenant_ring(struct tenant *t);
void tenant_index(struct tenant *t);
void tenant_drain(struct tenant *t);

#endif /* FALCON_FUZZ_TENANTS_VERBS_H */
