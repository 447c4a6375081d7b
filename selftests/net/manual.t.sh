#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# The programs in the manual pages of libraries: they compile without a warning, and do what the pages say.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"
tap_need gcc

# example PAGE PROGRAM: the last program that the page has, and the program made of it.
example()
{
	awk '/^```/ { inside = !inside; if (inside) text = ""; next }
		inside { text = text $0 "\n" }
		text ~ /main\(/ { program = text }
		END { printf "%s", program }' "$TAP_TOP/$1" >"$SCRATCH/$2.c"
	gcc -std=gnu11 -Wall -Wextra -Werror -O2 -o "$SCRATCH/$2" -I"$TAP_TOP/include" "$SCRATCH/$2.c" \
		"$TAP_BUILD/libfalcon.a" -ljansson
}

tap_run "libfalcon(3)'s compiles" example user/lib/libfalcon.3.scd hello
lab_up --clear
behind b "$SCRATCH/hello" >"$SCRATCH/received"
receiver=$!

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
tap_done
