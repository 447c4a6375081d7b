// SPDX-License-Identifier: BSD-2-Clause
/* The TX logic (sections 4.A, 4.C and 4.D, figure 4) and the re-transmission buffer. */
#include "crc.h"
#include "flow.h"

#include <errno.h>
#include <string.h>

const char *rifl_state_name(enum rifl_state state)
{
	static const char *const names[RIFL_STATES] = {
		[RIFL_STATE_INIT] = "init",
		[RIFL_STATE_SEND_PAUSE] = "send pause",
		[RIFL_STATE_PAUSE] = "pause",
		[RIFL_STATE_RETRANS] = "retrans",
		[RIFL_STATE_SEND_RETRANS] = "send retrans",
		[RIFL_STATE_NORMAL] = "normal",
	};

	return names[state];
}

enum rifl_state rifl_lane_state(const struct rifl_lane *l)
{
	const struct rifl_tx *tx = &l->tx;
	const struct rifl_rx *rx = &l->rx;

	if (tx->filled < rifl_ids(&l->cfg))
		return RIFL_STATE_INIT;
	if (!rx->in_sync || tx->state == RIFL_STATE_INIT)
		return RIFL_STATE_SEND_PAUSE;
	if (rifl_pause_flag(rx))
		return RIFL_STATE_PAUSE;
	if (rifl_retrans_flag(rx) || tx->retrans_slot)
		return RIFL_STATE_RETRANS;
	if (rx->error)
		return RIFL_STATE_SEND_RETRANS;
	return RIFL_STATE_NORMAL;
}

/* Where the re-transmission buffer has the frame of |id|. */
static uint64_t *stored(struct rifl_lane *l, uint32_t id)
{
	return l->retrans + (uint64_t)id * rifl_words(l->cfg.frame_bits);
}

static void next_id(struct rifl_lane *l)
{
	l->tx.frame_id = (l->tx.frame_id + 1) & (rifl_ids(&l->cfg) - 1);
}

/* Init: one more invalid data frame in the buffer. */
static void init(struct rifl_lane *l, struct rifl_frame *f)
{
	rifl_put_kind(f, l->cfg.frame_bits, RIFL_INVALID);
	memcpy(stored(l, l->tx.filled), f->word, l->cfg.frame_bits / 8);
	l->tx.filled++;
	rifl_put_kind(f, l->cfg.frame_bits, RIFL_PAUSE_REQUEST);
}

/*
 * Retrans: in 2.5 * 2^id_bits slots the whole buffer from its oldest frame on, in every second of them; the
 * others, and the last fifth, are for what the peer has to know meanwhile. Returns true for a data frame.
 */
static bool retrans(struct rifl_lane *l, struct rifl_frame *f)
{
	uint32_t ids = rifl_ids(&l->cfg), slot = l->tx.retrans_slot++;

	if (slot == 0)
		l->stats.procedures++;
	if (l->tx.retrans_slot == 2 * ids + ids / 2)
		l->tx.retrans_slot = 0;
	if (slot < 2 * ids && slot % 2 == 0) {
		memcpy(f->word, stored(l, l->tx.frame_id), l->cfg.frame_bits / 8);
		return true;
	}
	rifl_put_kind(f, l->cfg.frame_bits, l->rx.error ? RIFL_RETRANS_REQUEST : RIFL_IDLE);
	return false;
}

/* Whether user data may go: the peer has room, and can say so as soon as it has none left. */
static bool user_may_send(const struct rifl_lane *l)
{
	return l->rx.peer_normal && !l->rx.fc_paused;
}

/* A new data frame. Returns 1 if it is |s|, 0 if not, -EINVAL if that is none. */
static int new_data(struct rifl_lane *l, const struct rifl_segment *s, struct rifl_frame *f)
{
	uint32_t bits = l->cfg.frame_bits;
	enum rifl_kind due = rifl_fc_due(l);
	int rc = 0;

	if (due == RIFL_INVALID && s && user_may_send(l))
		rc = rifl_put_segment(f, bits, s) ? -EINVAL : 1;
	if (rc != 1)
		rifl_put_kind(f, bits, due);
	if (due != RIFL_INVALID)
		l->tx.fc_sent = due == RIFL_FC_PAUSE;
	l->stats.fc_pauses += due == RIFL_FC_PAUSE;
	l->stats.user_sent += rc == 1;
	memcpy(stored(l, l->tx.frame_id), f->word, bits / 8);
	return rc;
}

/*
 * Normal. Idle goes while the clock has to wait, and while requests come that are not yet enough to activate
 * a flag: each new frame drives the oldest out of the buffer, which may be the one that the peer needs.
 */
static int normal(struct rifl_lane *l, const struct rifl_segment *s, struct rifl_frame *f, bool *is_data)
{
	bool undecided = l->rx.pause_requests || l->rx.retrans_requests;

	*is_data = !undecided && !l->tx.compensate;
	if (*is_data)
		return new_data(l, s, f);
	if (l->tx.compensate)
		l->tx.compensate--;
	rifl_put_kind(f, l->cfg.frame_bits, RIFL_IDLE);
	return 0;
}

int rifl_lane_tx(struct rifl_lane *l, const struct rifl_segment *s, struct rifl_frame *f)
{
	uint32_t bits = l->cfg.frame_bits;
	struct rifl_tx *tx = &l->tx;
	bool is_data = false;
	int rc = 0;

	tx->state = rifl_lane_state(l);
	l->stats.sent[tx->state]++;
	switch (tx->state) {
	case RIFL_STATE_INIT: init(l, f); break;
	case RIFL_STATE_SEND_PAUSE: rifl_put_kind(f, bits, RIFL_PAUSE_REQUEST); break;
	case RIFL_STATE_PAUSE: rifl_put_kind(f, bits, RIFL_IDLE); break;
	case RIFL_STATE_RETRANS: is_data = retrans(l, f); break;
	case RIFL_STATE_SEND_RETRANS: rifl_put_kind(f, bits, RIFL_RETRANS_REQUEST); break;
	default: rc = normal(l, s, f, &is_data); break;
	}
	rifl_scramble(&tx->scrambler, f, bits);
	rifl_seal(f, bits, tx->frame_id);
	if (is_data)
		next_id(l);
	return rc;
}

void rifl_lane_compensate(struct rifl_lane *l, uint32_t cycles)
{
	l->tx.compensate += cycles;
}
