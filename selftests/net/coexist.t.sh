#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# Ping and TCP on the same interfaces are unharmed while Falcon moves data.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp iperf3 ping jq

# Copy until told to stop.
keep_busy()
{
	while [ ! -e "$SCRATCH/stop" ]; do
		put a b b big >/dev/null 2>&1 || echo failed >>"$SCRATCH/busy"
	done
}

pings()
{
	on a ping -n -q -c 20 -i 0.05 -w 60 "$1" | grep -q ' 0% packet loss'
}

# tcp ADDRESS: some MB each way; iperf3 fails if a byte is missing or the connection breaks.
tcp()
{
	local pid rc=0

	behind b iperf3 -s -1 -B "$1" >"$SCRATCH/iperf" 2>&1
	pid=$!
	tap_wait 30 listening
	on a iperf3 -c "$1" -n "${SIZE_MB}M" "${@:2}" >"$SCRATCH/iperf.a" 2>&1 || rc=$?
	[ "$rc" -eq 0 ] || kill "$pid"
	wait "$pid" && return "$rc"
}

listening()
{
	on b ss -Hltn 'sport = :5201' | grep -q .
}

random_file big $((SIZE_MB * 1024 * 1024))
lab_up --clear
serve b
keep_busy &
busy=$!
between_before=$(counter b rx_data)
tap_run "ping, IPv4" pings 10.250.0.2
tap_run "ping, IPv6" pings fd00:250::2
tap_run "TCP, a to b" tcp 10.250.0.2
tap_run "TCP, b to a" tcp 10.250.0.2 -R
tap_run "TCP, IPv6" tcp fd00:250::2
: >"$SCRATCH/stop"
wait $busy
tap_is "$(cat "$SCRATCH/busy" 2>/dev/null)" "" "Falcon was unharmed too"
between $((between_before + 1)) "$(counter b rx_data)" 1000000000000 "and was busy"
tap_done
