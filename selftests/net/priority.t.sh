#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# The priority of the threads that carry packets: the kernel has what falcond.conf says, of these threads
# alone, the log and falconctl say so; and an agent that may not have it goes on without.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq setpriv

RUN=/run/falcon-$FALCON_LAB/b

# restart LEVEL [COMMAND...]: b's agent has this priority from now on; COMMAND starts it.
restart()
{
	falcon-lab agent b stop &&
		sed -i "/^priority = /d; s/^\[agent\]/&\npriority = $1/" "$RUN/falcond.conf" &&
		"${@:2}" falcon-lab agent b start
}

# scheduled NAME: class, real-time priority and nice value of b's threads of that name, as "RR 1 -".
scheduled()
{
	ps -L -o comm=,cls=,rtprio=,nice= -p "$(<"$RUN/falcond.pid")" |
		awk -v name="$1" '$1 ~ name { print $2, $3, $4 }' | sort -u
}

is_scheduled()
{
	[ "$(scheduled "$1")" = "$2" ]
}

has()
{
	on b falconctl -j shard show | jq -e --arg level "$1" '.[0].priority == $level'
}

said()
{
	grep -q "$1" "$RUN/falcond.log"
}

# level NAME SCHEDULED: the agent has it.
level()
{
	local name="priority = $1"

	tap_run "$name" restart "$1"
	tap_run "$name: falconctl" has "$1"
	tap_run "$name: the log" said "thread 0 carries packets priority=$1"
	# Threads of real-time priority spin without it.
	tap_run "$name: the kernel" tap_wait 20 is_scheduled '^falcon-shard' "$2"
	tap_is "$(scheduled '^falcond')" "TS - 0" "$name: control is a process like others"
	tap_run "$name: up" tap_wait 20 conn_up
	serve b
	tap_run "$name: a file arrives" put a b b big
	stop_serving
}

conn_up()
{
	on a falconctl -j conn show b | jq -e '.[0].up'
}

random_file big $((SIZE_MB * 1024 * 1024 / 4 + 7))
lab_up --loss 1
level normal "TS - 0"
if chrt -r 1 true; then
	level high "TS - -20"
	level realtime "RR 1 -"
else
	tap_skip "priorities high and realtime" "this machine allows none"
fi
tap_run "an agent that may not starts all the same" \
	restart realtime setpriv --bounding-set -sys_nice,-sys_resource
tap_run "and has what it may" has normal
tap_run "and the log says why" said \
	"thread 0 cannot have priority = realtime, and has normal: Operation not permitted"
tap_done
