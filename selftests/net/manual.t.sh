#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# The programs in the manual pages of libraries: they compile without a warning, and do what the pages say.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"
tap_need gcc jq

# example PAGE OUTPUT ARGUMENT...: compile the page's program, with these arguments at the end.
example()
{
	awk '/^```/ { inside = !inside; next }
		inside' "$TAP_TOP/$1" >"$SCRATCH/$2.c"
	gcc -std=gnu11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -O2 -o "$SCRATCH/$2" -I"$TAP_TOP/include" \
		"$SCRATCH/$2.c" "${@:3}"
}

LIBRARY=("$TAP_BUILD/libfalcon.a" -ljansson)
tap_run "libfalcon(3)'s compiles" example user/lib/libfalcon.3.scd hello "${LIBRARY[@]}"
tap_run "falcon_nvme(3)'s compiles" example user/lib/falcon_nvme.3.scd block "${LIBRARY[@]}"
tap_run "falcon_rue(3)'s compiles" example user/rue/falcon_rue.3.scd eight.so -shared -fPIC
truncate -s 16M "$SCRATCH/disk"
lab_up --clear --export "b:$SCRATCH/disk"
behind b "$SCRATCH/hello" >"$SCRATCH/received"
receiver=$!

not()
{
	! "$@"
}

said()
{
	on a "$SCRATCH/hello" b "good morning"
}
# Who is not attached yet is not there.
tap_run "it sends a message" tap_wait_for $receiver 10 said
first_to_end 10 $receiver
tap_is "$? $(cat "$SCRATCH/received")" "0 good morning" "and receives it"
tap_is "$(on a "$SCRATCH/hello" c hello 2>&1 | tail -n 1)" \
	'c: no connection named "c"; falconctl conn show lists them' \
	"it says what is wrong: a peer that nobody knows"
tap_is "$(FALCON_SOCKET=/none "$SCRATCH/hello" b hello 2>&1)" \
	"attaching: no falcond at /none; is it running? FALCON_SOCKET names another socket" \
	"and no agent"

on a falconctl nvme connect disk local=10.250.0.1 targets=10.250.0.2/1
tap_run "a text is written to a disk" on a "$SCRATCH/block" disk "good evening"
tap_is "$(on a "$SCRATCH/block" disk)" "good evening" "and read"
tap_is "$(head -c 12 "$SCRATCH/disk")" "good evening" "and in the file that the disk is"
tap_is "$(on a "$SCRATCH/block" tape 2>&1 | grep -c '^tape: ')" 1 "it says what is wrong: no such device"

window()
{
	on a falconctl -j window show b | jq -e --argjson packets "$1" '.[0].fcwnd == $packets'
}

# Results come with events, and these with ACKs.
eight()
{
	on a "$SCRATCH/hello" b "$RANDOM" && window 8
}

tap_run "the window is not eight packets" not window 8
tap_run "an algorithm is loaded" on a falconctl rue set b "$SCRATCH/eight.so"
behind b "$SCRATCH/hello" >/dev/null
tap_run "after which the window is eight packets" tap_wait 10 eight
tap_done
