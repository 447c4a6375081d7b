#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Each impairment of the lab does what it says, seen by numbered packets: what the switch or
# falcon-wire says it did to them is exactly what the receiver finds.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"

COUNT=4000
BYTES=1000
declare -A NUMBER=([a]=1 [b]=2 [c]=3 [d]=4)	# of the hosts' addresses

# Frames that interfaces have dropped because the machine was too busy: the ring of a veth holds 256.
overruns()
{
	local ns

	for ns in /run/netns/falcon-"$FALCON_LAB"-*; do
		ip -n "${ns##*/}" -s -j link
	done | jq -s '[.[][].stats64 | .rx.dropped + .tx.dropped] | add'
}

# silence HOST TO: of its own accord the host says nothing from here on, no multicast of IPv6, no ARP, so
# that what the links count is what the test sends; and nothing of what it said waits on the way to TO.
silence()
{
	local to=${NUMBER[$2]}

	on "$1" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6'
	on "$1" ip neighbour replace "10.250.0.$to" lladdr "02:fa:00:00:00:0$to" dev eth0 nud permanent
	# Links that keep the order bring the answer after all else.
	on "$1" ping -n -q -c 1 -w 10 "10.250.0.$to" >/dev/null
}

# send_volley COUNT GAP_US: packets from a to b; the receiver's report is in $report, and what the
# switch said before in $before.
send_volley()
{
	local pid

	before=$(falcon-lab status)
	rm -f "$SCRATCH/recv"
	behind b numbered recv 300 >"$SCRATCH/recv"
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

	silence b a
	silence a b
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

# linked KEY: what a counter of falcon-wire says, all links together.
linked()
{
	falcon-lab links -j | jq "[.links[].$1] | add"
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
	lab_up --no-agents --xdp off --delay 20ms
	between 40 "$(rtt_min 10.250.0.2)" 1000 "delay counts both ways"
	between 40 "$(rtt_min fd00:250::2)" 1000 "with IPv6 too"
	volley 1000 50
	tap_is "$(got distinct) $(got reordered)" "1000 0" "a delayed link keeps all, in order"
}

try_reorder()
{
	lab_up --no-agents --xdp off --delay 5ms --reorder 10 --dup 10
	volley $COUNT 50
	tap_is "$(got distinct)" $COUNT "a reordering link keeps all"
	between 250 "$(got reordered)" $COUNT "packets overtake"
	between 250 "$(got duplicates)" 600 "packets are duplicated"
	lab_up --no-agents --xdp off --delay 2ms --jitter 2ms
	volley 1000 50
	between 1 "$(got reordered)" 1000 "jitter makes packets overtake"
}

try_rate()
{
	lab_up --no-agents --xdp off --rate 20mbit
	volley 400 50
	# 400 packets of 1042 bytes take 166 ms, but a receiver that gets the CPU late sees the first of them
	# late: half of that, four times what the sender takes. unit/emulator_link has the rate exactly.
	between 83000 "$(got us)" 10000000 "slowed down to the rate"
	tap_is "$(got distinct)" 400 "what fits into the queue is kept"
	lab_up --no-agents --xdp off --rate 20mbit --queue 64k
	volley 400 50
	between 60 "$(got distinct)" 300 "what does not fit is dropped"
	tap_is "$(linked dropped.queue)" "$((400 - $(got distinct)))" "and is counted"
	lab_up --no-agents --xdp off --rate 20mbit --ecn 32k
	volley 400 50
	between 100 "$(got marked)" 380 "packets behind a long queue are marked"
	tap_is "$(got marked) $(got distinct)" "$(linked marked) 400" "and counted"
}

# Three senders, one receiver: they share one queue, and what is dropped there is dropped of all.
try_bottleneck()
{
	local pid host senders=()

	lab_up --no-agents --xdp off --hosts 4 --rate 50mbit --queue 100p
	for host in b c d; do
		silence a $host
		silence $host a
	done
	falcon-lab links --reset
	behind a numbered recv 300 >"$SCRATCH/recv"
	pid=$!
	tap_wait 20 grep -q ready "$SCRATCH/recv"
	for host in b c d; do
		behind $host numbered send 10.250.0.1 400 1000 100 $((5000 + ${#senders[@]})) \
			$((10000 * ${#senders[@]}))
		senders+=($!)
	done
	wait "${senders[@]}"
	kill -TERM $pid
	wait $pid
	report=$(tail -n 1 "$SCRATCH/recv")
	tap_note "$report"
	tap_is "$(field "$report" '.ports | length')" 3 "three senders get through one bottleneck"
	tap_is "$(($(linked dropped.queue) + $(got received)))" 1200 "what does not arrive, its queue drops"
	tap_is "$(falcon-lab links -j | jq -r '.links[] | select(.queue_bytes.max_packets > 50).to')" \
		to-a "which is the only one that fills"
	between 15000 "$(falcon-lab links -j | jq '.links[] | select(.to == "to-a").wait_us.max | floor')" \
		16700 "a hundred packets wait for 16.7 ms"
}

tap_need ping numbered
try_clean
try_loss
try_dup
try_corrupt
try_ecn
try_delay
try_reorder
try_rate
try_bottleneck
tap_done
