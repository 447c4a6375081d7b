#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# falcon-perf between two hosts of the lab, as JSON on stdout: selftests/bench/falcon.sh MTU on|off|psp|esp
#
# Operations/s of pushes and pulls of 8 and 64 bytes, goodput with operations of a whole segment
# (of pushes also with fixed windows, to tell what congestion control costs), latency with one
# operation at a time. The second argument is falcon-lab's --offload for clear connections, or what
# encrypted ones are in, both with AES-GCM-128.
# BENCH_SECONDS is how long each load runs (default 2).
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "$0")/bench.sh"
SECS=${BENCH_SECONDS:-2}
MTU=$1
KIND=$2
DEPTH=256

# perf NAME ARGS...: one run; appends {NAME: result} to $TMP/results.
perf()
{
	local name=$1

	shift
	on a timeout $((SECS + 30)) falcon-perf b --seconds "$SECS" -j "$@" \
		>"$TMP/run" || { echo "falcon-perf $* failed" >&2; return 1; }
	jq --arg name "$name" '{($name): {size, depth, ops_per_s, goodput_gbps,
		latency_us: {p50: .latency_us.p50, p99: .latency_us.p99}}}' "$TMP/run" >>"$TMP/results"
}

answered()
{
	on a timeout 5 falcon-perf b --count 1 --timeout 1 -j >"$TMP/first" 2>/dev/null
}

case $KIND in
on | off) lab=(--clear --offload "$KIND") ;;
esp) lab=(--security esp-aes-gcm-128) ;;
*) lab=(--security "$KIND") ;;
esac
"$LAB" up "${lab[@]}" --mtu "$MTU" >&2
behind b falcon-perf --serve >&2
wait_for answered
segment=$(jq .segment "$TMP/first")
perf push_8 --op push --size 8 --depth $DEPTH
perf push_64 --op push --size 64 --depth $DEPTH
perf pull_64 --op pull --size 64 --depth $DEPTH
perf push_mtu --op push --size "$segment" --depth $DEPTH
on a falconctl rue set b fixed
perf push_mtu_fixed --op push --size "$segment" --depth $DEPTH
on a falconctl rue set b swift
perf pull_mtu --op pull --size "$segment" --depth $DEPTH
perf push_latency --op push --size 64 --depth 1
perf pull_latency --op pull --size 64 --depth 1
jq -s --argjson mtu "$MTU" --arg kind "$KIND" \
	'add + {mtu: $mtu, offload: ($kind == "on"), encrypted: ($kind != "on" and $kind != "off")}' \
	"$TMP/results"
