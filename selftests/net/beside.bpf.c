// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Another XDP program, for libxdp to run before ours on the same interface. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int beside(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
