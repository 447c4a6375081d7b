#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# How much of the product's code the fuzzers reach: selftests/fuzz/coverage.sh FUZZER...
#
# Each runs once over all inputs that there are: seeds, the corpus of the tree, what "make fuzz" has learnt.
# Prints a line a fuzzer, one for all, and one for all but of user/ alone: inputs, lines of code that are in
# them, and how many of these were run; in the end the files with most that were not. "make fuzz-coverage"
# builds them with what that needs.
set -euo pipefail
cd "$(dirname "$0")/../.."

BUILD=${BUILD:-build}
FUZZ=$BUILD/fuzz
COVERAGE=$BUILD/fuzz-coverage
LISTED=12	# files

# lines PROFILE PROGRAM...: of each file: lines run, lines, name.
lines()
{
	local objects=() program

	for program in "${@:3}"; do
		objects+=(-object "$program")
	done
	llvm-cov export -summary-only -instr-profile="$1" "$2" "${objects[@]}" |
		jq -r '.data[0].files[] | .summary.lines + {file: (.filename | ltrimstr("./"))} |
			select(.count > 0 and (.file | test("^(bpf|include|tools|user)/"))) |
			[.covered, .count, .file] | @tsv'
}

# row NAME INPUTS: what lines() says on stdin, summed.
row()
{
	awk -v name="$1" -v inputs="$2" '
		{ covered += $1; count += $2 }
		END {
			printf "%-16s %8d inputs %7d of %6d lines %5.1f %%\n", name, inputs, covered, count,
				100 * covered / count
		}'
}

# replay NAME: into its profile; prints the number of inputs.
replay()
{
	local folder folders=() log=$COVERAGE/$1.log

	for folder in "$FUZZ/seeds/$1" "$FUZZ/corpus/$1" "$COVERAGE/corpus/$1"; do
		[ ! -d "$folder" ] || folders+=("$folder")
	done
	LLVM_PROFILE_FILE=$COVERAGE/$1.profraw "$COVERAGE/$1" -runs=0 -max_len=16384 -timeout=60 \
		"${folders[@]}" >"$log" 2>&1 || { tail -n 40 "$log" >&2; return 1; }
	llvm-profdata merge -sparse -o "$COVERAGE/$1.profile" "$COVERAGE/$1.profraw"
	rm "$COVERAGE/$1.profraw"
	find "${folders[@]}" -type f | wc -l
}

[ $# -gt 0 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
total=0
for name; do
	selftests/fuzz/corpus.sh unpack "$name" "$COVERAGE/corpus/$name"
	inputs=$(replay "$name")
	total=$((total + inputs))
	lines "$COVERAGE/$name.profile" "$COVERAGE/$name" | row "$name" "$inputs"
done
programs=("${@/#/$COVERAGE/}")
llvm-profdata merge -sparse -o "$COVERAGE/all.profile" "${programs[@]/%/.profile}"
lines "$COVERAGE/all.profile" "${programs[@]}" >"$COVERAGE/lines"
row all $total <"$COVERAGE/lines"
grep -P '\tuser/' "$COVERAGE/lines" | row "all: user/" $total
echo "most lines not run:"
awk '{ printf "%5d of %5d lines  %s\n", $2 - $1, $2, $3 }' "$COVERAGE/lines" | sort -rn | head -n $LISTED
