#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# An application with memory that never answers, be it to read or to write, holds up nobody but itself:
# while the agent waits for it others talk, a page that comes late still counts, who does not come at all
# is detached, and being killed in the middle leaves nothing behind.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need ibv_rc_pingpong ss stuck_memory

STALLS=0

waits_for_memory()
{
	[ "$(counter a verbs_stalls agent)" -gt "$STALLS" ]
}

posted()
{
	[ -s "$SCRATCH/stuck" ]
}

# stuck FROM|TO SUPPLY|KEEP: one more on host a, until the agent waits for it. Its status goes to a file.
stuck()
{
	STALLS=$(counter a verbs_stalls agent)
	rm -f "$SCRATCH/status"
	: >"$SCRATCH/stuck"
	[ -p "$SCRATCH/in" ] || mkfifo "$SCRATCH/in"
	{
		on a falcon-run stuck_memory "$@" <>"$SCRATCH/in" >"$SCRATCH/stuck" 2>&1
		echo $? >"$SCRATCH/status"
	} >/dev/null 2>&1 &
	tap_wait 30 posted
	grep -q '^userfaultfd' "$SCRATCH/stuck" && return
	tap_wait 30 waits_for_memory
}

ends_well()
{
	tap_wait 30 test -s "$SCRATCH/status" && [ "$(cat "$SCRATCH/status")" = 0 ]
}

nothing_left()
{
	[ "$(on a falconctl -j mr show)$(on a falconctl -j qp show)" = "[][]" ]
}

# Everything in the namespace that has been started as stuck_memory.
kill_stuck()
{
	local pid

	for pid in $(ip netns pids "falcon-$FALCON_LAB-a"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != stuck_memory ] || kill -9 "$pid"
	done
	tap_wait 20 nothing_left
}

lab_up --clear
stuck from supply
grep '^userfaultfd' "$SCRATCH/stuck" && tap_skip_all "no userfaultfd here"
tap_run "killed, it leaves nothing behind" kill_stuck
for way in from to; do
	tap_run "$way: the agent waits for a page" stuck $way supply
	pair "$way: others talk meanwhile" ibv_rc_pingpong -d falcon0 -g $GID -c -n 200
	echo go >"$SCRATCH/in"
	tap_run "$way: the page comes, and the message arrives" ends_well

	# It takes the agent five seconds to give up.
	if [ $way = from ] || [ "${FALCON_TEST_FULL:-0}" != 0 ]; then
		tap_run "$way: the agent waits again" stuck $way keep
		tap_run "$way: who never answers is detached" ends_well
		pair "$way: others talk" ibv_rc_pingpong -d falcon0 -g $GID -c -n 200
	fi

	tap_run "$way: the agent waits once more" stuck $way keep
	tap_run "$way: being killed leaves nothing behind" kill_stuck
	pair "$way: others still talk" ibv_rc_pingpong -d falcon0 -g $GID -c -n 200
done
tap_done
