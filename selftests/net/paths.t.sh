#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Four flows over four parallel paths, IPv4 and IPv6: all paths carry packets, and when one of them
# goes down in the middle of a transfer, the transfer completes without an application noticing.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-perf falcon-cp falcon-wire jq

FLOWS=4
OPS=600		# operations of 16 KiB
BYTES=$((16 * 1024 * 1024 + 17))	# not over before the path goes down

completed()
{
	on a falconctl -j conn show "$1" | jq '.[0].completed'
}

# past CONNECTION N: it has completed more than N operations.
past()
{
	[ "$(completed "$1")" -gt "$2" ]
}

flows_used()
{
	on a falconctl -j flow show "$1" | jq '[.[] | select(.sent > 0)] | length'
}

# paths_used: how many paths have carried packets from a to b.
paths_used()
{
	falcon-lab links -j | jq '[.links[] | select(.to == "to-b" and .offered > 0)] | length'
}

busiest()
{
	falcon-lab links -j | jq '[.links[] | select(.to == "to-b")] | max_by(.offered).path'
}

lost_to_it()
{
	falcon-lab links -j | jq '[.links[].dropped.down] | add'
}

# fail_amid CONNECTION PID: take a path down while process PID transfers, until it ends well.
fail_amid()
{
	local path rc=0

	tap_wait 60 past "$1" "$(($(completed "$1") + 100))" || return 1
	path=$(busiest)
	falcon-lab path "$path" down || return 1
	wait "$2" || rc=$?
	falcon-lab path "$path" up
	return "$rc"
}

verified_operations()
{
	timeout 90 falcon-lab exec a -- falcon-perf "$1" --size 16K --depth 16 --count "$OPS" --verify -j \
		>"$SCRATCH/perf" &
	fail_amid "$1" $! && jq -e '.verified and .mismatches == 0 and .operations >= '"$OPS" "$SCRATCH/perf"
}

copied()
{
	rm -f "$SCRATCH/b/file"
	timeout 90 falcon-lab exec a -- falcon-cp "$SCRATCH/file" "$1:file" &
	fail_amid "$1" $! && same "$SCRATCH/file" "$SCRATCH/b/file"
}

settled()
{
	on a falconctl -j window show "$1" |
		jq -e '.[0] | .tx_data_base == .tx_data_next and .tx_req_base == .tx_req_next'
}

random_file file "$BYTES"
lab_up --clear --paths "$FLOWS" --set "flows=$FLOWS"
serve b
behind b falcon-perf --serve 2>"$SCRATCH/perf.b"
SERVERS+=($!)
tap_wait 20 on a falcon-perf b --count 1 --timeout 1
for conn in b b6; do
	tap_run "$conn: operations while a path goes down" verified_operations "$conn"
	tap_run "$conn: a file while a path goes down" copied "$conn"
	tap_is "$(flows_used "$conn")" "$FLOWS" "$conn: every flow was used"
	tap_run "$conn: nothing is left under way" tap_wait 30 settled "$conn"
done
between 2 "$(paths_used)" "$FLOWS" "packets took several paths"
tap_note "packets lost to paths that were down: $(lost_to_it)"
tap_is "$(on a falconctl -j conn show | jq '[.[] | select(.state == "up")] | length')" 3 \
	"all connections are up"
stop_serving
tap_done
