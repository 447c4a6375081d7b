# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# For benchmarks of verbs applications: servers on host b of the lab and clients on a, perftest through
# falcon-run, kernel TCP with iperf3 and sockperf. Results are collected in $TMP/results.
#
# BENCH_SECONDS (1) is the length of each load, BENCH_ROUND_TRIPS (2000) that of those of latency.
# BENCH_LOADS (all) are the perftest loads to run, as a regular expression of their whole names.
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "${BASH_SOURCE[0]}")/bench.sh"
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
