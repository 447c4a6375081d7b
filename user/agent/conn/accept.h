/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that peers dial; config/policy.h says who may. */
#ifndef FALCON_AGENT_CONN_ACCEPT_H
#define FALCON_AGENT_CONN_ACCEPT_H

#include <stddef.h>
#include <stdint.h>

struct agent;
struct cm_local;
struct cm_request;
struct conn_config;
struct shard;
struct ulp;
struct ulp_data;

/* Listen where [agent] says. 0, or a negative errno with a sentence in |err|. */
int agent_listen(struct agent *a, char *err, size_t errlen);
/* struct cm_ops.accept. */
int agent_accept(void *arg, const struct cm_request *req, struct cm_local *out, char *err,
		 size_t errlen);
/*
 * The upper layer's consent to what is dialled: 0 with its answer in |reply|, or a negative errno with a
 * sentence in |err|.
 */
int agent_ask_ulp(struct agent *a, const struct conn_config *cfg, const struct cm_request *req,
		  struct shard **shard, struct ulp **ulp, struct ulp_data *reply, char *err, size_t errlen);
/* agent_conn_tell_not_up() of connection |cid|, which could not be made. */
void agent_ulp_not_up(struct shard *s, struct ulp *ulp, uint32_t cid, const char *why);

#endif /* FALCON_AGENT_CONN_ACCEPT_H */
