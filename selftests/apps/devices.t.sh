#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# falcon-run, and what applications see of a device: ibv_devices, ibv_devinfo, sysfs, fi_info.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need ibv_devices ibv_devinfo fi_info python3

# says TEXT COMMAND...: it fails, and says so.
says()
{
	local out

	! out=$("${@:2}" 2>&1) && grep -q "$1" <<<"$out" || { echo "$out"; return 1; }
}

# The value that ibv_devinfo -v has for a name, the first.
devinfo()
{
	sed -n "s/^[[:blank:]]*$1:[[:blank:]]*//p" "$SCRATCH/devinfo" | head -n 1
}

try_devinfo()
{
	local mac guid

	tap_run "ibv_devinfo -v" on a falcon-run ibv_devinfo -v
	on a falcon-run ibv_devinfo -v >"$SCRATCH/devinfo"
	tap_is "$(devinfo hca_id)" falcon0 "the device is falcon0"
	tap_is "$(devinfo state)" "PORT_ACTIVE (4)" "its port is active"
	tap_is "$(devinfo link_layer)" Ethernet "its link layer is Ethernet"
	tap_is "$(grep -c 'GID\[.*RoCE v2' "$SCRATCH/devinfo")" 3 "an address is a GID"
	tap_is "$(grep -c 'GID\[ *0\]:.*::ffff:10.250.0.1,' "$SCRATCH/devinfo")" 1 "IPv4 is the first"
	mac=$(on a cat /sys/class/net/eth0/address)
	guid=$(on a falcon-run ibv_devices | sed -n 's/.*falcon0[[:blank:]]*//p')
	tap_is "${guid:6:4}" fffe "the GUID is made of a MAC address"
	tap_is "${guid:10:6}" "$(tr -d : <<<"${mac:9}")" "and that is the interface's"
	on a ip link set eth0 down
	tap_wait 10 is_down
	tap_is "$(on a falcon-run ibv_devinfo | sed -n 's/[[:blank:]]*state:[[:blank:]]*//p')" \
		"PORT_DOWN (1)" "the port goes down with its interface"
	# Addresses of IPv6 have gone with it: the next lab is another one.
	falcon-lab down
	LAB=
}

is_down()
{
	on a falcon-run ibv_devinfo | grep -q PORT_DOWN
}

try_sysfs()
{
	tap_is "$(on a falcon-run ls /sys/class/infiniband/falcon0/device/net)" eth0 \
		"behind the device is the interface"
	tap_is "$(on a falcon-run cat /sys/class/infiniband/falcon0/ports/1/gids/0)" \
		0000:0000:0000:0000:0000:ffff:0afa:0001 "GIDs are in sysfs"
	tap_run "there is a device node" on a falcon-run test -c /dev/infiniband/falcon0
	tap_run "but of our devices only" says "No such file" on a falcon-run \
		cat /sys/class/infiniband/falcon7/node_guid
}

try_falcon_run()
{
	local id all=$SCRATCH/all	# where everybody may look, unlike the tree

	tap_is "$(on a falcon-run -c)" "falcon0: interface eth0, active, 3 GIDs" "falcon-run -c"
	tap_run "no agent there" says "there is no agent at /nonexistent" \
		falcon-run -s /nonexistent true
	tap_run "a variable with a bad value" says "must be one of strong" \
		on a env FALCON_QP_ORDERING=odd falcon-run true
	tap_run "no such command" says "No such file" on a falcon-run /nonexistent
	tap_run "a time slice that there is not" says "100 to 100000" on a falcon-run -t 99 true
	if grep -q '^se.slice' /proc/self/sched; then
		tap_is "$(on a falcon-run -t 500 awk '/^se.slice/ { print $3 }' /proc/self/sched)" 500000 \
			"the command has the time slice asked for"
	else
		tap_skip "the command has the time slice asked for" "this kernel does not say"
	fi
	on a falcon-run sh -c 'exit 7' || tap_is "$?" 7 "the status is the command's"
	id=$(id -u nobody)
	chmod 755 "$SCRATCH"
	install -D -t "$all" "$TAP_BUILD/falcon-run" "$TAP_BUILD/libfalcon_verbs.so"
	install -d -o "$id" "$SCRATCH/run"
	tap_run "no permission" says "no permission" on a env XDG_RUNTIME_DIR="$SCRATCH/run" \
		setpriv --reuid="$id" --clear-groups "$all/falcon-run" true
}

everything()
{
	tap_is "$(on a falcon-run ibv_devices | tail -n 1 | awk '{ print $1 }')" falcon0 "$LINK: ibv_devices"
	tap_run "fi_info finds the device" on a falcon-run fi_info -p verbs -d falcon0
	if [ "$WHOLE" = 1 ]; then
		try_sysfs
		try_falcon_run
	fi
	try_devinfo
}

environments everything clear-ipv4-0 psp-ipv6-1
environment clear-ipv4-0
falcon-lab agent a stop
tap_is "$(on a env LD_PRELOAD="$TAP_BUILD/libfalcon_verbs.so" ibv_devices 2>&1 | grep -c falcon)" 0 \
	"without an agent there is no device"
tap_done
