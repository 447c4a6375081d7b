// SPDX-License-Identifier: BSD-2-Clause
/* The frame codec: what is in a frame, but for its verification code and the scrambler. */
#include "frame.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

enum {
	HEADER_BITS = RIFL_SYN_BITS + RIFL_META_BITS,
	BEHIND_PAYLOAD = 0xffff,	/* what the payload leaves of its last word */
	CONTROL_SHIFT = 46,	/* where the control code is in the first word */
};

/* Control codes: those of the authors' implementation. Any two differ in two bits. */
enum control_code {
	CONTROL_IDLE = 0x0001,
	CONTROL_PAUSE_REQUEST = 0x0010,
	CONTROL_RETRANS_REQUEST = 0x1000,
};

/* The last byte of the payload under meta code 00 (section 4.D). */
enum invalid_code {
	CODE_INVALID = 0,
	CODE_FC_PAUSE = 1,
	CODE_FC_RESUME = 2,
};

static uint64_t header(enum rifl_syn syn, enum rifl_meta meta)
{
	return (uint64_t)syn << 62 | (uint64_t)meta << 60;
}

static uint32_t meta_of(const struct rifl_frame *f)
{
	return (uint32_t)(f->word[0] >> 60) & 3;
}

/* The payload's last byte ends where the verification code begins. */
static uint32_t last_byte(const struct rifl_frame *f, uint32_t bits)
{
	return (uint32_t)(f->word[rifl_words(bits) - 1] >> RIFL_VERIFICATION_BITS) & 0xff;
}

static uint64_t load(const uint8_t *p)
{
	uint64_t w;

	memcpy(&w, p, sizeof(w));
	return be64toh(w);
}

/* The payload |p|, of whole words, goes behind the header. */
static inline void put_payload(struct rifl_frame *f, uint32_t words, uint64_t head, const uint8_t *p)
{
	uint64_t carry = head, w;

	for (uint32_t i = 0; i + 1 < words; i++) {
		w = load(p + 8 * i);
		f->word[i] = carry | w >> HEADER_BITS;
		carry = w << (64 - HEADER_BITS);
	}
	w = load(p + 8 * (words - 1)) & ~(uint64_t)BEHIND_PAYLOAD;
	f->word[words - 1] = carry | w >> HEADER_BITS;
}

/* A packet's last segment, with the format code. By itself, so that full ones have nothing to save. */
static __attribute__((noinline)) int put_partial(struct rifl_frame *f, uint32_t bits,
						 const struct rifl_segment *s)
{
	uint32_t bytes = rifl_payload_bytes(bits), words = rifl_words(bits);
	uint8_t p[RIFL_WORDS_MAX * 8];

	if (s->len > bytes || !s->end)
		return -EINVAL;
	memset(p, 0, words * 8);
	memcpy(p, s->data, s->len);
	p[bytes - 1] = (uint8_t)s->len;
	put_payload(f, words, header(RIFL_SYN_DATA, RIFL_META_LAST), p);
	return 0;
}

int rifl_put_segment(struct rifl_frame *f, uint32_t bits, const struct rifl_segment *s)
{
	uint64_t head = header(RIFL_SYN_DATA, s->end ? RIFL_META_FULL_LAST : RIFL_META_FULL);

	if (s->len != rifl_payload_bytes(bits))
		return put_partial(f, bits, s);
	/* The smallest frames come the fastest: without a loop. */
	if (bits == RIFL_FRAME_BITS_MIN)
		put_payload(f, RIFL_FRAME_BITS_MIN / 64, head, s->data);
	else
		put_payload(f, rifl_words(bits), head, s->data);
	return 0;
}

int rifl_put_kind(struct rifl_frame *f, uint32_t bits, enum rifl_kind kind)
{
	uint64_t last = 0, control = 0;

	switch (kind) {
	case RIFL_INVALID: last = CODE_INVALID; break;
	case RIFL_FC_PAUSE: last = CODE_FC_PAUSE; break;
	case RIFL_FC_RESUME: last = CODE_FC_RESUME; break;
	case RIFL_IDLE: control = CONTROL_IDLE; break;
	case RIFL_PAUSE_REQUEST: control = CONTROL_PAUSE_REQUEST; break;
	case RIFL_RETRANS_REQUEST: control = CONTROL_RETRANS_REQUEST; break;
	default: return -EINVAL;
	}
	memset(f->word, 0, rifl_words(bits) * 8);
	f->word[0] = control ? (uint64_t)RIFL_SYN_CONTROL << 62 | control << CONTROL_SHIFT :
			       header(RIFL_SYN_DATA, RIFL_META_INVALID);
	f->word[rifl_words(bits) - 1] |= last << RIFL_VERIFICATION_BITS;
	return 0;
}

static enum rifl_kind control_kind(const struct rifl_frame *f)
{
	switch (f->word[0] >> CONTROL_SHIFT & 0xffff) {
	case CONTROL_IDLE: return RIFL_IDLE;
	case CONTROL_PAUSE_REQUEST: return RIFL_PAUSE_REQUEST;
	case CONTROL_RETRANS_REQUEST: return RIFL_RETRANS_REQUEST;
	default: return RIFL_RESERVED;
	}
}

static enum rifl_kind invalid_kind(uint32_t code)
{
	switch (code) {
	case CODE_INVALID: return RIFL_INVALID;
	case CODE_FC_PAUSE: return RIFL_FC_PAUSE;
	case CODE_FC_RESUME: return RIFL_FC_RESUME;
	default: return RIFL_RESERVED;
	}
}

enum rifl_kind rifl_kind(const struct rifl_frame *f, uint32_t bits)
{
	if (!rifl_syn_legal(f))
		return RIFL_RESERVED;
	if (rifl_syn(f) == RIFL_SYN_CONTROL)
		return control_kind(f);
	switch (meta_of(f)) {
	case RIFL_META_INVALID: return invalid_kind(last_byte(f, bits));
	case RIFL_META_LAST: return last_byte(f, bits) < rifl_payload_bytes(bits) ? RIFL_DATA : RIFL_RESERVED;
	default: return RIFL_DATA;
	}
}

static void store(uint8_t *p, uint64_t w)
{
	w = htobe64(w);
	memcpy(p, &w, sizeof(w));
}

void rifl_get_segment(const struct rifl_frame *f, uint32_t bits, struct rifl_segment *s)
{
	uint32_t last = rifl_words(bits) - 1, meta = meta_of(f);

	for (uint32_t i = 0; i < last; i++)
		store(s->data + 8 * i, f->word[i] << HEADER_BITS | f->word[i + 1] >> (64 - HEADER_BITS));
	store(s->data + 8 * last, f->word[last] << HEADER_BITS);
	s->end = meta != RIFL_META_FULL;
	s->len = meta == RIFL_META_LAST ? last_byte(f, bits) : rifl_payload_bytes(bits);
}

void rifl_to_bytes(const struct rifl_frame *f, uint32_t bits, uint8_t *bytes)
{
	for (uint32_t i = 0; i < rifl_words(bits); i++) {
		uint64_t w = htobe64(f->word[i]);

		memcpy(bytes + 8 * i, &w, 8);
	}
}

void rifl_from_bytes(struct rifl_frame *f, uint32_t bits, const uint8_t *bytes)
{
	for (uint32_t i = 0; i < rifl_words(bits); i++) {
		uint64_t w;

		memcpy(&w, bytes + 8 * i, 8);
		f->word[i] = be64toh(w);
	}
}
