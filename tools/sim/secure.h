/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections whose packets are sealed. Keys, their rotation, and what is accepted under which, are the
 * agent's own code (user/agent/conn/security.c, rekey.c; user/agent/keys; user/crypto); what is here takes
 * the place of the connection managers, which tell each other of keys.
 */
#ifndef FALCON_SIM_SECURE_H
#define FALCON_SIM_SECURE_H

#include "config.h"

#include <crypto/sa.h>
#include <falcon/receive/parse.h>
#include <io/frame.h>

struct endpoint;
struct host;
struct security;	/* an agent's keys */

/* enum falcon_encap of the connections of |c|. */
uint8_t secure_encap(const struct sim_conn_cfg *c);
static inline bool secure_wanted(const struct sim_conn_cfg *c)
{
	return c->encap != SIM_ENCAP_CLEAR;
}

/* An agent of |h| starts, without keys; nothing if no connection of |h| needs any. It ends. */
void secure_open(struct host *h);
void secure_close(struct host *h);

/* The agents of |e| and its peer tell each other the keys of another incarnation. */
void secure_agree(struct endpoint *e);
/* |e| begins it with those. False if they have been overtaken by a rotation meanwhile. */
bool secure_establish(struct endpoint *e);
/* What the packets of |e| have of that: SPI and cookie. */
void secure_route(const struct endpoint *e, struct frame_route *r);
/* What the receive path of |e| has of it. */
void secure_identity(struct endpoint *e);
/* |e| has a core. It will have none any more. */
void secure_up(struct endpoint *e);
void secure_down(struct endpoint *e);

/* What seals the packets of |e|; NULL if they are clear. */
struct sa *secure_sa(const struct endpoint *e);
/* Packets of |e| cannot be sealed any more, for |err|, an enum sa_error. */
void secure_failed(struct endpoint *e, int err);
/* Bytes around a Falcon packet of |e|. */
uint32_t secure_around(const struct endpoint *e);
/* The connection that ESP's |spi| is known for at |h|, or NULL. */
struct endpoint *secure_find(const struct host *h, uint32_t spi);
/* The agent of |e| opens the packet that parsed as |f| in |frame|: sec_open(). */
enum falcon_verdict secure_open_packet(struct endpoint *e, uint8_t *frame, struct falcon_frame *f);

/* The agent's turn: what rekeying has to do. When that is needed next, by its clock. */
void secure_run(struct host *h);
uint64_t secure_deadline(const struct host *h);
/* Somebody asks the agent of |e| for another key. */
void secure_rekey(struct endpoint *e);
/* The managers come to |step| of the rekeying that |e| has begun. */
void secure_step(struct endpoint *e, uint32_t step);
/* From now on keys are rotated only for what they have done. */
void secure_heal(struct host *h);
/* The agent of |e| is about to replace its key, or is at it. */
bool secure_replaces(const struct endpoint *e);
/* Nothing of |h| waits for a new key, and no key waits to be forgotten. */
bool secure_settled(const struct host *h);

#endif /* FALCON_SIM_SECURE_H */
