/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* BPF ONLY. What the steps of one packet's way through falcon_rx hand to each other. */
#ifndef FALCON_BPF_WORK_H
#define FALCON_BPF_WORK_H

#include "falcon/receive/receive.h"

struct falcon_scratch;

struct falcon_work {
	struct falcon_receive rx;		/* the first: falcon_work() */
	struct falcon_counters *counters;	/* this CPU's */
	__u32 xsk;				/* index of the agent's socket */
	struct falcon_scratch *scratch;		/* this CPU's */
};

/* What the receive sequence's |r| is part of. */
FALCON_INLINE struct falcon_work *falcon_work(struct falcon_receive *r)
{
	return (struct falcon_work *)r;
}

/*
 * The compiler knows nothing of |v| after this: it can neither take out a check that the verifier needs nor
 * put another one in its place.
 */
#define falcon_opaque(v) asm volatile("" : "+r"(v))

/*
 * The context's 32-bit fields become 64-bit packet pointers. The empty asm keeps the compiler from
 * concluding that 32-bit arithmetic would do for them, which the verifier refuses.
 */
#define FALCON_CTX_POINTER(name)								   \
	FALCON_INLINE void *falcon_##name(const struct xdp_md *ctx)                                \
	{                                                                                          \
		void *p = (void *)(long)ctx->name;                                                 \
                                                                                                   \
		falcon_opaque(p);                                                                  \
		return p;                                                                          \
	}
FALCON_CTX_POINTER(data)
FALCON_CTX_POINTER(data_end)
FALCON_CTX_POINTER(data_meta)

/* Bytes in the frame. */
FALCON_INLINE __u32 falcon_frame_len(const struct xdp_md *ctx)
{
	return (__u32)(falcon_data_end(ctx) - falcon_data(ctx));
}

#endif /* FALCON_BPF_WORK_H */
