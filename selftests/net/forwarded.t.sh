#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# A host that forwards packets, or has a bridge, forwards Falcon between other hosts, too. What is for the
# host itself is judged, and dropped if it is of no connection.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl inject jq

PACKETS=20

# Host a forwards between its link to b and a stub, in which nobody takes what is sent there.
router_up()
{
	local mac=02:00:00:00:00:99

	lab_up --clear
	on a sysctl -qw net.ipv4.conf.all.forwarding=1 net.ipv6.conf.all.forwarding=1
	on a ip link add stub0 type veth peer name stub1
	on a ip link set stub0 up
	on a ip link set stub1 up
	on a ip addr add 10.251.0.1/24 dev stub0
	on a ip addr add fd00:251::1/64 dev stub0 nodad
	on a ip neigh add 10.251.0.2 lladdr "$mac" dev stub0
	on a ip neigh add fd00:251::2 lladdr "$mac" dev stub0
	on b ip route add 10.251.0.0/24 via 10.250.0.1
	on b ip route add fd00:251::/64 via fd00:250::1
}

# forge SOURCE DESTINATION: PACKETS from b of a connection that a has not, for a to forward or to take.
forge()
{
	on b inject eth0 "dmac=$MAC" "saddr=$1" "daddr=$2" cid=77 "count=$PACKETS"
}

forwarded4()
{
	on a awk '/^Ip:/ && $4 ~ /^[0-9]/ { print $7 }' /proc/net/snmp
}

forwarded6()
{
	on a awk '$1 == "Ip6OutForwDatagrams" { print $2 }' /proc/net/snmp6
}

# moved COUNTER COMMAND...: by how much the figure that COUNTER prints grows through COMMAND.
moved()
{
	local before after

	before=$($1)
	"${@:2}"
	after=$($1)
	echo $((after - before))
}

passed_other()
{
	counter a pass_other
}

dropped()
{
	counter a drop_cid
}

router_up
MAC=$(on a ip -j link show dev eth0 | jq -r '.[0].address')
tap_is "$(moved forwarded4 forge 10.250.0.2 10.251.0.2)" $PACKETS "IPv4: other hosts' packets are forwarded"
tap_is "$(moved forwarded6 forge fd00:250::2 fd00:251::2)" $PACKETS "IPv6: other hosts' packets are forwarded"
tap_is "$(moved passed_other forge 10.250.0.2 10.251.0.2)" $PACKETS "and counted as such"
tap_is "$(moved dropped forge 10.250.0.2 10.250.0.1)" $PACKETS "those for this host are judged"
on a sysctl -qw net.ipv4.conf.all.forwarding=0
tap_is "$(moved dropped forge 10.250.0.2 10.251.0.2)" $PACKETS "a host that does not forward drops them"
MAC=02:00:00:00:00:77
tap_is "$(moved passed_other forge 10.250.0.2 10.251.0.2)" $PACKETS "another host's by its MAC address"
tap_done
