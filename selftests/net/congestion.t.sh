#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Congestion control by engines: algorithms are changed while data flows, and nothing is lost; what
# Swift did is recorded and computes the same again; a queue that fills makes Swift give way; windows
# below one packet are paced; an engine on a thread does as well as one in the loop.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-rue jq

SIZE_MB=$((SIZE_MB / 4 + 1))
random_file big $((SIZE_MB * 1024 * 1024 + 17))
random_file small 100000

# rue FIELD: of connection b on host a.
rue()
{
	on a falconctl -j rue show b | jq -r ".[0].$1"
}

# Every 100 ms or so, as fast as this goes.
switch_about()
{
	local how

	for _ in {1..8}; do
		for how in "swift" "swift default" "aimd" "fixed"; do
			# shellcheck disable=SC2086 # a word or two
			on a falconctl rue set b $how || return
			[ "$(rue algorithm)" = "${how% *}" ] || return
			sleep 0.05
		done
	done
	on a falconctl rue set b swift software
}

# replays NAME: record while data flows, and compute again.
replays()
{
	tap_run "$1: events are recorded" \
		on a falconctl rue trace "$SCRATCH/trace.csv" --count 500 --seconds 60 --conn b
	between 500 "$(($(grep -vc '^#' "$SCRATCH/trace.csv") - 1))" 500 "$1: all that was asked for"
	tap_is "$(falcon-rue --vectors "$SCRATCH/trace.csv" 2>&1)" "500 events, 0 mismatches" \
		"$1: they compute the same again"
}

gives_way()
{
	[ "$(rue 'fcwnd | floor')" -lt 64 ]
}

refused()
{
	! on a falconctl "$@" 2>/dev/null
}

lab_up --clear --set cc=swift
serve b
tap_is "$(rue algorithm) $(rue profile)" "swift software" "swift is at work"
start_copying
tap_run "algorithms change while data flows" switch_about
stop_copying "and nothing is lost"
start_copying
replays "inline"
tap_run "top shows connections" \
	bash -c '[ "$(falcon-lab exec a -- falconctl top -n 2 -d 0.2 --batch | grep -c "^b ")" = 2 ]'
stop_copying "and copies are right meanwhile"
tap_run "an unknown algorithm is refused" refused rue set b cubic
tap_run "an unknown profile is refused" refused rue set b swift nowhere
stop_serving

lab_up --clear --rate 100mbit --queue 4m --set cc=swift
serve b
start_copying
tap_run "Swift gives way to a queue" tap_wait 60 gives_way
tap_note "$(on a falconctl rue show b | tr '\n' ' ')"
stop_copying "and copies are right meanwhile"
stop_serving

# A profile of our own: its parameters go along with the trace.
lab_up --clear --set rue_mode=thread --set "cc=swift
cc_profile = slow
[swift slow]
max_fcwnd = 0.5
min_fcwnd = 0.25"
serve b
tap_run "below one packet: copied all the same" put a b b small
tap_is "$(rue 'fcwnd * 2 | floor')" 1 "below one packet: the window"
between 1 "$(rue 'gap_us | floor')" 100000 "below one packet: paced"
on a falconctl rue set b swift software
start_copying
replays "thread"
on a falconctl rue set b swift slow
on a falconctl rue trace "$SCRATCH/trace.csv" --count 20 --seconds 30 2>/dev/null
stop_copying "thread: copies are right"
tap_is "$(grep -c '^#config = "slow"' "$SCRATCH/trace.csv")" 1 "thread: a profile goes along"
tap_run "thread: and computes the same" falcon-rue --vectors "$SCRATCH/trace.csv"
tap_done
