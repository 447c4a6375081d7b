#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Encrypted connections: files arrive as they were, nothing of them is readable on the way, keys are
# rotated under them without a packet refused, and ends that disagree stay apart.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-psp jq tcpdump

PLAIN='falcon-known-plaintext!'
CAPTURES=()

# capture HOST: what enters the middle from HOST, in $SCRATCH/HOST.pcap.
capture()
{
	nsenter --net="/run/netns/falcon-$FALCON_LAB-net" tcpdump -i "to-$1" -Q in -U -s 0 -Z root \
		--immediate-mode -w "$SCRATCH/$1.pcap" 'udp port 1000 or udp port 9' \
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

refusals()
{
	echo "$(counter a 'drop_.*') $(counter a 'drop_.*' agent) $(counter b 'drop_.*')" \
		"$(counter b 'drop_.*' agent)"
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

# add HOST NAME SELF PEER LOCAL_CID REMOTE_CID KEY=VALUE...
add()
{
	on "$1" falconctl conn add "$2" "local=10.250.0.$3" "remote=10.250.0.$4" "local_cid=$5" \
		"remote_cid=$6" "${@:7}"
}

is_up()
{
	on "$1" falconctl -j conn show "$2" | jq -e '.[0].up' >/dev/null
}

says()
{
	on "$1" falconctl -j conn show "$2" | jq -r '.[0].reason' | grep -q "$3"
}

# disagree NAME CID A-KEYS B-KEYS REASON: such a connection does not come up, and says why.
disagree()
{
	# shellcheck disable=SC2086 # several keys
	{
		add a "$1" 1 2 "$2" "$2" $3
		add b "$1" 2 1 "$2" "$2" $4
	}
	tap_run "$3 against $4 stays down" tap_wait 15 says a "$1" "$5"
	if is_up a "$1" || is_up b "$1"; then
		tap_not_ok "$3 against $4: it is up"
	fi
	on a falconctl conn del "$1"
	on b falconctl conn del "$1"
}

# agree NAME CID KEYS: such a connection comes up, and carries a file.
agree()
{
	local a=$3 b=$3

	case $3 in
	*tunnel*)
		a+=" inner_local=192.168.1.1 inner_remote=192.168.2.2"
		b+=" inner_local=192.168.2.2 inner_remote=192.168.1.1"
		;;
	esac
	# shellcheck disable=SC2086 # several keys
	{
		add a "$1" 1 2 "$2" "$2" $a
		add b "$1" 2 1 "$2" "$2" $b
	}
	tap_wait 15 is_up a "$1"
	tap_wait 15 is_up b "$1"
	tap_run "$3: a file goes from a to b" put a "$1" b known
}

yes "$PLAIN" | head -c 1000000 >"$SCRATCH/known"
random_file big $((SIZE_MB / 4 * 1024 * 1024 + 17))
random_file big2 $((SIZE_MB / 4 * 1024 * 1024 + 5))

try_capture yes --clear
try_capture no --set key_export=on

lab_up --set pcid=on
tap_is "$(on a falconctl key export 2>&1)" \
	"falconctl: keys stay here; see key_export in falcon.conf(5)" "keys are not told by default"
serve a
serve b
try_rotation
disagree x 100 security=psp security=clear "security"
disagree y 101 security=psp-aes-gcm-256 security=psp-aes-gcm-128 "security is\|could not set"
agree gcm256 102 security=psp-aes-gcm-256
agree gmac128 103 security=psp-gmac-128
agree gmac256 104 security=psp-gmac-256
agree tunnel 105 "security=psp mode=tunnel"
tap_is "$(refusals)" "0 0 0 0" "nothing was refused"
tap_done
