#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make bench: Falcon beside what the same kind of link carries without it, in one run. Prints a
# table and writes build/bench/results.json.
#
# BENCH_SECONDS (2) is the length of each load, BENCH_ROUNDS (2) how often each is run, the best
# counting, and BENCH_MTUS ("1500 3498") the MTUs.
#
# Ratios: operations/s to the packets/s from AF_XDP to AF_XDP at 64-byte frames; goodput to the
# Gb/s from AF_XDP to AF_XDP at full frames, headers of the frames included in the latter only;
# latency, from submission to completion, to a round trip of kernel UDP. Of encrypted connections, all
# of it to the clear ones' (offload on) of the same run.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
TOP=$(cd "$HERE/../.." && pwd)
export BUILD=${BUILD:-$TOP/build}
OUT=$BUILD/bench
MTUS=${BENCH_MTUS:-1500 3498}
ROUNDS=${BENCH_ROUNDS:-2}

[ "$(id -u)" -eq 0 ] || { echo "bench: needs root" >&2; exit 1; }
mkdir -p "$OUT"
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT

# best FILE...: of several rounds of one measurement, the highest rates and the lowest times.
best()
{
	jq -s 'def best($a; $b; $key):
			if ($a | type) == "object" then
				reduce ($a | keys_unsorted[]) as $k ({}; .[$k] = best($a[$k]; $b[$k]; $k))
			elif ($a | type) == "number" then
				[$a, $b] | if $key | test("_us$|^p[0-9]") then min else max end
			else $a end;
		reduce .[1:][] as $next (.[0]; best(.; $next; ""))' "$@"
}

# Rounds alternate between what is compared, so that a busy moment does not hit one alone.
for mtu in $MTUS; do
	for ((round = 1; round <= ROUNDS; round++)); do
		echo "bench: MTU $mtu, round $round of $ROUNDS" >&2
		"$HERE/ceiling.sh" "$mtu" >"$parts/$mtu.link.$round"
		for kind in on psp esp off; do
			"$HERE/falcon.sh" "$mtu" "$kind" >"$parts/$mtu.$kind.$round"
		done
	done
	for what in link on psp esp off; do
		best "$parts/$mtu.$what".* >"$parts/$mtu.$what"
	done
	jq -n --slurpfile link "$parts/$mtu.link" --slurpfile on "$parts/$mtu.on" \
		--slurpfile off "$parts/$mtu.off" --slurpfile psp "$parts/$mtu.psp" \
		--slurpfile esp "$parts/$mtu.esp" '
		def to_clear($c): . + {
			ratio: (with_entries(
				if .value | type != "object" then empty
				elif .key | endswith("latency") then
					.key as $k | ({key: ($k + "_p50"), value: (.value.latency_us.p50 /
						$c[$k].latency_us.p50)}, {key: ($k + "_p99"),
						value: (.value.latency_us.p99 / $c[$k].latency_us.p99)})
				elif .key | test("_mtu") then
					.value = .value.goodput_gbps / $c[.key].goodput_gbps
				else .value = .value.ops_per_s / $c[.key].ops_per_s end))};
		def against($l): . + {
			ratio: {
				push_8: (.push_8.ops_per_s / $l.recv_64.pps),
				push_64: (.push_64.ops_per_s / $l.recv_64.pps),
				pull_64: (.pull_64.ops_per_s / $l.recv_64.pps),
				push_mtu: (.push_mtu.goodput_gbps / $l.recv_mtu.gbps),
				push_mtu_fixed: (.push_mtu_fixed.goodput_gbps / $l.recv_mtu.gbps),
				pull_mtu: (.pull_mtu.goodput_gbps / $l.recv_mtu.gbps),
				push_latency_p50: (.push_latency.latency_us.p50 /
					(2 * $l.udp.oneway_p50_us)),
				push_latency_p99: (.push_latency.latency_us.p99 /
					(2 * $l.udp.oneway_p99_us))
			}};
		{mtu: $link[0].mtu, link: $link[0],
		 falcon: {on: ($on[0] | against($link[0])), off: ($off[0] | against($link[0])),
			  psp: ($psp[0] | to_clear($on[0])), esp: ($esp[0] | to_clear($on[0]))}}' \
		>"$parts/$mtu.json"
done
jq -s --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" --argjson seconds "${BENCH_SECONDS:-2}" \
	--argjson rounds "$ROUNDS" \
	'{kernel: $kernel, cpus: $cpus, seconds: $seconds, rounds: $rounds, runs: .}' "$parts"/*.json \
	>"$OUT/results.json"

jq -r '
	def n($d): . * pow(10; $d) | round / pow(10; $d);
	def pct: . * 100 | round | tostring + " %";
	def kinds: .falcon.on, .falcon.off, .falcon.psp, .falcon.esp;
	.runs[] | . as $r | .link as $l |
	(["MTU \(.mtu)", "link alone", "offload on", "ratio", "offload off", "ratio", "PSP",
	  "of clear", "ESP", "of clear"],
	 ["AF_XDP to XDP drop, 64 B frames, kpps", ($l.drop_64.pps / 1e3 | n(0))],
	 ["AF_XDP to XDP drop, full frames, Gb/s", ($l.drop_mtu.gbps | n(1))],
	 ["TCP (iperf3), Gb/s", ($l.tcp.gbps | n(1))],
	 ["operations 8 B push, kop/s", ($l.recv_64.pps / 1e3 | n(0)),
	  (kinds | (.push_8.ops_per_s / 1e3 | n(0)), (.ratio.push_8 | pct))],
	 ["operations 64 B push, kop/s", ($l.recv_64.pps / 1e3 | n(0)),
	  (kinds | (.push_64.ops_per_s / 1e3 | n(0)), (.ratio.push_64 | pct))],
	 ["operations 64 B pull, kop/s", ($l.recv_64.pps / 1e3 | n(0)),
	  (kinds | (.pull_64.ops_per_s / 1e3 | n(0)), (.ratio.pull_64 | pct))],
	 ["goodput push, Gb/s", ($l.recv_mtu.gbps | n(1)),
	  (kinds | (.push_mtu.goodput_gbps | n(2)), (.ratio.push_mtu | pct))],
	 ["  with cc = fixed", ($l.recv_mtu.gbps | n(1)),
	  (kinds | (.push_mtu_fixed.goodput_gbps | n(2)),
	   (.ratio.push_mtu_fixed | pct))],
	 ["goodput pull, Gb/s", ($l.recv_mtu.gbps | n(1)),
	  (kinds | (.pull_mtu.goodput_gbps | n(2)), (.ratio.pull_mtu | pct))],
	 ["latency 64 B p50, us (UDP round trip)", (2 * $l.udp.oneway_p50_us | n(1)),
	  (kinds | (.push_latency.latency_us.p50 | n(1)),
	   (.ratio.push_latency_p50 | pct))],
	 ["latency 64 B p99, us (UDP round trip)", (2 * $l.udp.oneway_p99_us | n(1)),
	  (kinds | (.push_latency.latency_us.p99 | n(1)),
	   (.ratio.push_latency_p99 | pct))],
	 [""]) | @tsv' "$OUT/results.json" |
	awk -F '\t' '{ printf "%-40s %12s %12s %8s %12s %8s %12s %8s %12s %8s\n",
		$1, $2, $3, $4, $5, $6, $7, $8, $9, $10 }'
echo "results: ${OUT#"$TOP"/}/results.json"
