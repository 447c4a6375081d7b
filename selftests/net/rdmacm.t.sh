#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# The programs of rdmacm-utils, as Debian has them, over Falcon: connecting by address and port with
# librdmacm, datagrams, and rsockets. Between hosts, and of a host with itself.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falcon-run rping ucmatose udaddy rdma_server rdma_client rstream rcopy

B4=10.250.0.2 B6=fd00:250::2

# client COMMAND...: on $FROM. Refused until the server listens, so that it is tried again.
client()
{
	on "${FROM:-a}" timeout 40 falcon-run "$@" >"$SCRATCH/client" 2>&1
}

# run NAME SERVER... -- CLIENT...: both end well, the server on host b, the client on $FROM.
run()
{
	local name=$1 server=() pid s c

	shift
	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	behind b timeout 60 falcon-run "${server[@]}" >"$SCRATCH/server" 2>&1
	pid=$!
	tap_wait 40 client "$@"
	c=$?
	wait $pid
	s=$?
	if [ "$c $s" = "0 0" ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "client $c: $(tail -n 3 "$SCRATCH/client")
server $s: $(tail -n 3 "$SCRATCH/server")
$(grep -v ' connection up' "/run/falcon-$FALCON_LAB/a/falcond.log" | tail -n 4)"
	fi
}

# Processes of that name on host b.
on_b()
{
	local pid

	for pid in $(ip netns pids "falcon-$FALCON_LAB-b"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || echo "$pid"
	done
}

copy()
{
	local pid

	head -c 8388608 /dev/urandom >"$SCRATCH/in"
	behind b timeout 60 falcon-run rcopy >"$SCRATCH/server" 2>&1
	pid=$!
	tap_run "rcopy of 8 MiB to $1" tap_wait 40 client rcopy "$SCRATCH/in" "$1:$SCRATCH/out"
	tap_run "arrives as it was" cmp "$SCRATCH/in" "$SCRATCH/out"
	# shellcheck disable=SC2046 # words
	kill $(on_b rcopy)
	wait $pid
	rm -f "$SCRATCH/out"
}

try_all()
{
	local how=$1

	run "rping over IPv4, $how" rping -s -a $B4 -C 10 -v -V -- rping -c -a $B4 -C 10 -v -V
	run "rping over IPv6, $how" rping -s -a $B6 -C 10 -v -V -- rping -c -a $B6 -C 10 -v -V
	run "ucmatose, $how" ucmatose -c 10 -- ucmatose -c 10 -s $B4
	run "udaddy over IPv4, $how" udaddy -c 4 -- udaddy -c 4 -s $B4
	run "udaddy over IPv6, $how" udaddy -b $B6 -- udaddy -s $B6
	run "rdma_client, $how" rdma_server -- rdma_client -s $B4
	run "rstream, $how" rstream -b $B4 -S 16384 -C 200 -- rstream -s $B4 -S 16384 -C 200
	run "rstream over IPv6, $how" rstream -b $B6 -S 64 -C 2000 -- rstream -s $B6 -S 64 -C 2000
}

few_left()
{
	on a falconctl -j conn show | jq -e '[.[] | select(.name | startswith("rdma."))] | length < 3'
}

lab_up
try_all encrypted
copy $B4
FROM=b run "rping of a host to itself" rping -s -a $B4 -C 10 -v -V -- rping -c -a $B4 -C 10 -v -V
FROM=b run "and to 127.0.0.1" rping -s -C 10 -v -V -- rping -c -a 127.0.0.1 -C 10 -v -V
FROM=b run "udaddy of a host to itself" udaddy -- udaddy -s $B4
on a timeout 20 falcon-run rping -c -a $B4 -C 1 >"$SCRATCH/client" 2>&1
tap_run "who finds nobody listening is rejected" grep -q "REJECTED, error 8" "$SCRATCH/client"
lab_up --clear --loss 1
try_all "clear, 1 % loss"
copy $B4
# But those of datagrams, which are kept for a while.
tap_wait 20 few_left
tap_run "connections go with their queue pairs" few_left
tap_done
