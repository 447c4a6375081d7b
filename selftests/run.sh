#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Run the tests: selftests/run.sh [-v] [KIND | FILE]...
#
# A test is an executable build/selftests/KIND/NAME.t or a script selftests/KIND/NAME.t.sh that
# prints TAP. One line a program is printed, failures with their output, skips with their reason.
# A program fails also by dying, by running out of time, and by printing fewer results than it
# planned. The whole output of each is kept in build/selftests/log/.
#
# Time limit: 300 s; a script changes its own with a line "# timeout: SECONDS", a compiled test
# with a file NAME.timeout beside its source. FALCON_TEST_FULL=1 gives ten times as much.
# FALCON_TEST_TIMEOUT overrides all.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
LOG=$BUILD/selftests/log
KINDS_FIRST=(lint unit model bpf dissector)	# the cheap ones; the rest by name
verbose=0
passed=0 failed=0 skipped=0 programs=0
child=

usage()
{
	sed -n '3,14s/^# \{0,1\}//p' "$0"
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
	n=${n:-300}
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
	[ -n "$child" ] && kill -TERM "$child" 2>/dev/null
	wait
	echo "# interrupted"
	exit 130
}

run_one()
{
	local test=$1 name limit log rc=0 plan ok bad skip counts why='' started=$SECONDS

	name=$(name_of "$test")
	limit=$(limit_of "$test")
	log=$LOG/$name.log
	mkdir -p "$(dirname "$log")"
	programs=$((programs + 1))
	timeout -k 20 "$limit" "$test" >"$log" 2>&1 </dev/null &
	child=$!
	wait "$child" 2>/dev/null || rc=$?
	child=
	counts=$(read_tap <"$log")
	read -r plan ok bad skip <<<"$(head -n 1 <<<"$counts")"
	if [ "$rc" -eq 124 ] || [ $((SECONDS - started)) -gt "$limit" ]; then
		why="no end within $limit s"
	elif [ "$plan" -lt 0 ]; then
		why="printed no plan, exit status $rc"
	elif [ "$plan" -ne $((ok + bad + skip)) ]; then
		why="planned $plan, reported $((ok + bad + skip)), exit status $rc"
	elif [ "$rc" -ne 0 ] && [ "$bad" -eq 0 ]; then
		why="exit status $rc"
	fi
	passed=$((passed + ok))
	skipped=$((skipped + skip))
	failed=$((failed + bad))
	if [ -n "$why" ]; then
		failed=$((failed + 1))
	fi
	if [ -n "$why" ] || [ "$bad" -gt 0 ]; then
		printf 'not ok %d - %s # %s\n' "$programs" "$name" "${why:-$bad of $plan failed}"
		sed 's/^/#   /' "$log" | tail -n 200
	else
		printf 'ok %d - %s # %d passed%s, %d s\n' "$programs" "$name" "$ok" \
			"$([ "$skip" -gt 0 ] && echo ", $skip skipped")" $((SECONDS - started))
		[ "$verbose" -eq 1 ] && sed 's/^/#   /' "$log"
	fi
	tail -n +2 <<<"$counts"
}

trap interrupted INT TERM
while getopts vh opt; do
	case $opt in
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

echo "TAP version 13"
echo "1..${#tests[@]}"
for t in "${tests[@]}"; do
	case $t in
	/*) run_one "$t" ;;
	*) run_one "./$t" ;;
	esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$programs" -gt 0 ]
