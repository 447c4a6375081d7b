/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BPF ONLY. Internet checksums, in the largest chunks that bpf_csum_diff takes. */
#ifndef FALCON_BPF_CSUM_H
#define FALCON_BPF_CSUM_H

#include "falcon_work.h"

enum falcon_csum_const {
	FALCON_CSUM_CHUNK = 512,	/* bpf_csum_diff's limit before kernel 6.13 */
	FALCON_CSUM_LEN_MASK = 0x7fff,	/* longest datagram; no frame in one piece is longer */
	FALCON_CSUM_MAX_CHUNKS = (FALCON_CSUM_LEN_MASK + 1) / FALCON_CSUM_CHUNK,
	FALCON_CSUM_OK = 0xffff,	/* sum over data that holds its right checksum */
};

FALCON_INLINE __u32 falcon_csum_add(__u32 sum, const void *p, __u32 len)
{
	return (__u32)bpf_csum_diff(0, 0, (__be32 *)p, len, sum);
}

/*
 * One power of two of the length. The pointer is built anew from |len| each time, not moved along,
 * so that for the verifier every branch ends in the same state: the work is linear in the number
 * of steps where moving pointers would double it with each.
 */
#define FALCON_CSUM_STEP(sum, base, end, len, step)						   \
	do {                                                                                       \
		const void *p_ = (base) + ((len) & (FALCON_CSUM_LEN_MASK & ~(2 * (step) - 1)));    \
                                                                                                   \
		if ((len) & (step)) {                                                              \
			if (p_ + (step) > (end))                                                   \
				return 0;                                                          \
			(sum) = falcon_csum_add((sum), p_, (step));                                \
		}                                                                                  \
	} while (0)

/* Sum of the last 0 to 3 bytes of |len|, as 16-bit words in memory order. */
static __noinline __u32 falcon_csum_rest(const struct xdp_md *ctx, __u32 off, __u32 len)
{
	const __u8 *p = falcon_data(ctx) + (off & 0xff) + (len & FALCON_CSUM_LEN_MASK & ~3U);
	const __u8 *end = falcon_data_end(ctx);
	__u8 rest[4] = {};

	if (!(len & 3) || p + 1 > end)
		return 0;
	rest[0] = p[0];
	if ((len & 2) && p + 2 <= end)
		rest[1] = p[1];
	if ((len & 3) == 3 && p + 3 <= end)
		rest[2] = p[2];
	return *(__u16 *)&rest[0] + *(__u16 *)&rest[2];
}

/*
 * Sum of the |len| bytes at offset |off| (at most 255) of the frame, on top of |sum|. 0 if the
 * frame does not have them.
 */
FALCON_ALONE __u64 falcon_csum_range(struct xdp_md *ctx, __u32 off, __u32 len, __u32 sum)
{
	const void *base = falcon_data(ctx) + (off & 0xff), *end = falcon_data_end(ctx);
	__u32 chunks = len / FALCON_CSUM_CHUNK;
	const void *p = base;

	if (len > FALCON_CSUM_LEN_MASK)
		return 0;
	/* The verifier does not see that |len| bounds the loop, too: the compiler must not see it either. */
	falcon_opaque(chunks);
	for (__u32 i = 0; i < FALCON_CSUM_MAX_CHUNKS && i < chunks; i++) {
		if (p + FALCON_CSUM_CHUNK > end)
			return 0;
		sum = falcon_csum_add(sum, p, FALCON_CSUM_CHUNK);
		p += FALCON_CSUM_CHUNK;
	}
	FALCON_CSUM_STEP(sum, base, end, len, 256);
	FALCON_CSUM_STEP(sum, base, end, len, 128);
	FALCON_CSUM_STEP(sum, base, end, len, 64);
	FALCON_CSUM_STEP(sum, base, end, len, 32);
	FALCON_CSUM_STEP(sum, base, end, len, 16);
	FALCON_CSUM_STEP(sum, base, end, len, 8);
	FALCON_CSUM_STEP(sum, base, end, len, 4);
	return (__u64)sum + falcon_csum_rest(ctx, off, len);
}

/*
 * Sum of the UDP datagram of |udp_len| bytes in frame |f| with its pseudo header, folded.
 * FALCON_CSUM_OK if the datagram's checksum is right; 0, which no sum of a datagram folds to, if
 * the frame is too short or |udp_len| above FALCON_CSUM_LEN_MASK.
 */
static __noinline __u16 falcon_csum_udp(struct xdp_md *ctx, const struct falcon_frame *f,
					__u32 udp_len)
{
	const void *l3 = falcon_data(ctx) + (f->l3_off & 0x1f), *end = falcon_data_end(ctx);
	__u32 sum = falcon_hton16((__u16)udp_len) + falcon_hton16(IPPROTO_UDP);
	__u64 total;

	if (l3 + sizeof(struct ipv6hdr) > end || udp_len > FALCON_CSUM_LEN_MASK)
		return 0;
	if (f->ipv6)
		sum = falcon_csum_add(sum, l3 + __builtin_offsetof(struct ipv6hdr, saddr), 32);
	else
		sum = falcon_csum_add(sum, l3 + __builtin_offsetof(struct iphdr, saddr), 8);
	total = falcon_csum_range(ctx, f->udp_off, udp_len, sum);
	return falcon_csum_fold(total);
}

/* The sender's UDP checksum may be neither missing nor wrong (Falcon 9.2.2.1). */
FALCON_INLINE bool falcon_csum_good(struct xdp_md *ctx, const struct falcon_frame *f)
{
	return f->udp_check && falcon_csum_udp(ctx, f, f->udp_len) == FALCON_CSUM_OK;
}

#endif /* FALCON_BPF_CSUM_H */
