/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BPF ONLY. Copies between frames and offload memory, and atomic operations on it. */
#ifndef FALCON_BPF_MEMORY_H
#define FALCON_BPF_MEMORY_H

#include "falcon/receive/exec.h"
#include "falcon_maps.h"
#include "falcon_work.h"

/* |n| bytes of a frame, from |from| on, and their place in a block. */
struct falcon_copy {
	__u32 from, off, n;
};

FALCON_INLINE bool falcon_copy_bytes(struct xdp_md *ctx, __u32 from, __u8 *at, __u32 n, const bool in)
{
	return (in ? bpf_xdp_load_bytes(ctx, from, at, n) : bpf_xdp_store_bytes(ctx, from, at, n)) == 0;
}

/*
 * Copy pieces of |size| bytes as long as there are any. The masks change nothing; they have all rounds look
 * alike to the verifier, which then need not follow each combination of them.
 */
FALCON_INLINE bool falcon_copy_pieces(struct xdp_md *ctx, __u8 *block, struct falcon_copy *c,
				      const __u32 size, const __u32 rounds, const bool in)
{
	for (__u32 i = 0; i < rounds; i++) {
		c->off &= FALCON_MEMORY_BLOCK - 1;
		c->n &= FALCON_COPY_MAX;
		c->from &= 0xffff;
		if (c->n < size)
			return true;
		if (c->off > FALCON_MEMORY_BLOCK - size ||
		    !falcon_copy_bytes(ctx, c->from, block + c->off, size, in))
			return false;
		c->off += size;
		c->from += size;
		c->n -= size;
	}
	return true;
}

/*
 * Copy |n| bytes, 1 to FALCON_COPY_MAX, between the frame from |from| on and a block, at |at| modulo its
 * size. Where the block may end amid FALCON_COPY_MAX bytes, the verifier wants constant lengths.
 */
FALCON_INLINE bool falcon_copy_block(struct xdp_md *ctx, __u8 *block, __u32 from, __u64 at, __u32 n,
				     const bool in)
{
	struct falcon_copy c = { from, (__u32)at & (FALCON_MEMORY_BLOCK - 1), n };
	__u32 off = (__u32)at & (FALCON_MEMORY_BLOCK - 1);

	/* It is at least 1, which old kernels do not conclude from a comparison. */
	n = ((n - 1) & FALCON_COPY_MAX) + 1;
	/* What is compared is what is added below. */
	falcon_opaque(off);
	if (off < FALCON_MEMORY_BLOCK - FALCON_COPY_MAX)
		return falcon_copy_bytes(ctx, from, block + off, n, in);
	return falcon_copy_pieces(ctx, block, &c, 64, 64, in) &&
	       falcon_copy_pieces(ctx, block, &c, 8, 8, in) &&
	       falcon_copy_pieces(ctx, block, &c, 1, 8, in);
}

static __noinline bool falcon_block_in(struct xdp_md *ctx, __u8 *block, __u32 from, __u64 at, __u32 n)
{
	return falcon_copy_block(ctx, block, from, at, n, true);
}

static __noinline bool falcon_block_out(struct xdp_md *ctx, __u8 *block, __u32 from, __u64 at, __u32 n)
{
	return falcon_copy_block(ctx, block, from, at, n, false);
}

/* Of at most two blocks. 0: done. */
FALCON_INLINE int falcon_copy(struct xdp_md *ctx, __u32 memory, __u32 from, __u64 at, __u32 len,
			      bool (*block_copy)(struct xdp_md *, __u8 *, __u32, __u64, __u32))
{
	void *map = bpf_map_lookup_elem(&falcon_memory, &memory);
	__u32 block = (__u32)(at >> FALCON_MEMORY_SHIFT);
	__u32 n = FALCON_MEMORY_BLOCK - ((__u32)at & (FALCON_MEMORY_BLOCK - 1));
	__u8 *p;

	if (!map)
		return -1;
	if (n > len)
		n = len;
	p = bpf_map_lookup_elem(map, &block);
	if (!p || !block_copy(ctx, p, from, at, n))
		return -1;
	if (n == len)
		return 0;
	block++;
	p = bpf_map_lookup_elem(map, &block);
	return p && block_copy(ctx, p, from + n, 0, len - n) ? 0 : -1;
}

/* Copy |len| bytes, at most FALCON_COPY_MAX, from |from| on of the frame to |at| of |memory|. 0: done. */
FALCON_ALONE int falcon_copy_in(struct xdp_md *ctx, __u32 memory, __u32 from, __u64 at, __u32 len)
{
	return falcon_copy(ctx, memory, from, at, len, falcon_block_in);
}

/* The other way. */
FALCON_ALONE int falcon_copy_out(struct xdp_md *ctx, __u32 memory, __u32 to, __u64 at, __u32 len)
{
	return falcon_copy(ctx, memory, to, at, len, falcon_block_out);
}

/* The word of which byte |at| of |memory| is part; NULL if there is none. */
FALCON_INLINE __u64 *falcon_memory_word(__u32 memory, __u64 at)
{
	void *map = bpf_map_lookup_elem(&falcon_memory, &memory);
	__u32 block = (__u32)(at >> FALCON_MEMORY_SHIFT);
	__u8 *p;

	if (!map)
		return NULL;
	p = bpf_map_lookup_elem(map, &block);
	return p ? (__u64 *)(p + ((__u32)at & (FALCON_MEMORY_BLOCK - sizeof(__u64)))) : NULL;
}

#endif /* FALCON_BPF_MEMORY_H */
