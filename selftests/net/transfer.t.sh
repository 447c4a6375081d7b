#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Files travel both ways, over IPv4 and IPv6, ordered and unordered, at both ends of the range of
# MTUs, and arrive as they were; XDP does its part of the work.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

try_sizes()
{
	local size

	for size in 0 1 1399 65537; do
		random_file "file$size" "$size"
		tap_run "$size bytes" put a b b "file$size"
	done
}

# try_all_ways MTU
try_all_ways()
{
	tap_run "MTU $1: a to b" put a b b big
	tap_run "MTU $1: b to a" put b a a big
	tap_run "MTU $1: a from b" get a b b big
	tap_run "MTU $1: a to b, unordered" put a b-unordered b big
	tap_run "MTU $1: a to b, IPv6" put a b6 b big
	tap_run "MTU $1: b from a, IPv6" get b a6 a big
}

# Both at once: each agent sends and receives.
both_at_once()
{
	put a b b big &
	put b a a big
	local rc=$?

	wait $! && return "$rc"
}

try_counters()
{
	between 1 "$(counter b rx_data)" 1000000000 "XDP on b has accepted data"
	between 1 "$(counter a ack_consumed)" 1000000000 "XDP on a has consumed ACKs"
	# drop_no_room: an answer longer than the short packet that it was to answer.
	tap_is "$({ drops a; drops b; } | grep -v '^drop_no_room [0-9]*$')" "" "nothing was dropped"
}

random_file big $((SIZE_MB * 1024 * 1024 + 17))
for mtu in 1500 3498; do
	lab_up --clear --mtu $mtu
	serve a
	serve b
	[ $mtu != 1500 ] || try_sizes
	try_all_ways $mtu
	tap_run "MTU $mtu: both ways at once" both_at_once
	try_counters
	stop_serving
done
tap_done
