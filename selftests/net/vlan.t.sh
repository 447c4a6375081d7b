#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# The hosts' addresses move onto VLANs while their connections are up: packets have the tags then, one or
# two, and no packet goes without.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

MTU=1500

host_ip()
{
	ip -n "falcon-$FALCON_LAB-$1" "${@:2}"
}

# move HOST NUMBER FROM TO: its addresses, from one interface to another.
move()
{
	host_ip "$1" address flush dev "$3" scope global
	host_ip "$1" address add "10.250.0.$2/24" dev "$4"
	host_ip "$1" address add "fd00:250::$2/64" dev "$4" nodad
}

# make_vlan HOST LOWER NAME MTU TYPE...
make_vlan()
{
	host_ip "$1" link add link "$2" name "$3" mtu "$4" type vlan "${@:5}" && host_ip "$1" link set "$3" up
}

# A device takes one tag more than its MTU, and not two.
make_vlans()
{
	local host

	for host in a b; do
		make_vlan "$host" eth0 eth0.100 $MTU id 100 &&
			make_vlan "$host" eth0 outer $MTU proto 802.1ad id 7 &&
			make_vlan "$host" outer inner $((MTU - 4)) id 200 egress-qos-map 0:3 || return
	done
}

mtu_is()
{
	on a falconctl -j conn show b | jq -e --argjson mtu "$1" '.[0].mtu == $mtu'
}

# move_both FROM TO
move_both()
{
	move a 1 "$1" "$2"
	move b 2 "$1" "$2"
}

# switched: frames that the switch has seen, and how many of them were tagged, at one time.
switched()
{
	falcon-lab status | sed -n 's/^switch:.*received \([0-9]*\).*tagged \([0-9]*\).*/\1 \2/p'
}

# is_up CONNECTION: says host a.
is_up()
{
	on a falconctl -j conn show "$1" | jq -e '.[0].state == "up"'
}

# The first copy waits for what the kernel takes to find its neighbours.
copies()
{
	tap_wait 20 is_up b && tap_wait 20 is_up b6 && put a b b big && get a b b big && put a b6 b big
}

# all_tagged NAME: while files are copied, what the switch forwards is tagged.
all_tagged()
{
	local tagged received before tagged_before

	tap_run "$1: copies" copies
	read -r before tagged_before < <(switched)
	copies >/dev/null
	read -r received tagged < <(switched)
	tagged=$((tagged - tagged_before)) received=$((received - before))
	between $((SIZE_MB * 1000000 / MTU)) "$tagged" "$received" "$1: packets are tagged"
	# Of the hosts' interfaces themselves there may be something, such as of IPv6's discovery.
	between 0 $((received - tagged)) 20 "$1: none of Falcon's is without"
}

lab_up --emulator switch --mtu $MTU
host_ip a link add link eth0 name probe type vlan id 2 2>/dev/null ||
	tap_skip_all "this kernel has no VLANs (8021q)"
host_ip a link del probe
serve b
random_file big $((SIZE_MB * 1000000))
tap_run "without VLANs" copies
tap_run "VLANs, and one in another" make_vlans
setups=$(on a falconctl -j conn show b | jq '.[0].setups')
move_both eth0 eth0.100
all_tagged "one tag"
move_both eth0.100 inner
all_tagged "two tags"
tap_run "the VLAN's MTU is the connection's" mtu_is $((MTU - 4))
move_both inner eth0
tap_run "without VLANs again" copies
tap_run "the port's MTU is the connection's" tap_wait 20 mtu_is $MTU
tap_is "$(on a falconctl -j conn show b | jq '.[0].setups')" "$setups" "it was one connection all the time"
tap_done
