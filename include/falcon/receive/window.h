/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The sliding windows (Falcon 9.2.1, 9.2.2.4), one copy for BPF, the agent and the tests.
 *
 * A bitmap over PSNs is a ring of 64-bit words. Each word carries 32 bits and, in its upper half,
 * the number of the group of 32 PSNs (psn >> 5) to which they belong:
 *
 *      63        59 58                32 31                         0
 *     +------------+--------------------+----------------------------+
 *     |     0      |   group = psn >> 5 |   bit n: PSN group * 32 + n |
 *     +------------+--------------------+----------------------------+
 *
 * Nothing ever shifts and nothing is cleared ahead of the window: who finds an older group in a
 * slot replaces the word, group and bits at once, by one compare-and-swap. Because the group is
 * part of the compared value, a CPU that stalls between its window check and its claim, however
 * long, can not set a bit in what has meanwhile become another PSN's place. A plain fetch-or ring
 * cannot promise that; selftests/model/ has the model that shows both.
 */
#ifndef FALCON_WINDOW_H
#define FALCON_WINDOW_H

#include "../types.h"

enum falcon_window_const {
	FALCON_GROUP_SHIFT = 5,		/* 32 PSNs a group */
	FALCON_CAS_TRIES = 8,		/* contenders on one word before a claim gives up */
};

enum falcon_claim {
	FALCON_CLAIM_NEW = 0,		/* ours now: deliver it */
	FALCON_CLAIM_DUP,		/* in the window, claimed before */
	FALCON_CLAIM_OLD,		/* below the base: acknowledged before */
	FALCON_CLAIM_OUT,		/* beyond the window's right edge: set OWN */
	FALCON_CLAIM_BUSY,		/* lost every race: drop silently, it will come again */
};

FALCON_INLINE __u64 falcon_word(__u32 group, __u32 bits)
{
	return (__u64)group << 32 | bits;
}

/* How far group |a| is ahead of |b|: 27-bit serial arithmetic. */
FALCON_INLINE __s32 falcon_group_diff(__u32 a, __u32 b)
{
	return (__s32)((a - b) << FALCON_GROUP_SHIFT) >> FALCON_GROUP_SHIFT;
}

/*
 * Prepare a ring of |words| (power of two) for a window that starts at |base|. Not safe against
 * concurrent use; the connection must not be alive.
 */
FALCON_INLINE void falcon_ring_init(__u64 *ring, __u32 words, __u32 base)
{
	__u32 g0 = base >> FALCON_GROUP_SHIFT;

	for (__u32 i = 0; i < words; i++) {
		__u32 g = (g0 + i) & (0xffffffffU >> FALCON_GROUP_SHIFT);

		ring[g & (words - 1)] = falcon_word(g, 0);
	}
}

/* True if |psn|'s bit is set. Any interleaving with writers yields a bit that was once true. */
FALCON_INLINE bool falcon_ring_test(const __u64 *ring, __u32 words, __u32 psn)
{
	__u32 g = psn >> FALCON_GROUP_SHIFT;
	__u64 w = falcon_load(&ring[g & (words - 1)]);

	return (__u32)(w >> 32) == g && (w >> (psn & 31)) & 1;
}

/*
 * Merge |bits| of group |g| into the ring. Returns the bits that were not set before; 0 also when
 * the slot has moved on to a later group or every try lost its race.
 */
FALCON_INLINE __u32 falcon_ring_merge(__u64 *ring, __u32 words, __u32 g, __u32 bits)
{
	__u64 *slot = &ring[g & (words - 1)];
	__u64 w = falcon_load(slot);

	for (int i = 0; i < FALCON_CAS_TRIES; i++) {
		__s32 ahead = falcon_group_diff(g, (__u32)(w >> 32));
		__u32 have = ahead == 0 ? (__u32)w : 0;
		__u64 seen;

		if (ahead < 0 || (have & bits) == bits)
			return 0;
		seen = falcon_cas(slot, w, falcon_word(g, have | bits));
		if (seen == w)
			return bits & ~have;
		w = seen;
	}
	return 0;
}

/*
 * Claim |psn| in a receive ring whose window of |window| PSNs starts at *|base| (one writer, the
 * agent; it only moves over PSNs that were claimed). Exactly one caller ever gets FALCON_CLAIM_NEW
 * for a PSN until falcon_ring_release().
 */
FALCON_INLINE enum falcon_claim falcon_ring_claim(__u64 *ring, __u32 words, const __u32 *base,
						  __u32 window, __u32 psn)
{
	__s32 off = falcon_seq_diff(psn, falcon_load(base));
	__u32 g = psn >> FALCON_GROUP_SHIFT, bit = 1U << (psn & 31);
	__u64 *slot = &ring[g & (words - 1)];
	__u64 w;

	if (off < 0)
		return FALCON_CLAIM_OLD;
	if (off >= (__s32)window)
		return FALCON_CLAIM_OUT;
	w = falcon_load(slot);
	for (int i = 0; i < FALCON_CAS_TRIES; i++) {
		__s32 ahead = falcon_group_diff(g, (__u32)(w >> 32));
		__u64 next, seen;

		if (ahead < 0)
			return FALCON_CLAIM_OLD;
		if (ahead == 0 && ((__u32)w & bit))
			return FALCON_CLAIM_DUP;
		next = falcon_word(g, ahead == 0 ? (__u32)w | bit : bit);
		seen = falcon_cas(slot, w, next);
		if (seen == w)
			return FALCON_CLAIM_NEW;
		w = seen;
	}
	return FALCON_CLAIM_BUSY;
}

/*
 * The bits of the 32 PSNs from |base| on. Read the base first and call this after it: bits are only set while
 * their PSN is in the window, so the result is a true statement about the window at |base| whatever happens
 * in between.
 */
FALCON_INLINE __u32 falcon_ring_bits(const __u64 *ring, __u32 words, __u32 base)
{
	__u32 g0 = base >> FALCON_GROUP_SHIFT, g1 = (g0 + 1) & (0xffffffffU >> FALCON_GROUP_SHIFT);
	__u64 w0 = falcon_load(&ring[g0 & (words - 1)]);
	__u64 w1 = falcon_load(&ring[g1 & (words - 1)]);
	__u64 both = (__u32)(w0 >> 32) == g0 ? (__u32)w0 : 0;

	if ((__u32)(w1 >> 32) == g1)
		both |= (__u64)(__u32)w1 << 32;
	return (__u32)(both >> (base & 31));
}

/* The same of |nwords| * 32 PSNs: out[0] holds PSN base + 0..31. */
FALCON_INLINE void falcon_ring_snapshot(const __u64 *ring, __u32 words, __u32 base, __u32 *out,
					__u32 nwords)
{
	for (__u32 i = 0; i < nwords; i++)
		out[i] = falcon_ring_bits(ring, words, base + 32 * i);
}

/*
 * Merge a bitmap of |nwords| words relative to |base| (as in an EACK) into a ring.
 * Returns how many bits were new.
 */
FALCON_INLINE __u32 falcon_ring_merge_bitmap(__u64 *ring, __u32 words, __u32 base,
					     const __u32 *bitmap, __u32 nwords)
{
	__u32 g = base >> FALCON_GROUP_SHIFT, shift = base & 31;
	__u32 fresh = 0;
	__u64 carry = 0;

	for (__u32 i = 0; i <= nwords; i++) {
		__u32 bits, group = (g + i) & (0xffffffffU >> FALCON_GROUP_SHIFT);

		if (i < nwords)
			carry |= (__u64)bitmap[i] << shift;
		bits = (__u32)carry;
		carry >>= 32;
		if (bits)
			fresh += (__u32)__builtin_popcount(
				falcon_ring_merge(ring, words, group, bits));
	}
	return fresh;
}

/* Trailing ones of |bits|. Counting the ones of a mask does it without instructions that BPF lacks. */
FALCON_INLINE __u32 falcon_ones_from_0(__u32 bits)
{
	return (__u32)__builtin_popcount(bits & ~(bits + 1));
}

/* The first PSN from |base| on whose bit is not set: where a base moves to. */
FALCON_INLINE __u32 falcon_ring_first_clear(const __u64 *ring, __u32 words, __u32 base)
{
	for (__u32 n = 0; n < words; n++) {
		__u32 g = base >> FALCON_GROUP_SHIFT, shift = base & 31;
		__u64 w = falcon_load(&ring[g & (words - 1)]);
		__u32 bits = (__u32)(w >> 32) == g ? (__u32)w >> shift : 0;

		/* Bits shifted in from above are zero, so a full rest of a word counts 32 - shift. */
		__u32 run = falcon_ones_from_0(bits);

		base += run;
		if (run < 32 - shift)
			break;
	}
	return base;
}

#ifndef __bpf__
/*
 * Undo a claim whose packet never reached the agent, so that the retransmission is taken.
 * Agent only, and only for a PSN in the window that the agent has not acknowledged.
 */
static inline void falcon_ring_release(__u64 *ring, __u32 words, __u32 psn)
{
	__u32 g = psn >> FALCON_GROUP_SHIFT, bit = 1U << (psn & 31);
	__u64 *slot = &ring[g & (words - 1)];
	__u64 w = falcon_load(slot);

	while ((__u32)(w >> 32) == g && ((__u32)w & bit)) {
		__u64 seen = falcon_cas(slot, w, w & ~(__u64)bit);

		if (seen == w)
			return;
		w = seen;
	}
}

/* Set one bit in a ring that this thread alone writes. */
static inline void falcon_ring_set(__u64 *ring, __u32 words, __u32 psn)
{
	__u32 g = psn >> FALCON_GROUP_SHIFT;
	__u64 *slot = &ring[g & (words - 1)];
	__u64 w = *slot;
	__u32 have = (__u32)(w >> 32) == g ? (__u32)w : 0;

	falcon_store(slot, falcon_word(g, have | 1U << (psn & 31)));
}
#endif

#endif /* FALCON_WINDOW_H */
