#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Connections in ESP: nothing of what they carry is readable on the way, keys are rotated under them
# while packets are lost, damage is noticed, others' ESP passes, and a restart starts anew.
# shellcheck source=selftests/net/secure.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/secure.sh"

# What stands in falcon_sadb of host b: SPIs, in decimal.
sadb()
{
	on b bpftool -j map dump pinned /sys/fs/bpf/tc/globals/falcon_sadb |
		jq -r '[.[].formatted.key] | sort | join(" ")'
}

# The SPIs that b's connections receive under.
spis()
{
	on b falconctl -j key show | jq -r '[.[] | .spi, .prev_spi] | unique | join(" ")'
}

in_sadb()
{
	[ "$(sadb)" = "$(spis)" ]
}

# ports FILE: of the UDP packets in the capture that carry connections.
ports()
{
	tcpdump -nr "$SCRATCH/$1" 'udp and not port 9' 2>/dev/null | grep -oE '> [^ ]+\.[0-9]+:' |
		sed 's/.*\.//; s/://' | sort -u | tr '\n' ' '
}

# stray: an ESP packet of an SPI that is nobody's, from a to b.
stray()
{
	on a bash -c "printf '\xca\xfe\xba\xbe%0100d' 0 >/dev/udp/10.250.0.2/4500"
	[ "$(counter b pass_spi)" -ge 1 ]
}

all_up()
{
	on a falconctl -j conn show | jq -e 'all(.[]; .up)' >/dev/null &&
		on b falconctl -j conn show | jq -e 'all(.[]; .up)' >/dev/null
}

try_capture no --security esp-aes-gcm-128 --set key_export=on
tap_is "$(ports a.pcap)" "4500 " "all packets are ESP in UDP"

lab_up --security esp-aes-gcm-256 --set pcid=on --loss 1
serve a
serve b
try_rotation
tap_run "falcon_sadb has the SPIs in use, and no others" in_sadb
tap_run "others' ESP is left to the kernel" tap_wait 5 stray
stop_serving

lab_up --security esp-aes-gcm-128 --loss 1 --corrupt 1 --reorder 1
serve b
tap_run "over loss, damage and reordering: a to b" put a b b known
tap_run "and over IPv6" put a b6 b known
between 1 "$(counter b drop_auth agent)" 1000000000 "damaged packets are refused"
stop_serving

lab_up --security esp-aes-gcm-256
tap_wait 20 all_up
falcon-lab agent b kill
tap_run "an agent that was killed starts again" falcon-lab agent b start
tap_run "and all connections come up" tap_wait 30 all_up
tap_run "falcon_sadb has forgotten what there was" in_sadb
serve b
tap_run "and carry files" put a b b known
tap_done
