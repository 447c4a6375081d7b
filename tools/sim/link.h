/* SPDX-License-Identifier: BSD-2-Clause */
/* The network: switches' ports, wires, and the NICs before them. */
#ifndef FALCON_SIM_LINK_H
#define FALCON_SIM_LINK_H

#include "config.h"
#include "frame.h"
#include "../common/noise.h"
#include "../common/rng.h"

#include <core/core.h>
#include <io/frame.h>

struct sim;
struct host;

struct link_stats {
	uint64_t packets, bytes, lost, queue_full, too_large, corrupted, duplicated, reordered, marked;
	uint64_t queued;	/* bytes found waiting, summed up over packets */
	uint64_t max_queued;
	uint64_t damaged;	/* lost for bit errors; host links: the NIC's, too */
};

/* A switch's port and the wire behind it. */
struct link {
	const struct sim_link_cfg *cfg;
	struct rng rng;
	uint64_t busy_ps;	/* its queue is empty from here on */
	int32_t to_leaf;	/* the wire ends at this leaf, ... */
	int32_t to_spine;	/* ... at this spine; both -1: at a host */
	bool bad;		/* in a spell of loss */
	struct noise noise, uplink;	/* host links: the latter is of what the NIC sends */
	struct hop *hop;	/* NULL: no RIFL */
	uint32_t dir;		/* of the two directions of |hop|, ours */
	struct link_stats stats;
};

/* nic.c */
/* Packet |p| of |e|, built with |t|, goes to the NIC, whose queue has room. */
void nic_transmit(struct endpoint *e, const struct fcore_packet *p, struct frame_template *t);
bool nic_full(const struct host *h);
/* How many packets of |len| bytes the queue takes, at least; UINT32_MAX if any number. */
uint32_t nic_room(const struct host *h, uint32_t len);
/* When half of its queue is sent. */
uint64_t nic_relief(const struct host *h);
/* Time that |len| bytes take at |rate|, ps; 0 if it is infinite. */
uint64_t wire_ps(uint64_t rate, uint32_t len);
/* Bytes waiting before something that is busy until |busy_ps|. */
uint64_t backlog(uint64_t rate, uint64_t busy_ps, uint64_t now);

/* link.c */
/* The links of |s->cfg|'s topology. */
void link_open(struct sim *s);
void link_close(struct sim *s);
/* The first port on the way of |f|. */
uint32_t link_first(const struct sim *s, const struct frame *f);
/* Frames of port |n|, and of the NIC behind it, with bit errors: RIFL's, or Ethernet's, which are lost. */
uint64_t link_damaged(const struct sim *s, uint32_t n);
/* |f| reaches port |n|. */
void link_port(struct sim *s, struct frame *f, uint32_t n);
/* |f| has left the NIC of its host, whose link has bit errors or speaks RIFL. */
void link_uplink(struct sim *s, struct frame *f);
/* |f| is through the RIFL link of port |n| at |at|. */
void link_out(struct sim *s, uint32_t n, struct frame *f, uint64_t at);
/* The shortest way between two hosts, ns of propagation. */
uint64_t link_delay(const struct sim *s, uint32_t from, uint32_t to);

#endif /* FALCON_SIM_LINK_H */
