/* SPDX-License-Identifier: BSD-2-Clause */
/* A link that speaks RIFL (user/rifl): Ethernet frames between two ports travel as RIFL frames. */
#ifndef FALCON_SIM_HOP_H
#define FALCON_SIM_HOP_H

#include "sim.h"

struct hop;

/* Whether |cfg| makes a RIFL link: 0, or a negative errno: no size of frames, or a link too long for them. */
int hop_check(const struct sim_link_cfg *cfg);

/* A link from port |n| (direction 0) to |back| (direction 1), which is |n| if it is the NIC of host |n|. */
struct hop *hop_open(struct sim *s, const struct sim_link_cfg *cfg, uint32_t n, uint32_t back);
void hop_close(struct hop *h);

/* |f| is to go in direction |dir|. What has arrived goes to link_out() or link_port(). */
void hop_send(struct hop *h, uint32_t dir, struct frame *f);

/* The next slot. */
void hop_slot(struct hop *h);

/* Bytes that wait to go in direction |dir|. */
uint64_t hop_queued(const struct hop *h, uint32_t dir);

/* Frames of direction |dir| that had bit errors. */
uint64_t hop_damaged(const struct hop *h, uint32_t dir);

#endif /* FALCON_SIM_HOP_H */
