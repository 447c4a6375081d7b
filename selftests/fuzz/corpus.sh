#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The corpora of the tree, corpus/NAME.tar.xz:
#
#	corpus.sh unpack FUZZER FOLDER		into a folder of this name, which is made anew
#	corpus.sh merge FUZZER			of what "make fuzz" has learnt, and of what the tree has,
#						a few inputs that reach all edges it reaches, beside the seeds
#
# Only which edges an input reaches counts, not how often, and inputs are short: that keeps the files small.
set -euo pipefail
cd "$(dirname "$0")/../.."

BUILD=${BUILD:-build}
FUZZ=$BUILD/fuzz
KEPT=selftests/fuzz/corpus
MAX_LEN=4096	# bytes of an input

unpack()
{
	rm -rf "$2"
	mkdir -p "$2"
	[ ! -e "$KEPT/$1.tar.xz" ] || tar -xf "$KEPT/$1.tar.xz" -C "$2"
}

merge()
{
	local scratch file

	scratch=$(mktemp -d)
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$scratch'" EXIT
	unpack "$1" "$scratch/tree"
	mkdir -p "$scratch/learnt" "$FUZZ/corpus/$1"
	cp -r "$FUZZ/seeds/$1" "$scratch/seeds"
	cp -r "$scratch/seeds" "$scratch/all"
	"$FUZZ/$1" -merge=1 -use_counters=0 -max_len=$MAX_LEN -timeout=60 "$scratch/all" "$scratch/tree" \
		"$FUZZ/corpus/$1" >"$scratch/log" 2>&1 || { tail -n 40 "$scratch/log" >&2; return 1; }
	for file in "$scratch/all"/*; do
		[ -e "$scratch/seeds/${file##*/}" ] || mv "$file" "$scratch/learnt"
	done
	if [ -z "$(ls "$scratch/learnt")" ]; then
		echo "$1: its seeds reach as much"
		rm -f "$KEPT/$1.tar.xz"
		return
	fi
	(cd "$scratch/learnt" && ls) | tar -cf - -C "$scratch/learnt" --format=ustar --mtime=@0 --owner=0 \
		--group=0 --numeric-owner --mode=644 -T - | xz -9e >"$KEPT/$1.tar.xz"
	echo "$1: $(find "$scratch/learnt" -type f | wc -l) inputs, $(stat -c %s "$KEPT/$1.tar.xz") bytes"
}

case $#/${1-} in
3/unpack) unpack "$2" "$3" ;;
2/merge) merge "$2" ;;
*) sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
