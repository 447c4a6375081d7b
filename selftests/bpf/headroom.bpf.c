// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A program before falcon_rx that leaves it a frame without room in front, or behind: as after a
 * driver without headroom or tailroom, or a program that has added headers.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "Dual BSD/GPL";

enum { CHUNK = 16, CHUNKS = 16 };

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} headroom_next SEC(".maps");

/*
 * How far the frame's start moves: forward, which uncovers a frame that lies at the end of the
 * buffer, or back, with the frame's first CHUNK * CHUNKS bytes, cut off behind them.
 */
volatile int headroom_shift;

SEC("xdp")
int headroom(struct xdp_md *ctx)
{
	__u8 bytes[CHUNK];
	int shift = headroom_shift;

	if (bpf_xdp_adjust_head(ctx, shift))
		return XDP_ABORTED;
	for (__u32 i = 0; shift < 0 && i < CHUNKS; i++) {
		if (bpf_xdp_load_bytes(ctx, i * CHUNK + (__u32)-shift, bytes, CHUNK) ||
		    bpf_xdp_store_bytes(ctx, i * CHUNK, bytes, CHUNK))
			return XDP_ABORTED;
	}
	if (shift < 0 && bpf_xdp_adjust_tail(ctx, shift))
		return XDP_ABORTED;
	bpf_tail_call(ctx, &headroom_next, 0);
	return XDP_ABORTED;
}
