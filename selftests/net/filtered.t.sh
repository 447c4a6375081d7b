#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Transactions that the operator does not let through (Falcon 11, xLR), and those of a connection without
# flow control (8.2.3), end in error, and what comes after them gets through.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-perf jq

random_file big $((2 * 1024 * 1024 + 17))

# filter HOST WHERE [KEY=VALUE...]: add it; its number is $number.
filter()
{
	number=$(on "$1" falconctl xlr add "${@:2}")
}

# ended CODE: a copy from a to b ends with that.
ended()
{
	local out

	out=$(put a b b big 2>&1)
	tap_note "$out"
	[[ $out == *$1* ]]
}

# hits HOST: of the filter $number.
hits()
{
	on "$1" falconctl -j xlr show | jq --argjson n "$number" '.[] | select(.number == $n) | .hits'
}

# filters HOST: all of them, without their hits.
filters()
{
	on "$1" falconctl -j xlr show | jq -c '[.[] | del(.hits, .number)]'
}

refused()
{
	! on a falconctl xlr "$@" 2>/dev/null
}

# drops HOST WHERE CODE [KEY=VALUE...]: a copy ends with CODE while the filter is there.
drops()
{
	filter "$1" "$2" "${@:4}"
	tap_run "$2 ${*:4}: a copy ends with $3" ended "$3"
	between 1 "$(hits "$1")" 1000000 "$2 ${*:4}: the filter has matched"
	on "$1" falconctl xlr del "$number"
	tap_run "$2 ${*:4}: without the filter, copies get through" put a b b big
}

# A filter goes with its connection.
goes_along()
{
	on a falconctl conn add short local=10.250.0.1 remote=10.250.0.2 local_cid=911 remote_cid=912 \
		security=clear
	filter a initiator connection=short type=push function=5
	tap_is "$(filters a)" \
		'[{"where":"initiator","name":"short","function":5,"type":"push"}]' "a filter is shown"
	on a falconctl conn del short
	tap_is "$(filters a)" "[]" "a filter goes with its connection"
}

# More operations at a time than one percent of the pools have room for.
without_flow_control()
{
	on a falconctl conn add tight local=10.250.0.1 remote=10.250.0.2 local_cid=901 remote_cid=902 \
		security=clear pool_percent=1 flow_control="$1"
	on b falconctl conn add tight local=10.250.0.2 remote=10.250.0.1 local_cid=902 remote_cid=901 \
		security=clear
	tap_wait 30 eval 'on a falconctl -j conn show tight | jq -e ".[0].up"' ||
		tap_not_ok "the connection is up"
	on a falcon-perf tight --service 22 --size 1M --depth 64 --seconds 1 -j >"$SCRATCH/perf" 2>&1
	tap_note "$(tail -1 "$SCRATCH/perf")"
	in_error=$(on a falconctl -j conn show tight | jq '.[0].completed_in_error')
	tap_run "flow_control=$1: small copies get through" put a tight b small
	on a falconctl conn del tight
	on b falconctl conn del tight
}

random_file small 1000
lab_up --clear
serve b
drops a initiator kCmplLocalXlr connection=b
drops a initiator kCmplLocalXlr protocol=raw type=push
drops b target kCmplRemoteErr type=push
filter a initiator type=push function=77
tap_run "what does not match gets through" put a b b big
tap_is "$(hits a)" 0 "and is not counted"
on a falconctl xlr del "$number"
goes_along
tap_run "an unknown connection is refused" refused add initiator connection=nowhere
tap_run "an unknown key is refused" refused add initiator colour=red
tap_run "an unknown protocol is refused" refused add initiator protocol=tcp
tap_run "a function that is none is refused" refused add target function=x
tap_run "a place that is none is refused" refused add nowhere
tap_run "a filter that is none is refused" refused del 31
behind b falcon-perf --serve --service 22 >/dev/null 2>&1
tap_wait 30 eval '[ "$(on b falconctl -j client show | jq length)" -ge 2 ]' || tap_not_ok "a service"
without_flow_control on
tap_is "$in_error" 0 "with flow control, transactions wait"
without_flow_control off
between 1 "$in_error" 1000000000 "without flow control, they end in error"
stop_serving
tap_done
