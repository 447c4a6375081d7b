#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# Attaching falcon.bpf.o the ways a person does it, and what the maps look like afterwards.
#
#	our namespace            the peer's
#	  vb 10.9.0.1/24  <---->  va 10.9.0.2/24
#	  falcon_rx
#
# Both namespaces and a bpffs of our own live as long as this script.
. "$(dirname "$0")/../tap.sh"
tap_need ip bpftool unshare nsenter ping
tap_need_root

if [ -z "${FALCON_ATTACH_INSIDE:-}" ]; then
	FALCON_ATTACH_INSIDE=1 exec unshare -n -m "$0" "$@"
fi

OBJ=$TAP_BUILD/falcon.bpf.o
PASS=$TAP_BUILD/selftests/bpf/pass.bpf.o
GLOBALS=/sys/fs/bpf/tc/globals
MAPS="config conns counters credits dirty memory ports regions responses rue sadb sinks wake xsks"

# A process holds the peer's namespace open, no longer than this script may take.
unshare -n sleep 120 >/dev/null 2>&1 &
PEER=$!
trap 'kill "$PEER" 2>/dev/null' EXIT

peer()
{
	nsenter -t "$PEER" -n "$@"
}

# The namespace of $PEER is another than ours once unshare has done its work.
peer_ready()
{
	[ "$(readlink "/proc/$PEER/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

setup()
{
	mount -t bpf bpf /sys/fs/bpf &&
		ip link add vb type veth peer name va &&
		ip link set va netns "$PEER" &&
		ip addr add 10.9.0.1/24 dev vb &&
		ip link set vb up &&
		peer ip addr add 10.9.0.2/24 dev va &&
		peer ip link set va up
}

# mode_of: native, generic or none, as ip link shows it.
mode_of()
{
	case $(ip link show vb) in
	*xdpgeneric*) echo generic ;;
	*xdp*) echo native ;;
	*) echo none ;;
	esac
}

pings()
{
	peer ping -c 3 -i 0.2 -W 5 10.9.0.1
}

# Sum of one counter over all CPUs.
counter()
{
	bpftool -j map dump pinned "$GLOBALS/falcon_counters" | tr ',{}' '\n\n\n' |
		awk -F: -v want="\"$1\"" '$1 == want { n += $2 } END { print n + 0 }'
}

pinned()
{
	find "$GLOBALS" -name 'falcon_*' -printf '%f\n' | sed 's/falcon_//' | sort | tr '\n' ' '
}

dump_shows()
{
	bpftool map dump pinned "$GLOBALS/$1" | grep -q "\"$2\""
}

ways_of_ip_link()
{
	tap_run "ip link attaches it natively" ip link set dev vb xdp obj "$OBJ" sec xdp
	tap_is "$(mode_of)" native "it is attached natively"
	tap_is "$(pinned)" "$MAPS " "all maps are pinned"
	tap_run "the conns have named fields" dump_shows falcon_conns peer_spi
	tap_run "the config has named fields" dump_shows falcon_config replay_margin
	tap_run "the counters have named fields" dump_shows falcon_counters drop_csum
	tap_run "ping works" pings
	tap_run "what was not Falcon is counted" test "$(counter pass_not_falcon)" -ge 3
	tap_is "$(counter drop_truncated)" 0 "nothing was dropped"
	ip link set dev vb xdp off
	tap_run "ip link attaches it in generic mode" \
		ip link set dev vb xdpgeneric obj "$OBJ" sec xdp
	tap_is "$(mode_of)" generic "it is attached in generic mode"
	tap_run "ping works in generic mode" pings
	tap_run "the maps were found again" test "$(counter pass_not_falcon)" -ge 6
	ip link set dev vb xdpgeneric off
	tap_is "$(mode_of)" none "it is detached"
}

# Beside another program, by libxdp's dispatcher; not every kernel lets libxdp use it.
ways_of_libxdp()
{
	local name="xdp-loader loads it next to another program"

	if ! command -v xdp-loader >/dev/null; then
		tap_skip "$name" "xdp-loader is not installed"
		return
	fi
	mkdir -p /sys/fs/bpf/falcon
	tap_run "xdp-loader loads another program" xdp-loader load -m native vb "$PASS"
	if ! xdp-loader status vb | grep -q xdp_dispatcher; then
		tap_skip "$name" "this kernel does not take libxdp's dispatcher"
		return
	fi
	tap_run "$name" xdp-loader load -m native -p /sys/fs/bpf/falcon -s xdp vb "$OBJ"
	tap_is "$(xdp-loader status vb | grep -cE 'falcon_rx|pass_and_count')" 2 \
		"both are in the dispatcher"
	tap_run "the maps are pinned where asked" test -e /sys/fs/bpf/falcon/falcon_conns
	tap_run "ping works through both" pings
	xdp-loader unload vb -a
}

tap_wait 10 peer_ready || tap_skip_all "cannot make a network namespace"
if ! setup; then
	tap_not_ok "two namespaces and a link" "cannot set them up"
	tap_done
fi
ways_of_ip_link
ways_of_libxdp
tap_done
