#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# The XDP object loads into the running kernel and attaches in every way that we promise; its maps
# are pinned and readable; what is not Falcon passes, whether an agent runs or not.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"
tap_need xdp-loader ping

MAPS="falcon_config falcon_conns falcon_counters falcon_credits falcon_dirty falcon_memory falcon_ports
falcon_regions falcon_responses falcon_rue falcon_sadb falcon_sinks falcon_wake falcon_xsks"

xdp_mode()
{
	on a ip -j link show dev eth0 | jq -r '.[0].xdp.mode // 0'
}

program_name()
{
	on a bpftool -j prog show id "$(on a ip -j link show dev eth0 | jq '.[0].xdp.prog.id')" |
		jq -r .name
}

try_ip_link()
{
	tap_note "Linux $(uname -r)"
	lab_up --no-agents
	tap_is "$(xdp_mode)" 1 "ip link attaches in native mode"
	tap_is "$(program_name)" falcon_rx "the program is falcon_rx"
	# shellcheck disable=SC2086 # words
	tap_is "$(on a ls /sys/fs/bpf/tc/globals | tr '\n' ' ')" "$(printf '%s ' $MAPS)" \
		"maps are pinned under their names"
	tap_is "$(on a bpftool -j map dump pinned /sys/fs/bpf/tc/globals/falcon_config |
		jq -r '.[0].formatted.value | has("replay_margin")')" true \
		"bpftool names the fields of map values"
	tap_run "IPv4 passes" on a ping -n -q -c 3 -i 0.1 -w 20 10.250.0.2
	tap_run "IPv6 passes" on a ping -n -q -c 3 -i 0.1 -w 20 fd00:250::2
	tap_run "an unknown UDP port passes" udp_passes
	tap_run "the program detaches" on a ip link set dev eth0 xdp off
}

# shellcheck disable=SC2317 # called by tap_run
udp_passes()
{
	local pid

	rm -f "$SCRATCH/recv"
	behind b numbered recv 300 >"$SCRATCH/recv"
	pid=$!
	tap_wait 20 grep -q ready "$SCRATCH/recv"
	on a numbered send 10.250.0.2 100 1400 100
	kill -TERM "$pid"
	wait "$pid"
	[ "$(jq .distinct < <(tail -n 1 "$SCRATCH/recv"))" = 100 ]
}

try_generic()
{
	lab_up --no-agents --xdp generic
	tap_is "$(xdp_mode)" 2 "ip link attaches in generic mode"
	tap_run "generic mode: IPv4 passes" on a ping -n -q -c 3 -i 0.1 -w 20 10.250.0.2
}

try_mtu()
{
	lab_up --no-agents --mtu 3498
	tap_is "$(xdp_mode)" 1 "native mode at MTU 3498"
	tap_run "a full packet passes" on a ping -n -q -M "do" -s 3470 -c 3 -i 0.1 -w 20 10.250.0.2
}

# The kernel's own frames, of several buffers, pass, too; the other program would be refused.
try_large_mtu()
{
	lab_up --no-agents --mtu 9000
	tap_is "$(xdp_mode) $(program_name)" "1 falcon_rx_frags" "native mode at MTU 9000, by another program"
	tap_run "a full packet passes, IPv4" on a ping -n -q -M "do" -s 8972 -c 3 -i 0.1 -w 20 10.250.0.2
	tap_run "a full packet passes, IPv6" on a ping -n -q -M "do" -s 8952 -c 3 -i 0.1 -w 20 fd00:250::2
}

# Whether libxdp's dispatcher works here; some sandboxes forbid the programs it is made of.
have_dispatcher()
{
	on a xdp-loader load -m native eth0 "$TAP_BUILD/selftests/net/beside.bpf.o" >/dev/null 2>&1 &&
		[ "$(program_name)" = xdp_dispatcher ]
}

try_libxdp()
{
	local name="libxdp attaches it beside another program"

	lab_up --no-agents --xdp off
	if ! have_dispatcher; then
		tap_skip "$name" "libxdp cannot load its dispatcher here"
		return
	fi
	lab_up --no-agents --xdp libxdp
	on a xdp-loader load -m native -P 10 eth0 "$TAP_BUILD/selftests/net/beside.bpf.o" >/dev/null 2>&1
	tap_is "$(on a xdp-loader status eth0 | grep -cE 'falcon_rx|beside')" 2 "$name"
	tap_run "libxdp: IPv4 passes both" on a ping -n -q -c 3 -i 0.1 -w 20 10.250.0.2
	tap_is "$(on a ls /sys/fs/bpf/falcon | tr '\n' ' ')" "$(echo "$MAPS" | tr '\n' ' ')" \
		"libxdp: maps are pinned"
}

try_ip_link
try_generic
try_mtu
try_large_mtu
try_libxdp
tap_done
