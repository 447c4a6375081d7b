// SPDX-License-Identifier: BSD-2-Clause
/*
 * The RX logic (sections 4.B and 4.C, listing 1). It has no state machine: each event is watched for by
 * itself, and the TX logic looks at the flags.
 */
#include "crc.h"
#include "flow.h"

/* |id| and |n| more or less. */
static uint32_t id_add(const struct rifl_lane *l, uint32_t id, uint32_t n)
{
	return (id + n) & (rifl_ids(&l->cfg) - 1);
}

static void frame_error(struct rifl_lane *l)
{
	struct rifl_rx *rx = &l->rx;

	rx->error = true;
	rx->peer_normal = false;
	rx->frame_id = id_add(l, rx->threshold, -RIFL_ROLLBACK);
}

static void lost_sync(struct rifl_lane *l)
{
	struct rifl_rx *rx = &l->rx;

	if (rx->in_sync) {
		l->stats.sync_lost++;
		frame_error(l);
	}
	rx->in_sync = false;
	rx->legal = 0;
	rx->pause_requests = rx->retrans_requests = 0;
}

/* Count a request, or begin again. */
static void count(uint32_t *requests, bool one)
{
	if (!one)
		*requests = 0;
	else if (*requests < RIFL_REQUESTS)
		++*requests;
}

/*
 * The requests among the most recent control frames. Data frames alternate with control frames while the peer
 * re-transmits, so one between two requests means nothing; two in a row say that the peer sends no requests.
 * Every other frame, one with an error too, begins the count again: requests are never taken for recent that
 * are not, for an unneeded re-transmission would repeat what has been delivered.
 */
static void watch_requests(struct rifl_rx *rx, enum rifl_kind kind, bool is_data)
{
	if (is_data && !rx->after_data)
		return;
	count(&rx->pause_requests, kind == RIFL_PAUSE_REQUEST);
	count(&rx->retrans_requests, kind == RIFL_RETRANS_REQUEST);
}

/* The next frame in order, descrambled. Returns false if it has to come again. */
static bool deliver(struct rifl_lane *l, const struct rifl_frame *f, enum rifl_kind kind)
{
	switch (kind) {
	case RIFL_DATA:
		if (!rifl_fc_put(l, f)) {
			l->stats.fc_overflows++;
			return false;
		}
		l->stats.delivered++;
		break;
	case RIFL_FC_PAUSE:
		l->rx.fc_paused = true;
		break;
	case RIFL_FC_RESUME:
		l->rx.fc_paused = false;
		break;
	case RIFL_INVALID:
		break;
	default:
		l->stats.reserved++;
		break;
	}
	return true;
}

/* A good data frame: the part of listing 1 behind both comparisons. */
static void good_data(struct rifl_lane *l, const struct rifl_frame *f, enum rifl_kind kind)
{
	struct rifl_rx *rx = &l->rx;

	if (rx->frame_id == rx->threshold) {
		if (!deliver(l, f, kind)) {
			frame_error(l);
			return;
		}
		rx->threshold = id_add(l, rx->threshold, 1);
	}
	rx->frame_id = id_add(l, rx->frame_id, 1);
	if (rx->frame_id == rx->threshold) {
		if (!rx->error && rx->after_data)
			rx->peer_normal = true;
		rx->error = false;
	}
}

void rifl_lane_rx(struct rifl_lane *l, const struct rifl_frame *f)
{
	uint32_t bits = l->cfg.frame_bits;
	struct rifl_rx *rx = &l->rx;
	struct rifl_frame clear;
	bool is_data = rifl_syn(f) == RIFL_SYN_DATA;
	enum rifl_kind kind;

	rifl_descramble(&rx->descrambler, f, &clear, bits);
	if (!rifl_syn_legal(f)) {
		lost_sync(l);
		return;
	}
	if (!rx->in_sync) {
		rx->in_sync = ++rx->legal == RIFL_SYNC_FRAMES;
		rx->after_data = is_data;
		return;
	}
	kind = rifl_kind(&clear, bits);
	watch_requests(rx, kind, is_data);
	if (!rifl_verify(f, bits, rx->frame_id)) {
		l->stats.errors++;
		frame_error(l);
	} else if (is_data) {
		rifl_unseal(&clear, bits);
		good_data(l, &clear, kind);
	}
	rx->after_data = is_data;
}
