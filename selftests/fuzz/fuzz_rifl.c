// SPDX-License-Identifier: BSD-2-Clause
/*
 * libFuzzer on RIFL: the frame decoder on any bits, and one end of a lane whose peer is the fuzzer. After
 * each frame what listing 1 promises is checked against a count of good frames kept here.
 *
 * Input: a byte for the frames' size, and one for the round trip; then steps, one byte (enum step) and what
 * it takes. Bytes that are missing are zeros.
 */
#include "check.h"
#include "rifl/crc.h"
#include "rifl/flow.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
	STEP_RAW,	/* a frame of the input's bits arrives */
	STEP_SEALED,	/* the same with a verification code that is right */
	STEP_GOOD,	/* frames as a peer sends them, many times one kind */
	STEP_OTHER_ID,	/* one of them with another ID than is awaited */
	STEP_SEND,	/* slots of this end, with user data or without */
	STEP_READ,	/* the user reads */
	STEP_COMPENSATE,
	STEP_RESET,	/* both ends begin again */
	STEPS,
};

enum { RTT_MAX = 20, IDS_MAX = 64, QUEUE = 256 };

static const uint8_t *in;
static size_t left;

static struct rifl_lane lane;
static struct rifl_scrambler peer, undo;	/* of the fuzzer: what it sends, what it receives */
static uint32_t good;				/* data frames in a row that carried the ID awaited */
static struct rifl_segment queue[QUEUE];	/* delivered, and not read yet */
static uint32_t queue_head, queue_count;
static struct rifl_frame sent[IDS_MAX];		/* the latest data frame of each ID */
static bool was_sent[IDS_MAX];

static uint8_t take(void)
{
	if (!left)
		return 0;
	left--;
	return *in++;
}

static void take_segment(struct rifl_segment *s)
{
	uint32_t full = rifl_payload_bytes(lane.cfg.frame_bits), first = take();

	s->end = first & 1;
	s->len = s->end ? first % (full + 1) : full;
	memset(s->data, first, sizeof(s->data));
	for (uint32_t i = 0; i < 4 && i < s->len; i++)
		s->data[i] = take();
}

/* ---- the codec ---- */

static bool same_frame(const struct rifl_frame *a, const struct rifl_frame *b, uint32_t bits)
{
	return !memcmp(a->word, b->word, bits / 8);
}

/* A frame of user data that is made again from what it says is the same, but for bytes that are not valid. */
static void check_segment(const struct rifl_frame *f, uint32_t bits)
{
	struct rifl_segment s = { 0 }, back = { 0 };
	struct rifl_frame again;

	rifl_get_segment(f, bits, &s);
	CHECK(s.len <= rifl_payload_bytes(bits));
	CHECK(s.end || s.len == rifl_payload_bytes(bits));
	CHECK(rifl_put_segment(&again, bits, &s) == 0);
	CHECK(rifl_kind(&again, bits) == RIFL_DATA);
	rifl_get_segment(&again, bits, &back);
	CHECK(back.len == s.len && back.end == s.end && !memcmp(back.data, s.data, s.len));
}

static void check_codec(const struct rifl_frame *f, uint32_t bits)
{
	struct rifl_scrambler a = { f->word[1] }, b = a;
	struct rifl_frame other = *f;
	uint8_t bytes[RIFL_FRAME_BITS_MAX / 8];
	enum rifl_kind kind = rifl_kind(f, bits);

	CHECK(kind <= RIFL_RESERVED);
	CHECK(rifl_syn_legal(f) || kind == RIFL_RESERVED);
	if (kind == RIFL_DATA)
		check_segment(f, bits);
	rifl_scramble(&a, &other, bits);
	rifl_descramble(&b, &other, &other, bits);
	CHECK(a.past == b.past && same_frame(f, &other, bits));
	rifl_to_bytes(f, bits, bytes);
	rifl_from_bytes(&other, bits, bytes);
	CHECK(same_frame(f, &other, bits));
	CHECK(rifl_residue(f, bits) == rifl_residue_portable(f, bits));
	rifl_unseal(&other, bits);
	rifl_seal(&other, bits, 0x5a5);
	CHECK(rifl_verify(&other, bits, 0x5a5) && !rifl_verify(&other, bits, 0x5a4));
}

/* ---- what arrives ---- */

/* The user data of |f|, descrambled, is awaited by the user from now on. */
static void enqueue(const struct rifl_frame *f)
{
	CHECK(queue_count < lane.cfg.fc_frames);
	rifl_get_segment(f, lane.cfg.frame_bits, &queue[(queue_head + queue_count) % QUEUE]);
	queue_count++;
}

/*
 * What a frame has made of |was| is |is|: where it has |moved| the threshold it carried the ID that follows
 * those before it, and 16 such came before it since the last error.
 */
static void check_order(const struct rifl_rx *was, const struct rifl_rx *is, bool moved)
{
	uint32_t ids = rifl_ids(&lane.cfg);

	CHECK(is->frame_id < ids && is->threshold < ids);
	CHECK(is->pause_requests <= RIFL_REQUESTS && is->retrans_requests <= RIFL_REQUESTS);
	CHECK(!is->pause_requests || !is->retrans_requests);
	CHECK(is->legal <= RIFL_SYNC_FRAMES);
	CHECK(((is->threshold - was->threshold) & (ids - 1)) == moved);
	CHECK(!moved || (was->in_sync && was->frame_id == was->threshold && good > RIFL_ROLLBACK));
	/* In error until all of them have come. */
	CHECK(is->error == (is->frame_id != is->threshold));
	CHECK(!is->error || !is->peer_normal);
	CHECK(is->in_sync || is->error);
}

static void arrive(struct rifl_frame *f)
{
	uint32_t bits = lane.cfg.frame_bits;
	struct rifl_rx was = lane.rx;
	uint64_t delivered = lane.stats.delivered, overflows = lane.stats.fc_overflows;
	struct rifl_frame clear = *f;
	bool verified = rifl_verify(f, bits, was.frame_id), data = rifl_syn(f) == RIFL_SYN_DATA;
	bool takes;

	rifl_descramble(&was.descrambler, &clear, &clear, bits);
	takes = was.in_sync && verified && data && was.frame_id == was.threshold;
	good = !verified || !rifl_syn_legal(f) || !was.in_sync ? 0 : good + data;
	rifl_lane_rx(&lane, f);
	CHECK(lane.rx.descrambler.past == was.descrambler.past);
	if (lane.stats.fc_overflows > overflows) {
		/* No room: it has to come again. */
		CHECK(takes && queue_count == lane.cfg.fc_frames);
		takes = false;
		good = 0;
	}
	check_order(&was, &lane.rx, takes);
	if (takes && rifl_kind(&clear, bits) == RIFL_DATA)
		enqueue(&clear);
	CHECK(lane.stats.delivered - delivered == (takes && rifl_kind(&clear, bits) == RIFL_DATA));
	CHECK(lane.fc_count == queue_count);
}

static void take_frame(struct rifl_frame *f)
{
	uint8_t bytes[RIFL_FRAME_BITS_MAX / 8];

	for (uint32_t i = 0; i < lane.cfg.frame_bits / 8; i++)
		bytes[i] = take();
	rifl_from_bytes(f, lane.cfg.frame_bits, bytes);
}

/* A frame as the peer sends it arrives, with the ID |id|. */
static void arrive_good(enum rifl_kind kind, const struct rifl_segment *s, uint32_t id)
{
	uint32_t bits = lane.cfg.frame_bits;
	struct rifl_frame f;

	if (kind == RIFL_DATA)
		CHECK(rifl_put_segment(&f, bits, s) == 0);
	else
		CHECK(rifl_put_kind(&f, bits, kind) == 0);
	rifl_scramble(&peer, &f, bits);
	rifl_seal(&f, bits, id & (rifl_ids(&lane.cfg) - 1));
	arrive(&f);
}

/* ---- what leaves ---- */

/* A data frame is new in normal, and in retrans the one that had this ID before. */
static void check_data(const struct rifl_frame *f, uint32_t id)
{
	if (lane.tx.state == RIFL_STATE_NORMAL) {
		sent[id] = *f;
		was_sent[id] = true;
		return;
	}
	CHECK(lane.tx.state == RIFL_STATE_RETRANS);
	if (was_sent[id])
		CHECK(same_frame(f, &sent[id], lane.cfg.frame_bits));
	else
		CHECK(rifl_kind(f, lane.cfg.frame_bits) == RIFL_INVALID);
}

static void send(const struct rifl_segment *s)
{
	uint32_t bits = lane.cfg.frame_bits, id = lane.tx.frame_id;
	struct rifl_rx was = lane.rx;
	struct rifl_frame f;
	int taken = rifl_lane_tx(&lane, s, &f);
	bool data = rifl_syn(&f) == RIFL_SYN_DATA;

	CHECK(!memcmp(&was, &lane.rx, sizeof(was)));
	CHECK(rifl_verify(&f, bits, id));
	rifl_descramble(&undo, &f, &f, bits);
	rifl_unseal(&f, bits);
	CHECK(rifl_kind(&f, bits) != RIFL_RESERVED);
	CHECK(lane.tx.frame_id == ((id + data) & (rifl_ids(&lane.cfg) - 1)));
	if (data)
		check_data(&f, id);
	CHECK(taken == 0 || taken == 1);
	if (taken)
		CHECK(s && rifl_kind(&f, bits) == RIFL_DATA && lane.tx.state == RIFL_STATE_NORMAL &&
		      !was.error && was.in_sync && !was.fc_paused);
}

/* ---- steps ---- */

static void step_good(bool other_id)
{
	uint32_t n = other_id ? 1 : 1 + take() % 80, off = other_id ? take() : 0;
	uint8_t k = take() % RIFL_RESERVED;
	enum rifl_kind kind = k;
	struct rifl_segment s;

	take_segment(&s);
	while (n--)
		arrive_good(kind, &s, lane.rx.frame_id + off);
}

static void step_send(void)
{
	uint32_t n = 1 + take() % 96;
	struct rifl_segment s;
	bool user = take() & 1;

	take_segment(&s);
	while (n--)
		send(user ? &s : NULL);
}

static void step_read(void)
{
	struct rifl_segment s, *want;

	for (uint32_t n = 1 + take() % 64; n; n--) {
		CHECK(rifl_lane_read(&lane, &s) == (queue_count > 0));
		if (!queue_count)
			return;
		want = &queue[queue_head];
		CHECK(s.len == want->len && s.end == want->end && !memcmp(s.data, want->data, s.len));
		queue_head = (queue_head + 1) % QUEUE;
		queue_count--;
	}
}

/* Both ends begin again: what each has seen of the other is as it was before the first frame. */
static void fresh(void)
{
	rifl_lane_reset(&lane);
	good = queue_head = queue_count = 0;
	memset(&undo, 0, sizeof(undo));
	memset(was_sent, 0, sizeof(was_sent));
}

static void one_step(void)
{
	struct rifl_frame f;

	switch (take() % STEPS) {
	case STEP_RAW:
		take_frame(&f);
		check_codec(&f, lane.cfg.frame_bits);
		arrive(&f);
		break;
	case STEP_SEALED:
		take_frame(&f);
		rifl_unseal(&f, lane.cfg.frame_bits);
		rifl_seal(&f, lane.cfg.frame_bits, lane.rx.frame_id);
		arrive(&f);
		break;
	case STEP_GOOD: step_good(false); break;
	case STEP_OTHER_ID: step_good(true); break;
	case STEP_SEND: step_send(); break;
	case STEP_READ: step_read(); break;
	case STEP_COMPENSATE: rifl_lane_compensate(&lane, take() % 8); break;
	default:
		if (take() % 8 == 0)
			fresh();
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rifl_cfg cfg;

	in = data;
	left = size;
	CHECK(rifl_cfg_derive(&cfg, RIFL_FRAME_BITS_MIN << take() % 5, take() % (RTT_MAX + 1)) == 0);
	CHECK(rifl_ids(&cfg) <= IDS_MAX && cfg.fc_frames <= QUEUE);
	CHECK(rifl_lane_open(&lane, &cfg) == 0);
	memset(&peer, 0, sizeof(peer));
	fresh();
	while (left)
		one_step();
	rifl_lane_close(&lane);
	return 0;
}
