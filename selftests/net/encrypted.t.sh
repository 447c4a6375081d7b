#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Encrypted connections: files arrive as they were, nothing of them is readable on the way, keys are
# rotated under them without a packet refused, and ends that disagree stay apart.
# shellcheck source=selftests/net/secure.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/secure.sh"

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
disagree z 106 security=psp security=esp-aes-gcm-128 "security"
agree esp128 107 security=esp-aes-gcm-128
agree esp256 108 security=esp-aes-gcm-256
agree esptunnel 109 "security=esp-aes-gcm-128 mode=tunnel"
tap_is "$(refusals)" "0 0 0 0" "nothing was refused"
tap_done
