// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Another XDP program on the same interface: it counts what it sees and lets it pass. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

SEC("xdp")
int pass_and_count(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(&seen, &zero);

	(void)ctx;
	if (n)
		(*n)++;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
