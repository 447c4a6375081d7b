// SPDX-License-Identifier: BSD-2-Clause
/* A lane's state machines: figure 4, listing 1, the re-transmission procedure, requests, flow control. */
#include "rifl_env.h"
#include "rifl/bond.h"
#include "rifl/clock.h"
#include "rifl/flow.h"

#include <errno.h>

static struct rifl_lane lane;
static struct rifl_scrambler peer;	/* of the end that the tests play */

/* A lane in the normal state, all by itself; the tests play the other end. */
static int lane_up(void **state)
{
	struct rifl_frame f;
	struct rifl_cfg cfg;

	(void)state;
	assert_int_equal(rifl_cfg_derive(&cfg, 128, 10), 0);
	assert_int_equal(rifl_lane_open(&lane, &cfg), 0);
	while (rifl_lane_state(&lane) == RIFL_STATE_INIT)
		rifl_lane_tx(&lane, NULL, &f);
	lane.rx.in_sync = true;
	lane.tx.state = RIFL_STATE_NORMAL;
	lane.rx.error = false;
	lane.rx.frame_id = lane.rx.threshold = RIFL_ROLLBACK;
	lane.rx.peer_normal = true;
	memset(&peer, 0, sizeof(peer));
	return 0;
}

static int lane_down(void **state)
{
	(void)state;
	rifl_lane_close(&lane);
	return 0;
}

/* A frame arrives, sealed for |id|. */
static void arrives(enum rifl_kind kind, uint32_t id)
{
	struct rifl_segment s = { .len = 4, .end = true, .data = "user" };
	struct rifl_frame f;

	if (kind == RIFL_DATA)
		rifl_put_segment(&f, 128, &s);
	else
		rifl_put_kind(&f, 128, kind);
	rifl_scramble(&peer, &f, 128);
	rifl_seal(&f, 128, id);
	rifl_lane_rx(&lane, &f);
}

/* The kind of the lane's next frame; its ID has to be |id|. */
static enum rifl_kind leaves(const struct rifl_segment *s, uint32_t id)
{
	static struct rifl_scrambler undo;
	struct rifl_frame f;

	undo = lane.tx.scrambler;
	rifl_lane_tx(&lane, s, &f);
	assert_true(rifl_verify(&f, 128, id));
	rifl_descramble(&undo, &f, &f, 128);
	return rifl_kind(&f, 128);
}

/* ---- figure 4 ---- */

/* All combinations of what figure 4 asks, in the order in which it asks. */
static void priorities(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 64; bits++) {
		enum rifl_state want = RIFL_STATE_NORMAL;

		lane.tx.filled = rifl_ids(&lane.cfg) - (bits & 1);
		lane.rx.in_sync = !(bits & 2);
		lane.rx.pause_requests = bits & 4 ? 8 : 7;
		lane.rx.retrans_requests = bits & 8 ? 8 : 7;
		lane.tx.retrans_slot = bits & 16 ? 3 : 0;
		lane.rx.error = bits & 32;
		if (bits & 1)
			want = RIFL_STATE_INIT;
		else if (bits & 2)
			want = RIFL_STATE_SEND_PAUSE;
		else if (bits & 4)
			want = RIFL_STATE_PAUSE;
		else if (bits & (8 | 16))
			want = RIFL_STATE_RETRANS;
		else if (bits & 32)
			want = RIFL_STATE_SEND_RETRANS;
		assert_int_equal(rifl_lane_state(&lane), want);
	}
}

static void what_each_state_sends(void **state)
{
	(void)state;
	assert_int_equal(leaves(NULL, 0), RIFL_INVALID);
	lane.rx.error = true;
	assert_int_equal(leaves(NULL, 1), RIFL_RETRANS_REQUEST);
	lane.rx.pause_requests = 8;
	assert_int_equal(leaves(NULL, 1), RIFL_IDLE);
	lane.rx.in_sync = false;
	assert_int_equal(leaves(NULL, 1), RIFL_PAUSE_REQUEST);
	for (int i = 0; i < RIFL_STATES; i++)
		assert_non_null(rifl_state_name(i));
}

static void beginning(void **state)
{
	uint32_t ids = rifl_ids(&lane.cfg);

	(void)state;
	rifl_lane_reset(&lane);
	for (uint32_t i = 0; i < ids; i++) {
		assert_int_equal(rifl_lane_state(&lane), RIFL_STATE_INIT);
		assert_int_equal(leaves(NULL, 0), RIFL_PAUSE_REQUEST);
	}
	lane.rx.in_sync = true;
	assert_int_equal(rifl_lane_state(&lane), RIFL_STATE_SEND_PAUSE);
	assert_int_equal(leaves(NULL, 0), RIFL_PAUSE_REQUEST);
	assert_int_equal(rifl_lane_state(&lane), RIFL_STATE_SEND_RETRANS);
	lane.rx.error = false;
	/* What init has stored is there to be sent again. */
	lane.rx.retrans_requests = 8;
	for (uint32_t i = 0; i < ids; i++) {
		assert_int_equal(leaves(NULL, i), RIFL_INVALID);
		assert_int_equal(leaves(NULL, (i + 1) % ids), RIFL_IDLE);
	}
}

/* ---- re-transmission ---- */

static void procedure(void **state)
{
	struct rifl_segment s = { .len = 4, .end = true };
	uint32_t ids = rifl_ids(&lane.cfg);

	(void)state;
	for (uint32_t i = 0; i < ids + 3; i++)
		assert_int_equal(leaves(i == 3 ? NULL : &s, i % ids), i == 3 ? RIFL_INVALID : RIFL_DATA);
	for (int i = 0; i < 8; i++)
		arrives(RIFL_RETRANS_REQUEST, 16);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t slot = 0; slot < 5 * ids / 2; slot++) {
			uint32_t id = (3 + (slot < 2 * ids ? (slot + 1) / 2 : 0)) % ids;
			enum rifl_kind kind = leaves(&s, id);

			lane.rx.error = slot % 3 == 0;
			if (slot < 2 * ids && slot % 2 == 0)
				assert_int_equal(kind, slot == 0 ? RIFL_INVALID : RIFL_DATA);
			else
				assert_int_equal(kind, (slot - 1) % 3 ? RIFL_IDLE : RIFL_RETRANS_REQUEST);
			assert_int_equal(lane.stats.procedures, round + 1);
			/* In the second round the requests end before it does. */
			if (round == 1 && slot == 5 * ids / 2 - 2)
				arrives(RIFL_IDLE, 16);
		}
	}
	lane.rx.error = false;
	assert_int_equal(leaves(&s, 3), RIFL_DATA);
}

/* Interrupted by a pause it goes on where it was. */
static void procedure_interrupted(void **state)
{
	(void)state;
	lane.rx.retrans_requests = 8;
	assert_int_equal(leaves(NULL, 0), RIFL_INVALID);
	lane.rx.retrans_requests = 0;
	lane.rx.pause_requests = 8;
	assert_int_equal(leaves(NULL, 1), RIFL_IDLE);
	assert_int_equal(leaves(NULL, 1), RIFL_IDLE);
	lane.rx.pause_requests = 0;
	assert_int_equal(rifl_lane_state(&lane), RIFL_STATE_RETRANS);
	assert_int_equal(leaves(NULL, 1), RIFL_IDLE);
	assert_int_equal(leaves(NULL, 1), RIFL_INVALID);
	assert_int_equal(leaves(NULL, 2), RIFL_IDLE);
}

/* ---- requests ---- */

static void eight_requests(void **state)
{
	static const enum rifl_kind kinds[] = { RIFL_PAUSE_REQUEST, RIFL_RETRANS_REQUEST };
	static const enum rifl_state states[] = { RIFL_STATE_PAUSE, RIFL_STATE_RETRANS };

	(void)state;
	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 8; i++) {
			assert_int_equal(rifl_lane_state(&lane), RIFL_STATE_NORMAL);
			/* Undecided: nothing drives a frame out of the buffer. */
			if (i)
				assert_int_equal(leaves(NULL, 0), RIFL_IDLE);
			arrives(kinds[k], 16);
		}
		assert_int_equal(rifl_lane_state(&lane), states[k]);
		arrives(kinds[!k], 16);
		assert_int_equal(rifl_lane_state(&lane), RIFL_STATE_NORMAL);
		arrives(RIFL_IDLE, 16);
	}
}

/* Data between them does not matter, two in a row end them; so does whatever is no request. */
static void what_ends_requests(void **state)
{
	uint32_t id = 16;

	(void)state;
	for (int i = 0; i < 8; i++) {
		arrives(RIFL_INVALID, id++);
		arrives(RIFL_RETRANS_REQUEST, id);
	}
	assert_true(rifl_retrans_flag(&lane.rx));
	arrives(RIFL_INVALID, id++);
	assert_true(rifl_retrans_flag(&lane.rx));
	arrives(RIFL_INVALID, id++);
	assert_int_equal(lane.rx.retrans_requests, 0);
	arrives(RIFL_RETRANS_REQUEST, id);
	assert_int_equal(lane.rx.retrans_requests, 1);
	arrives(RIFL_IDLE, id);
	assert_int_equal(lane.rx.retrans_requests, 0);
}

/* A request that nobody can verify counts, since the ID is not known while something is missing. */
static void requests_need_no_id(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		arrives(RIFL_RETRANS_REQUEST, 99 + i);
	assert_true(lane.rx.error);
	assert_true(rifl_retrans_flag(&lane.rx));
}

/* ---- listing 1 ---- */

static uint32_t delivered(void)
{
	return (uint32_t)lane.stats.delivered;
}

static void rollback(void **state)
{
	(void)state;
	arrives(RIFL_DATA, 16);
	arrives(RIFL_DATA, 17);
	arrives(RIFL_DATA, 18);
	assert_int_equal(delivered(), 3);
	arrives(RIFL_DATA, 20);		/* 19 with an error that makes it look so */
	assert_true(lane.rx.error);
	assert_int_equal(lane.rx.frame_id, 3);
	for (uint32_t id = 20; id < 26; id++)
		arrives(RIFL_DATA, id);
	assert_int_equal(lane.rx.frame_id, 3);
	for (uint32_t id = 0; id < 19; id++) {
		assert_true(lane.rx.error);
		arrives(RIFL_DATA, id);
		arrives(RIFL_IDLE, id + 1);
		/* Until it has arrived at 3, each is none that is expected. */
		assert_int_equal(lane.rx.frame_id, id < 3 ? 3 : id + 1);
	}
	assert_false(lane.rx.error);
	assert_int_equal(delivered(), 3);
	arrives(RIFL_DATA, 19);
	assert_int_equal(delivered(), 4);
}

/* One error among the sixteen, in a control frame too, and it begins again. */
static void sixteen_without_an_error(void **state)
{
	(void)state;
	for (uint32_t bad = 0; bad < 32; bad++) {
		lane.rx.error = true;
		lane.rx.frame_id = 0;
		lane.rx.threshold = 16;
		for (uint32_t slot = 0; slot < 32; slot++) {
			uint32_t id = (slot + 1) / 2;

			arrives(slot % 2 ? RIFL_IDLE : RIFL_DATA, slot == bad ? id ^ 1 : id);
		}
		/* The last of them is a control frame behind the sixteenth: an error is an error then too. */
		assert_true(lane.rx.error);
		assert_int_equal(delivered(), 0);
	}
}

static void control_frames_are_verified(void **state)
{
	(void)state;
	arrives(RIFL_IDLE, 16);
	assert_false(lane.rx.error);
	assert_int_equal(lane.rx.frame_id, 16);
	arrives(RIFL_IDLE, 17);
	assert_true(lane.rx.error);
	assert_int_equal(lane.rx.frame_id, 0);
}

static void error_stops_the_user(void **state)
{
	struct rifl_segment s = { .len = 1, .end = true };

	(void)state;
	arrives(RIFL_IDLE, 17);
	for (uint32_t id = 0; id < 16; id++) {
		assert_int_equal(leaves(&s, 0), RIFL_RETRANS_REQUEST);
		arrives(RIFL_INVALID, id);
		arrives(RIFL_IDLE, id + 1);
	}
	/* In order again, but the peer still re-transmits: it cannot say that it has no room. */
	assert_int_equal(leaves(&s, 0), RIFL_INVALID);
	arrives(RIFL_INVALID, 16);
	arrives(RIFL_IDLE, 17);
	assert_int_equal(leaves(&s, 1), RIFL_INVALID);
	arrives(RIFL_INVALID, 17);
	assert_int_equal(leaves(&s, 2), RIFL_INVALID);
	arrives(RIFL_INVALID, 18);
	assert_int_equal(leaves(&s, 3), RIFL_DATA);
}

/* ---- sync ---- */

static void illegal_syncword(void **state)
{
	struct rifl_frame f = { 0 };

	(void)state;
	for (int i = 0; i < 8; i++)
		arrives(RIFL_RETRANS_REQUEST, 16);
	rifl_lane_rx(&lane, &f);
	assert_false(lane.rx.in_sync);
	assert_int_equal(lane.rx.retrans_requests, 0);
	assert_true(lane.rx.error);
	assert_int_equal(lane.rx.frame_id, 0);
	for (int i = 0; i < 63; i++)
		arrives(RIFL_IDLE, 16);
	rifl_lane_rx(&lane, &f);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(leaves(NULL, 0), RIFL_PAUSE_REQUEST);
		arrives(RIFL_IDLE, 16);
	}
	assert_int_equal(leaves(NULL, 0), RIFL_RETRANS_REQUEST);
	assert_int_equal(lane.stats.sync_lost, 1);
}

/* ---- flow control ---- */

static void thresholds(void **state)
{
	uint32_t id = 16, on = rifl_thr_on(&lane.cfg), off = rifl_thr_off(&lane.cfg);
	struct rifl_segment s;

	(void)state;
	assert_int_equal(lane.cfg.fc_frames, 3 * off);
	assert_int_equal(on, 2 * off);
	for (uint32_t i = 0; i < on; i++)
		arrives(RIFL_DATA, id++ % rifl_ids(&lane.cfg));
	assert_int_equal(leaves(NULL, 0), RIFL_INVALID);
	arrives(RIFL_DATA, id++ % rifl_ids(&lane.cfg));
	assert_int_equal(leaves(NULL, 1), RIFL_FC_PAUSE);
	assert_int_equal(leaves(NULL, 2), RIFL_INVALID);
	while (lane.fc_count > off)
		assert_true(rifl_lane_read(&lane, &s));
	assert_int_equal(leaves(NULL, 3), RIFL_INVALID);
	assert_true(rifl_lane_read(&lane, &s));
	assert_int_equal(leaves(NULL, 4), RIFL_FC_RESUME);
	assert_int_equal(leaves(NULL, 5), RIFL_INVALID);
}

static void full_buffer_loses_nothing(void **state)
{
	uint32_t ids = rifl_ids(&lane.cfg), id = 16;
	struct rifl_segment s;

	(void)state;
	for (uint32_t i = 0; i < lane.cfg.fc_frames; i++)
		arrives(RIFL_DATA, id++ % ids);
	arrives(RIFL_DATA, id % ids);
	assert_int_equal(lane.stats.fc_overflows, 1);
	assert_true(lane.rx.error);
	assert_int_equal(lane.rx.threshold, id % ids);
	assert_true(rifl_lane_read(&lane, &s));
	for (uint32_t k = 16; k > 0; k--)
		arrives(RIFL_INVALID, (id - k) % ids);
	arrives(RIFL_DATA, id % ids);
	assert_int_equal(lane.fc_count, lane.cfg.fc_frames);
}

static void peer_has_no_room(void **state)
{
	struct rifl_segment s = { .len = 1, .end = true };

	(void)state;
	arrives(RIFL_FC_PAUSE, 16);
	assert_int_equal(leaves(&s, 0), RIFL_INVALID);
	arrives(RIFL_INVALID, 17);
	assert_int_equal(leaves(&s, 1), RIFL_INVALID);
	arrives(RIFL_FC_RESUME, 18);
	assert_int_equal(leaves(&s, 2), RIFL_DATA);
}

/* One that comes again while older ones are awaited says nothing yet. */
static void flow_control_in_order_only(void **state)
{
	(void)state;
	lane.rx.frame_id = 5;
	arrives(RIFL_FC_PAUSE, 5);
	assert_false(lane.rx.fc_paused);
	arrives(RIFL_FC_PAUSE, 9);
	assert_false(lane.rx.fc_paused);
}

/* ---- the rest ---- */

static void compensation(void **state)
{
	struct rifl_segment s = { .len = 1, .end = true };
	struct rifl_clock c = { 0 };

	(void)state;
	rifl_lane_compensate(&lane, 2);
	assert_int_equal(leaves(&s, 0), RIFL_IDLE);
	assert_int_equal(leaves(&s, 0), RIFL_IDLE);
	assert_int_equal(leaves(&s, 0), RIFL_DATA);
	assert_int_equal(rifl_clock_compare(&c, 100, 100), 0);
	assert_int_equal(rifl_clock_compare(&c, 103, 101), 2);
	assert_int_equal(rifl_clock_compare(&c, 104, 103), 0);
	assert_int_equal(rifl_clock_compare(&c, 107, 104), 1);
	assert_int_equal(rifl_clock_compare(&c, 107, 120), 0);
}

static void reserved_and_malformed(void **state)
{
	struct rifl_segment bad = { .len = 3 };
	struct rifl_frame f;

	(void)state;
	assert_int_equal(rifl_lane_tx(&lane, &bad, &f), -EINVAL);
	assert_true(rifl_verify(&f, 128, 0));
	rifl_put_kind(&f, 128, RIFL_INVALID);
	f.word[1] |= 0x77 << 12;
	rifl_scramble(&peer, &f, 128);
	rifl_seal(&f, 128, 16);
	rifl_lane_rx(&lane, &f);
	assert_int_equal(lane.stats.reserved, 1);
	assert_int_equal(lane.rx.threshold, 17);
	assert_false(lane.rx.error);
}

static void configuration(void **state)
{
	struct rifl_cfg cfg;

	(void)state;
	assert_int_equal(rifl_cfg_derive(&cfg, 192, 10), -EINVAL);
	assert_int_equal(rifl_cfg_derive(&cfg, 256, 5000), -ERANGE);
	assert_int_equal(rifl_cfg_derive(&cfg, 256, 2046), 0);
	assert_int_equal(cfg.id_bits, 12);
	assert_int_equal(rifl_cfg_derive(&cfg, 256, 2047), -ERANGE);
	for (uint32_t rtt = 0; rtt <= 2046; rtt++) {
		assert_int_equal(rifl_cfg_derive(&cfg, 512, rtt), 0);
		assert_true(rifl_ids(&cfg) >= rtt + 20 && rifl_ids(&cfg) >= 2 * rtt + 4);
		assert_int_equal(rifl_cfg_check(&cfg), 0);
		cfg.id_bits--;
		assert_int_equal(rifl_cfg_check(&cfg), -ERANGE);
		cfg.id_bits += 2;
		assert_int_equal(rifl_cfg_check(&cfg), cfg.id_bits <= 12 ? 0 : -ERANGE);
		cfg.id_bits--;
		cfg.fc_frames -= 3;
		assert_int_equal(rifl_cfg_check(&cfg), -ERANGE);
		cfg.fc_frames += 4;
		assert_int_equal(rifl_cfg_check(&cfg), -ERANGE);
	}
	assert_int_equal(rifl_cfg_derive(&cfg, 256, 24), 0);
	assert_int_equal(cfg.id_bits, 6);
	cfg.id_bits = 4;
	assert_int_equal(rifl_lane_open(&lane, &cfg), -ERANGE);
}

static void bonding(void **state)
{
	static struct rifl_bond b;
	struct rifl_segment s[3] = {
		{ .len = 1, .end = true }, { .len = 2, .end = true }, { .len = 3, .end = true },
	};
	struct rifl_frame f[3];
	struct rifl_cfg cfg;

	(void)state;
	rifl_cfg_derive(&cfg, 128, 10);
	assert_int_equal(rifl_bond_open(&b, 0, &cfg), -EINVAL);
	assert_int_equal(rifl_bond_open(&b, RIFL_LANES_MAX + 1, &cfg), -EINVAL);
	cfg.id_bits = 20;
	assert_int_equal(rifl_bond_open(&b, 3, &cfg), -ERANGE);
	rifl_cfg_derive(&cfg, 128, 10);
	assert_int_equal(rifl_bond_open(&b, 3, &cfg), 0);
	for (int i = 0; i < 3; i++) {
		b.lane[i].rx = lane.rx;
		b.lane[i].tx = lane.tx;
	}
	assert_int_equal(rifl_bond_tx(&b, s, 3, f), 3);
	assert_int_equal(rifl_bond_tx(&b, s, 1, f), 1);
	/* The next is lane 1's, which cannot: the others wait. */
	b.lane[1].rx.error = true;
	assert_int_equal(rifl_bond_tx(&b, s, 3, f), 0);
	assert_int_equal(b.lane[2].stats.user_sent, 1);
	b.lane[1].rx.error = false;
	b.lane[0].rx.error = true;
	assert_int_equal(rifl_bond_tx(&b, s, 3, f), 2);
	assert_int_equal(b.tx_next, 0);
	assert_int_equal(b.lane[0].stats.user_sent, 2);
	/* And so does who reads. */
	rifl_put_segment(f, 128, &s[1]);
	rifl_fc_put(&b.lane[1], f);
	assert_false(rifl_bond_read(&b, s));
	rifl_put_segment(f, 128, &s[2]);
	rifl_fc_put(&b.lane[0], f);
	assert_true(rifl_bond_read(&b, s));
	assert_int_equal(s[0].len, 3);
	assert_true(rifl_bond_read(&b, s));
	assert_int_equal(s[0].len, 2);
	assert_false(rifl_bond_read(&b, s));
	rifl_bond_reset(&b);
	assert_int_equal(b.tx_next + b.rx_next, 0);
	rifl_bond_close(&b);
}

#define test(f) cmocka_unit_test_setup_teardown(f, lane_up, lane_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(priorities),
		test(what_each_state_sends),
		test(beginning),
		test(procedure),
		test(procedure_interrupted),
		test(eight_requests),
		test(what_ends_requests),
		test(requests_need_no_id),
		test(rollback),
		test(sixteen_without_an_error),
		test(control_frames_are_verified),
		test(error_stops_the_user),
		test(illegal_syncword),
		test(thresholds),
		test(full_buffer_loses_nothing),
		test(peer_has_no_room),
		test(flow_control_in_order_only),
		test(compensation),
		test(reserved_and_malformed),
		cmocka_unit_test(configuration),
		test(bonding),
	};

	return unit_run(tests);
}
