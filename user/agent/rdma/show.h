/* SPDX-License-Identifier: BSD-2-Clause */
/* Verbs applications' objects as rows for falconctl(8). */
#ifndef FALCON_AGENT_RDMA_SHOW_H
#define FALCON_AGENT_RDMA_SHOW_H

#include <jansson.h>

struct agent;
struct show_query;	/* agent/conn/rows.h */

/* Each fills |rows|; |only| means nothing to them. */
void agent_show_device(struct agent *a, const struct show_query *q, json_t *rows);
void agent_show_qp(struct agent *a, const struct show_query *q, json_t *rows);
void agent_show_cq(struct agent *a, const struct show_query *q, json_t *rows);
void agent_show_mr(struct agent *a, const struct show_query *q, json_t *rows);
void agent_show_pd(struct agent *a, const struct show_query *q, json_t *rows);

#endif /* FALCON_AGENT_RDMA_SHOW_H */
