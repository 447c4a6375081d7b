#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Verbs applications over Falcon beside what the same link carries without it, in one run:
# selftests/bench/verbs.sh [MTU]
#
# Two hosts of the lab at one MTU (3498): perftest through falcon-run, clear and encrypted (PSP);
# kernel TCP on the same links with iperf3, as it is and without segmentation offload, and with
# sockperf; libfabric's tcp provider with fi_pingpong, the only program of its kind that Debian has.
# Beside that AF_XDP over a veth pair (ceiling.sh). Prints a table and writes build/bench/verbs.json.
#
# BENCH_SECONDS (1) is the length of each load, BENCH_ROUND_TRIPS (2000) that of those of latency.
# BENCH_LOADS (all) are the perftest loads to run, as a regular expression of their whole names in
# verbs(): BENCH_LOADS='write_8|write_latency'. Rows without a result are left out.
#
# Ratios: operations/s of 8 bytes to the packets/s from AF_XDP to AF_XDP at 64-byte frames; Gb/s of
# 64 KiB to those at full frames, headers of the frames included in the latter only.
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "$0")/bench.sh"
MTU=${1:-3498}
export BENCH_SECONDS=${BENCH_SECONDS:-1}
TRIPS=${BENCH_ROUND_TRIPS:-2000}
LOADS=${BENCH_LOADS:-.*}
SERVER=10.250.0.2

# host NAME COMMAND...: there, and gone after a while whatever happens.
host()
{
	on "$1" timeout -k 5 $((BENCH_SECONDS + 30)) "${@:2}"
}

# listening t|u PORT: somebody on b does, on TCP or UDP.
listening()
{
	[ -n "$(on b ss -Hln"$1" "sport = :$2")" ]
}

# serve t|u PORT COMMAND...: in the background on b, until it listens.
serve()
{
	behind b timeout -k 5 $((BENCH_SECONDS + 30)) "${@:3}" >"$TMP/server" 2>&1
	wait_for listening "$1" "$2"
}

# served: the server has ended by itself.
served()
{
	wait "${background[@]}"
	background=()
}

# client NAME COMMAND...: on a, to what serve() started; its output in $TMP/NAME.
client()
{
	local rc=0

	host a "${@:2}" >"$TMP/$1" 2>&1 || rc=$?
	[ "$rc" -eq 0 ] || { echo "bench: ${*:2}: status $rc" >&2; tail -n 5 "$TMP/$1" >&2; }
	return "$rc"
}

# result NAME JSON: into $TMP/results.
result()
{
	jq -nc --arg name "$1" "{(\$name): $2}" >>"$TMP/results"
}

# perftest NAME bw|lat OPERATION SIZE [OPTION]...
perftest()
{
	local command=("ib_$3_$2" -d falcon0 -x 0 -F -s "$4")

	[[ $1 =~ ^($LOADS)$ ]] || return 0
	if [ "$2" = bw ]; then
		command+=(-D "$BENCH_SECONDS" --report_gbits "${@:5}")
	else
		command+=(-n "$TRIPS" "${@:5}")
	fi
	serve t 18515 falcon-run "${command[@]}"
	client run falcon-run "${command[@]}" "$SERVER"
	served
	# bw: bytes, operations, peak, mean, millions a second; lat: bytes, operations, least, most,
	# median, mean, deviation, 99 %.
	result "$1" "$(awk -v size="$4" -v what="$2" '$1 == size && NF >= 5 {
		if (what == "bw")
			printf "{gbps: %s, ops_per_s: %.0f}", $4, $5 * 1e6
		else
			printf "{p50_us: %s, p99_us: %s}", $5, $8
		exit }' "$TMP/run")"
}

verbs()
{
	local size

	: >"$TMP/results"
	for size in 8 64 4096 65536 1048576; do
		perftest "write_$size" bw write "$size"
	done
	perftest write_8_4qp bw write 8 -q 4
	perftest write_65536_4qp bw write 65536 -q 4
	perftest read_65536 bw read 65536
	perftest send_65536 bw send 65536
	perftest write_latency lat write 8
	perftest read_latency lat read 8
	perftest send_latency lat send 8
	jq -s add "$TMP/results"
}

# iperf NAME
iperf()
{
	serve t 5201 iperf3 -s -1
	client run iperf3 -c "$SERVER" -t "$BENCH_SECONDS" -J
	served
	result "$1" "{gbps: $(jq '.end.sum_received.bits_per_second / 1e9' "$TMP/run")}"
}

# Ping-pong of 14 bytes, the fewest that it can, half the round trip.
sock()
{
	serve t 11111 sockperf sr --tcp -i "$SERVER" -p 11111
	client run sockperf pp --tcp -i "$SERVER" -p 11111 -t "$BENCH_SECONDS" -m 14
	# It does not heed SIGTERM.
	kill -KILL "$(on b ss -Hlntp "sport = :11111" | sed -n 's/.*pid=\([0-9]*\).*/\1/p')"
	served 2>/dev/null || :
	result latency "$(sed 's/\x1b\[[0-9;]*m//g' "$TMP/run" | awk '
		/percentile 50.000 *=/ { p50 = $NF }
		/percentile 99.000 *=/ { p99 = $NF }
		END { printf "{p50_us: %s, p99_us: %s}", p50, p99 }')"
}

# fabric NAME SIZE: libfabric's ping-pong: mean of half a round trip, and the throughput of that.
fabric()
{
	local command=(fi_pingpong -p tcp -e msg -I "$TRIPS" -S "$2")

	serve t 47592 "${command[@]}"
	client run "${command[@]}" "$SERVER"
	served
	result "$1" "$(awk 'NR > 1 && NF >= 8 {
		printf "{mean_us: %s, gbps: %s}", $7, $6 * 8 / 1e3; exit }' "$TMP/run")"
}

kernel()
{
	: >"$TMP/results"
	iperf tcp
	sock
	fabric fabric_8 8
	fabric fabric_65536 65536
	for h in a b; do
		host "$h" ethtool -K eth0 tso off gso off gro off >/dev/null
	done
	iperf tcp_no_offload
	jq -s add "$TMP/results"
}

[ "$(id -u)" -eq 0 ] || { echo "bench: needs root" >&2; exit 1; }
echo "bench: verbs, MTU $MTU" >&2
"$TOP/selftests/bench/ceiling.sh" "$MTU" >"$TMP/link"
"$LAB" up --clear --mtu "$MTU" --no-agents >&2
kernel >"$TMP/tcp"
"$LAB" up --clear --mtu "$MTU" >&2
verbs >"$TMP/clear"
"$LAB" up --security psp --mtu "$MTU" >&2
verbs >"$TMP/psp"
jq -n --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" --argjson mtu "$MTU" \
	--arg load "$(cut -d ' ' -f 1 /proc/loadavg)" --slurpfile link "$TMP/link" \
	--slurpfile tcp "$TMP/tcp" --slurpfile clear "$TMP/clear" --slurpfile psp "$TMP/psp" '
	def over($whole): if . then . / $whole else null end;
	def ratios($l): . + {ratio: {
		write_8: (.write_8.ops_per_s | over($l.recv_64.pps)),
		write_8_4qp: (.write_8_4qp.ops_per_s | over($l.recv_64.pps)),
		write_65536: (.write_65536.gbps | over($l.recv_mtu.gbps)),
		write_65536_4qp: (.write_65536_4qp.gbps | over($l.recv_mtu.gbps))}};
	{kernel: $kernel, cpus: $cpus, load: ($load | tonumber), mtu: $mtu, link: $link[0],
	 tcp: $tcp[0], clear: ($clear[0] | ratios($link[0])), psp: ($psp[0] | ratios($link[0]))}' \
	>"$OUT/verbs.json"
jq -r '
	def n($d): if . then . * pow(10; $d) | round / pow(10; $d) else "" end;
	def pct: if . then . * 100 | round | tostring + " %" else "" end;
	def both: .clear, .psp;
	def rate($name; $load; $link): [$name, $link, "",
		(both | (.[$load].ops_per_s | if . then . / 1e3 else null end | n(1)),
			(.ratio[$load] | pct))] | select(.[3] != "");
	def flow($name; $load; $link; $tcp): [$name, $link, $tcp,
		(both | (.[$load].gbps | n(2)), (.ratio[$load] | pct))] | select(.[3] != "");
	def time($name; $load; $trips): [$name, "", ($trips * .tcp.latency.p50_us | n(1)),
		(both | (.[$load].p50_us | n(1)), "")] | select(.[3] != "");
	(.link.recv_64.pps / 1e3 | n(0)) as $kpps | (.link.recv_mtu.gbps | n(1)) as $gbps |
	["verbs, MTU \(.mtu)", "AF_XDP", "TCP", "clear", "ratio", "PSP", "ratio"],
	rate("WRITE 8 B, kop/s"; "write_8"; $kpps),
	rate("WRITE 8 B, 4 QPs, kop/s"; "write_8_4qp"; $kpps),
	rate("WRITE 64 B, kop/s"; "write_64"; ""),
	rate("WRITE 4 KiB, kop/s"; "write_4096"; ""),
	flow("WRITE 64 KiB, Gb/s"; "write_65536"; $gbps; .tcp.tcp.gbps | n(2)),
	flow("  TCP without segmentation offload"; "write_65536"; $gbps;
		.tcp.tcp_no_offload.gbps | n(2)),
	flow("WRITE 64 KiB, 4 QPs, Gb/s"; "write_65536_4qp"; $gbps; ""),
	flow("WRITE 1 MiB, Gb/s"; "write_1048576"; ""; ""),
	flow("READ 64 KiB, Gb/s"; "read_65536"; ""; ""),
	flow("SEND 64 KiB, Gb/s"; "send_65536"; ""; ""),
	time("WRITE 8 B, half round trip, us"; "write_latency"; 1),
	time("READ 8 B, round trip, us"; "read_latency"; 2),
	time("SEND 8 B, half round trip, us"; "send_latency"; 1),
	["libfabric tcp 8 B, mean, us", "", (.tcp.fabric_8.mean_us | n(1))],
	["libfabric tcp 64 KiB ping-pong, Gb/s", "", (.tcp.fabric_65536.gbps | n(2))],
	[""] | @tsv' "$OUT/verbs.json" |
	awk -F '\t' '{ printf "%-40s %10s %10s %10s %8s %10s %8s\n", $1, $2, $3, $4, $5, $6, $7 }'
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) CPUs"
echo "results: ${OUT#"$TOP"/}/verbs.json"
