#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Check with spin the receive window, every interleaving of two CPUs and the agent; a lane of RIFL, errors in
# every place; and the handshake between agents, with an attacker between them. FALCON_TEST_FULL=1: whatever
# may happen in a handshake happens in the same run, not each in a run of its own.
. "$(dirname "$0")/../tap.sh"
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

# lane_fails NAME DEFINE...: the assertion is noted.
lane_fails()
{
	tap_run "lane, $1: fails" fails "$1" lane "${@:2}"
	tap_note "$(grep 'assertion violated' "$DIR/$1/out")"
}

# fails_by ASSERTION NAME MODEL DEFINE...: what fails has ASSERTION in it.
fails_by()
{
	fails "${@:2}" && grep -q "assertion violated.*$1" "$DIR/$2/out" && return
	cat "$DIR/$2/out"
	return 1
}

# handshake_holds NAME WHAT DEFINE...: in all states, whose number is noted.
handshake_holds()
{
	tap_run "handshake: $2" holds "$1" handshake "${@:3}"
	tap_note "$(grep 'states, stored' "$DIR/$1/out")"
}

# handshake_fails NAME ASSERTION DEFINE...: without its rule, and by the assertion that the rule is for.
handshake_fails()
{
	tap_run "handshake, $1: fails" fails_by "$2" "$1" handshake "${@:3}" -DCRASHES=0
	tap_note "$(grep 'assertion violated' "$DIR/$1/out")"
}

tap_run "tagged words claimed by compare-and-swap: no interleaving fails" holds tags window
tap_note "$(grep 'states, stored' "$DIR/tags/out")"
tap_run "bits claimed by fetch-or, cleared ahead: a stalled CPU breaks them" fails or window -DFETCH_OR
tap_note "$(grep 'assertion violated' "$DIR/or/out")"
tap_run "the window does get to the end" fails reach window -DREACH

tap_run "lane: no place for three errors loses or repeats anything" holds errors lane
tap_note "$(grep 'states, stored' "$DIR/errors/out")"
tap_run "lane: nor for one, with a user who stops reading" holds reader lane -DERRORS=1 -DREADER=1
tap_note "$(grep 'states, stored' "$DIR/reader/out")"
tap_run "lane: nor for two on a longer link" holds longer lane -DD=2 -DIDS=6 -DERRORS=2
tap_note "$(grep 'states, stored' "$DIR/longer/out")"
lane_fails "the IDs of equation 13" -DIDS=2
lane_fails "one ID less than needed" -DD=2 -DIDS=5
lane_fails "new data while requests come" -DHASTY
lane_fails "a flag that stays up" -DDEAF
lane_fails "no rollback" -DNO_ROLLBACK
lane_fails "a flow control buffer of half a round trip" -DERRORS=0 -DREADER=1 -DFC_PAPER
tap_run "lane: errors do get repaired" fails repaired lane -DREACH

handshake_holds two "an intruder learns no key, and both ends agree" -DCRASHES=0
handshake_holds crash "nor with an agent that crashes" -DINTRUSIONS=0
handshake_holds three "nor with a third channel" -DCHANNELS=3 -DINTRUSIONS=0 -DCRASHES=0 -DREKEYS=0
handshake_holds dial "nor if one end dials" -DDIAL -DCRASHES=0
handshake_holds redial "nor if one end dials and crashes" -DDIAL -DINTRUSIONS=0
if [ -n "$FULL" ]; then
	handshake_holds two_full "an intruder beside a crash"
	handshake_holds three_full "a third channel, with new keys" -DCHANNELS=3 -DINTRUSIONS=0 -DCRASHES=0
	handshake_holds dial_full "an intruder beside a crash, if one end dials" -DDIAL
fi
handshake_fails "a name of any connection serves all" told_keys -DANY_NAME
handshake_fails "a name of any connection may dial" 'who==1' -DANY_DIALLER
handshake_fails "messages for other sessions" "tx!=7" -DANY_SESSION
handshake_fails "channels without TLS" told_keys -DPLAIN_TOO
handshake_fails "offers of another security" kind -DKIND_UNSEEN
handshake_fails "REKEY to another security" kind -DREKEY_KIND
handshake_fails "another key on the next session" rx_before -DREKEY_ANEW
handshake_fails "messages that come again" into -DREPLAY
handshake_fails "READY of another pair" with -DANY_READY
handshake_fails "an offer that is used again" carried -DUSED_AGAIN
handshake_fails "RESUME that is not heard" 'kind!=ends' -DDIAL -DDEAF -DINTRUSIONS=0
tap_run "handshake: all that can happen does" fails all handshake -DREACH
tap_done
