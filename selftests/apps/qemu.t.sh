#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 480
#
# Live migration by QEMU over rdma_cm and verbs, of a guest that goes on writing memory: it comes to its end,
# and the memory of both hosts is the same.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need qemu-system-x86_64

# The destination says READY as soon as the connection is up. The source posts its receive request for that
# once it has heard so, and has asked for no RNR retries: if it has no CPU for longer than we wait it loses.
LAB_OPTIONS+=(--set rnr_patience_us=10000000)
GUEST_MIB=128 COMPARE=$((0x6000000))	# bytes from 0: what the guest writes, and more

# machine HOST DESCRIPTOR OPTION...: a virtual machine there, which is told what to do through the descriptor.
machine()
{
	local host=$1 fd=$2 disk=$TAP_BUILD/selftests/apps/guest.img

	rm -f "$SCRATCH/$host".*
	mkfifo "$SCRATCH/$host.commands"
	# Both ways, so that opening it does not wait for the other end.
	eval "exec $fd<>\"\$SCRATCH/\$host.commands\""
	falcon-lab exec "$host" -- falcon-run -t 100 qemu-system-x86_64 -machine pc,accel=tcg -nodefaults \
		-m $GUEST_MIB -display none -drive "file=$disk,format=raw,snapshot=on" \
		-serial "file:$SCRATCH/$host.serial" -qmp stdio "${@:3}" \
		<"$SCRATCH/$host.commands" >"$SCRATCH/$host.out" 2>&1 8>&- 9>&- &
	tell "$fd" qmp_capabilities
}

# tell DESCRIPTOR COMMAND [ARGUMENTS]
tell()
{
	printf '{"execute": "%s", "arguments": {%s}}\n' "$2" "${3:-}" >&"$1"
}

# says HOST DESCRIPTOR COMMAND TEXT: the answers have TEXT among them by now.
says()
{
	grep -q "$4" "$SCRATCH/$1.out" && return
	tell "$2" "$3"
	return 1
}

guest_runs()
{
	grep -q R "$SCRATCH/b.serial" 2>/dev/null
}

# saved HOST DESCRIPTOR PROCESS: its guest's memory is in a file.
saved()
{
	tell "$2" pmemsave "\"val\": 0, \"size\": $COMPARE, \"filename\": \"$SCRATCH/$1.memory\""
	tap_wait_for "$3" 30 says "$1" "$2" query-uuid UUID
}

# both_end A B: each ends well when it is told to.
both_end()
{
	local rc=0

	tell 8 quit
	tell 9 quit
	wait "$1" || rc=1
	wait "$2" || rc=1
	return $rc
}

# migrate [CAPABILITY]: from b to a, which does not go on with it. QEMU waits for an answer to each page of
# zeros, which takes a millisecond where two agents, two emulators and others share two CPUs, and several if
# there is somebody who computes, but for short time slices (falcon-run -t).
migrate()
{
	local a b uri='"uri": "rdma:10.250.0.1:4444"' fd

	machine a 8 -S -incoming defer
	a=$!
	machine b 9
	b=$!
	for fd in 8 9; do
		[ $# -eq 0 ] || tell $fd migrate-set-capabilities \
			"\"capabilities\": [{\"capability\": \"$1\", \"state\": true}]"
		tell $fd migrate-set-parameters '"max-bandwidth": 4000000000'
	done
	tell 8 migrate-incoming "$uri"
	tap_wait_for $a 20 says a 8 query-status '"status": "inmigrate"' && tap_wait_for $b 60 guest_runs &&
		tell 9 migrate "$uri" && tap_wait_for $b 180 says b 9 query-migrate '"status": "completed"' &&
		saved a 8 $a && saved b 9 $b && cmp "$SCRATCH/a.memory" "$SCRATCH/b.memory" &&
		both_end $a $b && return
	tail -n 20 "$SCRATCH/a.out" "$SCRATCH/b.out"
	explain
	end_child 5 $a
	end_child 5 $b
	return 1
}

# migrated NAME [CAPABILITY]
migrated()
{
	tap_run "$1" migrate "${@:2}"
	tap_note "in ms:" \
		"$(grep -o '\(total-time\|downtime\)": [0-9]*' "$SCRATCH/b.out" | tail -n 2 | tr -d '"\n')"
}

migrations()
{
	migrated "$LINK: a guest is migrated"
	[ "$WHOLE" = 0 ] || migrated "$LINK: the same with memory registered as a whole" rdma-pin-all
}

environments migrations clear-ipv4-1 psp-ipv4-0
tap_done
