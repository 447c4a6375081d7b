#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How flows share a bottleneck: selftests/bench/congestion.sh [FLOWS...]
#
# Two hosts send to a third, over one link of BENCH_RATE (100m) bit/s with a queue of BENCH_QUEUE (4m)
# bytes, as many flows as asked for (2 8 32), half of them from each host: Falcon with Swift, and the
# kernel's TCP with CUBIC and BBR. After BENCH_WARMUP (3) seconds, goodput of each flow and the time
# that packets wait for the link are taken for BENCH_SECONDS (5). Prints a table and writes
# build/bench/congestion.json.
#
# Fairness is Jain's index of the flows' goodput, sum^2 / (n * sum of squares): 1 if all have the same.
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "$0")/bench.sh"
RATE=${BENCH_RATE:-100m}
QUEUE=${BENCH_QUEUE:-4m}
WARMUP=${BENCH_WARMUP:-3}
SECS=${BENCH_SECONDS:-5}
SENDERS=(a b)

# The wait for the link to c meanwhile, microseconds, and how full that was.
watch_link()
{
	sleep "$WARMUP"
	"$LAB" links --reset
	sleep "$SECS"
	"$LAB" links -j | jq '.links[] | select(.to == "to-c") |
		{wait_us, delivered, lost: .dropped.queue}' >"$TMP/link"
}

# result TRANSPORT FLOWS: $TMP/goodput has the bit/s of each flow.
result()
{
	jq -nc --arg transport "$1" --argjson flows "$2" --argjson rate "$(numfmt --from=si "${RATE^^}")" \
		--slurpfile goodput "$TMP/goodput" --slurpfile link "$TMP/link" '
		($goodput | add) as $sum | $link[0] as $l |
		{transport: $transport, flows: $flows, rate_mbps: ($rate / 1e6),
		 goodput_mbps: ($sum / 1e6), utilization: ($sum / $rate),
		 jain: (if $sum > 0 then $sum * $sum / ($flows * ($goodput | map(. * .) | add)) else 0 end),
		 least_mbps: (($goodput | min) / 1e6), most_mbps: (($goodput | max) / 1e6),
		 wait_us: $l.wait_us, lost: $l.lost}' >>"$TMP/results"
}

# Transactions completed by every connection f-N of all senders, and when that was read.
completed()
{
	local host

	for host in "${SENDERS[@]}"; do
		on "$host" falconctl -j conn show >"$TMP/conns"
		jq -c --argjson ns "$(date +%s%N)" '.[] | select(.name | startswith("f-")) |
			{key: .name, value: {n: .completed, s: ($ns / 1e9)}}' "$TMP/conns"
	done | jq -s from_entries
}

# add_flow HOST NUMBER CID: a connection of its own, at both ends.
add_flow()
{
	local n=1

	[ "$1" = a ] || n=2
	on "$1" falconctl conn add "f-$2" local="10.250.0.$n" remote=10.250.0.3 local_cid="$3" \
		remote_cid="$3" ordering=unordered security=clear
	on c falconctl conn add "$1-$2" local=10.250.0.3 remote="10.250.0.$n" local_cid="$3" \
		remote_cid="$3" ordering=unordered security=clear
}

up()
{
	on "$1" falconctl -j conn show "f-$2" | jq -e '.[0].up'
}

falcon()
{
	local flows=$1 i host segment

	"$LAB" up --clear --hosts 3 --rate "$RATE" --queue "$QUEUE" --set cc=swift
	behind c falcon-perf --serve --arena 1G 2>/dev/null
	for ((i = 0; i < flows; i++)); do
		add_flow "${SENDERS[i % 2]}" "$i" $((1024 + i))
	done
	for ((i = 0; i < flows; i++)); do
		wait_for up "${SENDERS[i % 2]}" "$i"
	done
	segment=$(on a falconctl -j conn show f-0 | jq '.[0].segment')
	wait_for on a falcon-perf f-0 --count 1 --timeout 1
	for ((i = 0; i < flows; i++)); do
		behind "${SENDERS[i % 2]}" falcon-perf "f-$i" --size "$segment" --depth 128 \
			--seconds $((WARMUP + SECS + 60)) >/dev/null 2>&1
	done
	sleep "$WARMUP"
	WARMUP=0 watch_link &
	completed >"$TMP/before"
	sleep "$SECS"
	completed >"$TMP/after"
	wait $!
	stop
	jq -n --slurpfile a "$TMP/before" --slurpfile b "$TMP/after" --argjson bits $((segment * 8)) \
		'$b[0] | to_entries[] | $a[0][.key] as $old |
		 (.value.n - $old.n) * $bits / (.value.s - $old.s)' >"$TMP/goodput"
	result "Falcon, swift" "$flows"
}

listening()
{
	[ -n "$(on c ss -Hltn sport = "$1")" ]
}

# tcp ALGORITHM FLOWS
tcp()
{
	local algorithm=$1 flows=$2 i clients=()

	"$LAB" up --clear --hosts 3 --rate "$RATE" --queue "$QUEUE" --no-agents
	for i in 0 1; do
		behind c iperf3 -s -1 -p $((5201 + i)) >/dev/null 2>&1
		wait_for listening $((5201 + i))
	done
	watch_link &
	background+=($!)
	for i in 0 1; do
		on "${SENDERS[i]}" timeout 90 iperf3 -c 10.250.0.3 -p $((5201 + i)) -C "$algorithm" \
			-P $((flows / 2)) -O "$WARMUP" -t "$SECS" -J >"$TMP/iperf.$i" &
		clients+=($!)
	done
	wait "${clients[@]}" "${background[@]}"
	background=()
	jq '.end.streams[].receiver.bits_per_second' "$TMP/iperf.0" "$TMP/iperf.1" >"$TMP/goodput"
	result "TCP, $algorithm" "$flows"
}

[ "$(id -u)" -eq 0 ] || { echo "bench: needs root" >&2; exit 1; }
[ $# -gt 0 ] || set -- 2 8 32
for flows; do
	echo "bench: $flows flows into one link" >&2
	falcon "$flows"
	for algorithm in cubic bbr; do
		if grep -qw $algorithm /proc/sys/net/ipv4/tcp_available_congestion_control; then
			tcp $algorithm "$flows"
		else
			echo "bench: this kernel has no TCP $algorithm" >&2
		fi
	done
done
jq -s --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" --arg queue "$QUEUE" \
	'{kernel: $kernel, cpus: $cpus, queue: $queue, runs: .}' "$TMP/results" \
	>"$OUT/congestion.json"
jq -r 'def n($d): . * pow(10; $d) | round / pow(10; $d);
	["flows into \(.runs[0].rate_mbps | n(1)) Mbit/s", "goodput", "of the rate", "Jain", "wait p50 us",
	 "p99 us", "dropped"],
	(.runs[] | ["\(.flows), \(.transport)", (.goodput_mbps | n(1)), "\(.utilization * 100 | n(0)) %",
	 (.jain | n(3)), (.wait_us.p50 | n(0)), (.wait_us.p99 | n(0)), .lost]) | @tsv' \
	"$OUT/congestion.json" |
	awk -F '\t' '{ printf "%-28s %9s %12s %7s %12s %10s %8s\n", $1, $2, $3, $4, $5, $6, $7 }'
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) CPUs"
echo "results: ${OUT#"$TOP"/}/congestion.json"
