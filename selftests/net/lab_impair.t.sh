#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Each impairment of the lab does what it says, seen by numbered packets: what the switch says it
# did to them is exactly what the receiver finds.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"

COUNT=4000
BYTES=1000

# Frames that interfaces have dropped because the machine was too busy: the ring of a veth holds 256.
overruns()
{
	local ns

	for ns in /run/netns/falcon-"$FALCON_LAB"-*; do
		ip -n "${ns##*/}" -s -j link
	done | jq -s '[.[][].stats64 | .rx.dropped + .tx.dropped] | add'
}

# send_volley COUNT GAP_US: packets from a to b; the receiver's report is in $report, and what the
# switch said before in $before.
send_volley()
{
	local pid

	before=$(falcon-lab status)
	rm -f "$SCRATCH/recv"
	falcon-lab exec b -- numbered recv 300 >"$SCRATCH/recv" &
	pid=$!
	tap_wait 20 grep -q ready "$SCRATCH/recv"
	on a numbered send 10.250.0.2 "$1" "$BYTES" "$2"
	kill -TERM "$pid"
	wait "$pid"
	report=$(tail -n 1 "$SCRATCH/recv")
	tap_note "$report"
}

# volley COUNT GAP_US: send_volley, again and slower if the machine did not keep up.
volley()
{
	local overruns gap=$2 try

	# The kernel drops what it cannot keep while it waits for the neighbour's address.
	on a ping -n -q -c 1 -w 10 10.250.0.2 >/dev/null
	for try in 1 2 3 4 5; do
		overruns=$(overruns)
		send_volley "$1" "$gap"
		[ "$(overruns)" -ne "$overruns" ] || return 0
		gap=$((gap * 2))
		tap_note "volley $try: interfaces dropped $(($(overruns) - overruns))"
	done
}

# got KEY: from the last report.
got()
{
	field "$report" ".$1"
}

# switched WORD: what a counter of the switch has gained in the last volley.
switched()
{
	local pick="s/^switch: .*$1 \([0-9]*\).*/\1/p"

	echo $(($(falcon-lab status | sed -n "$pick") - $(sed -n "$pick" <<<"$before")))
}

# linked KEY: what a counter of the emulator, all links together, has gained in the last volley.
linked()
{
	local sum="[.links[].$1] | add" pick='s/^links: //p'

	echo $(($(falcon-lab status | sed -n "$pick" | jq "$sum") -
		$(sed -n "$pick" <<<"$before" | jq "$sum")))
}

try_clean()
{
	lab_up --no-agents --hosts 3
	volley $COUNT 20
	tap_is "$(got distinct)" $COUNT "nothing is lost without impairments"
	tap_is "$(got reordered) $(got duplicates) $(got damaged) $(got marked)" "0 0 0 0" \
		"and nothing changed"
}

try_loss()
{
	lab_up --no-agents --loss 10
	volley $COUNT 20
	between 250 "$(switched lost)" 600 "loss: about 10 %"
	tap_is "$(($(got received) + $(switched lost)))" $COUNT "loss: what is missing was lost"
}

try_dup()
{
	lab_up --no-agents --dup 10
	volley $COUNT 20
	between 250 "$(got duplicates)" 600 "dup: about 10 %"
	tap_is "$(got duplicates) $(got distinct)" "$(switched duplicated) $COUNT" \
		"dup: what came twice was duplicated"
}

try_corrupt()
{
	lab_up --no-agents --corrupt 10
	volley $COUNT 20
	between 250 "$(switched corrupted)" 600 "corrupt: about 10 %"
	# A damaged header keeps the packet from arriving, or is of no consequence (TTL, port).
	between $(($(switched corrupted) * 8 / 10)) $((COUNT - $(got distinct))) \
		"$(switched corrupted)" "corrupt: what arrived damaged, or not at all, was corrupted"
	between 1 "$(got damaged)" "$(switched corrupted)" "corrupt: payload bytes among them"
}

try_ecn()
{
	lab_up --no-agents --ecn 10
	volley $COUNT 20
	between 250 "$(got marked)" 600 "ecn: about 10 %"
	tap_is "$(got marked) $(got distinct)" "$(switched marked) $COUNT" \
		"ecn: what carries CE was marked, and its IP checksum is right"
}

rtt_min()
{
	on a ping -n -q -c 5 -i 0.05 "$1" | sed -n 's/^rtt [^=]*= \([0-9]*\).*/\1/p'
}

try_delay()
{
	lab_up --no-agents --delay 20ms --emulator "$1"
	between 40 "$(rtt_min 10.250.0.2)" 1000 "$1: delay counts both ways"
	between 40 "$(rtt_min fd00:250::2)" 1000 "$1: with IPv6 too"
	volley 1000 50
	tap_is "$(got distinct) $(got reordered)" "1000 0" "$1: a delayed link keeps all, in order"
}

try_reorder()
{
	lab_up --no-agents --delay 5ms --reorder 10 --emulator "$1"
	volley $COUNT 50
	tap_is "$(got distinct)" $COUNT "$1: a reordering link keeps all"
	between 250 "$(got reordered)" $COUNT "$1: packets overtake"
	lab_up --no-agents --delay 5ms --dup 10 --emulator "$1"
	volley $COUNT 50
	between 250 "$(got duplicates)" 600 "$1: packets are duplicated"
}

try_rate()
{
	lab_up --no-agents --rate 20mbit --emulator "$1"
	volley 400 50
	# 400 packets of 1042 bytes take 166 ms; the first is through when the clock starts.
	between 160000 "$(got us)" 10000000 "$1: no faster than the rate"
	tap_is "$(got distinct)" 400 "$1: what fits into the queue is kept"
	lab_up --no-agents --rate 20mbit --queue 64k --emulator "$1"
	volley 400 50
	between 60 "$(got distinct)" 300 "$1: what does not fit is dropped"
}

try_own()
{
	# Some of the dropped may have been multicast of the hosts' own.
	between 400 "$(($(linked dropped) + $(got distinct)))" 404 "own: and is counted"
	lab_up --no-agents --rate 20mbit --ecn 32k --emulator own
	volley 400 50
	between 100 "$(got marked)" 380 "own: packets behind a long queue are marked"
	tap_is "$(got marked) $(got distinct)" "$(linked marked) 400" "own: and counted"
	lab_up --no-agents --delay 2ms --jitter 2ms
	volley 1000 50
	between 1 "$(got reordered)" 1000 "jitter makes packets overtake"
	lab_up --no-agents --paths 4
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
		on a numbered send 10.250.0.2 1 100 0
	done
	between 2 "$(falcon-lab status | sed -n 's/^links: //p' |
		jq '[.links[] | select(.to == 2 and .sent > 0)] | length')" 4 "flows spread over paths"
	lab_up --no-agents --hosts 4 --delay 1ms
	tap_run "four hosts reach each other through the emulator" \
		on d ping -n -q -c 2 -i 0.1 -w 10 10.250.0.3
}

tap_need ping numbered
try_clean
try_loss
try_dup
try_corrupt
try_ecn
for kind in netem own; do
	if [ $kind = netem ] && ! falcon-lab up --no-agents --emulator netem 2>"$SCRATCH/why"; then
		tap_skip "netem" "$(tail -n 1 "$SCRATCH/why")"
		continue
	fi
	try_delay $kind
	try_reorder $kind
	try_rate $kind
done
try_own
tap_done
