#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# The agent built with AddressSanitizer and UBSan, on a link that loses, duplicates and corrupts,
# with XDP's receive path and with its own: files arrive, applications that are attached when it
# stops do not hurt it, and it reports nothing, leaks included.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

export FALCOND=$TAP_BUILD/asan/falcond
export ASAN_OPTIONS=detect_leaks=1:exitcode=86
RUN=/run/falcon-$FALCON_LAB

log_of()
{
	cat "$RUN/$1/falcond.log"
}

# The last thing a clean end writes.
has_stopped()
{
	log_of "$1" | grep -q 'info stopped'
}

# came_up_again HOST CONNECTION: a host that has not heard of the reset yet shows the old incarnation as up.
came_up_again()
{
	[ "$(log_of "$1" | grep -c "info connection up conn=$2 ")" -ge 2 ]
}

# Devices that the file has got since it started.
more_devices()
{
	printf '\n[nvme %s]\nlocal = 10.250.0.1\ntargets = 10.250.0.2/9\n' one two three \
		>>"$RUN/a/falcond.conf"
	kill -HUP "$(<"$RUN/a/falcond.pid")" &&
		tap_wait 20 grep -q 'added section="nvme three"' "$RUN/a/falcond.log"
}

# try_offload on|off
try_offload()
{
	local host

	lab_up --clear --offload "$1" --loss 1 --dup 1 --corrupt 1
	serve a
	serve b
	tap_run "offload $1: a to b" put a b b big
	tap_run "offload $1: b to a, unordered" put b a-unordered a big
	tap_run "offload $1: a from b, IPv6" get a b6 b big
	tap_run "offload $1: reset under way" on a falconctl conn reset b
	tap_wait 30 came_up_again a b
	tap_wait 30 came_up_again b a
	tap_run "offload $1: and a new copy" put b a a big
	tap_run "offload $1: more devices" more_devices
	for host in a b; do
		falcon-lab agent $host stop
		tap_run "offload $1: $host stops with an application attached" has_stopped $host
		tap_is "$(log_of $host | grep -E 'ERROR: |runtime error:|SUMMARY: ')" "" \
			"offload $1: nothing to report on $host"
	done
	stop_serving
}

random_file big $((SIZE_MB * 1024 * 1024 / 8 + 5))
try_offload on
try_offload off
tap_done
