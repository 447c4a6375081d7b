#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What falcon-wire forwards, and what Falcon moves through it: selftests/bench/wire.sh
#
# AF_XDP at one end, an XDP drop at the other, a cable or falcon-wire between, for each way that it
# can read and write; and falcon-perf over a cable, the lab's switch, and falcon-wire. Prints a table
# and writes build/bench/wire.json. BENCH_SECONDS (2) is the length of each load, BENCH_ROUNDS (2) how
# often each is run in turn, the best counting; BENCH_MTU (1500) the MTU.
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "$0")/bench.sh"
BENCH=$BUILD/selftests/bench
SECS=${BENCH_SECONDS:-2}
ROUNDS=${BENCH_ROUNDS:-2}
MTU=${BENCH_MTU:-1500}

# result KIND MIDDLE SIZE NAME=NUMBER...: one line of JSON.
result()
{
	local pair args=()

	for pair in "${@:4}"; do
		args+=(--argjson "${pair%%=*}" "${pair#*=}")
	done
	jq -nc --arg kind "$1" --arg middle "$2" --argjson size "$3" "${args[@]}" '$ARGS.named' \
		>>"$TMP/results"
}

# forward MIDDLE OPTION...: frames a second into an XDP drop.
forward()
{
	local middle=$1 size pid

	shift
	"$LAB" up --no-agents --xdp off --queues 1 --mtu "$MTU" "$@"
	for size in 64 $((MTU + 14)); do
		: >"$TMP/drop"
		on b timeout 60 "$BENCH/xsk_ceiling" drop eth0 "$SECS" \
			"$BENCH/ceiling.bpf.o" >"$TMP/drop" &
		pid=$!
		until grep -q ready "$TMP/drop"; do sleep 0.05; done
		on a timeout 60 "$BENCH/xsk_ceiling" send eth0 "$((SECS + 1))" "$size" \
			>"$TMP/sent"
		wait "$pid"
		result forward "$middle" "$size" "pps=$(sed -n 2p "$TMP/drop")" "offered=$(<"$TMP/sent")"
	done
}

# goodput MIDDLE OPTION...: of pushes of 64 KiB.
goodput()
{
	local middle=$1

	shift
	"$LAB" up --clear --mtu "$MTU" "$@"
	behind b falcon-perf --serve 2>/dev/null
	wait_for on a falcon-perf b --count 1 --timeout 1
	on a timeout $((SECS + 30)) falcon-perf b --size 64K --depth 16 \
		--seconds "$SECS" -j >"$TMP/perf"
	stop
	result goodput "$middle" 65536 "gbps=$(jq .goodput_gbps "$TMP/perf")" \
		"p50_us=$(jq .latency_us.p50 "$TMP/perf")"
}

[ "$(id -u)" -eq 0 ] || { echo "bench: needs root" >&2; exit 1; }
for ((round = 1; round <= ROUNDS; round++)); do
	forward cable
	for io in native generic packet; do
		forward "falcon-wire, $io" --emulator wire --io $io
	done
	forward "falcon-wire, 100 us, loss" --delay 100us --loss 1
	goodput cable
	goodput switch --emulator switch
	goodput falcon-wire --emulator wire
done
jq -s 'group_by([.kind, .middle, .size]) | map(max_by(.pps // .gbps))' "$TMP/results" \
	>"$OUT/wire.json"
jq -r '.[] | if .kind == "forward" then
		"\(.middle), frames of \(.size) B\t\(.pps / 1e3 | round) kpps\t\(.pps * .size * 8 / 1e7 |
			round / 100) Gb/s\t(\(.offered / 1e3 | round) kpps offered)"
	else "falcon-perf through \(.middle)\t\t\(.gbps * 100 | round / 100) Gb/s\tp50 \(.p50_us | round) us"
	end' "$OUT/wire.json" |
	awk -F '\t' '{ printf "%-44s %12s %12s  %s\n", $1, $2, $3, $4 }'
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) CPUs; results: ${OUT#"$TOP"/}/wire.json"
