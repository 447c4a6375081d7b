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
# shellcheck source=selftests/bench/perftest.sh
. "$(dirname "$0")/perftest.sh"
MTU=${1:-3498}

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
