#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Check with spin two shards of an agent and its control thread: frames that one shard hands over to the
# other, sleep, and a connection that is removed while they are on their way. FALCON_TEST_FULL=1: all of it in
# the same run.
. "$(dirname "$0")/../tap.sh"
. "$TAP_TOP/selftests/model/model.sh"

STEADY=(-DSTEADY -DPACKETS=2 -DFRAMES=2)
REMOVED=(-DAWAKE)

model_holds shards steady "frames that are handed over arrive, in order, and come back" "${STEADY[@]}"
model_holds shards removed "none is for another incarnation of its connection" "${REMOVED[@]}"
model_holds shards calls "calls and drains find shards that sleep" -DPACKETS=0
if [ -n "$FULL" ]; then
	model_holds shards three "one frame more" "${STEADY[@]}" -DPACKETS=3
	model_holds shards all "all of it at once" -DCHANGES=1
	model_holds shards others "others are removed at the same time" -DOTHERS=1 "${REMOVED[@]}"
fi

model_fails shards "woken before there is anything" top -DNUDGE_FIRST "${STEADY[@]}"
model_fails shards "a look for work before sleep is announced" top -DLOOK_FIRST "${STEADY[@]}"
model_fails shards "a look for calls before sleep is announced" 'done&&' -DLOOK_FIRST -DPACKETS=0
model_fails shards "a queue without frames is not woken" fill -DNO_WANT "${STEADY[@]}"
model_fails shards "a pile without compare-and-swap" stamp -DNO_SWAP "${STEADY[@]}"
model_fails shards "a pile as it lies" order -DLATEST_FIRST "${STEADY[@]}"
model_fails shards "memory rewritten at once" 'memory==n' -DNO_GRACE -DCHANGES=1 "${REMOVED[@]}"
model_fails shards "a grace period that had begun before" \
	'memory==n' -DEARLY_PERIOD -DOTHERS=1 "${REMOVED[@]}"
model_fails shards "frames on their way" stamp -DNO_DRAIN "${REMOVED[@]}"
model_fails shards "frames that are handed over in the drain" stamp -DONE_DRAIN "${REMOVED[@]}"
model_fails shards "a drain for a period that ended later" stamp -DLATE_NUMBER -DOTHERS=1 "${REMOVED[@]}"
model_fails shards "a call beside a turn" turning -DALL_AT_ONCE -DPACKETS=0
tap_run "shards: the next incarnation gets frames from the other shard" \
	fails reach shards -DREACH "${REMOVED[@]}"
tap_done
