#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a veth pair and the kernel can do without Falcon, at one MTU, as JSON on stdout:
# selftests/bench/ceiling.sh MTU
#
# AF_XDP into an XDP drop, AF_XDP into AF_XDP (pps and Gb/s at 64-byte frames and at full ones),
# TCP throughput with iperf3 and UDP ping-pong latency with sockperf.
#
#	namespace fbench-PID-a                      namespace fbench-PID-b
#	  eth0 10.251.0.1/24  ---- veth pair ----  eth0 10.251.0.2/24
#
# BENCH_SECONDS is how long each load runs (default 2).
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "$0")/bench.sh"
BENCH=$BUILD/selftests/bench
SECS=${BENCH_SECONDS:-2}
MTU=${1:-1500}
A=fbench-$$-a
B=fbench-$$-b

trap 'finish; ip netns del "$A" 2>/dev/null; ip netns del "$B" 2>/dev/null' EXIT

link_up()
{
	local ns

	ip netns add "$A"
	ip netns add "$B"
	ip link add eth0 mtu "$MTU" netns "$A" type veth peer name eth0 mtu "$MTU" netns "$B"
	for ns in "$A" "$B"; do
		ip -n "$ns" link set lo up
		ip -n "$ns" link set eth0 up
	done
	ip -n "$A" addr add 10.251.0.1/24 dev eth0
	ip -n "$B" addr add 10.251.0.2/24 dev eth0
}

# raw ROLE FRAME_SIZE: packets per second from an AF_XDP sender into ROLE (drop or recv).
# The sender outlasts the receiver, so that the measure is of the steady state. Each has a core.
raw()
{
	local out=$TMP/$1.$2 pid rc=0

	taskset -c 1 ip netns exec "$B" "$BENCH/xsk_ceiling" "$1" eth0 "$SECS" \
		"$BENCH/ceiling.bpf.o" >"$out" &
	pid=$!
	background+=("$pid")
	wait_for grep -q ready "$out"
	taskset -c 0 ip netns exec "$A" timeout 60 "$BENCH/xsk_ceiling" send eth0 "$((SECS + 1))" \
		"$2" >/dev/null
	wait "$pid" || rc=$?
	[ "$rc" -eq 0 ] || { echo "xsk_ceiling $1 failed" >&2; return 1; }
	sed -n 2p "$out"
}

# raw_json NAME ROLE SIZE
raw_json()
{
	jq -n --arg name "$1" --argjson size "$3" --argjson pps "$(raw "$2" "$3")" \
		'{($name): {frame: $size, pps: $pps, gbps: ($pps * $size * 8 / 1e9)}}'
}

# listening t|u PORT: somebody in B does, on TCP or UDP.
listening()
{
	[ -n "$(ss -N "$B" -Hln"$1" sport = "$2")" ]
}

# TCP goodput in Gb/s.
tcp()
{
	local log=$TMP/iperf

	ip netns exec "$B" iperf3 -s -1 >"$log" 2>&1 &
	background+=($!)
	wait_for listening t 5201
	ip netns exec "$A" timeout 60 iperf3 -c 10.251.0.2 -t "$SECS" -J |
		jq '{tcp: {gbps: (.end.sum_received.bits_per_second / 1e9)}}'
}

# UDP ping-pong of |$1| bytes, one at a time: half the round trip, microseconds.
udp()
{
	local log=$TMP/sockperf pid

	# It does not heed SIGTERM.
	ip netns exec "$B" timeout -s KILL "$((SECS + 60))" sockperf sr -i 10.251.0.2 -p 11111 \
		>/dev/null 2>&1 &
	pid=$!
	wait_for listening u 11111
	ip netns exec "$A" timeout 60 sockperf pp -i 10.251.0.2 -p 11111 -t "$SECS" -m "$1" \
		>"$log" 2>&1
	kill -KILL "$(pgrep -P "$pid")"
	wait "$pid" 2>/dev/null || :
	sed 's/\x1b\[[0-9;]*m//g' "$log" | awk '
		/percentile 50.000 *=/ { p50 = $NF }
		/percentile 99.000 *=/ { p99 = $NF }
		END { printf "{\"udp\": {\"oneway_p50_us\": %s, \"oneway_p99_us\": %s}}\n", p50, p99 }'
}

link_up
# Not a pipeline: cleanup() has to know what runs in the background.
{
	raw_json drop_64 drop 64
	raw_json drop_mtu drop "$((MTU + 14))"
	raw_json recv_64 recv 64
	raw_json recv_mtu recv "$((MTU + 14))"
	tcp
	udp 64
} >"$TMP/results"
jq -s --argjson mtu "$MTU" 'add + {mtu: $mtu}' "$TMP/results"
