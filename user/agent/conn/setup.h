/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection's incarnations: its protocol state, opened to XDP, closed, let go. */
#ifndef FALCON_AGENT_CONN_SETUP_H
#define FALCON_AGENT_CONN_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#include "cm/cm.h"

struct agent;
struct agent_conn;
struct cm_local;
struct ulp_ends;

/*
 * By c->ours and c->peer: protocol state, ready to receive. 0, or a negative errno with the reason in
 * |err|. Then, when the other end is ready, too: tell the upper layer. 0 or -ENOMEM.
 */
int agent_conn_set_up(struct agent_conn *c, char *err, size_t errlen);
int agent_conn_go_up(struct agent_conn *c);
/* Set |c| up without the peer's agent. 0, or a negative errno with a sentence in |err|. */
int agent_conn_start_static(struct agent_conn *c, char *err, size_t errlen);
/* |c| was not up, and its upper layer might wait for it; the peer has |refused| it. */
void agent_conn_tell_not_up(struct agent_conn *c, bool refused, const char *reason);
/* Close |c| to XDP and end its transactions with kCmplDeadConn, if it is set up. */
void agent_conn_take_down(struct agent_conn *c, const char *why);
/* Whether nothing that was claimed for |c| before it was closed is on its way any more. */
bool agent_conn_settled(struct agent_conn *c);
/* Wait until it is so. */
void agent_conn_settle(struct agent_conn *c);
/* What we tell the peer's agent of |c|. */
void agent_conn_offer(struct agent_conn *c, struct cm_local *out);
/* Have what is in the sockets now taken, by the shards whose connections it is for. */
void agent_drain(struct agent *a);
/* Who |c| connects, for its upper layer. */
void agent_conn_ends(const struct agent_conn *c, struct ulp_ends *out);
/* Bytes of payload of a raw transaction, which applications are told. */
uint32_t agent_conn_segment(const struct agent_conn *c);

extern const struct cm_ops agent_cm_ops;

#endif /* FALCON_AGENT_CONN_SETUP_H */
