#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Run test programs over and over while the machine is disturbed, and say which failed under what:
#
#	selftests/shake.sh [-n N] [-d HOW,...] [KIND | KIND/NAME]...
#
# Each program, all of net and apps unless some are named, runs N times, 10 unless -n says otherwise, in
# rounds, with the next disturbance each time:
#
#	none	nothing
#	burn	a process that computes on each CPU
#	fork	short processes, without end, on each CPU
#	stop	agents are stopped and go on, at random; not for programs with a line "# stops agents",
#		which would find them going on
#	memory	caches and page tables are kept busy on each CPU
#	slices	a process of real-time priority cuts all time slices short, on each CPU
#	one	the program and all that it starts have one CPU
#
# The table of failures comes at the end, and after an interruption. A failed run's log and what run.sh said
# of it are in build/selftests/shake/log/. No program gets a second try.
set -uo pipefail
# shellcheck source=selftests/traces.sh
. "$(dirname "$0")/traces.sh"
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
OUT=$BUILD/selftests/shake/log
DISTURB=$BUILD/selftests/shake/disturb
MARK=falcon-shake-$$
SECONDS_MAX=600		# of a run
rounds=10 hows=(none burn fork stop memory slices one)
disturbers=() failures=0 runner=

usage()
{
	sed -n '3,20s/^# \{0,1\}//p' selftests/shake.sh
}

# The programs of a kind, or the one of that name, a file a line.
files_of()
{
	local f

	for f in {"$BUILD/selftests/$1",selftests/"$1"}{,/*}.t{,.sh}; do
		[ -x "$f" ] && printf '%s\n' "$f"
	done
}

disturb()
{
	local i

	case $1 in
	none | one) return ;;
	stop) "$DISTURB" stop "$MARK" & disturbers+=($!) ;;
	*)
		for ((i = 0; i < $(nproc); i++)); do
			"$DISTURB" "$1" &
			disturbers+=($!)
		done
		;;
	esac
}

calm()
{
	[ ${#disturbers[@]} -eq 0 ] || kill "${disturbers[@]}" 2>/dev/null
	wait "${disturbers[@]}" 2>/dev/null
	disturbers=()
}

# shake ROUND HOW FILE: one run.
shake()
{
	local name verdict=ok started=$SECONDS run=(selftests/run.sh -1 "$3")

	[ "$2" != stop ] || ! grep -q '^# stops agents$' "$3" || set -- "$1" none "$3"
	name=${3#"$BUILD/"}
	name=${name#selftests/}
	name=${name%.sh}
	name=${name%.t}
	[ "$2" != one ] || run=(taskset -c 0 "${run[@]}")
	disturb "$2"
	FALCON_TEST_MARKS=" $MARK " FALCON_TEST_TIMEOUT=$SECONDS_MAX "${run[@]}" >"$OUT/now" 2>&1 &
	runner=$!
	if ! wait $runner; then
		verdict=FAILED
		failures=$((failures + 1))
		mv "$OUT/now" "$OUT/${name/\//.}.$1.$2"
		cp "$BUILD/selftests/log/$name.log" "$OUT/${name/\//.}.$1.$2.log" 2>/dev/null
	fi
	runner=
	calm
	printf '%-6s %3d %-7s %-24s %4d s\n' $verdict "$1" "$2" "$name" $((SECONDS - started)) |
		tee -a "$OUT/runs"
}

# A line a program: failures of runs under each disturbance.
table()
{
	printf '\nfailures of runs:\n\n%-24s' program
	printf '%9s' "${hows[@]}" all
	printf '\n'
	awk -v hows="${hows[*]}" '
		!($4 in seen) { seen[$4] = 1; names[++n] = $4 }
		{ runs[$4, $3]++; bad[$4, $3] += $1 == "FAILED" }
		END {
			k = split(hows, how, " ")
			for (i = 1; i <= n; i++) {
				printf "%-24s", names[i]
				all = of = 0
				for (j = 1; j <= k; j++) {
					b = bad[names[i], how[j]]; r = runs[names[i], how[j]]
					all += b; of += r
					printf "%9s", r ? (b + 0) "/" r : "-"
				}
				printf "%9s\n", of ? all "/" of : "-"
			}
		}' "$OUT/runs"
}

interrupted()
{
	trap '' INT TERM
	[ -z "$runner" ] || end_child 60 "$runner"
	finish
	exit 130
}

finish()
{
	calm
	table
	[ $failures -eq 0 ] || printf '\nlogs of the failures: %s\n' "$OUT"
}

while getopts n:d:h opt; do
	case $opt in
	n) rounds=$OPTARG ;;
	d) IFS=, read -ra hows <<<"$OPTARG" ;;
	h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ -x "$DISTURB" ] || { echo "shake.sh: no $DISTURB; make tests" >&2; exit 2; }
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "shake.sh: -n $rounds: not a number of runs" >&2; exit 2; }
for how in "${hows[@]}"; do
	[[ " none burn fork stop memory slices one " == *" $how "* ]] ||
		{ echo "shake.sh: -d $how: no such disturbance" >&2; exit 2; }
done
files=()
[ $# -gt 0 ] || set -- net apps
for arg; do
	read -rd '' -a of_arg <<<"$(files_of "$arg")"
	files+=("${of_arg[@]}")
	[ ${#of_arg[@]} -gt 0 ] || { echo "shake.sh: $arg: no such test" >&2; exit 2; }
done

mkdir -p "$OUT"
rm -f "$OUT"/*
touch "$OUT/runs"
trap interrupted INT TERM
for ((round = 0; round < rounds; round++)); do
	for i in "${!files[@]}"; do
		shake $((round + 1)) "${hows[(round + i) % ${#hows[@]}]}" "${files[i]}"
	done
done
finish
[ $failures -eq 0 ]
