#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# Every program's command line in one manner: help, version, what is wrong. Its manual page has all options.
# shellcheck source=selftests/tap.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/../tap.sh"
PATH=$TAP_BUILD:$PATH
VERSION=$(sed -n 's/.*FALCON_VERSION_STRING "\(.*\)"/\1/p' "$TAP_TOP/user/base/version.h")
PROGRAMS=(falcond falconctl falcon-cp falcon-lab falcon-perf falcon-psp falcon-rifl falcon-rue falcon-run
	falcon-sim falcon-wire)

# says STATUS PROGRAM ARGUMENT...: standard output in $out, the other one in $err.
says()
{
	local rc=0 file

	file=$(mktemp)
	out=$("${@:2}" 2>"$file") || rc=$?
	err=$(<"$file")
	rm "$file"
	[ "$rc" = "$1" ] || { echo "status $rc"; return 1; }
}

version()
{
	says 0 "$1" -V && [ "$out" = "$1 $VERSION" ] && says 0 "$1" --version && [ "$out" = "$1 $VERSION" ]
}

help()
{
	local long

	says 0 "$1" --help && [[ $out == "Usage: $1 "* ]] || return
	long=$out
	says 0 "$1" -h && [ "$out" = "$long" ]
}

# A wrong option: of falconctl and falcon-run the status is another.
wrong()
{
	local status=2

	case $1 in
	falconctl) status=1 ;;
	falcon-run) status=125 ;;
	falcon-lab) set -- "$1" up ;;
	esac
	says "$status" "$@" --no-such-option && [ -z "$out" ] && [[ $err == "$1: "*no-such-option* ]] &&
		[[ $err == *--help* ]]
}

# The long options of --help, of an action of the program's if one is named, that its manual page has not.
unexplained()
{
	local option page

	page=$(echo "$TAP_TOP"/*/*/"$1".[18].scd)
	"$@" --help | sed -En 's/^ +(-[[:alnum:]], +)?(--[a-z-]+).*/\2/p' | while read -r option; do
		tr -d '\\*' <"$page" | grep -Eq -- "(^|[^a-z-])$option([^a-z-]|\$)" ||
			grep -q -- "\*${option#--}\*" "$page" || echo "$option"
	done
}

# action WORD...: falconctl's with options of its own.
action()
{
	says 0 falconctl "$@" --help && [[ $out == "Usage: falconctl $* [OPTION...]"* ]] || return
	says 1 falconctl "$@" --no-such-option && [ -z "$out" ] &&
		[[ $err == "falconctl $*: "*no-such-option*"falconctl $* --help"* ]]
}

for program in "${PROGRAMS[@]}"; do
	tap_run "$program: its version" version "$program"
	tap_run "its help" help "$program"
	tap_run "what is wrong" wrong "$program"
	tap_is "$(unexplained "$program")" "" "its options are in its manual page"
done
for words in top metrics "rue trace" doctor; do
	read -ra action <<<"$words"
	tap_run "falconctl $words: help, and what is wrong" action "${action[@]}"
	tap_is "$(unexplained falconctl "${action[@]}")" "" "its options are in the manual page"
done
tap_done
