// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The lab's switch: what stands between the hosts when a link is to be worse than a wire.
 *
 * It is attached to the switch end of every host's cable, so it sees frames that hosts send by
 * AF_XDP, which bypass every qdisc and tc hook of the sender. It loses, corrupts and marks a share
 * of them at random and hands the rest to the cable of the host that the destination MAC names
 * (02:fa:00:00:00:<host number>), twice if the frame is to be duplicated. What takes time or memory
 * is the business of falcon-wire, which then stands here instead.
 *
 * Frames that are not IP, and multicast, are never impaired: an experiment is to measure the
 * transport, not the patience of neighbour discovery.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

enum lab_limits {
	LAB_MAX_HOSTS = 16,
	LAB_ECN_MASK = 3,
	LAB_ECN_CE = 3,
};

/* Shares of the frames, out of 2^32. Writer: falcon-lab, before the program is attached. */
struct lab_impair {
	__u32 loss;
	__u32 dup;
	__u32 corrupt;
	__u32 ecn;
};

/* Frames, free-running. */
struct lab_counters {
	__u64 received;
	__u64 tagged;		/* of them, with a VLAN tag */
	__u64 lost;
	__u64 duplicated;
	__u64 corrupted;
	__u64 marked;
	__u64 unknown;		/* to a host that is not there: dropped */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lab_impair);
} lab_impair SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lab_counters);
} lab_counters SEC(".maps");

/* Host number to the cable that leads there. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, LAB_MAX_HOSTS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} lab_ports SEC(".maps");

/* Host number to a map that holds its cable twice: a broadcast to it sends two copies. */
struct lab_twice {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LAB_MAX_HOSTS);
	__type(key, __u32);
	__array(values, struct lab_twice);
} lab_twice SEC(".maps");

static __always_inline int hit(__u32 share)
{
	return share && bpf_get_prandom_u32() <= share;
}

static __always_inline int is_tagged(const struct ethhdr *eth)
{
	return eth->h_proto == bpf_htons(ETH_P_8021Q) || eth->h_proto == bpf_htons(ETH_P_8021AD);
}

static __always_inline int is_ip(const struct ethhdr *eth)
{
	return eth->h_proto == bpf_htons(ETH_P_IP) || eth->h_proto == bpf_htons(ETH_P_IPV6);
}

/* Change one byte after the Ethernet header. Returns 1 if done. */
static __always_inline int corrupt(struct xdp_md *ctx)
{
	__u32 len = ctx->data_end - ctx->data;
	__u32 off, rnd = bpf_get_prandom_u32();
	__u8 byte;

	if (len <= ETH_HLEN)
		return 0;
	off = ETH_HLEN + (rnd >> 8) % (len - ETH_HLEN);
	if (bpf_xdp_load_bytes(ctx, off, &byte, 1))
		return 0;
	byte ^= (rnd & 0xff) ? : 1;
	return !bpf_xdp_store_bytes(ctx, off, &byte, 1);
}

/* Set CE on a packet that says it understands ECN. Returns 1 if done. */
static __always_inline int mark(void *data, void *end)
{
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = data + sizeof(*eth);
	struct iphdr *ip = data + sizeof(*eth);
	__u32 sum;

	if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		if ((void *)(ip6 + 1) > end || !((ip6->flow_lbl[0] >> 4) & LAB_ECN_MASK))
			return 0;
		ip6->flow_lbl[0] |= LAB_ECN_CE << 4;
		return 1;
	}
	if ((void *)(ip + 1) > end || !(ip->tos & LAB_ECN_MASK))
		return 0;
	/* RFC 1624: the checksum goes down by what the header goes up; tos is a low byte. */
	sum = (__u16)~bpf_ntohs(ip->check) + (LAB_ECN_CE - (ip->tos & LAB_ECN_MASK));
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = bpf_htons((__u16)~sum);
	ip->tos |= LAB_ECN_CE;
	return 1;
}

static __always_inline int forward(const struct ethhdr *eth, int twice, struct lab_counters *cnt)
{
	__u32 host = eth->h_dest[ETH_ALEN - 1];
	void *copies;
	int action;

	if (eth->h_dest[0] & 1)
		return bpf_redirect_map(&lab_ports, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
	copies = twice ? bpf_map_lookup_elem(&lab_twice, &host) : 0;
	if (copies) {
		cnt->duplicated++;
		return bpf_redirect_map(copies, 0, BPF_F_BROADCAST);
	}
	action = bpf_redirect_map(&lab_ports, host, XDP_DROP);
	if (action == XDP_DROP)
		cnt->unknown++;
	return action;
}

SEC("xdp")
int lab_switch(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct lab_counters *cnt;
	struct lab_impair *imp;
	__u32 zero = 0;
	int twice = 0;

	imp = bpf_map_lookup_elem(&lab_impair, &zero);
	cnt = bpf_map_lookup_elem(&lab_counters, &zero);
	if (!imp || !cnt || (void *)(eth + 1) > end)
		return XDP_DROP;
	cnt->received++;
	cnt->tagged += is_tagged(eth);
	if (is_ip(eth) && !(eth->h_dest[0] & 1)) {
		if (hit(imp->loss)) {
			cnt->lost++;
			return XDP_DROP;
		}
		if (hit(imp->ecn))
			cnt->marked += mark(data, end);
		if (hit(imp->corrupt)) {
			cnt->corrupted += corrupt(ctx);
			data = (void *)(long)ctx->data;
			end = (void *)(long)ctx->data_end;
			eth = data;
			if ((void *)(eth + 1) > end)
				return XDP_DROP;
		}
		twice = hit(imp->dup);
	}
	return forward(eth, twice, cnt);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
