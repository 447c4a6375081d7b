#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# Transfers over links of every badness, IPv4 and IPv6: each operation ends well, data is what it
# was, nothing is left under way. Goodput is printed and not asserted: others may use the machine.
# FALCON_TEST_FULL=1 prints that of the same link unimpaired just before, too, and tries more impairments,
# pulls, longer runs, larger packets and four paths, ten minutes and more in all.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-perf falcon-cp jq

FULL=${FALCON_TEST_FULL:-}
SECS=$([ -n "$FULL" ] && echo 3 || echo 1)
COPY_MB=$([ -n "$FULL" ] && echo 64 || echo 4)
VERIFIED=$([ -n "$FULL" ] && echo 5000 || echo 300)
CLEAN="loss=0 dup=0 corrupt=0 corrupt-burst=1 reorder=0 reorder-by=0 delay=0 jitter=0 ecn=0%"

# perf CONNECTION ARGUMENT...: falcon-perf's report in $out; fails if an operation did.
perf()
{
	out=$(timeout 60 falcon-lab exec a -- falcon-perf "$1" --size 16K --depth 16 -j "${@:2}" \
		2>"$SCRATCH/perf") || { cat "$SCRATCH/perf"; return 1; }
}

verified()
{
	perf "$1" --count "$VERIFIED" --verify "${@:2}" &&
		jq -e '.verified and .mismatches == 0' <<<"$out"
}

# impair KEY=VALUE...: these impairments and no others, both ways, from now.
impair()
{
	# shellcheck disable=SC2086 # settings are words
	falcon-lab path all $CLEAN "$@"
}

# sent CONNECTION: packets that a has sent so far, and how many of them again: early, and late.
sent()
{
	on a falconctl -j conn show "$1" |
		jq -r '.[0] | [.tx_packets, .tx_retx_early + .tx_retx_own + .tx_retx_rack,
			.tx_retx_rto] | join(" ")'
}

# rate CONNECTION OP: in $gbps, with in $retx the share of packets sent again early and late.
rate()
{
	local before

	read -ra before <<<"$(sent "$1")"
	perf "$1" --seconds "$SECS" --op "$2" || return 1
	gbps=$(jq .goodput_gbps <<<"$out")
	retx=$(sent "$1" | awk -v p="${before[0]}" -v e="${before[1]}" -v l="${before[2]}" '{
		n = $1 - p; printf "%.2f %% early, %.2f %% late", 100 * ($2 - e) / n, 100 * ($3 - l) / n }')
}

# compare NAME CONNECTION OP KEY=VALUE...: remark on goodput with and without these impairments.
compare()
{
	local clean='' clean_retx

	if [ -n "$FULL" ]; then
		impair
		rate "$2" "$3" || return 1
		clean=$gbps clean_retx=$retx
	fi
	impair "${@:4}"
	rate "$2" "$3" || return 1
	tap_note "$1, $2 $3: $gbps Gb/s, sent again $retx"
	[ -z "$clean" ] || tap_note "  $(awk -v g="$gbps" -v c="$clean" 'BEGIN {
		printf "%.0f %% of %.3f Gb/s", 100 * g / c, c
		}') unimpaired, sent again $clean_retx"
}

# Whether nothing of a connection is under way any more: windows empty, all completed.
settled()
{
	on "$1" falconctl -j conn show "$2" |
		jq -e '.[0] | .up and .completed == .push_submitted + .pull_submitted' &&
		on "$1" falconctl -j window show "$2" |
			jq -e '.[0] | .tx_data_base == .tx_data_next and .tx_req_base == .tx_req_next'
}

# over NAME KEY=VALUE...: everything over links with these settings.
over()
{
	local name=$1 conn op ops=(push)

	shift
	[ -z "$FULL" ] || ops+=(pull)
	for conn in b b6; do
		impair "$@"
		tap_run "$name, $conn: operations verified" verified "$conn"
		[ -n "$FULL" ] || [ "$conn" = b ] || ops=()
		for op in "${ops[@]}"; do
			compare "$name" "$conn" "$op" "$@" ||
				tap_not_ok "$name, $conn: ${op}es end well" "$(cat "$SCRATCH/perf")"
		done
		tap_run "$name, $conn: a file there" put a "$conn" b file
		tap_run "$name, $conn: and back" get a "$conn" b file
		tap_run "$name, $conn: nothing is left under way" tap_wait 20 settled a "$conn"
	done
}

# What every run tries.
matrix()
{
	over "0.1 % loss" loss=0.1
	over "1 % loss" loss=1
	over "5 % loss" loss=5
	over "1 % reordered" reorder=1 reorder-by=100us
	over "1 % duplicates" dup=1
	over "1 % with bit errors" corrupt=1 corrupt-burst=9
}

# What a longer one tries too.
more()
{
	over "0.5 % loss" loss=0.5
	over "2 % loss" loss=2
	over "1 % loss in bursts of 4" loss-model=ge:0.25,25
	over "5 % reordered" reorder=5 reorder-by=300us
	over "50 us and 1 % loss" delay=50us loss=1
	over "200 us +- 100 us" delay=200us jitter=100us
	over "10 % marked CE" ecn=10%
	over "everything" loss=1 dup=1 corrupt=1 reorder=1 reorder-by=100us delay=50us jitter=20us
}

# transfers OPTION...: in a lab with these.
transfers()
{
	local perf_server

	lab_up --clear --emulator wire "$@"
	serve b
	behind b falcon-perf --serve 2>"$SCRATCH/perf.b"
	perf_server=$!
	SERVERS+=("$perf_server")
	tap_wait 20 perf b --count 1 --timeout 1
	matrix
	[ -z "$FULL" ] || more
	stop_serving
}

random_file file $((COPY_MB * 1024 * 1024 + 17))
transfers
if [ -n "$FULL" ]; then
	transfers --mtu 3498
	transfers --paths 4 --set flows=4
fi
tap_done
