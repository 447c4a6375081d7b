#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Random fault schedules: no promise is broken, every kind of fault is reached, seeds repeat.
. "$(dirname "$0")/../tap.sh"
tap_need awk

sim=$TAP_BUILD/falcon-sim
asan=$TAP_BUILD/asan/falcon-sim
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# The same ones each time: enough to meet all that is looked for below. falcon-sim --soak goes further.
schedules=2400
[ -z "${FALCON_TEST_FULL:-}" ] || schedules=5000

# soak NAME PROGRAM N SEED: one result; what was printed stays in $out.
soak()
{
	local rc=0

	timeout 250 nice "$2" --soak "$3" --seed "$4" >"$out" 2>&1 || rc=$?
	if [ "$rc" -eq 0 ] && [ "$(tail -n 1 "$out")" = "$3 schedules, 0 violations" ]; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "exit status $rc"$'\n'"$(head -c 8000 "$out")"
	fi
	tap_note "$(grep '^#' "$out" | cut -c 1-200)"
}

soak "random fault schedules" "$sim" "$schedules" 1
# A soak that has not met them has not looked.
for reached in kCmplTargetNackCIE kCmplTargetNackNRE kCmplTargetNackCID kCmplLocalTO kCmplOpErr \
	kCmplLocalXlr kCmplRemoteErr kCmplDeadConn rto early own rack resync rnr fatal refused pauses rue \
	claims-released unanswered t1-wraps \
	path-searches crashes raced executed rekeys replayed drop_auth drop_replay drop_pcid pass_spi \
	dup_acked old_acked resource_nacked zone_nacked \
	rx_resync rx_resync_dup rx_nack ack_stale drop_csum; do
	tap_run "the soak has met $reached" grep -qE "^# .* $reached [1-9]" "$out"
done
soak "random fault schedules under sanitizers" "$asan" $((schedules / 4)) 100001
tap_done
