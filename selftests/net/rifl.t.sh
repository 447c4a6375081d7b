#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Falcon over a link with a bit error ratio of 1e-5: one in nine packets of full size has an error. Over RIFL
# none is lost, so that Falcon sends nothing again; over Ethernet all of them are.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-perf jq

# Only what is lost is sent again, however busy the machine: nothing that is only late.
PATIENT="--set cc=fixed --set fcwnd=16 --set early_retx=ooo --set ooo_threshold=16"

# links KEY...: of both directions, the sum.
links()
{
	falcon-lab links -j | jq "[.links[].$1] | add"
}

# again: packets that both ends have sent again.
again()
{
	local host

	for host in a b; do
		on "$host" falconctl -j conn show
	done | jq -s '[.[][] | .tx_retx_early, .tx_retx_own, .tx_retx_rack, .tx_retx_rto] | add'
}

perf()
{
	timeout 60 falcon-lab exec a -- falcon-perf "$@"
}

# over NAME OPTION...: some operations over a link with these options, both ways.
over()
{
	local name=$1

	# shellcheck disable=SC2086 # options are words
	lab_up --clear $PATIENT "${@:2}"
	behind b falcon-perf --serve 2>"$SCRATCH/perf.b"
	SERVERS+=($!)
	tap_wait 20 perf b --count 1 --timeout 1
	tap_run "$name: pushes verified" perf b --size 16K --depth 8 --count 150 --verify
	tap_run "$name: pulls verified" perf b6 --size 16K --depth 8 --count 150 --verify --op pull
	tap_note "$name: $(links delivered) packets, $(again) sent again by Falcon"
	stop_serving
}

over RIFL --set rto_us=5000000 --path 0:rifl=256,ber=1e-5,rate=400mbit,delay=2us
tap_note "$(falcon-lab links -j | jq -r '.links[] | "RIFL to \(.to): \(.rifl | tojson)"')"
tap_is "$(again)" 0 "RIFL: Falcon sends nothing again"
tap_is "$(links 'dropped[]')" 0 "RIFL: nothing is lost"
between 20 "$(links rifl.damaged)" 1000000 "RIFL: for frames have errors"
between 20 "$(links rifl.errors)" 1000000 "RIFL: which are seen"
between 10 "$(links rifl.retransmissions)" "$(links rifl.damaged)" "RIFL: and RIFL sends again"
tap_is "$(links 'rifl | .altered + .restarts')" 0 "RIFL: all arrives as it was"

over Ethernet --set rto_us=20000 --path 0:ber=1e-5,rate=400mbit,delay=2us
between 50 "$(links dropped.bit_errors)" 1000000 "Ethernet: what has an error is lost"
between $(($(links dropped.bit_errors) / 2)) "$(again)" 1000000 "Ethernet: Falcon sends again"

refused=$(falcon-lab up --clear --hosts 3 --rifl 256 --rate 400mbit 2>&1)
tap_is "$? $(grep -o 'a hop has two ends' <<<"$refused")" "1 a hop has two ends" "a hop has no third host"
tap_done
