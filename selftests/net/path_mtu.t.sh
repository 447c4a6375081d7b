#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# Something between two hosts carries less than their links, and says nothing of what it drops: what
# connections find it to carry, each way, and that data arrive. And links whose MTU changes under them.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

# The switch forwards frames of at most 4 bytes, a VLAN tag, more than an interface's MTU.
forward_at_most()
{
	ip -n "falcon-$FALCON_LAB-net" link set "to-$1" mtu "$(($2 - 4))"
}

mtu_is()
{
	local host=$1 conn=$2 mtu=$3

	on "$host" falconctl -j conn show "$conn" |
		jq -e --argjson mtu "$mtu" '.[0] | .state == "up" and .mtu == $mtu'
}

# settles_at MTU CONNECTION NAME: after a reset, at both ends.
settles_at()
{
	local conn=$2 other=a${2#b}

	on a falconctl conn reset "$conn" >/dev/null
	if tap_wait 20 mtu_is a "$conn" "$1" && tap_wait 20 mtu_is b "$other" "$1"; then
		tap_ok "$3"
	else
		tap_not_ok "$3" "$(on a falconctl conn show; on b falconctl conn show)"
	fi
}

setups()
{
	on "$1" falconctl -j conn show "$2" | jq '.[0].setups'
}

# link_becomes HOST MTU NAME: both ends of connection b, which was not set up since there were $before setups.
link_becomes()
{
	ip -n "falcon-$FALCON_LAB-$1" link set eth0 mtu "$2"
	if tap_wait 20 mtu_is a b "$2" && tap_wait 20 mtu_is b a "$2" && [ "$(setups a b)" = "$before" ]; then
		tap_ok "$3"
	else
		tap_not_ok "$3" "$(on a falconctl -j conn show b; on b falconctl -j conn show a)"
	fi
}

links_change()
{
	before=$(setups a b)
	link_becomes a 1420 "$security: our link shrinks under the connection"
	tap_run "$security: copies in smaller packets" put a b b big
	tap_run "$security: and back" get a b b big
	link_becomes a 1500 "$security: and grows"
	link_becomes b 1420 "$security: the peer's link shrinks"
	tap_run "$security: copies in smaller packets" get a b b big
	link_becomes b 1500 "$security: and grows"
	tap_run "$security: copies in larger packets" put a b b big
}

# What is under way when the path shrinks is lost with the connection.
copy_that_may_fail()
{
	on a falcon-cp "$SCRATCH/big" b:lost >/dev/null 2>&1 || true
}

random_file big $((4 * 1024 * 1024 + 17))
for security in clear psp; do
	lab_up --security $security --emulator switch
	serve a
	serve b
	settles_at 1500 b "$security: the links' MTU"
	forward_at_most b 1450
	settles_at 1450 b "$security: a hop to b carries less"
	settles_at 1450 b6 "$security: over IPv6, too"
	tap_run "$security: copies through it to b" put a b b big
	tap_run "$security: copies through it from b" get a b b big
	forward_at_most a 1400
	settles_at 1400 b "$security: a hop back carries still less"
	tap_run "$security: copies from b whose data take that" get a b b big
	forward_at_most b 1380
	copy_that_may_fail
	if tap_wait 20 mtu_is a b 1380; then
		tap_ok "$security: shrinks while the connection is up"
	else
		tap_not_ok "$security: shrinks while the connection is up" "$(on a falconctl conn show)"
	fi
	tap_run "$security: copies through it" put a b b big
	forward_at_most a 1500
	forward_at_most b 1500
	settles_at 1500 b "$security: the path is whole again"
	tap_run "$security: copies through it" put a b b big
	[ $security = psp ] && [ -z "${FALCON_TEST_FULL:-}" ] || links_change
	stop_serving
done
tap_done
