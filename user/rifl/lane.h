/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of one lane (section 4): the TX state machine, the RX logic, the re-transmission buffer and the
 * flow control buffer.
 *
 * Time is the frame slot. In every slot one frame arrives and one leaves: the owner hands the one to
 * rifl_lane_rx(), then takes the other from rifl_lane_tx(). Nothing here is shared between threads.
 */
#ifndef FALCON_RIFL_LANE_H
#define FALCON_RIFL_LANE_H

#include "frame.h"
#include "scramble.h"

enum {
	RIFL_ID_BITS_MIN = 5,
	RIFL_ID_BITS_MAX = RIFL_VERIFICATION_BITS,
	RIFL_ROLLBACK = 16,	/* good frames before what was damaged, before it is taken (listing 1) */
	RIFL_REQUESTS = 8,	/* control frames in a row that activate a request (4.B) */
	RIFL_SYNC_FRAMES = 64,	/* legal syncwords in a row before the link is in sync */
};

struct rifl_cfg {
	uint32_t frame_bits;	/* S_DFrame */
	uint32_t rtt_frames;	/* slots from sending a frame to sending what answers it, at most */
	uint32_t id_bits;	/* S_FrameID; the re-transmission buffer has 2^id_bits frames */
	uint32_t fc_frames;	/* S_FC in frames, a multiple of 3 */
};

/* States of the TX logic (section 4.A, figure 4), the one with the highest priority first. */
enum rifl_state {
	RIFL_STATE_INIT,
	RIFL_STATE_SEND_PAUSE,
	RIFL_STATE_PAUSE,
	RIFL_STATE_RETRANS,
	RIFL_STATE_SEND_RETRANS,
	RIFL_STATE_NORMAL,
	RIFL_STATES,
};

/* Counters, in frames or events since the lane was opened. */
struct rifl_stats {
	uint64_t sent[RIFL_STATES];	/* frames sent, by the state they were sent in */
	uint64_t user_sent;		/* new data frames with user data */
	uint64_t procedures;		/* re-transmission procedures begun */
	uint64_t delivered;		/* data frames with user data put into the flow control buffer */
	uint64_t errors;		/* frames whose verification failed */
	uint64_t sync_lost;		/* times that the link went out of sync */
	uint64_t fc_pauses;		/* flow control pause frames sent */
	uint64_t fc_overflows;		/* frames refused since the flow control buffer was full */
	uint64_t reserved;		/* good data frames with a code that has no meaning */
	uint64_t fc_peak;		/* the longest the flow control buffer's queue has been */
};

/* What the RX logic knows; only rifl_lane_rx() changes it. */
struct rifl_rx {
	struct rifl_scrambler descrambler;
	uint32_t frame_id;		/* FrameID of listing 1, below 2^id_bits */
	uint32_t threshold;		/* Threshold_FrameID, below 2^id_bits */
	uint32_t legal;			/* legal syncwords in a row while out of sync */
	uint32_t pause_requests;	/* pause requests in a row, up to RIFL_REQUESTS */
	uint32_t retrans_requests;	/* re-transmit requests in a row, up to RIFL_REQUESTS */
	bool in_sync;			/* the out-of-sync flag, inverted */
	bool error;			/* the frame error flag */
	bool after_data;		/* the frame before had the syncword of data */
	bool peer_normal;		/* two good data frames in a row since the last error */
	bool fc_paused;			/* the peer's buffer is full: no user data */
};

/* What the TX logic knows; only rifl_lane_tx() and rifl_lane_compensate() change it. */
struct rifl_tx {
	struct rifl_scrambler scrambler;
	enum rifl_state state;		/* of the frame sent last */
	uint32_t filled;		/* frames of the re-transmission buffer that init has filled */
	uint32_t frame_id;		/* of the next data frame, below 2^id_bits */
	uint32_t retrans_slot;		/* slot of the re-transmission procedure; 0: none is under way */
	uint32_t compensate;		/* idle frames owed to the slower clock */
	bool fc_sent;			/* the last flow control frame sent was a pause */
};

struct rifl_lane {
	struct rifl_cfg cfg;		/* constant while open */
	struct rifl_rx rx;
	struct rifl_tx tx;
	struct rifl_stats stats;
	uint64_t *retrans;		/* re-transmission buffer: the frame of each ID, not scrambled */
	uint64_t *fc;			/* flow control buffer: a ring of frames */
	uint32_t fc_head, fc_count;	/* its oldest frame and how many there are, up to cfg.fc_frames */
};

/*
 * Fill |cfg| for frames of |frame_bits| bits over a link with a round trip of |rtt_frames| slots: the
 * smallest S_FrameID and S_FC with which nothing is lost or repeated (user/rifl/README.md derives them).
 * Returns 0; -EINVAL if there are no such frames; -ERANGE if no ID of 12 bits covers the round trip.
 */
int rifl_cfg_derive(struct rifl_cfg *cfg, uint32_t frame_bits, uint32_t rtt_frames);

/* Whether a lane works with |cfg|: 0, or what rifl_cfg_derive() returns, or -ERANGE for smaller values. */
int rifl_cfg_check(const struct rifl_cfg *cfg);

/*
 * Open |l|: its TX is in init, its RX out of sync. Both ends of a link have to be opened together.
 * Returns 0, what rifl_cfg_check() returns, or -ENOMEM.
 */
int rifl_lane_open(struct rifl_lane *l, const struct rifl_cfg *cfg);

/* Begin again as after rifl_lane_open(); counters and buffers stay allocated, what they hold is forgotten. */
void rifl_lane_reset(struct rifl_lane *l);

void rifl_lane_close(struct rifl_lane *l);

/*
 * The frame of the next slot into |f|. |s|, if not NULL, is the next piece of user data.
 * Returns 1 if it was taken, 0 if it was not and has to be offered again, or -EINVAL if it is no segment
 * (rifl_put_segment()); |f| is a frame in any case.
 */
int rifl_lane_tx(struct rifl_lane *l, const struct rifl_segment *s, struct rifl_frame *f);

/* The frame |f| was received (sections 4.B and 4.C). */
void rifl_lane_rx(struct rifl_lane *l, const struct rifl_frame *f);

/* Take the oldest user data received into |s|. Returns false if there is none. */
bool rifl_lane_read(struct rifl_lane *l, struct rifl_segment *s);

/* Send |cycles| idle frames in place of data in the normal state (4.E). */
void rifl_lane_compensate(struct rifl_lane *l, uint32_t cycles);

/* The state that figure 4 gives for the next frame. */
enum rifl_state rifl_lane_state(const struct rifl_lane *l);

/* The paper's name of |state|. */
const char *rifl_state_name(enum rifl_state state);

/* Data frames in one re-transmission buffer. */
static inline uint32_t rifl_ids(const struct rifl_cfg *cfg)
{
	return 1U << cfg->id_bits;
}

static inline bool rifl_pause_flag(const struct rifl_rx *rx)
{
	return rx->pause_requests >= RIFL_REQUESTS;
}

static inline bool rifl_retrans_flag(const struct rifl_rx *rx)
{
	return rx->retrans_requests >= RIFL_REQUESTS;
}

#endif /* FALCON_RIFL_LANE_H */
