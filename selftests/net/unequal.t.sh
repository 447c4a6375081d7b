#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# Four paths and connections of four flows, each flow bound to a path of its own: all are used, equal
# or not. When one fails in mid-transfer its flow cannot get away; congestion control has to close
# its window, and the others take over what it lost.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

MB=$SIZE_MB
PATHS=4

# offered PATH: packets that were given to the path towards b.
offered()
{
	falcon-lab links -j | jq ".links[] | select(.to == \"to-b\" and .path == $1).offered"
}

loaded()
{
	[ "$(offered "$1")" -gt 500 ]
}

conn()
{
	on a falconctl -j conn show "$1" | jq -c ".[0] | $2"
}

# used CONNECTION NAME: a file over it goes over all paths.
used()
{
	falcon-lab links --reset
	tap_run "$2, $1: a file there" put a "$1" b file
	tap_is "$(for ((p = 0; p < PATHS; p++)); do [ "$(offered $p)" -lt 200 ] || echo $p; done | xargs)" \
		"0 1 2 3" "$2, $1: over all paths"
	tap_note "$2, $1: $(falcon-lab links -j | jq -c '[.links[] | select(.to == "to-b").offered]')"
	tap_run "$2, $1: and back" get a "$1" b file
}

# tell_copy SIGNAL PID: the falcon-cp below that process, if it is still there.
tell_copy()
{
	local pid

	for pid in $(descendants "$2"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != falcon-cp ] || kill "-$1" "$pid" 2>/dev/null
	done
}

# strike CONNECTION PATH: copy, and take the path down in between; fails if the copy does. $lost is
# the number of packets lost with it. The copy stands still meanwhile, as it may be quicker.
strike()
{
	local pid rc=0

	falcon-lab links --reset
	put a "$1" b large >"$SCRATCH/copy" 2>&1 &
	pid=$!
	tap_wait 20 loaded "$2"
	tell_copy STOP $pid
	falcon-lab path "$2" down
	tell_copy CONT $pid
	wait $pid || rc=$?
	lost=$(falcon-lab links -j | jq '[.links[].dropped.down] | add')
	falcon-lab path "$2" up
	return $rc
}

# failing CONNECTION PATH: it goes down in mid-transfer. Once more if the transfer was over before.
failing()
{
	local rc=0 setups lost=0 try

	setups=$(conn "$1" .setups)
	for ((try = 0; try < 20 && lost == 0 && rc == 0; try++)); do
		strike "$1" "$2" || rc=$?
	done
	tap_is "$rc" 0 "$1: path $2 fails in mid-transfer, and the file arrives"
	[ $rc -eq 0 ] || tap_note "$(cat "$SCRATCH/copy")"
	between 1 "$lost" 10000000 "$1: packets were lost with it"
	tap_is "$(conn "$1" '[.up, .setups, .completed_in_error]')" "[true,$setups,0]" \
		"$1: the connection stayed up, no operation failed"
}

random_file file $((MB * 1024 * 1024 + 17))
# Not over before it is seen to be under way, also if the machine has other work.
random_file large $((8 * MB * 1024 * 1024))
lab_up --clear --paths $PATHS --spread index --set flows=$PATHS --set cc=swift
serve b
tap_is "$(conn b .flows) $(conn b6 .flows)" "4 4" "connections have four flows"
used b "equal paths"
used b6 "equal paths"
failing b 0
failing b6 2
if [ -n "${FALCON_TEST_FULL:-}" ]; then
	failing b 3
	failing b6 1
fi
falcon-lab path 0 rate=100m
falcon-lab path 1 delay=1ms
falcon-lab path 2 loss=1
falcon-lab path 3 delay=300us jitter=200us dup=1
used b "unequal paths"
used b6 "unequal paths"
stop_serving
falcon-lab agent b stop
sed -i "s/^flows = 4/flows = 2/" "/run/falcon-$FALCON_LAB/b/falcond.conf"
falcon-lab agent b start
agreed()
{
	[ "$(conn b .flows) $(conn b6 .up) $(conn b6 .flows)" = "2 true 2" ]
}
tap_run "the end that can use fewer flows decides" tap_wait 20 agreed
tap_done
