#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# What shells offer for the programs' command lines.
# shellcheck source=selftests/tap.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/../tap.sh"
PATH=$TAP_BUILD:$PATH
COMPLETION=$TAP_TOP/tools/completion
SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT
export LC_ALL=C

# by_bash WORD...: what it offers for the last one.
by_bash()
{
	bash -c '
		compopt() { :; }
		. "$1" && shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		"$(complete -p "$1" | sed "s/.*-F \([^ ]*\) .*/\1/")"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>&1 | sort | xargs
}

by_fish()
{
	HOME=$SCRATCH fish --no-config -c "source '$COMPLETION/falcon.fish'; complete -C '$*'" 2>&1 |
		cut -f 1 | sort | xargs
}

# Its own functions, with compadd as print and words that are typed.
by_zsh()
{
	zsh -fc '
		compadd() { shift; print -l -- ${(P)1} }
		_gnu_generic() { print generic }
		service=$2 words=("${@:2}") CURRENT=$(($# - 1))
		. "$1"' zsh "$COMPLETION/_falcon" "$@" 2>&1 | sort | xargs
}

tap_is "$(by_bash "$COMPLETION/falcon.bash" falcon-perf --se)" "--seconds= --serve --service=" "bash: options"
tap_is "$(by_bash "$COMPLETION/falcon.bash" falcond -)" \
	"--config= --help --offload= --test --usage --verbose --version -V -c -h -t -v" \
	"bash: short ones, too"
tap_is "$(by_bash "$COMPLETION/falcon.bash" falcon-lab up --cor)" "--corrupt --corrupt-burst" \
	"bash: those of falcon-lab"
tap_is "$(by_bash "$COMPLETION/falcon.bash" falcon-lab st)" status "bash: its commands"
tap_is "$(by_bash "$TAP_TOP/tools/ctl/falconctl.bash" falconctl conn d)" del "bash: actions of falconctl"
tap_is "$(by_bash "$TAP_TOP/tools/ctl/falconctl.bash" falconctl na)" namespace "bash: its objects"

if command -v fish >/dev/null; then
	tap_is "$(by_fish falcon-perf --se)" "--seconds= --serve --service=" "fish: options"
	tap_is "$(by_fish falconctl na)" namespace "fish: objects of falconctl"
	tap_is "$(by_fish falconctl conn d)" del "fish: its actions"
	tap_is "$(by_fish falcon-lab st)" status "fish: commands of falcon-lab"
else
	tap_skip "fish" "it is not installed"
fi

if command -v zsh >/dev/null; then
	tap_is "$(by_zsh falcon-perf --se)" generic "zsh: options by --help"
	tap_is "$(by_zsh falconctl conn d)" "$(falconctl conn help | awk '{ print $3 }' | sort | xargs)" \
		"zsh: actions of falconctl"
	tap_run "zsh: its objects" grep -qw namespace <(by_zsh falconctl n)
else
	tap_skip "zsh" "it is not installed"
fi
tap_done
