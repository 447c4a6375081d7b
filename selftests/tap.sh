# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# TAP for test scripts. Source it, report with the functions below, end with tap_done:
#
#	#!/bin/bash
#	# SPDX-License-Identifier: BSD-2-Clause
#	# timeout: 60
#	. "$(dirname "$0")/../tap.sh"
#	tap_need ip bpftool
#	tap_run "agent answers" falconctl version
#	tap_is "$(cat count)" 3 "three packets"
#	tap_done
#
# Standard output carries TAP alone; use tap_note for anything else.

# The top of the tree.
TAP_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What make built.
export TAP_BUILD=${BUILD:-$TAP_TOP/build}
TAP_COUNT=0
TAP_FAILED=0
# 0 is no, for scripts that ask whether it is set, too.
[ "${FALCON_TEST_FULL:-0}" != 0 ] || unset FALCON_TEST_FULL

# tap_note TEXT...: a remark for whoever reads the log.
tap_note()
{
	printf '%s\n' "$*" | sed 's/^/# /'
}

# tap_ok NAME, tap_not_ok NAME [WHY]: one result.
tap_ok()
{
	TAP_COUNT=$((TAP_COUNT + 1))
	printf 'ok %d - %s\n' "$TAP_COUNT" "$1"
}

tap_not_ok()
{
	TAP_COUNT=$((TAP_COUNT + 1))
	TAP_FAILED=$((TAP_FAILED + 1))
	printf 'not ok %d - %s\n' "$TAP_COUNT" "$1"
	if [ -n "${2:-}" ]; then
		tap_note "$2"
	fi
	# A library of tests may have more to say on a failure: lab.sh does.
	if [ "$(type -t tap_explain)" = function ]; then
		tap_note "$(tap_explain)"
	fi
}

# tap_skip NAME REASON: one result that could not be had here.
tap_skip()
{
	TAP_COUNT=$((TAP_COUNT + 1))
	printf 'ok %d - %s # SKIP %s\n' "$TAP_COUNT" "$1" "$2"
}

# tap_run NAME COMMAND...: ok if the command succeeds; its output becomes remarks if it does not.
tap_run()
{
	local name=$1 out rc=0

	shift
	out=$("$@" 2>&1) || rc=$?
	if [ "$rc" -eq 0 ]; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $rc: $*"$'\n'"$out"
	fi
	return "$rc"
}

# tap_is GOT WANT NAME: ok if the strings are equal.
tap_is()
{
	if [ "$1" = "$2" ]; then
		tap_ok "$3"
	else
		tap_not_ok "$3" "got:  $1"$'\n'"want: $2"
	fi
}

# tap_skip_all REASON: end the script now; nothing of it can run here.
tap_skip_all()
{
	printf '1..0 # SKIP %s\n' "$1"
	exit 0
}

# tap_need TOOL...: skip everything unless all the tools are installed.
tap_need()
{
	local tool

	for tool; do
		command -v "$tool" >/dev/null || tap_skip_all "$tool is not installed"
	done
}

# tap_need_root: skip everything unless we may make namespaces and load BPF programs.
tap_need_root()
{
	[ "$(id -u)" -eq 0 ] || tap_skip_all "needs root"
}

# tap_wait SECONDS COMMAND...: poll until the command succeeds; 1 when the time is over. It looks SECONDS
# times at least: on a machine that was paused, the time is over before anything could happen in it.
tap_wait()
{
	local deadline=$((SECONDS + $1)) looks=$1

	shift
	until "$@" >/dev/null 2>&1; do
		[ $((--looks)) -gt 0 ] || [ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

# tap_wait_for PID SECONDS COMMAND...: the same, but no longer than the process runs.
tap_wait_for()
{
	local pid=$1 deadline=$((SECONDS + $2)) looks=$2

	shift 2
	until "$@" >/dev/null 2>&1; do
		kill -0 "$pid" 2>/dev/null || return 1
		[ $((--looks)) -gt 0 ] || [ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

# tap_done: the plan, and the script's exit status.
tap_done()
{
	printf '1..%d\n' "$TAP_COUNT"
	[ "$TAP_FAILED" -eq 0 ]
	exit
}
