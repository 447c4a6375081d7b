# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the tests of encrypted connections share: captures searched for known text, rotation of keys
# under load.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-psp jq tcpdump

PLAIN='falcon-known-plaintext!'
CAPTURES=()

# capture HOST: what enters the middle from HOST, in $SCRATCH/HOST.pcap.
capture()
{
	nsenter --net="/run/netns/falcon-$FALCON_LAB-net" tcpdump -i "to-$1" -Q in -U -s 0 -Z root \
		--immediate-mode -w "$SCRATCH/$1.pcap" 'udp port 1000 or udp port 4500 or udp port 9' \
		2>"$SCRATCH/capture.$1" &
	CAPTURES+=($!)
	tap_wait 10 grep -q 'listening on' "$SCRATCH/capture.$1"
}

# An end mark, which says that the capture has caught up.
caught_up()
{
	on "$1" bash -c "echo end-of-capture >/dev/udp/$2/9"
	grep -q end-of-capture "$SCRATCH/$1.pcap"
}

# readable FILE: lines of it that hold the known text.
readable()
{
	grep -c -a -F "$PLAIN" "$SCRATCH/$1"
}

# With the keys, asked for on both hosts, a capture can be read; without, falcon-psp says so.
try_keys()
{
	on a falconctl key export >"$SCRATCH/keys.b"
	tap_run "another host's keys do not open it" psp_decrypts 0 "$SCRATCH/keys.b"
	on b falconctl key export >>"$SCRATCH/keys.b"
	tap_run "the receiver's do" psp_decrypts "[1-9][0-9]*" "$SCRATCH/keys.b"
	between 1 "$(readable clear.pcap)" 1000000000 "and the text can be read then"
	tap_is "$(grep -c 'KEYS EXPORTED' "/run/falcon-$FALCON_LAB/b/falcond.log")" 1 "the log says so"
}

# psp_decrypts NUMBER KEYS: falcon-psp opens so many packets of the capture.
psp_decrypts()
{
	falcon-psp --decrypt "$SCRATCH/a.pcap" --keys "$2" "$SCRATCH/clear.pcap" |
		grep -q " packets, $1 decrypted, "
}

# What a capture of a copy shows; with --clear it has to be found, or the search is of no use.
try_capture()
{
	local want=$1

	shift
	lab_up "$@" --delay 10us --io packet
	serve b
	capture a
	tap_run "a file goes from a to b, ${*:-encrypted}" put a b b known
	tap_wait 20 caught_up a 10.250.0.2
	kill -INT "${CAPTURES[@]}"
	wait "${CAPTURES[@]}"
	CAPTURES=()
	if [ "$want" = yes ]; then
		between 1 "$(readable a.pcap)" 1000000000 "its text can be read in a capture"
	else
		tap_is "$(readable a.pcap)" 0 "none of its text can be read in a capture"
		try_keys
	fi
	stop_serving
}

# refusals: packets that were dropped, or that had an SPI of ESP that is nobody's, on a and on b, by XDP
# and by the agent.
refusals()
{
	local why='drop_.*|pass_spi'

	echo "$(counter a "$why") $(counter a "$why" agent) $(counter b "$why")" \
		"$(counter b "$why" agent)"
}

setups()
{
	on a falconctl -j conn show | jq -c '[.[].setups]'
}

# rotate HOST: as soon as the last rotation is over.
rotate()
{
	on "$1" falconctl key rotate 2>/dev/null
}

rotations()
{
	counter "$1" key_rotations agent
}

rotated()
{
	[ "$(rotations a)" -ge "$1" ] && [ "$(rotations b)" -ge "$1" ]
}

# Copies both ways at once, while both hosts replace their keys as often as they can.
try_rotation()
{
	local turns=0 first second

	put a b b big &
	first=$!
	put b a-unordered a big2 &
	second=$!
	while kill -0 $first 2>/dev/null || kill -0 $second 2>/dev/null || [ $turns -lt 10 ]; do
		tap_wait 10 rotate a && tap_wait 10 rotate b && turns=$((turns + 1))
	done
	tap_run "a file goes from a to b meanwhile" wait $first
	tap_run "and another from b to a" wait $second
	tap_note "$turns rotations of each host"
	tap_run "all rotations end" tap_wait 10 rotated "$turns"
	tap_is "$(refusals)" "0 0 0 0" "not one packet was refused"
	tap_is "$(setups)" "[1,1,1]" "no connection was set up anew"
	tap_is "$(on a falconctl -j key show b | jq '.[0].spi == .[0].prev_spi')" true \
		"no old SPI is left"
}

yes "$PLAIN" | head -c 1000000 >"$SCRATCH/known"
random_file big $((SIZE_MB / 2 * 1024 * 1024 + 17))
random_file big2 $((SIZE_MB / 2 * 1024 * 1024 + 5))
