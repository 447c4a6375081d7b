/* SPDX-License-Identifier: BSD-2-Clause */
/* Which CIDs are taken. */
#ifndef FALCON_AGENT_CONN_CID_H
#define FALCON_AGENT_CONN_CID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;

/*
 * A free CID, or -ENOSPC with a sentence in |err|. It is taken from then on: for the connection that is made
 * with it, until that has gone, or agent_cid_release(). agent_cid_take() is for shards: it does not wait.
 */
int agent_cid_choose(struct agent *a, char *err, size_t errlen);
int agent_cid_take(struct agent *a, char *err, size_t errlen);
/* Take |cid|. False: it is taken. */
bool agent_cid_claim(struct agent *a, uint32_t cid);
void agent_cid_release(struct agent *a, uint32_t cid);

#endif /* FALCON_AGENT_CONN_CID_H */
