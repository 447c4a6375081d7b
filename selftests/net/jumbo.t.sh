#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Links with an MTU of 9000: the kernel's traffic has all of it, Falcon's packets fit one buffer of the
# driver, and both pass side by side.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/../apps/apps.sh"
tap_need falcond falconctl falcon-cp ib_write_bw ping jq

mtu_of()
{
	on a falconctl -j conn show "$1" | jq '.[0].mtu'
}

found_path()
{
	[ "$(mtu_of "$1")" = 3498 ]
}

copies()
{
	on a falcon-cp "$SCRATCH/file" b:copy && cmp "$SCRATCH/file" "$SCRATCH/b/copy"
}

# The kernel's packets of 9000 bytes, while Falcon has the same link.
side_by_side()
{
	local pings rc=0

	on a ping -n -q -M "do" -s 8972 -c 100 -i 0.01 -w 60 10.250.0.2 >"$SCRATCH/pings" &
	pings=$!
	copies || rc=1
	wait "$pings" && [ "$rc" -eq 0 ] && grep -q " 100 received" "$SCRATCH/pings"
}

# What was dropped for its length, at both ends.
too_big()
{
	echo $(($(counter a drop_too_big) + $(counter b drop_too_big)))
}

large()
{
	lab_up "$@" --mtu 9000
	tap_run "$1 ${2:-}: the path carries what fits one buffer" tap_wait 20 found_path b
	tap_run "over IPv6, too" tap_wait 20 found_path b6
	serve b
	tap_run "a file is copied, and the kernel's largest packets pass beside it" side_by_side
	stop_serving
	tap_run "ib_write_bw" run_pair ib_write_bw -d falcon0 -x 0 -F -n 500 -s 65536
	tap_is "$(too_big)" 0 "nothing was too long"
}

random_file file 3000000
large --clear
large --security psp
tap_done
