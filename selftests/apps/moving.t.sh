#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Memory that is registered moves, and its application notices nothing; where it moves to is what
# FALCON_VERBS_MEMORY says.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need setpriv ib_write_bw

TESTS="writers overlapping reregistered children unmapped remapped discarded allocated not_movable"

# moves SETTING: what can be moved here, where to; else it stays.
moves()
{
	FALCON_VERBS_MEMORY=offload moving offload allocated >/dev/null && return
	tap_skip "$1" "this kernel moves no pages (UFFDIO_MOVE, Linux 6.8): they stay"
	return 1
}

# moving PLACE TEST: on host a.
moving()
{
	on a falcon-run "$TAP_BUILD/selftests/apps/moving" "$@"
}

environment clear-ipv4-0
for setting in auto:offload offload:offload shared:shared plain:plain; do
	export FALCON_VERBS_MEMORY=${setting%:*}
	place=${setting#*:}
	[ "$place" = plain ] || moves "$FALCON_VERBS_MEMORY" || continue
	tests=$TESTS
	# As auto, but for what is tried next.
	[ "$FALCON_VERBS_MEMORY" != offload ] || tests=allocated
	for test in $tests; do
		tap_run "$FALCON_VERBS_MEMORY: $test" moving "$place" "$test"
	done
done

# A program that knows nothing of it: its memory is XDP's, once the kernel has let XDP see the memory, for
# which it takes as long as it likes.
placed()
{
	local before all

	before=$(counter a xdp_placed) all=$(counter a 'xdp_placed|rx_data')
	run_pair ib_write_bw -d falcon0 -x 0 -F -s 65536 -n 500 >"$SCRATCH/bw" 2>&1 || return
	before=$(($(counter a xdp_placed) - before)) all=$(($(counter a 'xdp_placed|rx_data') - all))
	[ $((before * 100)) -ge $((all * 99)) ]
}

export FALCON_VERBS_MEMORY=auto
name="ib_write_bw: XDP places 99 % of its packets"
! moves "$name" || tap_run "$name" tap_wait 30 placed

# Whoever may not hold off the kernel's faults has memory as it was.
id=$(id -u nobody)
# Everybody may connect to the agent, and look where the library and the program are.
chmod 666 "/run/falcon-$FALCON_LAB/a/falcond.sock"
chmod 755 "$SCRATCH"
install -D -t "$SCRATCH/all" "$TAP_BUILD/falcon-run" "$TAP_BUILD/libfalcon_verbs.so" \
	"$TAP_BUILD/selftests/apps/moving"
install -d -o "$id" "$SCRATCH/run"

# as_nobody TEST
as_nobody()
{
	on a env XDG_RUNTIME_DIR="$SCRATCH/run" setpriv --reuid="$id" --clear-groups \
		"$SCRATCH/all/falcon-run" "$SCRATCH/all/moving" plain "$1"
}

for test in $TESTS; do
	tap_run "unprivileged: $test" as_nobody "$test"
done
tap_done
