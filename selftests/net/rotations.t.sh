#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Ten rotations of keys a second on both hosts, under full load both ways, in PSP and in ESP: no
# transaction fails, comes twice or comes damaged, and no packet is refused.
#
#	FALCON_TEST_ROTATE=60 selftests/net/rotations.t.sh	for a minute each; default 3 seconds
# shellcheck source=selftests/net/secure.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/secure.sh"
tap_need falcon-perf

TIME=${FALCON_TEST_ROTATE:-3}
LOADS=()
PERF_SERVERS=()

# On a host: ask for a rotation every tenth of a second for $1 seconds; print how many there were. What
# an agent answers while one is under way is no failure: the next turn asks again.
# shellcheck disable=SC2016 # for bash on that host
ROTATE='
	now() { echo $((${EPOCHREALTIME/./} / 1000)); }
	start=$(now) turn=0 asked=0
	while [ $turn -lt $((10 * $1)) ]; do
		! falconctl key rotate 2>/dev/null || asked=$((asked + 1))
		turn=$((turn + 1))
		late=$(($(now) - start - 100 * turn))
		[ $late -ge 0 ] || sleep "$(printf "0.%03d" $((-late)))"
	done
	echo $asked'

perf_serves()
{
	on "$1" falconctl -j client show | jq -e '[.. | objects | select(.service? == 1)] | length > 0'
}

# perf_server HOST
perf_server()
{
	behind "$1" falcon-perf --serve >"$SCRATCH/perf.$1" 2>&1
	PERF_SERVERS+=($!)
	tap_wait 30 perf_serves "$1"
}

# load HOST CONNECTION OP SIZE: data checked, for as long as it takes.
load()
{
	behind "$1" falcon-perf "$2" --op "$3" --size "$4" --verify --seconds "$TIME" -j \
		>"$SCRATCH/load.$1.$3" 2>&1
	LOADS+=($!)
}

# Wait for the loads; $bad tells of those that did not end well.
loads_end()
{
	local pid

	bad=
	for pid in "${LOADS[@]}"; do
		wait "$pid" || bad+="status $? "
	done
	[ -z "$bad" ] || bad+=$(cat "$SCRATCH"/load.*)
	LOADS=()
}

rotations_end()
{
	[ "$(rotations a)" -ge "$(cat "$SCRATCH/asked.a")" ] &&
		[ "$(rotations b)" -ge "$(cat "$SCRATCH/asked.b")" ]
}

# try KIND
try()
{
	local host pid rotating=()

	lab_up --security "$1"
	perf_server a
	perf_server b
	load a b push 4K
	load a b-unordered pull 4K
	load b a send 512
	load b a6 push 20K
	for host in a b; do
		behind $host bash -c "$ROTATE" rotate "$TIME" >"$SCRATCH/asked.$host"
		rotating+=($!)
	done
	loads_end
	tap_is "$bad" "" "$1: every transaction ends well, its data as it was"
	wait "${rotating[@]}"
	tap_note "$1, $TIME s: rotations $(cat "$SCRATCH/asked.a") of a, $(cat "$SCRATCH/asked.b") of b;" \
		"operations checked $(jq -s 'map(.operations) | add' "$SCRATCH"/load.*)"
	tap_run "$1: every rotation ends" tap_wait 10 rotations_end
	tap_is "$(counter a keys_unanswered agent) $(counter b keys_unanswered agent)" "0 0" \
		"$1: and no connection is lost by one"
	between 1 "$(cat "$SCRATCH/asked.a")" 1000000 "$1: there were rotations"
	tap_is "$(refusals)" "0 0 0 0" "$1: no packet was refused"
	tap_is "$(setups)" "[1,1,1]" "$1: no connection was set up anew"
	for pid in "${PERF_SERVERS[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	PERF_SERVERS=()
	rm -f "$SCRATCH"/load.*
}

try psp-aes-gcm-128
try esp-aes-gcm-128
tap_done
