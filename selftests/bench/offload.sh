#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What XDP finishes by itself, beside the same with the agent, and beside what the link carries without
# Falcon, in one run: selftests/bench/offload.sh [MTU]
#
# Two hosts of the lab at one MTU (3498), clear, each with a CPU for itself: perftest with registered memory
# in offload memory ("offload"), copied by the agents ("plain"), and with XDP that only steers ("off"); kernel
# TCP on the same links (iperf3, sockperf); and AF_XDP over a veth pair (ceiling.sh). Prints a table, and
# writes build/bench/offload.json and offload.png.
#
# BENCH_COUNT (20000) is the number of operations of 64 KiB, of smaller ones ten times as many; BENCH_ROUNDS
# (3) how often each is run, in turns, the median counting. BENCH_ROUND_TRIPS as in perftest.sh.
#
# Target's CPU: of all that its CPU did, interrupts included, what went by with neither idling nor waiting.
# shellcheck source=selftests/bench/perftest.sh
. "$(dirname "$0")/perftest.sh"
MTU=${1:-3498}
COUNT=${BENCH_COUNT:-20000}
ROUNDS=${BENCH_ROUNDS:-3}
KINDS=(offload plain off)

# busy: s of host b's CPU that were not idle so far. The lab gives it the second one.
busy()
{
	awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu1" { print ($2 + $3 + $4 + $7 + $8) / hz }' /proc/stat
}

# bandwidth NAME OPERATION SIZE COUNT
bandwidth()
{
	local command=("ib_$2_bw" -d falcon0 -x 0 -F -n "$4" --report_gbits) before after

	[ "$2" = atomic ] || command+=(-s "$3")
	serve t 18515 falcon-run "${command[@]}"
	before=$(busy)
	client run falcon-run "${command[@]}" "$SERVER"
	after=$(busy)
	served
	result "$1" "$(awk -v size="$3" -v bytes="$(($3 * $4))" -v before="$before" -v after="$after" '
		$1 == size && NF >= 5 {
			printf "{gbps: %s, ops_per_s: %.0f, cpu_s_per_gb: %f}", $4, $5 * 1e6,
				(after - before) * 1e9 / bytes
			exit }' "$TMP/run")"
}

# falcon KIND ROUND
falcon()
{
	local size

	export FALCON_VERBS_MEMORY=plain
	[ "$1" != offload ] || FALCON_VERBS_MEMORY=offload
	: >"$TMP/results"
	for size in 8 4096 65536; do
		bandwidth "write_$size" write $size $((size < 65536 ? 10 * COUNT : COUNT))
		bandwidth "read_$size" read $size $((size < 65536 ? 10 * COUNT : COUNT))
	done
	bandwidth atomic_8 atomic 8 $((10 * COUNT))
	perftest write_latency lat write 8
	perftest read_latency lat read 8
	jq -s add "$TMP/results" >"$TMP/$1.$2"
}

kernel()
{
	local before after

	: >"$TMP/results"
	before=$(busy)
	iperf tcp
	after=$(busy)
	result tcp_receiver "{cpu_s_per_gb: $(jq --argjson s "$after" --argjson from "$before" \
		'($s - $from) * 1e9 / .end.sum_received.bytes' "$TMP/run")}"
	sock
	jq -s add "$TMP/results" >"$TMP/tcp.$1"
}

# median NAME: of all rounds of what $TMP/NAME.* have.
median()
{
	jq -s 'def mid: sort | .[length / 2 | floor];
		def of($all): .[0] as $first | if ($first | type) == "object" then
			[$first | keys_unsorted[] as $k | {($k): ([$all[][$k]] | . as $a | of($a))}] | add
		else mid end;
		. as $all | of($all)' "$TMP/$1".*
}

# bars WHAT: the plot command of one half of the picture.
bars()
{
	local kind commands=()

	for kind in "${KINDS[@]}"; do
		commands+=("\$${1}_$kind using 2:xtic(1) title '$kind'")
	done
	(IFS=,; echo "plot ${commands[*]}")
}

# rows WHAT LOADS FORMULA: of the loads whose names match, a block of data for each kind.
rows()
{
	local kind

	for kind in "${KINDS[@]}"; do
		echo "\$${1}_$kind << EOD"
		jq -r --arg kind "$kind" --arg loads "$2" '.[$kind] | to_entries[] |
			select(.key | test($loads)) | [.key, (.value | '"$3"')] | @tsv' "$OUT/offload.json"
		echo EOD
	done
}

# picture: operations/s of 8 bytes and Gb/s of more, a group of bars a load.
picture()
{
	{
		printf 'set terminal pngcairo size 1000,450\nset output "%s"\n' "$OUT/offload.png"
		rows small '_8$' '.ops_per_s / 1e3'
		rows large '[0-9]{4}$' .gbps
		echo 'set multiplot layout 1,2'
		echo 'set style data histograms'
		echo 'set style fill solid'
		echo 'set xtics rotate by 30 right noenhanced'
		echo 'set yrange [0:]'
		echo 'set ylabel "thousand operations a second"'
		bars small
		echo 'set ylabel "Gb/s"'
		bars large
	} >"$TMP/script"
	gnuplot "$TMP/script"
}

[ "$(id -u)" -eq 0 ] || { echo "bench: needs root" >&2; exit 1; }
[ "$(nproc)" -ge 2 ] || { echo "bench: needs a CPU for each host" >&2; exit 1; }
for ((round = 1; round <= ROUNDS; round++)); do
	echo "bench: offload, MTU $MTU, round $round of $ROUNDS" >&2
	"$TOP/selftests/bench/ceiling.sh" "$MTU" >"$TMP/link.$round"
	"$LAB" up --clear --pin --mtu "$MTU" --no-agents >&2
	kernel $round
	for kind in "${KINDS[@]}"; do
		[ "$kind" = off ] && xdp=off || xdp=on
		"$LAB" up --clear --pin --mtu "$MTU" --offload "$xdp" >&2
		falcon "$kind" $round
	done
done
for what in link tcp "${KINDS[@]}"; do
	median "$what" >"$TMP/$what"
done
jq -n --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" --argjson mtu "$MTU" --argjson rounds "$ROUNDS" \
	--slurpfile link "$TMP/link" --slurpfile tcp "$TMP/tcp" --slurpfile offload "$TMP/offload" \
	--slurpfile plain "$TMP/plain" --slurpfile off "$TMP/off" '
	{kernel: $kernel, cpus: $cpus, mtu: $mtu, rounds: $rounds, link: $link[0], tcp: $tcp[0],
	 offload: $offload[0], plain: $plain[0], off: $off[0]}' >"$OUT/offload.json"
picture
jq -r '
	def n($d): if . then . * pow(10; $d) | round / pow(10; $d) else "" end;
	def kinds: .offload, .plain, .off;
	def rate($name; $load; $link): [$name, $link, "", (kinds | .[$load].ops_per_s / 1e3 | n(1))];
	def flow($name; $load; $link; $tcp): [$name, $link, $tcp, (kinds | .[$load].gbps | n(2))];
	def time($name; $load; $trips; $what): [$name, "", ($trips * .tcp.latency[$what] | n(1)),
		(kinds | .[$load][$what] | n(1))];
	def cpu($name; $load): [$name, "", (.tcp.tcp_receiver.cpu_s_per_gb | n(3)),
		(kinds | .[$load].cpu_s_per_gb | n(3))];
	(.link.recv_64.pps / 1e3 | n(0)) as $kpps | (.link.recv_mtu.gbps | n(1)) as $gbps |
	["MTU \(.mtu), a CPU for each host", "AF_XDP", "TCP", "offload", "plain", "off"],
	["AF_XDP to XDP drop, full frames, Gb/s", (.link.drop_mtu.gbps | n(1))],
	rate("WRITE 8 B, kop/s"; "write_8"; $kpps),
	rate("READ 8 B, kop/s"; "read_8"; $kpps),
	rate("fetch-and-add, kop/s"; "atomic_8"; $kpps),
	flow("WRITE 4 KiB, Gb/s"; "write_4096"; ""; ""),
	flow("READ 4 KiB, Gb/s"; "read_4096"; ""; ""),
	flow("WRITE 64 KiB, Gb/s"; "write_65536"; $gbps; .tcp.tcp.gbps | n(2)),
	flow("READ 64 KiB, Gb/s"; "read_65536"; $gbps; ""),
	cpu("WRITE 64 KiB, the target'\''s CPU, s/GB"; "write_65536"),
	cpu("READ 64 KiB, the target'\''s CPU, s/GB"; "read_65536"),
	time("WRITE 8 B, half round trip, p50, us"; "write_latency"; 1; "p50_us"),
	time("  p99, us"; "write_latency"; 1; "p99_us"),
	time("READ 8 B, round trip, p50, us"; "read_latency"; 2; "p50_us"),
	time("  p99, us"; "read_latency"; 2; "p99_us") | @tsv' "$OUT/offload.json" |
	awk -F '\t' '{ printf "%-42s %10s %10s %10s %10s %10s\n", $1, $2, $3, $4, $5, $6 }'
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) CPUs"
echo "results: ${OUT#"$TOP"/}/offload.json, offload.png"
