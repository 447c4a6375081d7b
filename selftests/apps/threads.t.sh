#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# Applications of agents with two threads each: whichever threads serve the two ends, on two hosts or on one,
# they find each other, by numbers of queue pairs, by datagrams and by librdmacm. Those that do not choose are
# spread.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need ibv_rc_pingpong ibv_ud_pingpong rping ib_write_bw ss jq

# ends SERVER CLIENT HOST COMMAND...: the server, on a, by thread SERVER of its agent, and the client on HOST.
ends()
{
	local server

	tap_wait 20 not_listening a $PORT || { echo "port $PORT is in use"; return 1; }
	FALCON_VERBS_THREAD=$1 behind a falcon-run "${@:4}" >"$SCRATCH/server" 2>&1
	server=$!
	tap_wait_for $server 20 listening a $PORT
	FALCON_VERBS_THREAD=$2 meet $server "$3" falcon-run "${@:4}" "$MEET"
}

# The same by librdmacm.
ends_cm()
{
	local server

	FALCON_VERBS_THREAD=$1 behind a falcon-run rping -s -a $ADDRESS -C 10 -v -V >"$SCRATCH/server" 2>&1
	server=$!
	tap_wait_for $server 20 is_waiting rping
	FALCON_VERBS_THREAD=$2 meet $server "$3" falcon-run rping -c -a $ADDRESS -C 10 -v -V
}

# all_ends LINES: each line has the server's thread, the client's, and its host.
all_ends()
{
	local server client host

	while read -r server client host; do
		set -- "$LINK: thread $server of a, $client of $host" "$server" "$client" "$host"
		tap_run "$1: RC" ends "${@:2}" ibv_rc_pingpong "${DEVICE[@]}" -c -n 200
		tap_run "$1: UD" ends "${@:2}" ibv_ud_pingpong "${DEVICE[@]}" -c -n 200
		tap_run "$1: rdma_cm" ends_cm "${@:2}"
	done <<<"$1"
}

# Which threads the applications that are attached to host a have.
threads_in_use()
{
	on a falconctl -j shard show | jq -r '[.[].applications] | join(" ")'
}

both_in_use()
{
	[ "$(threads_in_use)" = "1 1" ]
}

# Two servers that wait, then their clients.
spread()
{
	local port servers=() write=(falcon-run ib_write_bw -d falcon0 -x "$GID" -F -n 1000)

	for port in 18516 18517; do
		behind a "${write[@]}" -p $port >"$SCRATCH/server$port" 2>&1
		servers+=($!)
		tap_wait_for "${servers[-1]}" 20 listening a $port || return
	done
	tap_wait 20 both_in_use || { threads_in_use; return 1; }
	meet "${servers[0]}" b "${write[@]}" -p 18516 $MEET &&
		meet "${servers[1]}" b "${write[@]}" -p 18517 $MEET
}

ENDS=$(printf '%s\n' "0 1 b" "1 0 b" "1 1 b" "0 1 a")
[ -z "${FALCON_TEST_FULL:-}" ] || ENDS=$(printf '%s\n' {0,1}" "{0,1}" "{a,b})
for security in clear psp; do
	lab_up --security $security --queues 2 --set threads=2 --loss 0.5
	LINK=$security ADDRESS=$MEET GID=0 DEVICE=(-d falcon0 -g 0)
	[ $security = clear ] || ENDS=${FALCON_TEST_FULL:+$ENDS}
	all_ends "${ENDS:-1 0 b}"
	tap_run "$LINK: applications are spread over the threads" spread
done
tap_done
