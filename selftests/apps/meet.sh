# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Applications on hosts, one or a pair, seen to their end: none waits for a peer that cannot come any
# more, and before one that hangs is ended the agents are asked what they have of it. Needs procs.sh, and
# of lab.sh "behind" and "explain".

# Seconds that programs may take, and one of a pair when the other has ended well.
LIMIT=60 LINGER=30

# alone HOST COMMAND...: one program; of one that hangs the agents tell before it is ended.
alone()
{
	local pid rc=0

	behind "$@"
	pid=$!
	first_to_end "$LIMIT" $pid || rc=$?
	[ -z "$ENDED" ] || return $rc
	echo "no end within $LIMIT s"
	explain
	end_child 5 $pid
	return 124
}

# meet SERVER HOST COMMAND...: while a server's process waits, run the client on HOST, and see both to
# their end, with output in $SCRATCH/server and client. Neither waits for a peer that has failed, or hangs:
# the agents tell what they know of both, and the other one is ended. A client that is refused tries again
# while $PATIENCE seconds, 0, have not gone by.
meet()
{
	local server=$1 client deadline=$((SECONDS + ${PATIENCE:-0})) rc

	while :; do
		rc=0
		behind "${@:2}" >"$SCRATCH/client" 2>&1
		client=$!
		first_to_end "$LIMIT" "$server" $client || rc=$?
		[ $rc -ne 0 ] && [ "$ENDED" = $client ] && [ $SECONDS -lt $deadline ] || break
		sleep 0.05
	done
	if [ $rc -eq 0 ]; then
		first_to_end "$LINGER" $((server + client - ENDED)) && return
		rc=$?
	fi
	case $ENDED in
	"$server") echo "the server failed with status $rc" ;;
	"$client") echo "the client failed with status $rc" ;;
	*) echo "no end within $LIMIT s, or within $LINGER s of the other's" ;;
	esac
	explain
	end_child 5 "$server"
	end_child 5 $client
	tail -n 80 "$SCRATCH/server" "$SCRATCH/client"	# errors come before what was buffered
	return $rc
}
