# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Spin on the models here, for tests that have sourced tap.sh.
# FALCON_TEST_FULL=1: whatever may happen happens in the same run, not each in a run of its own.
tap_need spin gcc

MODEL=$TAP_TOP/selftests/model
FULL=${FALCON_TEST_FULL:-}
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT

# explore NAME MODEL [DEFINE...]: build the checker and run it within 2 GiB and 240 s; output in NAME/out.
# With optimisation a checker takes longer to build than it saves, but where there are millions of states.
explore()
{
	mkdir -p "$DIR/$1" && cd "$DIR/$1" || return 1
	spin "${@:3}" -a "$MODEL/$2.pml" >/dev/null &&
		gcc "${OPTIMIZE:--O0}" -w -DSAFETY -DCOLLAPSE -DMEMLIM=2048 -o pan pan.c &&
		timeout 240 ./pan -m1000000 -w22 >out 2>&1
	cd "$TAP_TOP" || return 1
}

# All states were visited, and no assertion failed in any.
holds()
{
	OPTIMIZE=${FULL:+-O2} explore "$@" || return 1
	grep -q 'errors: 0' "$DIR/$1/out" &&
		! grep -qE 'not completed|search depth too small|out of memory' "$DIR/$1/out" &&
		return
	cat "$DIR/$1/out"
	return 1
}

# Spin found an assertion that fails, and a way there, which is not far.
fails()
{
	explore "$@"
	[ -s "$DIR/$1/$2.pml.trail" ] && grep -q 'assertion violated' "$DIR/$1/out" && return
	cat "$DIR/$1/out"
	return 1
}

# fails_by ASSERTION NAME MODEL DEFINE...: what fails has ASSERTION in it.
fails_by()
{
	fails "${@:2}" && grep -q "assertion violated.*$1" "$DIR/$2/out" && return
	cat "$DIR/$2/out"
	return 1
}

# model_holds MODEL NAME WHAT [DEFINE...]: in all states, whose number is noted.
model_holds()
{
	tap_run "$1: $3" holds "$2" "$1" "${@:4}"
	tap_note "$(grep 'states, stored' "$DIR/$2/out")"
}

# model_fails MODEL NAME ASSERTION DEFINE...: without its rule, and by the assertion that the rule is for.
model_fails()
{
	tap_run "$1, $2: fails" fails_by "$3" "$2" "$1" "${@:4}"
	tap_note "$(grep 'assertion violated' "$DIR/$2/out")"
}
