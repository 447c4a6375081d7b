#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# The same protocol with the receive path wholly in the agent, with XDP in generic mode, and with
# libxdp: transfers arrive, and the counters show who did the work.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

SIZE_MB=$((SIZE_MB / 2 + 1))
random_file big $((SIZE_MB * 1024 * 1024 + 17))

# transfers NAME: both ways, in the lab as it is.
transfers()
{
	serve b
	tap_run "$1: a to b" put a b b big
	tap_run "$1: b to a, IPv6" get a b6 b big
	stop_serving
}

lab_up --clear --offload off
transfers "offload off"
between 1 "$(counter b steered)" 1000000000 "offload off: XDP steers"
tap_is "$(counter b rx_data) $(counter a ack_consumed)" "0 0" "offload off: and accepts nothing itself"

lab_up --clear --offload off --loss 1
transfers "offload off, 1 % loss"

lab_up --clear --xdp generic
transfers "generic mode"
between 1 "$(counter b rx_data)" 1000000000 "generic mode: XDP accepts"

if falcon-lab up --clear --xdp libxdp >"$SCRATCH/up" 2>&1; then
	transfers "libxdp"
else
	tap_not_ok "libxdp" "$(cat "$SCRATCH/up")"
fi

lab_up --clear --hosts 3 --queues 4
transfers "three hosts, four queues"
tap_done
