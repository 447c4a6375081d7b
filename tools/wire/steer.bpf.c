// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* All that comes in goes to falcon-wire's AF_XDP socket on that queue. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} wire_sockets SEC(".maps");

SEC("xdp")
int wire_steer(struct xdp_md *ctx)
{
	return bpf_redirect_map(&wire_sockets, ctx->rx_queue_index, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
