/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RIFL's frames (sections 3.B and 3.C of the paper, figures 2 and 3, table 1).
 *
 *	data     SYN 01 (2) | meta code (2) | payload           | verification code (12)
 *	control  SYN 10 (2) | control code (16) | zeros         | verification code (12)
 *
 * The first bit on the wire is the highest of |word[0]|. A frame has 128, 256, 512, 1024 or 2048 bits. Where
 * the payload is not all valid, its last byte is the format code: how many bytes are.
 */
#ifndef FALCON_RIFL_FRAME_H
#define FALCON_RIFL_FRAME_H

#include <stdbool.h>
#include <stdint.h>

enum rifl_limits {
	RIFL_FRAME_BITS_MIN = 128,
	RIFL_FRAME_BITS_MAX = 2048,
	RIFL_SYN_BITS = 2,
	RIFL_META_BITS = 2,
	RIFL_VERIFICATION_BITS = 12,
	RIFL_WORDS_MAX = RIFL_FRAME_BITS_MAX / 64,
	/* bytes: the payload of the largest frame */
	RIFL_PAYLOAD_MAX = (RIFL_FRAME_BITS_MAX - RIFL_SYN_BITS - RIFL_META_BITS -
			    RIFL_VERIFICATION_BITS) / 8,
};

/* Syncword: 00 and 11 are illegal and say that the link is out of sync. */
enum rifl_syn {
	RIFL_SYN_DATA = 1,
	RIFL_SYN_CONTROL = 2,
};

/* Meta code (table 1). */
enum rifl_meta {
	RIFL_META_INVALID = 0,	/* nothing of the payload is user data */
	RIFL_META_FULL = 1,	/* all bytes valid, the packet goes on */
	RIFL_META_LAST = 2,	/* as many bytes valid as the format code says, end of packet */
	RIFL_META_FULL_LAST = 3, /* all bytes valid, end of packet */
};

/* What a frame is. */
enum rifl_kind {
	RIFL_DATA,		/* user data */
	RIFL_INVALID,		/* a data frame without any */
	RIFL_FC_PAUSE,		/* flow control: stop (section 4.D) */
	RIFL_FC_RESUME,		/* flow control: go on */
	RIFL_IDLE,		/* control frames: see section 3.C */
	RIFL_PAUSE_REQUEST,
	RIFL_RETRANS_REQUEST,
	RIFL_RESERVED,		/* a code that the paper does not give a meaning, or an illegal syncword */
};

/* One frame. Words beyond its size have no meaning. */
struct rifl_frame {
	uint64_t word[RIFL_WORDS_MAX];
};

/* User data of one data frame: a packet, or a part of it. */
struct rifl_segment {
	uint32_t len;		/* bytes, up to rifl_payload_bytes(); fewer only where |end| is set */
	bool end;		/* the packet's last */
	uint8_t data[RIFL_WORDS_MAX * 8]; /* room for whole words; bytes from |len| on have no meaning */
};

/* Whether the paper has frames of so many bits. */
static inline bool rifl_frame_bits_valid(uint32_t bits)
{
	return bits >= RIFL_FRAME_BITS_MIN && bits <= RIFL_FRAME_BITS_MAX && !(bits & (bits - 1));
}

static inline uint32_t rifl_words(uint32_t bits)
{
	return bits / 64;
}

/* S_payload in bytes (equation 10). */
static inline uint32_t rifl_payload_bytes(uint32_t bits)
{
	return (bits - RIFL_SYN_BITS - RIFL_META_BITS - RIFL_VERIFICATION_BITS) / 8;
}

static inline uint32_t rifl_syn(const struct rifl_frame *f)
{
	return (uint32_t)(f->word[0] >> 62);
}

static inline bool rifl_syn_legal(const struct rifl_frame *f)
{
	return rifl_syn(f) == RIFL_SYN_DATA || rifl_syn(f) == RIFL_SYN_CONTROL;
}

/*
 * Make |f|, of |bits| bits, the data frame that carries |s|. The verification code is 0.
 * Returns 0, or -EINVAL if the segment is too long, or shorter than the payload without being a packet's
 * last.
 */
int rifl_put_segment(struct rifl_frame *f, uint32_t bits, const struct rifl_segment *s);

/*
 * Make |f| the frame of |kind|, one without user data: RIFL_INVALID, RIFL_FC_PAUSE, RIFL_FC_RESUME,
 * RIFL_IDLE, RIFL_PAUSE_REQUEST or RIFL_RETRANS_REQUEST. The verification code is 0.
 * Returns 0, or -EINVAL for another kind.
 */
int rifl_put_kind(struct rifl_frame *f, uint32_t bits, enum rifl_kind kind);

/* What |f| is, descrambled; its verification code is not looked at. */
enum rifl_kind rifl_kind(const struct rifl_frame *f, uint32_t bits);

/* The user data of |f|, a frame of kind RIFL_DATA, into |s|. */
void rifl_get_segment(const struct rifl_frame *f, uint32_t bits, struct rifl_segment *s);

/* |f| as |bits| / 8 bytes in the order of transmission, and back. */
void rifl_to_bytes(const struct rifl_frame *f, uint32_t bits, uint8_t *bytes);
void rifl_from_bytes(struct rifl_frame *f, uint32_t bits, const uint8_t *bytes);

#endif /* FALCON_RIFL_FRAME_H */
