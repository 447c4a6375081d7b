/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys for the connection manager: the parts of agent_cm_ops that cm.h describes, and what follows. */
#ifndef FALCON_AGENT_CONN_SECURITY_H
#define FALCON_AGENT_CONN_SECURITY_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct agent_conn;
struct cm_security;

int agent_fill_security(void *arg, uint32_t cid, struct cm_security *out);
int agent_use_security(void *arg, uint32_t cid, const struct cm_security *in);
void agent_security_used(void *arg, uint32_t cid, uint32_t generation);
/*
 * Before a connection is set up by c->ours and c->peer: take the peer's key, wiped there. 0, or a negative
 * errno with a sentence in |err|: -EPROTO if the two ends disagree on the security, -ESTALE if our key has
 * expired meanwhile.
 */
int agent_agree_security(struct agent_conn *c, char *err, size_t errlen);
/* The keys of what connections receive, for debugging: rows of name, spi, version, key. */
json_t *agent_keys_json(struct agent *a);

#endif /* FALCON_AGENT_CONN_SECURITY_H */
