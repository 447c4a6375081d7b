#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Applications killed at any moment, attaching, connecting, in mid-transfer or leaving, leave nothing behind
# on either host: no object, no connection, and agents that serve the next.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need ibv_rc_pingpong ss

ROUNDS=$([ "${FALCON_TEST_FULL:-0}" = 0 ] && echo 15 || echo 200)
RANDOM=7

# kill_at HOST: the pingpongs there, as they are at the moment, or are about to be.
kill_at()
{
	local pid

	for pid in $(ip netns pids "falcon-$FALCON_LAB-$1"); do
		case $(cat "/proc/$pid/comm" 2>/dev/null) in
		ibv_rc_pingpong | falcon-run) kill -9 "$pid" ;;
		esac
	done
}

# One more pair that is killed, the end that $1 says first, after a while that $2 says, in ms.
round()
{
	tap_wait 20 not_listening a "$PORT" || return 1
	on a timeout 60 falcon-run ibv_rc_pingpong -d falcon0 -g "$GID" -n 1000000 \
		>"$SCRATCH/server" 2>&1 &
	tap_wait 20 listening a "$PORT" || { cat "$SCRATCH/server"; return 1; }
	on b timeout 60 falcon-run ibv_rc_pingpong -d falcon0 -g "$GID" -n 1000000 "$ADDRESS" \
		>"$SCRATCH/client" 2>&1 &
	# Not an event that is waited for: any moment will do.
	sleep "$(printf '0.%03d' "$2")"
	if [ "$1" = a ]; then
		kill_at a
		kill_at b
	else
		kill_at b
		kill_at a
	fi
	wait
}

left()
{
	for what in qp mr cq pd; do
		on "$1" falconctl -j $what show
	done
	on "$1" falconctl -j conn show | jq -c 'map(select(.name | test("^(rdma|any)[.]")))'
}

nothing_left()
{
	[ "$(left a; left b)" = "$(printf '[]\n%.0s' 1 2 3 4 5 6 7 8 9 10)" ]
}

rounds()
{
	local ends=(a b) i

	for ((i = 0; i < ROUNDS; i++)); do
		round "${ends[i % 2]}" $((RANDOM % 400)) || return 1
	done
}

lab_up --security psp
tap_run "$ROUNDS pairs are killed" rounds
if tap_wait 30 nothing_left; then
	tap_ok "nothing is left of them"
else
	tap_not_ok "nothing is left of them" "$(left a; left b)"
fi
pair "others talk" ibv_rc_pingpong -d falcon0 -g "$GID" -c -n 200
tap_done
