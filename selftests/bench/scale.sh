#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How an agent scales: by threads that carry packets and queue pairs, and by connections that are open:
# selftests/bench/scale.sh [threads|connections]...
#
# threads: host a of the lab, whose agent has 1, 2, ... threads, as many as there are CPUs, WRITEs into
# offload memory of host b, whose XDP program places and acknowledges: a peer that costs little. WRITEs of 8
# bytes and of 64 KiB, over each number of queue pairs in BENCH_QUEUE_PAIRS (1 2 8), one way and both ways.
#
# connections: two hosts have so many more connections open, for each number in BENCH_CONNECTIONS (0 1000
# 10000 100000), on which nothing is sent; over another one, pushes of 64 bytes: many at a time, and one at a
# time for their latency. At the end the first number again, whose rounds count together.
#
# All is clear, at MTU 3498. BENCH_SECONDS (1) is the length of each load, BENCH_ROUNDS (3) how often it is
# run; the median counts. Prints tables, and writes build/bench/scale.json and scale.png.
# shellcheck source=selftests/bench/perftest.sh
. "$(dirname "$0")/perftest.sh"
read -ra QUEUE_PAIRS <<<"${BENCH_QUEUE_PAIRS:-1 2 8}"
read -ra CONNECTIONS <<<"${BENCH_CONNECTIONS:-0 1000 10000 100000}"
ROUNDS=${BENCH_ROUNDS:-3}
MTU=3498
RUN=/run/falcon-$FALCON_LAB

# medians FILE: of values by name, of all objects of the file that have the same "by".
medians()
{
	jq -s 'def mid: sort | .[length / 2 | floor];
		group_by(.by) | map(.[0].by + ([(map(del(.by)) | .[0] | keys_unsorted[]) as $k |
			{($k): (map(.[$k]) | mid)}] | add))' "$1"
}

# ---- threads ----

# writes THREADS QUEUE_PAIRS: one round, both sizes, one way and both.
writes()
{
	: >"$TMP/results"
	perftest write_8 bw write 8 -q "$2"
	perftest write_65536 bw write 65536 -q "$2"
	perftest both_8 bw write 8 -q "$2" -b
	perftest both_65536 bw write 65536 -q "$2" -b
	jq -s --argjson threads "$1" --argjson qps "$2" '{by: {threads: $threads, queue_pairs: $qps}} +
		(map(to_entries[] | .key as $k |
			{($k): (.value | if $k | test("_8$") then .ops_per_s else .gbps end)}) | add)' \
		"$TMP/results" >>"$TMP/threads"
}

by_threads()
{
	local threads qps round

	export FALCON_VERBS_MEMORY=offload
	for ((threads = 1; threads <= $(nproc); threads *= 2)); do
		"$LAB" up --clear --mtu $MTU --queues "$threads" --set "threads=$threads" >&2
		for ((round = 1; round <= ROUNDS; round++)); do
			for qps in "${QUEUE_PAIRS[@]}"; do
				echo "bench: $threads threads, $qps queue pairs, round $round of $ROUNDS" >&2
				writes "$threads" "$qps"
			done
		done
	done
	medians "$TMP/threads" >"$TMP/threads.json"
}

# ---- connections ----

# open_on HOST N: whether its agent has so many, all up.
open_on()
{
	on "$1" falconctl -j agent |
		jq -e --argjson n "$2" '.[0] | .up == $n and .connections == $n' >/dev/null
}

# opened HOST N: wait until then, 10 minutes at most.
opened()
{
	local deadline=$((SECONDS + 600))

	until open_on "$1" "$2"; do
		if [ "$SECONDS" -ge "$deadline" ]; then
			echo "bench: $1 has not $2 connections up" >&2
			return 1
		fi
		sleep 0.5
	done
}

# perf OPTION...: of the connection that is in use, in $TMP/run.
perf()
{
	on a timeout $((BENCH_SECONDS + 30)) falcon-perf b --size 64 -j "$@" >"$TMP/run"
}

answered()
{
	perf --count 1 --timeout 1
}

# pushes OPEN: ROUNDS times.
pushes()
{
	local round

	for ((round = 1; round <= ROUNDS; round++)); do
		echo "bench: $1 connections more, round $round of $ROUNDS" >&2
		perf --depth 256 --seconds "$BENCH_SECONDS"
		jq .ops_per_s "$TMP/run" >"$TMP/rate"
		perf --depth 1 --seconds "$BENCH_SECONDS"
		jq --argjson open "$1" --slurpfile rate "$TMP/rate" '{by: {open: $open}, ops_per_s: $rate[0],
			p50_us: .latency_us.p50, p99_us: .latency_us.p99}' "$TMP/run" >>"$TMP/connections"
	done
}

by_connections()
{
	local base n before=0 most

	most=$(printf '%s\n' "${CONNECTIONS[@]}" | sort -n | tail -n 1)
	"$LAB" up --clear --large --mtu $MTU --set log_level=warn >&2
	sed -i "s/^max_connections = .*/max_connections = $((most + 16))/" "$RUN/b/falcond.conf"
	"$LAB" agent b stop && "$LAB" agent b start
	base=$(on a falconctl -j agent | jq '.[0].connections')
	behind b falcon-perf --serve 2>/dev/null
	wait_for answered
	for n in "${CONNECTIONS[@]}"; do
		[ "$n" -eq "$before" ] || on a falconctl conn add "more$n" "count=$((n - before))" \
			local=10.250.0.1 remote=10.250.0.2
		opened a $((base + n))
		opened b $((base + n))
		pushes "$n"
		before=$n
	done
	before=${CONNECTIONS[0]}
	for n in "${CONNECTIONS[@]:1}"; do
		on a falconctl conn del "more$n" "count=$((n - before))"
		before=$n
	done
	opened a $((base + CONNECTIONS[0]))
	opened b $((base + CONNECTIONS[0]))
	pushes "${CONNECTIONS[0]}"
	stop
	medians "$TMP/connections" >"$TMP/connections.json"
}

# ---- results ----

# bars WHAT: of scale.json's threads, a group a number of queue pairs, a bar a number of threads.
bars()
{
	jq -r --arg what "$1" '.threads | ([.[].queue_pairs] | unique) as $qps |
		group_by(.threads)[] | "$" + $what + "_" + (.[0].threads | tostring) + " << EOD",
		(.[] | "\(.queue_pairs) \(.[$what])"), "EOD"' "$OUT/scale.json"
}

# panel WHAT TITLE DIVISOR
panel()
{
	printf 'set ylabel "%s"\nplot ' "$2"
	jq -r --arg what "$1" --arg by "$3" '[.threads[].threads] | unique |
		map("$\($what)_\(.) using ($2 / \($by)):xtic(1) " +
			"title \"\(.) thread\(if . > 1 then "s" else "" end)\"") | join(", ")' \
		"$OUT/scale.json"
}

picture()
{
	local what

	{
		printf 'set terminal pngcairo size 1200,800\nset output "%s"\n' "$OUT/scale.png"
		for what in write_8 write_65536 both_8 both_65536; do
			bars $what
		done
		echo 'set multiplot layout 2,2'
		echo 'set style data histograms; set style fill solid; set yrange [0:]'
		echo 'set xlabel "queue pairs"; set key outside top center horizontal'
		panel write_8 "thousand WRITEs of 8 B a second" 1e3
		panel write_65536 "WRITE 64 KiB, Gb/s" 1
		panel both_8 "both ways, thousand WRITEs of 8 B a second" 1e3
		panel both_65536 "both ways, WRITE 64 KiB, Gb/s" 1
	} >"$TMP/script"
	gnuplot "$TMP/script"
}

thread_table()
{
	jq -r 'def n($d): . * pow(10; $d) | round / pow(10; $d);
		["threads", "queue pairs", "8 B kop/s", "64 KiB Gb/s", "both, kop/s", "both, Gb/s"],
		(.threads[] | [.threads, .queue_pairs, (.write_8 / 1e3 | n(1)), (.write_65536 | n(2)),
		 (.both_8 / 1e3 | n(1)), (.both_65536 | n(2))]) | @tsv' "$OUT/scale.json" |
		awk -F '\t' '{ printf "%-8s %12s %10s %12s %12s %11s\n", $1, $2, $3, $4, $5, $6 }'
}

connection_table()
{
	jq -r 'def n($d): . * pow(10; $d) | round / pow(10; $d);
		.connections[0] as $first |
		["connections", "64 B kop/s", "p50 us", "p99 us", "p99 of first"],
		(.connections[] | [.open, (.ops_per_s / 1e3 | n(1)), (.p50_us | n(1)), (.p99_us | n(1)),
		 (.p99_us / $first.p99_us | n(2))]) | @tsv' "$OUT/scale.json" |
		awk -F '\t' '{ printf "%-12s %11s %8s %8s %13s\n", $1, $2, $3, $4, $5 }'
}

[ "$(id -u)" -eq 0 ] || { echo "bench: needs root" >&2; exit 1; }
[ $# -gt 0 ] || set -- threads connections
echo null | tee "$TMP/threads.json" >"$TMP/connections.json"
for part; do
	case $part in
	threads | connections) "by_$part" ;;
	*) echo "scale.sh: no part \"$part\"" >&2; exit 2 ;;
	esac
done
jq -n --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" --argjson mtu $MTU --argjson rounds "$ROUNDS" \
	--slurpfile threads "$TMP/threads.json" --slurpfile connections "$TMP/connections.json" '
	{kernel: $kernel, cpus: $cpus, mtu: $mtu, rounds: $rounds, threads: $threads[0],
	 connections: $connections[0]}' >"$OUT/scale.json"
if [[ " $* " == *" threads "* ]]; then
	picture
	thread_table
fi
[[ " $* " != *" connections "* ]] || connection_table
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) CPUs"
echo "results: ${OUT#"$TOP"/}/scale.json$([[ " $* " != *" threads "* ]] || echo ", scale.png")"
