#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Check the window model with spin: every interleaving of two CPUs and the agent.
. "$(dirname "$0")/../tap.sh"
tap_need spin gcc

MODEL=$TAP_TOP/selftests/model/window.pml
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT

# explore NAME [DEFINE]: build the checker and run it within 2 GiB and 240 s; output in NAME/out.
explore()
{
	mkdir -p "$DIR/$1" && cd "$DIR/$1" || return 1
	spin ${2:+"-D$2"} -a "$MODEL" >/dev/null &&
		gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2048 -o pan pan.c &&
		timeout 240 ./pan -m1000000 -w22 >out 2>&1
	cd "$TAP_TOP" || return 1
}

# All states were visited, and no assertion failed in any.
holds()
{
	explore "$1" || return 1
	grep -q 'errors: 0' "$DIR/$1/out" &&
		! grep -qE 'not completed|search depth too small|out of memory' "$DIR/$1/out" &&
		return
	cat "$DIR/$1/out"
	return 1
}

# Spin found an assertion that fails, and a way there.
fails()
{
	explore "$1" "$2"
	[ -s "$DIR/$1/window.pml.trail" ] && grep -q 'assertion violated' "$DIR/$1/out" && return
	cat "$DIR/$1/out"
	return 1
}

tap_run "tagged words claimed by compare-and-swap: no interleaving fails" holds tags
tap_note "$(grep 'states, stored' "$DIR/tags/out")"
tap_run "bits claimed by fetch-or, cleared ahead: a stalled CPU breaks them" fails or FETCH_OR
tap_note "$(grep 'assertion violated' "$DIR/or/out")"
tap_run "the window does get to the end" fails reach REACH
tap_done
