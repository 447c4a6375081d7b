#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Check with spin the receive window, every interleaving of two CPUs and the agent; a lane of RIFL, errors in
# every place; and the handshake between agents, with an attacker between them. FALCON_TEST_FULL=1: whatever
# may happen in a handshake happens in the same run, not each in a run of its own.
. "$(dirname "$0")/../tap.sh"
. "$TAP_TOP/selftests/model/model.sh"

# lane_fails NAME DEFINE...: the assertion is noted.
lane_fails()
{
	tap_run "lane, $1: fails" fails "$1" lane "${@:2}"
	tap_note "$(grep 'assertion violated' "$DIR/$1/out")"
}

# handshake_fails NAME ASSERTION DEFINE...
handshake_fails()
{
	model_fails handshake "$@" -DCRASHES=0
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

model_holds handshake two "an intruder learns no key, and both ends agree" -DCRASHES=0
model_holds handshake crash "nor with an agent that crashes" -DINTRUSIONS=0
model_holds handshake three "nor with a third channel" -DCHANNELS=3 -DINTRUSIONS=0 -DCRASHES=0 -DREKEYS=0
model_holds handshake dial "nor if one end dials" -DDIAL -DCRASHES=0
model_holds handshake redial "nor if one end dials and crashes" -DDIAL -DINTRUSIONS=0
if [ -n "$FULL" ]; then
	model_holds handshake two_full "an intruder beside a crash"
	model_holds handshake three_full "a third channel, with new keys" \
		-DCHANNELS=3 -DINTRUSIONS=0 -DCRASHES=0
	model_holds handshake dial_full "an intruder beside a crash, if one end dials" -DDIAL
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
