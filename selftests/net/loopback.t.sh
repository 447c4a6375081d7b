#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Connections of a host with itself: both ends in one agent, nothing on the link.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-perf

is_up()
{
	on a falconctl -j conn show | jq -e --arg n "$1" 'any(.[]; .name == $n and .up)'
}

# Connections whose names begin with NAME.
ends_of()
{
	on a falconctl -j conn show | jq -r --arg n "$1" '[.[] | select(.name | startswith($n))] | length'
}

ends_are()
{
	[ "$(ends_of "$1")" -eq "$2" ]
}

perf_serves()
{
	on a falconctl -j client show | jq -e '[.. | objects | select(.service? == 1)] | length > 0'
}

frames()
{
	on a cat /sys/class/net/eth0/statistics/tx_packets
}

# perf NAME OPTION...
perf()
{
	on a falcon-perf "$1" --verify --timeout 20 "${@:2}"
}

lab_up
before=$(frames)
behind a falcon-perf --serve 2>"$SCRATCH/serve"
SERVERS+=($!)
tap_wait 30 perf_serves
for addr in 10.250.0.1 fd00:250::1 127.0.0.1; do
	name=self-${addr//:/.}
	on a falconctl conn add "$name" "local=$addr" "remote=$addr"
	tap_wait 10 is_up "$name"
	tap_run "a connection to $addr" is_up "$name"
	tap_run "pushes of 1 MiB arrive" perf "$name" --op push --size 1M --count 20
	tap_run "pulls of 64 KiB come back" perf "$name" --op pull --size 64K --count 200
	tap_run "messages of 100 B arrive" perf "$name" --op send --size 100 --count 2000
done
on a falconctl conn add loose local=10.250.0.1 remote=127.0.0.1 ordering=unordered
tap_wait 10 is_up loose
tap_run "unordered, between two addresses" perf loose --op push --size 1M --count 20
between 0 $(($(frames) - before)) 1000 "what is sent stays off the link"

tap_is "$(ends_of self-127)" 2 "a connection has two ends"
on a falconctl conn reset self-127.0.0.1
tap_wait 20 is_up self-127.0.0.1
tap_run "it comes back after a reset" perf self-127.0.0.1 --count 100
other=$(on a falconctl -j conn show | jq -r '.[].name | select(startswith("self-127.0.0.1."))')
on a falconctl conn del "$other"
tap_wait 20 is_up self-127.0.0.1
tap_run "and after its other end is deleted" perf self-127.0.0.1 --count 100
on a falconctl conn del self-127.0.0.1
tap_wait 20 ends_are self-127 0
tap_is "$(ends_of self-127)" 0 "deleting it deletes both ends"
stop_serving
tap_run "the agent stops in order" falcon-lab agent a stop
tap_is "$(grep -ciE 'sanitizer|error' "/run/falcon-$FALCON_LAB/a/falcond.log")" 0 "with nothing to report"
tap_done
