#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# The fuzzers of what comes from the network, of the control socket and of several tenants are built, link,
# and find nothing in their seeds, in the corpus of the tree and in what they make of them: the same inputs
# each time, for seconds. make fuzz looks further. They are built here, and not before all tests, as they only
# compute: they have what others leave of the machine (run.sh).
. "$(dirname "$0")/../tap.sh"
tap_need make clang

FUZZ=$TAP_BUILD/fuzz
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/falcon-fuzz.XXXXXX")
trap 'rm -rf "$SCRATCH"' EXIT

# How often each is run: a few seconds.
RUNS="fuzz_rdma 300
fuzz_tenants 200
fuzz_nvme 500
fuzz_control 2000
fuzz_handshake 3000
fuzz_rifl 5000
fuzz_rdma_cm 10000
fuzz_psp 10000
fuzz_frame 20000
fuzz_wire 100000"

# fuzz NAME RUNS: what it says into NAME.log, its status into NAME.rc.
fuzz()
{
	local rc=0

	mkdir "$SCRATCH/$1"
	"$TAP_TOP/selftests/fuzz/corpus.sh" unpack "$1" "$SCRATCH/corpus.$1" >"$SCRATCH/$1.log" 2>&1 &&
		"$FUZZ/$1" -runs="$2" -seed=1 -max_len=4096 -timeout=60 -artifact_prefix="$SCRATCH/$1-" \
			"$SCRATCH/$1" "$SCRATCH/corpus.$1" "$FUZZ/seeds/$1" >"$SCRATCH/$1.log" 2>&1 || rc=$?
	echo "$rc" >"$SCRATCH/$1.rc"
}
export -f fuzz
export FUZZ SCRATCH TAP_TOP

# What was found is told in full, for nothing else is kept.
fuzzed()
{
	[ "$(<"$SCRATCH/$1.rc")" = 0 ] && return
	tail -n 60 "$SCRATCH/$1.log"
	find "$SCRATCH" -name "$1-*" -exec base64 {} +
	return 1
}

# Not as a part of the make that runs the tests, if there is one.
build()
{
	env -u MAKELEVEL -u MAKEFLAGS -u MFLAGS \
		make --no-print-directory -C "$TAP_TOP" B="$TAP_BUILD" fuzzers-tested
}

tap_run "they are built" build
xargs -L 1 -P 2 bash -c 'fuzz "$@"' fuzz <<<"$RUNS"
while read -r name runs; do
	tap_run "$name: $runs inputs" fuzzed "$name"
done <<<"$RUNS"
tap_done
