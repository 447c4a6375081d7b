#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# An agent dies in the middle of a copy: the other side's copy ends with a clear error and leaves no
# partial file; the restarted agent takes over the pinned maps and a new copy works at once. An
# agent that is stopped leaves nothing behind.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

RUN=/run/falcon-$FALCON_LAB

# At 50 Mbit/s ten seconds: the copy is not over before the agent is.
random_file big $((64 * 1024 * 1024))
random_file small 300000

map_ids()
{
	local map

	for map in $(on "$1" ls /sys/fs/bpf/tc/globals); do
		on "$1" bpftool -j map show pinned "/sys/fs/bpf/tc/globals/$map" | jq -r '"\(.name) \(.id)"'
	done
}

# What XDP on host $1 is told of interfaces.
ports()
{
	on "$1" bpftool -j map dump pinned /sys/fs/bpf/tc/globals/falcon_ports | jq -c '[.[].formatted]'
}

# Accepted packets on host $1 have reached $2.
accepted()
{
	[ "$(counter "$1" rx_data)" -ge "$2" ]
}

start_copy()
{
	behind a falcon-cp --timeout 20 "$SCRATCH/big" b:big >"$SCRATCH/copy" 2>&1
	copy=$!
	tap_wait 30 accepted b 1000 || tap_not_ok "a copy is under way" "$(cat "$SCRATCH/copy")"
}

# The copy ends by itself, with an error.
copy_fails()
{
	tap_wait 60 eval "! kill -0 $copy" || tap_not_ok "$1: the copy ends"
	wait "$copy"
	between 1 $? 123 "$1: the copy fails"
	tap_note "$(cat "$SCRATCH/copy")"
	between 1 "$(wc -c <"$SCRATCH/copy")" 2000 "$1: and says why"
	tap_wait 30 eval '[ -z "$(ls "$SCRATCH/b")" ]'
	tap_is "$(ls "$SCRATCH/b")" "" "$1: no file, whole or partial, is left"
}

# try_kill HOST WHAT
try_kill()
{
	local host=$1 before known

	before=$(map_ids "$host")
	known=$(ports "$host")
	start_copy
	falcon-lab agent "$host" kill
	copy_fails "$2"
	# Of an interface that the next agent does not have, or has under another index.
	on "$host" bpftool map update pinned /sys/fs/bpf/tc/globals/falcon_ports \
		key 1 0 0 0 value 0 0 0 0 0 8 0 0
	tap_run "$2: the agent starts again" falcon-lab agent "$host" start
	tap_is "$(ports "$host")" "$known" "$2: XDP knows the agent's interfaces and no others"
	tap_is "$(map_ids "$host")" "$before" "$2: and takes over the maps"
	tap_wait 30 is_serving b
	tap_run "$2: a new copy works" put a b b small
	tap_run "$2: also back" get a b b small
}

try_stop()
{
	tap_run "the agent stops on SIGTERM" falcon-lab agent a stop
	tap_is "$([ -e "$RUN/a/falcond.sock" ] && echo there)" "" "its socket is gone"
	tap_is "$(on a bpftool -j map lookup pinned /sys/fs/bpf/tc/globals/falcon_config key 0 0 0 0 |
		jq .formatted.value.agent_pid)" 0 "the maps know no agent"
	tap_is "$(on a bpftool -j map dump pinned /sys/fs/bpf/tc/globals/falcon_ports | jq length)" 0 \
		"and no port"
	tap_is "$(conn_state a b | jq '.id.flags % 2')" 0 "its connection is not alive"
	tap_run "ping passes without the agent" on a ping -n -q -c 2 -i 0.1 -w 10 10.250.0.2
	tap_run "the agent starts" falcon-lab agent a start
	tap_run "and copies" put a b b small
}

lab_up --clear --rate 50mbit
serve b
try_kill a "sender's agent killed"
try_kill b "receiver's agent killed"
try_stop
tap_done
