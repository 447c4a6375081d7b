/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of rdma_env.h have of one another. */
#ifndef FALCON_SELFTESTS_RDMA_ENV_PARTS_H
#define FALCON_SELFTESTS_RDMA_ENV_PARTS_H

#include "rdma_env.h"

/* ---- rdma_env_wire.c ---- */

struct env_packet {
	uint64_t at, sent, number;
	uint32_t host, cid;		/* whom it is for */
	uint8_t flow;
	uint32_t len;
	uint8_t bytes[ENV_BYTES];
};

/* True |percent| of the times. */
bool env_chance(unsigned int percent);
/* |c|'s packet leaves, unless it is lost. */
void env_send(const struct env_conn *c, uint8_t flow, const void *bytes, uint32_t len);
/* The packet that arrives first; there is one. */
struct env_packet env_pop(void);
/* Nothing is on the wire. */
void env_wire_open(void);

/* ---- rdma_env.c ---- */

/* RDMA's layer, or |others[other - 1]|. */
struct ulp env_layer(struct env_host *h, unsigned int other);

/* ---- rdma_env_rules.c ---- */

void env_rules_open(void);
/* |host| sends |packet| on connection |cid|. */
void env_rules_check(const struct env_host *host, uint32_t cid, const uint8_t *packet, uint32_t len);

/* ---- rdma_env_host.c ---- */

/* A CID of |h| that nobody has, or 0. */
uint32_t env_new_cid(struct env_host *h);
/* Connection |cid| is to be dialled, not before |at|. */
void env_dial_later(struct env_host *h, uint32_t cid, const struct ulp_dial *d, uint64_t at);
void env_host_open(struct env_host *h, int index);

#endif /* FALCON_SELFTESTS_RDMA_ENV_PARTS_H */
