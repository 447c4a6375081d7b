#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# The programs of rdmacm-utils: connecting by address and port with librdmacm, datagrams, and rsockets.
# Between hosts, and of a host with itself.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need rping ucmatose udaddy rdma_server rdma_client rstream rcopy

copy()
{
	local pid rc

	random_file in 8388608
	behind a falcon-run rcopy >"$SCRATCH/server" 2>&1
	pid=$!
	tap_wait_for $pid 20 is_waiting rcopy
	alone b falcon-run rcopy "$SCRATCH/in" "$ADDRESS:$SCRATCH/out" &&
		same "$SCRATCH/in" "$SCRATCH/out"
	rc=$?
	end_child 5 $pid
	rm -f "$SCRATCH/out"
	return $rc
}

# Its server says a word before it listens, and never sleeps.
stream()
{
	local PATIENCE=20

	cm "$LINK: rstream$1" "rstream -b $ADDRESS ${*:2}" "rstream -s $ADDRESS ${*:2}" usec/xfer
}

# With the server on the same host.
with_itself()
{
	local FROM=a

	cm "rping of a host to itself" "rping -s -a $ADDRESS -C 10 -v -V" \
		"rping -c -a $ADDRESS -C 10 -v -V"
	[ "$FAMILY" = ipv6 ] ||
		cm "and to 127.0.0.1" "rping -s -C 10 -v -V" "rping -c -a 127.0.0.1 -C 10 -v -V"
	cm "udaddy of a host to itself" "udaddy -b $ADDRESS" "udaddy -s $ADDRESS"
}

few_left()
{
	on a falconctl -j conn show | jq -e 'map(select(.name | test("^(rdma|any)[.]"))) | length < 3'
}

programs()
{
	cm "$LINK: rping -v -V -C" "rping -s -a $ADDRESS -C 10 -v -V" "rping -c -a $ADDRESS -C 10 -v -V"
	cm "$LINK: ucmatose" "ucmatose -b $ADDRESS -c 10" "ucmatose -c 10 -s $ADDRESS"
	cm "$LINK: udaddy" "udaddy -b $ADDRESS -c 4" "udaddy -c 4 -s $ADDRESS"
	cm "$LINK: rdma_client" "rdma_server -s $ADDRESS" "rdma_client -s $ADDRESS"
	stream "" -S 16384 -C 200
	stream ", blocking, verified" -S 64 -C 2000 -T b -T v
	if [ "$FAMILY" = ipv4 ]; then
		tap_run "$LINK: rcopy of 8 MiB arrives as it was" copy
	else
		tap_skip "$LINK: rcopy" "its server listens on IPv4 alone"
	fi
	[ "$WHOLE" = 1 ] || return
	stream ", all sizes" -S all -I 4
	stream ", without blocking, verified" -S 4096 -C 500 -T n -T v
	with_itself
	on b timeout 20 falcon-run rping -c -a $ADDRESS -C 1 >"$SCRATCH/client" 2>&1
	tap_run "who finds nobody listening is rejected" grep -q "REJECTED, error 8" "$SCRATCH/client"
}

environments programs psp-ipv4-0 clear-ipv6-1
# But those of datagrams, which are kept for a while.
tap_wait 20 few_left
tap_run "connections go with their queue pairs" few_left
tap_done
