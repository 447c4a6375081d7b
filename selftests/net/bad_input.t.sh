#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Forged, damaged, replayed and misdirected packets end under the counter of their reason, change no
# state, and leave the connection working.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp inject bpftool jq

# forge KEY=VALUE...: from a to b, right for connection "a" of host b unless said otherwise.
forge()
{
	on a inject eth0 dmac=02:fa:00:00:00:02 saddr=10.250.0.1 daddr=10.250.0.2 "${right[@]}" "$@"
}

# What no refused packet may change.
state()
{
	conn_state b a | jq -cS '{id, rx, rx_acked, tx_acked}'
}

# refused COUNTER WHAT KEY=VALUE...
refused()
{
	local name=$1 what=$2 before=$state count

	shift 2
	count=$(counter b "$name")
	forge count=3 "$@"
	tap_wait 10 eval "[ \$(counter b $name) -ge $((count + 3)) ]"
	tap_is "$(counter b "$name")" $((count + 3)) "$what: counted as $name"
	tap_is "$(state)" "$before" "$what: no state changes"
}

# answered COUNTER WHAT KEY=VALUE...: counted, and answered by XDP.
answered()
{
	local name=$1 what=$2 count tx

	shift 2
	count=$(counter b "$name")
	tx=$(counter b xdp_tx)
	forge count=3 "$@"
	tap_wait 10 eval "[ \$(counter b $name) -ge $((count + 3)) ]"
	tap_is "$(counter b "$name") $(counter b xdp_tx)" "$((count + 3)) $((tx + 3))" \
		"$what: counted as $name, answered by XDP_TX"
	tap_note "dropped so far: $(drops b)"
}

# ACKs that host b has sent to a: turned round by XDP, or the agent's own.
acks_sent()
{
	on b falconctl -j conn show a | jq ".[0].tx_acks + $(counter b xdp_tx)"
}

# A short frame, an EACK that is longer: whether it fits is the driver's affair. Who answers is not.
answered_by_somebody()
{
	local seen='oow_acked|drop_no_room' count acks

	count=$(counter b "$seen")
	acks=$(acks_sent)
	forge count=3 payload=0 "$@"
	tap_wait 10 eval "[ \$(counter b '$seen') -ge $((count + 3)) ]"
	tap_wait 10 eval "[ \$(acks_sent) -gt $acks ]"
	between $((acks + 1)) "$(acks_sent)" $((acks + 3)) \
		"beyond the window, no room for an EACK: answered all the same"
	tap_note "no room: $(counter b drop_no_room)"
}

lab_up --clear
serve b
random_file small 300000
tap_run "a copy before" put a b b small

state=$(state)
value()
{
	jq -r "$1" <<<"$state"
}
base=$(value .rx_acked.data_base)
iv=$(value .rx.remote_time)
right=("spi=$(value ".id | .. | objects | .cur_spi // empty")" "cid=$(value .id.cid)" "iv=$iv" "psn=$base"
	"rdbpsn=$(value .tx_acked.data_base)" "rrbpsn=$(value .tx_acked.req_base)")
tap_note "${right[*]}"

refused drop_cid "unknown CID" cid=4000
refused drop_cid "CID beyond the table" cid=16000000
refused drop_function "another function" function=5
refused drop_spi "wrong SPI" spi=1
refused drop_replay "replay" iv=$((iv - 60 * 1000000000000))
refused drop_address "wrong source" saddr=10.250.0.77
refused drop_psp_version "encrypted packet on a clear connection" psp=1
refused drop_version "Falcon version 2" version=2
refused drop_type "reserved packet type" type=15
refused drop_code "reserved Resync code" type=6 code=9 payload=0
refused drop_length "Request Length contradicts the payload" request_len=99
refused drop_csum "damaged checksum" sum=1
refused drop_ip_csum "damaged IP header checksum" ip_sum=1
refused drop_ip_length "cut short" cut=5
refused drop_udp_length "UDP length contradicts IP" udp_short=3
answered old_acked "below the window" psn=$(((base - 10) & 0xffffffff))
answered oow_acked "beyond the window" payload=200 psn=$(((base + 500) & 0xffffffff))
answered_by_somebody psn=$(((base + 500) & 0xffffffff))
tap_run "a copy after" put a b b small
tap_run "and back" get a b b small
tap_done
