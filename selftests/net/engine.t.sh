#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# The rate update engine in a process of its own, which serves both hosts: what it computes is recorded
# and computes the same again; it may come late, be killed and come back, or hang, and agents may be
# killed, while data flows, and nothing is lost.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-rue jq

SIZE_MB=$((SIZE_MB / 4 + 1))
SOCKET=$SCRATCH/rue.sock
ENGINE=
random_file big $((SIZE_MB * 1024 * 1024 + 17))

start_engine()
{
	falcon-rue --serve "$SOCKET" 2>>"$SCRATCH/engine" &
	ENGINE=$!
}

kill_engine()
{
	kill -KILL "$ENGINE"
	wait "$ENGINE" 2>/dev/null
}

# runs WHERE: both agents' rate updates are computed there.
runs()
{
	[ "$(on a falconctl -j version | jq -r '.[0].rue_runs')" = "$1" ] &&
		[ "$(on b falconctl -j version | jq -r '.[0].rue_runs')" = "$1" ]
}

# results COUNT: Swift has answered more than that for connection b on host a.
results()
{
	[ "$(on a falconctl -j rue show b | jq '.[0].results')" -gt "$1" ]
}

# progress: there are new results.
progress()
{
	tap_wait 30 results "$(on a falconctl -j rue show b | jq '.[0].results')"
}

# logged HOST TEXT
logged()
{
	grep -q "$2" "/run/falcon-$FALCON_LAB/$1/falcond.log"
}

lab_up --clear --set cc=swift --set rue_mode=process --set "rue_socket=$SOCKET"
serve b
tap_run "without an engine the agents compute" runs inline
tap_run "and say so" logged a "no rate update engine: $SOCKET"
start_copying
tap_run "results come" progress
start_engine
tap_run "an engine that comes is used" tap_wait 30 runs process
tap_run "results come from there" progress
tap_run "events are recorded there" \
	on a falconctl rue trace "$SCRATCH/trace.csv" --count 300 --seconds 60 --conn b
tap_is "$(falcon-rue --vectors "$SCRATCH/trace.csv" 2>&1)" "300 events, 0 mismatches" \
	"they compute the same again"
kill_engine
tap_run "killed, it is done without" tap_wait 30 runs inline
tap_run "and the log says so" logged a "the rate update engine at $SOCKET is lost"
tap_run "results come again" progress
start_engine
tap_run "restarted, it is used again" tap_wait 30 runs process
tap_run "algorithms change" on a falconctl rue set b fixed
tap_run "and back" on a falconctl rue set b swift software
tap_run "results come from there, too" progress
kill -STOP "$ENGINE"
tap_run "one that hangs is done without" tap_wait 30 runs inline
tap_run "results come all the same" progress
kill -CONT "$ENGINE"
tap_run "awake again, it is used again" tap_wait 30 runs process
stop_copying "all copies were right"
falcon-lab agent a kill
falcon-lab agent a start
tap_run "an agent that was killed comes back to it" tap_wait 30 runs process
tap_run "and copies" put a b b big
kill "$ENGINE"
wait "$ENGINE"
tap_is "$?" 0 "asked to end, it ends well"
tap_is "$([ -e "$SOCKET" ] && echo there)" "" "and its socket is gone"
stop_serving
tap_done
