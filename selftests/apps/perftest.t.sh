#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
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
	local name="$LINK: ib_$1 -R ${*:2}" command="ib_$1 -R -F ${*:2}"

	if [ "$FAMILY" = ipv6 ]; then
		tap_skip "$name" "perftest asks for IPv4 addresses alone, also with --ipv6"
		return
	fi
	tap_run "$name" until_listening run_cm "$command" "$command $ADDRESS"
}

each()
{
	for operation in write read send; do
		perf ${operation}_bw -s 65536 -n 200
		perf ${operation}_lat -s 8 -n 200
	done
	perf atomic_bw -n 200
	perf atomic_lat -n 200
}

# perftest takes a third of a second for each of them.
all_sizes()
{
	[ "$FULL" = 1 ] || return 0
	for operation in write read send; do
		perf ${operation}_bw -a -n 5
		perf ${operation}_lat -a -n 5
	done
}

more()
{
	for operation in write read send atomic; do
		perf ${operation}_bw -n 200 -q 4
	done
	for operation in send $([ "$FULL" = 0 ] || echo write read atomic); do
		perf ${operation}_bw -n 200 -b
	done
	perf write_bw -s 2 -n 5
	perf write_bw -s 8388608 -n 5
	perf write_bw -s 4096 -D 1
	perf send_lat -s 64 -D 1
	for operation in read send; do
		perf ${operation}_bw -s 16384 -n 200 -b -e
		perf ${operation}_lat -s 64 -n 200 -e
	done
	perf send_bw -s 1024 -n 200 -c UD
	perf send_bw -s 1024 -n 200 -c UD -q 2 -b
	perf send_lat -s 64 -n 200 -c UD
	for operation in write read send atomic; do
		perf ${operation}_bw -n 200 -c XRC
	done
	perf send_bw -s 4096 -n 200 -r 64 --use-srq
	perf send_bw -s 4096 -n 200 -r 64 --use-srq -q 4
	perf send_lat -s 64 -n 200 -r 64 --use-srq
	perf write_bw -s 64 -n 200 -I 64
	perf atomic_bw -n 200 -A CMP_AND_SWAP
	perf_cm write_bw -n 200
	perf_cm send_lat -n 200
	for operation in $([ "$FULL" = 0 ] || echo write read send atomic); do
		perf_cm ${operation}_bw -n 200
		perf_cm ${operation}_lat -n 200
	done
	perf_cm send_bw -s 1024 -n 200 -c UD
}

operations()
{
	each
	[ "$WHOLE" = 1 ] || return
	all_sizes
	more
}

environments operations clear-ipv4-0 psp-ipv6-1
# Of XRC domains: the program opens it, and leaves it there.
rm -f /tmp/xrc_domain_server /tmp/xrc_domain_client
tap_done
