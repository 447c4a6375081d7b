#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# Built in different folders the programs are the same, byte for byte: two libraries and a BPF object, and
# with FALCON_TEST_FULL=1 all that is installed.
. "$(dirname "$0")/../tap.sh"
tap_need make gcc clang

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

WHAT=(build/libfalcon.so build/falcon.bpf.o build/rue/aimd.so)
[ -z "${FALCON_TEST_FULL:-}" ] || WHAT=(all)

# build FOLDER
build()
{
	mkdir -p "$1" && (cd "$TAP_TOP" && tar c Makefile bpf include user tools selftests) | tar x -C "$1" &&
		env -u MAKEFLAGS -u MAKELEVEL make -C "$1" "${WHAT[@]}"
}

# Of what was linked, of archives and of BPF objects, which of them differ.
differ()
{
	local file

	(cd "$TMP/one/build" && find . -maxdepth 2 -type f ! -name "*.[do]" -o -name "*.bpf.o") >"$TMP/files"
	while read -r file; do
		cmp -s "$TMP/one/build/$file" "$TMP/the/other/build/$file" || echo "$file"
	done <"$TMP/files"
}

tap_run "built in one folder" build "$TMP/one"
tap_run "and in another" build "$TMP/the/other"
tap_run "there is what is compared" test -s "$TMP/one/build/libfalcon.so"
tap_is "$(differ)" "" "both are the same"
tap_done
