#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Run the tests: selftests/run.sh [-1v] [KIND | FILE]...
#
# A test is an executable build/selftests/KIND/NAME.t or a script selftests/KIND/NAME.t.sh that
# prints TAP. One line a program is printed, failures with their output, skips with their reason.
# A program fails also by dying, by running out of time, and by printing fewer results than it
# planned. The whole output of each is kept in build/selftests/log/, with a line for each in "seconds" and
# the last lines in "summary".
#
# A program of the kinds net and apps that failed is run once more when all others are through. If it
# then passes it counts as passed, its first output is kept as NAME.first.log, and the line before the
# last names it: "unsteady: NAME...". More than three of them fail the run. -1: no second try.
#
# Time limit: 120 s; a script changes its own with a line "# timeout: SECONDS", a compiled test
# with a file NAME.timeout beside its source. FALCON_TEST_FULL=1 gives ten times as much.
# FALCON_TEST_TIMEOUT overrides all.
set -uo pipefail
# shellcheck source=selftests/procs.sh
. "$(dirname "$0")/procs.sh"
# shellcheck source=selftests/machine.sh
. "$(dirname "$0")/machine.sh"
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
LOG=$BUILD/selftests/log
KINDS_FIRST=(lint unit model bpf dissector)	# the cheap ones; the rest by name
UNSTEADY_MAX=3		# programs that may need a second try
CLEANUP_SECONDS=20	# that a program has for tidying up when it is ended
verbose=0 second_try=1
passed=0 failed=0 skipped=0 programs=0
again=() unsteady=()
child=

usage()
{
	sed -n '3,17s/^# \{0,1\}//p' selftests/run.sh
}

# All tests of one kind, compiled ones first.
tests_of()
{
	local t

	for t in "$BUILD/selftests/$1"/*.t "selftests/$1"/*.t.sh; do
		[ -x "$t" ] && printf '%s\n' "$t"
	done
}

kinds()
{
	{
		printf '%s\n' "${KINDS_FIRST[@]}"
		for d in selftests/*/ "$BUILD"/selftests/*/; do
			[ -d "$d" ] && basename "$d"
		done | grep -vx log | sort -u
	} | awk '!seen[$0]++'
}

# KIND/NAME of a test file.
name_of()
{
	local kind name

	kind=$(basename "$(dirname "$1")")
	name=$(basename "$1")
	name=${name%.sh}
	printf '%s/%s' "$kind" "${name%.t}"
}

limit_of()
{
	local n='' name

	name=$(name_of "$1")
	case $1 in
	*.sh) n=$(sed -n 's/^# timeout: \([0-9]\+\)$/\1/p' "$1" | head -n 1) ;;
	*) [ -f "selftests/$name.timeout" ] && n=$(<"selftests/$name.timeout") ;;
	esac
	n=${n:-120}
	[ "${FALCON_TEST_FULL:-0}" = 0 ] || n=$((n * 10))
	printf '%s' "${FALCON_TEST_TIMEOUT:-$n}"
}

# Read TAP on stdin; print "PLANNED OK NOT_OK SKIP" and, after it, a line "# name: reason" a skip.
# A program may print several plans (one per cmocka group); cmocka says "not ok" of what it skips.
read_tap()
{
	awk '
	/^1\.\.0/ && tolower($0) ~ /# *skip/ {
		whole = 1; skip++; plan++
		sub(/^1\.\.0 *# *[Ss][Kk][Ii][Pp] */, ""); why[skip] = "all: " $0; next
	}
	/^1\.\.[0-9]+/ { split($1, p, /\.\./); plan += p[2]; planned = 1; next }
	/^(not )?ok( |$)/ {
		if (tolower($0) ~ /# *skip/) {
			skip++
			line = $0
			sub(/^(not )?ok *[0-9]* *-? */, "", line)
			sub(/ *# *[Ss][Kk][Ii][Pp] */, ": ", line)
			sub(/^: /, "", line)
			why[skip] = line
		} else if ($1 == "ok") {
			ok++
		} else {
			bad++
		}
	}
	END {
		if (!planned && !whole)
			plan = -1
		printf "%d %d %d %d\n", plan, ok, bad, skip
		for (i = 1; i <= skip; i++)
			print "# skipped " why[i]
	}'
}

interrupted()
{
	[ -z "$child" ] || end_child $CLEANUP_SECONDS "$child"
	echo "# interrupted"
	exit 130
}

# run_limited SECONDS TEST LOG: the program's exit status, 124 when it was ended.
run_limited()
{
	local rc=0

	"$2" >"$3" 2>&1 </dev/null &
	child=$!
	first_to_end "$1" "$child" || rc=$?
	[ -n "$ENDED" ] || end_child $CLEANUP_SECONDS "$child"
	child=
	return $rc
}

# try TEST: run it. RESULT is how its line ends, OK, BAD and SKIP are the numbers of its results, a failure of
# the whole program being one of BAD, and SKIPS are the lines on what it skipped. Its status: passed or not.
try()
{
	local name limit log rc=0 plan counts why='' started=$SECONDS seconds

	name=$(name_of "$1")
	limit=$(limit_of "$1")
	log=$LOG/$name.log
	mkdir -p "$(dirname "$log")"
	run_limited "$limit" "$1" "$log" || rc=$?
	seconds=$((SECONDS - started))
	printf '%d %s\n' $seconds "$name" >>"$LOG/seconds"
	counts=$(read_tap <"$log")
	read -r plan OK BAD SKIP <<<"$(head -n 1 <<<"$counts")"
	SKIPS=$(tail -n +2 <<<"$counts")
	if [ -z "$ENDED" ]; then
		why="no end within $limit s"
	elif [ "$plan" -lt 0 ]; then
		why="printed no plan, exit status $rc"
	elif [ "$plan" -ne $((OK + BAD + SKIP)) ]; then
		why="planned $plan, reported $((OK + BAD + SKIP)), exit status $rc"
	elif [ "$rc" -ne 0 ] && [ "$BAD" -eq 0 ]; then
		why="exit status $rc"
	fi
	RESULT="${why:-$BAD of $plan failed}, $seconds s"
	[ -z "$why" ] || BAD=$((BAD + 1))
	[ "$BAD" -eq 0 ] || return
	RESULT="$OK passed$([ "$SKIP" -eq 0 ] || echo ", $SKIP skipped"), $seconds s"
}

# show_log TEST: what it printed, as remarks.
show_log()
{
	sed 's/^/#   /' "$LOG/$(name_of "$1").log" | tail -n 200
}

# report VERDICT TEST: the line of a program whose verdict it is, ok or "not ok", and what it skipped; its
# results count.
report()
{
	programs=$((programs + 1))
	passed=$((passed + OK)) failed=$((failed + BAD)) skipped=$((skipped + SKIP))
	printf '%s %d - %s # %s\n' "$1" $programs "$(name_of "$2")" "$RESULT"
	if [ "$1" != ok ]; then
		show_log "$2"
		machine_report
	elif [ $verbose -eq 1 ]; then
		show_log "$2"
	fi
	[ -z "$SKIPS" ] || printf '%s\n' "$SKIPS"
}

# Whether a failure of this program may be the machine's, and it gets a second try.
has_second_try()
{
	[ $second_try -eq 1 ] || return
	case $(name_of "$1") in
	net/* | apps/*) ;;
	*) return 1 ;;
	esac
}

first_run()
{
	rm -f "$LOG/$(name_of "$1").first.log"
	if try "$1"; then
		report ok "$1"
	elif has_second_try "$1"; then
		printf '# %s failed and is run once more at the end: %s\n' "$(name_of "$1")" "$RESULT"
		show_log "$1"
		machine_report
		again+=("$1")
	else
		report "not ok" "$1"
	fi
}

second_run()
{
	local name

	name=$(name_of "$1")
	mv "$LOG/$name.log" "$LOG/$name.first.log"
	if try "$1"; then
		RESULT+=", at the second try"
		unsteady+=("$name")
		report ok "$1"
	else
		report "not ok" "$1"
	fi
}

trap interrupted INT TERM
while getopts 1vh opt; do
	case $opt in
	1) second_try=0 ;;
	v) verbose=1 ;;
	h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))

tests=()
if [ $# -eq 0 ]; then
	for kind in $(kinds); do
		mapfile -t -O "${#tests[@]}" tests < <(tests_of "$kind")
	done
fi
for arg; do
	if [ -f "$arg" ]; then
		[ -x "$arg" ] || { echo "$arg: not executable" >&2; exit 2; }
		tests+=("$(realpath -s --relative-to=. "$arg")")
		continue
	fi
	before=${#tests[@]}
	mapfile -t -O "$before" tests < <(tests_of "$arg")
	[ "${#tests[@]}" -gt "$before" ] || { echo "$arg: no such test, no tests of that kind" >&2; exit 2; }
done

mkdir -p "$LOG"
rm -f "$LOG/seconds" "$LOG/summary"
echo "TAP version 13"
echo "1..${#tests[@]}"
machine_report
for t in "${tests[@]}"; do
	case $t in
	/*) first_run "$t" ;;
	*) first_run "./$t" ;;
	esac
done
for t in "${again[@]}"; do
	second_run "$t"
done
if [ ${#unsteady[@]} -gt $UNSTEADY_MAX ]; then
	failed=$((failed + 1))
	echo "# failed: more than $UNSTEADY_MAX programs are unsteady"
fi
{
	[ ${#unsteady[@]} -eq 0 ] || echo "unsteady: ${unsteady[*]}"
	echo "$passed passed, $failed failed, $skipped skipped"
} | tee "$LOG/summary"
[ "$failed" -eq 0 ] && [ "$programs" -gt 0 ]
