/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ends of a bonded link, the lines between them, and users who check what they get. */
#ifndef FALCON_RIFL_LINK_H
#define FALCON_RIFL_LINK_H

#include "capture.h"
#include "rifl/bond.h"
#include "rifl/clock.h"
#include "line.h"

enum {
	LINK_LANES_MAX = 8,
	LINK_LATENCIES = 4096,		/* slots: greater latencies count as this */
	LINK_STAMPS = 1 << 14,		/* segments under way whose time of departure is kept */
};

struct link_cfg {
	uint32_t frame_bits;
	uint32_t lanes;
	uint64_t delay;			/* ticks, one way */
	uint64_t skew[LINK_LANES_MAX];	/* ticks that each lane takes longer */
	int32_t ppm[2];			/* how much each end's clock is too fast */
	struct faults faults;		/* of every line */
	uint64_t seed;
};

/* From when on a latency counts. */
enum link_since {
	LINK_OFFERED,		/* the user had the segment */
	LINK_TAKEN,		/* the link layer took it */
	LINK_SINCE,
};

/* One end: its link layer, and its user. */
struct link_end {
	struct rifl_bond bond;
	struct rifl_clock clock;
	struct line line[LINK_LANES_MAX];	/* what this end sends */
	uint64_t now, period;		/* ticks: this end's next slot, and its slots' length */
	uint64_t received, slots;	/* frames received on lane 0, and slots since the first */
	struct rifl_segment waiting[LINK_LANES_MAX];	/* offered to the link layer and not taken yet */
	uint32_t nwaiting;
	uint64_t made, sent, got;	/* segments made, taken, and got from the other end, in this epoch */
	bool offers, reads;		/* the user has something to send, and takes what has come */
	uint64_t stamp[LINK_SINCE][LINK_STAMPS];	/* ticks, of each segment */
	uint64_t latency[LINK_SINCE][LINK_LATENCIES];	/* segments got, by slots; if measured */
};

struct link {
	struct link_cfg cfg;
	struct link_end end[2];
	uint64_t epoch;			/* counts resets */
	bool measures;			/* keep latencies */
	struct capture *capture;	/* of all frames that arrive, or NULL */
	const char *violation;		/* what was wrong first; NULL: nothing */
	uint64_t violation_segment;
};

/* Returns 0, or a negative errno. */
int link_open(struct link *l, const struct link_cfg *cfg);
void link_close(struct link *l);

/* Change the faults of all lines. */
void link_set_faults(struct link *l, const struct faults *faults);

/* Both ends begin again; what was on its way is lost. */
void link_reset(struct link *l);

/* The next slot of the end whose turn it is. Returns false once something was wrong. */
bool link_step(struct link *l);

/* Frames sent by both ends. */
uint64_t link_frames(const struct link *l);

#endif /* FALCON_RIFL_LINK_H */
