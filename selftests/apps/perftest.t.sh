#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 600
#
# perftest: bandwidth and latency of all operations; sizes, queue pairs, directions, events, kinds of
# queue pairs.
# shellcheck source=selftests/apps/apps.sh
. "$(dirname "$0")/apps.sh"
tap_need ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw \
	ib_atomic_lat ss

# test OPERATION [OPTION]...
perf()
{
	pair "$LINK: ib_$*" "ib_$1" -d falcon0 -x $GID -F "${@:2}"
}

# The same with librdmacm, which then is all that they meet by.
perf_cm()
{
	local command="ib_$1 -R -F ${*:2}"

	tap_run "$LINK: ib_$1 -R ${*:2}" run_cm "$command" "$command $ADDRESS"
}

# One of each, on a link as it is now.
each()
{
	LINK=$1
	for operation in write read send; do
		perf ${operation}_bw -s 65536 -n 200
		perf ${operation}_lat -s 8 -n 200
	done
	perf atomic_bw -n 200
	perf atomic_lat -n 200
}

more()
{
	LINK=$1
	perf write_bw -s 4096 -n 200 -q 4
	perf write_bw -s 16384 -n 200 -b
	perf write_bw -s 4096 -D 1
	perf read_bw -s 16384 -n 200 -b -e
	perf send_bw -s 4096 -n 200 -e
	perf send_bw -s 4096 -n 200 -b -q 2
	perf send_bw -s 1024 -n 200 -c UD
	perf send_lat -s 64 -n 200 -c UD
	perf write_bw -s 4096 -n 200 -c XRC
	perf send_bw -s 4096 -n 200 -c XRC
	perf send_bw -s 4096 -n 200 -r 64 --use-srq
	perf write_bw -s 64 -n 200 -I 64
	perf atomic_bw -n 200 -A CMP_AND_SWAP
	perf_cm write_bw -s 65536 -n 200
	perf_cm send_lat -s 64 -n 200
}

lab_up --clear
each "clear, IPv4"
more "clear, IPv4"
lab_up --security psp --loss 1
use ipv6
each "encrypted, IPv6, 1 % lost"
if [ "$FULL" = 1 ]; then
	more "encrypted, IPv6, 1 % lost"
	for operation in write_bw write_lat read_bw read_lat send_bw send_lat; do
		perf $operation -a -n 20
	done
fi
tap_done
