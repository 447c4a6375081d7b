#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# start.sh [OPTION...]: attach Falcon's XDP program to the interfaces in $FALCON_INTERFACES that have none,
# and become falcond with these options. $FALCON_OBJECT is the program's object file, $FALCON_XDP_MODE how it
# is attached (xdp, or xdpgeneric for drivers without native XDP).
#
# The program stays attached when the agent ends: connections of its peers are answered late rather than
# never. To take it away: ip link set dev IF xdp off.
set -eu
object=${FALCON_OBJECT:-/usr/lib/falcon/falcon.bpf.o}
mode=${FALCON_XDP_MODE:-xdp}

die()
{
	echo "falcon: $*" >&2
	exit 1
}

# section LINK: the program for that interface. Frames of a large MTU have several buffers, but for generic
# mode.
section()
{
	mtu=${1#* mtu }
	if [ "$mode" = xdp ] && [ "${mtu%% *}" -gt 3498 ]; then
		echo xdp.frags
	else
		echo xdp
	fi
}

[ "$(stat -f -c %T /sys/fs/bpf)" = bpf_fs ] ||
	die "/sys/fs/bpf is not the host's BPF file system: the container needs that folder of the host"
for dev in ${FALCON_INTERFACES:-}; do
	link=$(ip -d link show dev "$dev") ||
		die "$dev: no such interface: is the container in the host's network?"
	case $link in
	*prog/xdp*) ;;
	*)
		ip link set dev "$dev" "$mode" obj "$object" sec "$(section "$link")" ||
			die "$dev: the XDP program cannot be attached; see falcon_nics(7)"
		;;
	esac
done
exec falcond "$@"
