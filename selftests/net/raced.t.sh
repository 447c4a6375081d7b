#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# The agent built with ThreadSanitizer, while control and the threads that carry packets have as much to do
# with each other as can be: files are copied, verbs applications come and go, keys are rotated, connections
# reset, everything is shown, the link's MTU changes. It reports nothing.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/../apps/apps.sh"
tap_need falcond falconctl falcon-cp ibv_rc_pingpong ss jq

export FALCOND=$TAP_BUILD/tsan/falcond
RUN=/run/falcon-$FALCON_LAB

log_of()
{
	cat "$RUN/$1/falcond.log"
}

has_stopped()
{
	log_of "$1" | grep -q 'info stopped'
}

# All there is to be shown and changed, again and again, until told to stop.
bother()
{
	local object n=0

	while [ ! -e "$SCRATCH/enough" ]; do
		for object in conn window key flow port counters client config rue qp cq mr device \
			agent shard pool; do
			on a falconctl -j $object show >/dev/null || return
		done
		on a falconctl metrics --connections >/dev/null || return
		on a falconctl key rotate b-unordered || true
		on a falconctl conn reset b6 || return
		ip -n "falcon-$FALCON_LAB-a" link set eth0 mtu $((3498 - n % 2 * 500)) || return
		n=$((n + 1))
	done
}

under_load()
{
	local pid rc=0

	rm -f "$SCRATCH/enough"
	bother >"$SCRATCH/bothered" 2>&1 &
	pid=$!
	"$@" || rc=1
	touch "$SCRATCH/enough"
	wait $pid || { cat "$SCRATCH/bothered"; rc=1; }
	return $rc
}

twice()
{
	"$@" && "$@"
}

try()
{
	local host

	lab_up "$@" --loss 1
	serve a
	serve b
	tap_run "$*: a file arrives" under_load put a b b big
	tap_run "$*: applications come and go" \
		under_load twice run_pair ibv_rc_pingpong -d falcon0 -g 0 -n 200
	for host in a b; do
		falcon-lab agent $host stop
		tap_run "$*: $host stops" has_stopped $host
		tap_is "$(log_of $host | grep -A 40 -m 1 'WARNING: ThreadSanitizer')" "" \
			"$*: nothing to report on $host"
	done
	stop_serving
}

random_file big $((SIZE_MB * 1024 * 1024 / 8 + 5))
try --clear
try --security psp --set threads=2
tap_done
