/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hop: packets of any size between two ports travel as RIFL frames over a link with bit errors, both ways.
 * Two lanes' ends and the lines between them, slot by slot, in the time that the owner says it is. falcon-sim
 * and falcon-wire have this one.
 *
 * While nothing is under way the slots are not run. Errors have no memory, so they are the same whether a
 * line stands still or not; what the link may be busy with when the next packet comes, the repair of an error
 * just before, is caught up with then.
 */
#ifndef FALCON_RIFL_HOP_H
#define FALCON_RIFL_HOP_H

#include "line.h"
#include "rifl/lane.h"

enum { RIFL_HOP_PS_PER_NS = 1000 };

/* What a hop has to know of a packet; the owner has it in its own description of the packet. */
struct rifl_hop_packet {
	struct rifl_hop_packet *next;	/* the hop's */
	uint64_t sent;			/* the hop's, ticks: when its last segment was */
	uint32_t len;			/* bytes; the owner's, constant on the way */
};

/* What the owner does for a hop. */
struct rifl_hop_user {
	/* |len| bytes of |p|, from |at| on, into |to|. They may be asked for more than once. */
	void (*read)(void *arg, const struct rifl_hop_packet *p, uint32_t at, uint8_t *to, uint32_t len);
	/* Those bytes have come through as |data|. */
	void (*write)(void *arg, struct rifl_hop_packet *p, uint32_t at, const uint8_t *data, uint32_t len);
	/* All of |p| is on the line of direction |dir|; NULL: the owner need not know. */
	void (*sent)(void *arg, uint32_t dir, struct rifl_hop_packet *p);
	/* All of |p| has come through and it is the owner's again. */
	void (*arrived)(void *arg, uint32_t dir, struct rifl_hop_packet *p);
	void *arg;
};

struct rifl_hop_cfg {
	uint32_t frame_bits;
	uint64_t rate;			/* bit/s on the line */
	uint64_t delay;			/* ns, one way */
	uint64_t seed, stream;		/* of errors: |stream| and the next one */
};

/* One direction: the end that sends, and what is on its way from there. */
struct rifl_hop_way {
	struct rifl_lane lane;
	struct line line;
	struct rifl_hop_packet *first, **end;	/* not wholly arrived yet, in order */
	struct rifl_hop_packet *next;	/* the first of them that is not wholly sent, */
	uint32_t sent;			/* bytes of it that are */
	uint32_t arrived;		/* bytes of |first| that have */
	uint64_t waits;			/* bytes not sent yet */
};

struct rifl_hop {
	struct rifl_hop_user user;
	uint64_t slot_ps;		/* length of a slot */
	uint64_t at_ps;			/* when the next slot is, while awake */
	uint64_t ticks;			/* what the lines call now */
	uint64_t repair;		/* slots that an error may keep the link busy */
	uint64_t calm;			/* slots in a row without an error or the repair of one */
	bool awake;			/* something is under way */
	bool broken;			/* an end has got what the other did not send */
	struct rifl_hop_way way[2];
};

/* 0, or a negative errno: -EINVAL without a rate or such frames, -ERANGE for a link too long for them. */
int rifl_hop_check(const struct rifl_hop_cfg *cfg);

/*
 * Make |h| a hop whose link has come up and has no errors yet. Direction 0 begins at end 0. Returns 0, what
 * rifl_hop_check() returns, or -ENOMEM.
 */
int rifl_hop_open(struct rifl_hop *h, const struct rifl_hop_cfg *cfg, const struct rifl_hop_user *user);
void rifl_hop_close(struct rifl_hop *h);

/* Direction |dir| has independent errors of this ratio, of LINE_BER_ONE, from now on. */
void rifl_hop_set_ber(struct rifl_hop *h, uint32_t dir, uint64_t ber);

/* |p| is to go in direction |dir|, at |now| (ns); all slots before have been run, or the hop is asleep. */
void rifl_hop_send(struct rifl_hop *h, uint32_t dir, struct rifl_hop_packet *p, uint64_t now);

/*
 * Run the next slot. Returns false if the hop is asleep then, or broken: more errors in one frame than the
 * checksum can find, and what is under way will not come through.
 */
bool rifl_hop_slot(struct rifl_hop *h);

/* The link goes down and comes up again, as it was opened. Nothing may be under way. */
void rifl_hop_restart(struct rifl_hop *h);

/* Take the oldest packet under way in direction |dir| out; NULL: there is none. */
struct rifl_hop_packet *rifl_hop_take(struct rifl_hop *h, uint32_t dir);

/* Begin the counts of both directions anew. */
void rifl_hop_reset_stats(struct rifl_hop *h);

/* When the next slot is, ns; only while awake. */
static inline uint64_t rifl_hop_due(const struct rifl_hop *h)
{
	return (h->at_ps + RIFL_HOP_PS_PER_NS - 1) / RIFL_HOP_PS_PER_NS;
}

/* When a packet can be through at the earliest, ns: with no error it is then. Only while awake. */
uint64_t rifl_hop_soonest(const struct rifl_hop *h);

/* RIFL frames sent in direction |dir|. */
uint64_t rifl_hop_frames(const struct rifl_hop *h, uint32_t dir);

#endif /* FALCON_RIFL_HOP_H */
