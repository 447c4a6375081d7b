#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# selftests/keeper.sh MARK FOLDER: outlives a run of run.sh that is killed, and takes away what is left of it.
# The run holds the other end of standard input, and says "over" when there is nothing left to do.
trap '' INT TERM HUP
# shellcheck source=selftests/traces.sh
. "$(dirname "$0")/traces.sh"

read -r word
[ "${word:-}" != over ] || exit 0
end_marked 20 "$1"
# shellcheck disable=SC2046 # words
new_traces "$(cat "$2/before"; echo .)" "$1" "$2" $(cat "$2/pids") | remove_traces
rm -rf "$2"
