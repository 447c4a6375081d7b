#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
# The dissector on traffic of our own: files are copied both ways between two hosts of a lab that
# loses packets, everything that passes the middle is captured, and tshark must understand it all.
#
#	a ==== to-a  net  to-b ==== b        captured: what enters to-a, what enters to-b
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/dissector/shark.sh
. "$(dirname "$0")/shark.sh"
tap_need_root
tap_need tshark tcpdump mergecap

export FALCON_LAB=live$$
LAB=$TAP_BUILD/falcon-lab
NET=falcon-$FALCON_LAB-net
TMP=$(mktemp -d)
captures=() server=
shark_scripts falcon.lua
SHARK+=(-r "$TMP/all.pcap")

cleanup()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null
	for p in "${captures[@]}"; do
		kill "$p" 2>/dev/null
	done
	wait
	"$LAB" down >/dev/null 2>&1
	rm -rf "$TMP"
}
trap cleanup EXIT

capture()
{
	# tcpdump stays root (-Z): the directory is root's alone.
	nsenter --net="/run/netns/$NET" tcpdump -i "to-$1" -Q in -U -s 0 -Z root \
		--immediate-mode -w "$TMP/$1.pcap" 'udp port 1000 or udp port 9' 2>"$TMP/$1.log" &
	captures+=($!)
	tap_wait 10 grep -q 'listening on' "$TMP/$1.log"
}

# marked HOST ADDRESS: send an end mark and look whether it has been captured.
marked()
{
	"$LAB" exec "$1" -- bash -c "echo end-of-capture >/dev/udp/$2/9"
	grep -q end-of-capture "$TMP/$1.pcap"
}

# tcpdump forgets what it has not read when it is told to stop: first see the end mark arrive.
stop_captures()
{
	tap_wait 20 marked a 10.250.0.2
	tap_wait 20 marked b 10.250.0.1
	kill -INT "${captures[@]}"
	wait "${captures[@]}"
	captures=()
	mergecap -w "$TMP/all.pcap" "$TMP/a.pcap" "$TMP/b.pcap"
}

copy()
{
	timeout 60 "$LAB" exec a -- falcon-cp "$@"
}

served()
{
	copy "$TMP/small" b:probe
}

# count FILTER: packets that match.
count()
{
	shark -Y "$1" -T fields -e frame.number | wc -l
}

# seen NAME FILTER
seen()
{
	local n

	n=$(count "$2")
	if [ "$n" -gt 0 ]; then
		tap_ok "$1 seen ($n)"
	else
		tap_not_ok "$1 seen"
	fi
}

# ports ADDRESS FILTER: UDP source ports, which are flow and path, of that host's packets.
ports()
{
	shark -Y "ip.src == $1 && ($2)" -T fields -e udp.srcport | sort -u
}

# acks_go_back FROM TO: each ACK and NACK of FROM has a port of a packet of TO's, so that it takes its way.
acks_go_back()
{
	local acks

	acks=$(ports "$1" "falcon.type >= 8 && falcon.type <= 10")
	[ -n "$acks" ] &&
		[ -z "$(comm -23 <(echo "$acks") <(ports "$2" "falcon.type < 8"))" ]
}

out=$("$LAB" up --clear --delay 100us --loss 2 --io packet 2>&1) || {
	tap_not_ok "the lab comes up" "$out"
	tap_done
}
mkdir "$TMP/dir"
echo small >"$TMP/small"
head -c 1000000 /dev/urandom >"$TMP/file"
capture a
capture b
"$LAB" exec b -- falcon-cp --serve "$TMP/dir" >"$TMP/serve.log" 2>&1 &
server=$!
tap_wait 20 served
tap_run "a file goes from a to b" copy "$TMP/file" b:file
tap_run "and back" copy b:file "$TMP/back"
tap_run "unchanged" cmp "$TMP/file" "$TMP/back"
stop_captures
tap_note "$(capinfos -c "$TMP/all.pcap" 2>/dev/null | tail -n 1)"
tap_is "$(count 'udp.dstport == 1000 && !falcon')" 0 "every packet is Falcon"
tap_is "$(count '_ws.malformed')" 0 "no malformed packet"
tap_is "$(count 'falcon.reserved_code || falcon.reserved_set || falcon_psp.no_checksum')" 0 \
	"nothing reserved, nothing without checksum"
tap_run "ACKs of b take the ways of a's packets" acks_go_back 10.250.0.2 10.250.0.1
tap_run "ACKs of a take the ways of b's packets" acks_go_back 10.250.0.1 10.250.0.2
seen "Pull Request" "falcon.type == 0"
seen "Pull Data" "falcon.type == 3"
seen "Push Data" "falcon.type == 5"
seen "BACK" "falcon.type == 9"
seen "EACK" "falcon.type == 10"
seen "raw PUT" "falcon_raw.op == 1"
seen "raw GET" "falcon_raw.op == 2"
tap_done
