#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Run the tests: selftests/run.sh [-1v] [-j N] [KIND | FILE]...
#
# A test is an executable build/selftests/KIND/NAME.t or a script selftests/KIND/NAME.t.sh that
# prints TAP. One line a program is printed, failures with their output, skips with their reason.
# A program fails also by dying, by running out of time, by printing fewer results than it planned, and by
# leaving something behind: a process, a namespace, a pinned map, a file (traces.sh). The whole output of each
# is kept in build/selftests/log/, with a line for each in "seconds" and the last lines in "summary".
#
# A program of the kinds net and apps that failed is run once more when all others are through. If it
# then passes it counts as passed, its first output is kept as NAME.first.log, and the line before the
# last names it: "unsteady: NAME...". More than three of them fail the run. -1: no second try.
#
# Programs of the kinds that need not have the machine for themselves run side by side, N at a time: half as
# many again as there are CPUs, for some of them mostly wait, unless -j says otherwise. Those that only
# compute run one after the other at idle priority (SCHED_IDLE), in what the others, which have the machine
# for themselves, leave of it.
#
# Time limit: 120 s; a script changes its own with a line "# timeout: SECONDS", a compiled test
# with a file NAME.timeout beside its source. Five times as much at idle priority; FALCON_TEST_FULL=1 gives
# ten times as much.
# FALCON_TEST_TIMEOUT overrides all. FALCON_TEST_LEFT: seconds that what a program started has for ending
# after it (5).
set -uo pipefail
# shellcheck source=selftests/program.sh
. "$(dirname "$0")/program.sh"
# shellcheck source=selftests/machine.sh
. "$(dirname "$0")/machine.sh"
cd "$(dirname "$0")/.." || exit 1

BUILD=${BUILD:-build}
LOG=$BUILD/selftests/log
KINDS_FIRST=(lint unit model bpf dissector)	# the cheap ones; the rest by name
KINDS_TOGETHER=" lint unit dissector "	# run side by side
KINDS_IDLE=" model sim fuzz vectors install "	# only compute: run at idle priority
UNSTEADY_MAX=3		# programs that may need a second try
verbose=0 second_try=1 jobs=$(($(nproc) + ($(nproc) + 1) / 2))
passed=0 failed=0 skipped=0 programs=0
again=() unsteady=() children=() idle_children=()

usage()
{
	sed -n '3,24s/^# \{0,1\}//p' selftests/run.sh
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

# show_log TEST: what it printed, as remarks.
show_log()
{
	name_of "$1"
	sed 's/^/#   /' "$LOG/$REPLY.log" | tail -n 200
}

# report VERDICT TEST: the line of a program whose verdict it is, ok or "not ok", and what it skipped; its
# results count.
report()
{
	programs=$((programs + 1))
	passed=$((passed + OK)) failed=$((failed + BAD)) skipped=$((skipped + SKIP))
	name_of "$2"
	printf '%s %d - %s # %s\n' "$1" $programs "$REPLY" "$RESULT"
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
	name_of "$1"
	case $REPLY in
	net/* | apps/*) ;;
	*) return 1 ;;
	esac
}

# forget_first_log TEST: of an earlier run.
forget_first_log()
{
	name_of "$1"
	[ ! -e "$LOG/$REPLY.first.log" ] || rm -f "$LOG/$REPLY.first.log"
}

# It has been tried for the first time.
settle()
{
	if [ "$BAD" -eq 0 ]; then
		report ok "$1"
	elif has_second_try "$1"; then
		printf '# %s failed and is run once more at the end: %s\n' "$REPLY" "$RESULT"
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

	name_of "$1"
	name=$REPLY
	mv "$LOG/$name.log" "$LOG/$name.first.log"
	if try "$1"; then
		RESULT+=", at the second try"
		unsteady+=("$name")
		report ok "$1"
	else
		report "not ok" "$1"
	fi
}

# ---- side by side ----

# is_of KINDS TEST
is_of()
{
	name_of "$2"
	[[ $1 == *" ${REPLY%%/*} "* ]]
}

# worker TEST FILE: a process of its own; how the test went is in the file.
worker()
{
	children=()
	try "$1"
	printf 'OK=%d BAD=%d SKIP=%d SKIPS=%q RESULT=%q\n' "$OK" "$BAD" "$SKIP" "$SKIPS" "$RESULT" >"$2.new"
	mv "$2.new" "$2"
}

# Wait for a worker. A day is longer than any.
collect()
{
	local pid left=()

	first_to_end 86400 "${children[@]}"
	for pid in "${children[@]}"; do
		[ "$pid" = "$ENDED" ] || left+=("$pid")
	done
	children=("${left[@]}")
}

# outcome_of N: what the worker of the N-th test says, or, if it has ended without a word, what that means.
outcome_of()
{
	OK=0 BAD=1 SKIP=0 SKIPS='' RESULT="the runner's own process for it has died"
	# shellcheck source=/dev/null
	[ ! -e "$RUN_FOLDER/outcome.$1" ] || . "$RUN_FOLDER/outcome.$1"
}

# run_together TEST...: so many at a time; each is reported as soon as all before it are.
run_together()
{
	local tests=("$@") begun=0 told=0 before

	before=$(traces; echo .)
	side_by_side=1
	while [ $told -lt ${#tests[@]} ]; do
		while [ ${#children[@]} -lt "$jobs" ] && [ $begun -lt ${#tests[@]} ]; do
			forget_first_log "${tests[begun]}"
			worker "${tests[begun]}" "$RUN_FOLDER/outcome.$begun" {KEEPER}>&- &
			children+=($!)
			begun=$((begun + 1))
		done
		[ ${#children[@]} -eq 0 ] || collect
		while [ -e "$RUN_FOLDER/outcome.$told" ] ||
			{ [ ${#children[@]} -eq 0 ] && [ $told -lt $begun ]; }; do
			outcome_of $told
			settle "${tests[told]}"
			told=$((told + 1))
		done
	done
	side_by_side=0
	left_behind "$before" "$RUN_MARK" "$(mktemp -d "$RUN_FOLDER/XXXX")"
	if [ -n "$LEFT" ]; then
		failed=$((failed + 1))
		sed 's/^/# left behind by one of these: /' <<<"$LEFT"
	fi
}

# ---- at idle priority ----

# run_idle TEST...: one after the other, in a process of its own, from now on.
run_idle()
{
	local n=0 test

	for test; do
		forget_first_log "$test"
	done
	(
		chrt -i -p 0 "$BASHPID"
		side_by_side=1 at_idle_priority=1
		for test; do
			worker "$test" "$RUN_FOLDER/outcome.idle$n"
			n=$((n + 1))
		done
	) {KEEPER}>&- &
	idle_children=($!)
}

# end_idle TEST...: wait for them, and report each.
end_idle()
{
	local n=0 test

	[ $# -gt 0 ] || return 0
	first_to_end 86400 "${idle_children[@]}"
	idle_children=()
	for test; do
		outcome_of "idle$n"
		settle "$test"
		n=$((n + 1))
	done
}

# ---- the run ----

interrupted()
{
	local pid

	trap '' INT TERM
	for pid in "${children[@]}" "${idle_children[@]}"; do
		end_child $CLEANUP_SECONDS "$pid"
	done
	exec {KEEPER}>&-
	wait "$KEEPER_PID"
	echo "# interrupted"
	exit 130
}

while getopts 1vj:h opt; do
	case $opt in
	1) second_try=0 ;;
	v) verbose=1 ;;
	j) jobs=$OPTARG ;;
	h) usage; exit 0 ;;
	*) usage >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[[ $jobs =~ ^[1-9][0-9]*$ ]] || { echo "-j $jobs: not a number of programs" >&2; exit 2; }

tests=()
if [ $# -eq 0 ]; then
	for kind in $(kinds); do
		read -rd '' -a of_kind <<<"$(tests_of "$kind")"
		tests+=("${of_kind[@]}")
	done
fi
for arg; do
	if [ -f "$arg" ]; then
		[ -x "$arg" ] || { echo "$arg: not executable" >&2; exit 2; }
		tests+=("$(realpath -s --relative-to=. "$arg")")
		continue
	fi
	read -rd '' -a of_kind <<<"$(tests_of "$arg")"
	tests+=("${of_kind[@]}")
	[ ${#of_kind[@]} -gt 0 ] || { echo "$arg: no such test, no tests of that kind" >&2; exit 2; }
done

mkdir -p "$LOG"
rm -f "$LOG/seconds" "$LOG/summary"
RUN_MARK=falcon-test-$$-$RANDOM
RUN_FOLDER=$(mktemp -d /tmp/ft.XXXX)
chmod 755 "$RUN_FOLDER"
traces >"$RUN_FOLDER/before"
touch "$RUN_FOLDER/pids"
exec {KEEPER}> >(exec setsid selftests/keeper.sh "$RUN_MARK" "$RUN_FOLDER" >/dev/null 2>&1)
KEEPER_PID=$!
trap interrupted INT TERM

echo "TAP version 13"
echo "1..${#tests[@]}"
machine_report
together=() alone=() idle=()
for t in "${tests[@]}"; do
	[[ $t == /* ]] || t=./$t
	if is_of "$KINDS_TOGETHER" "$t"; then
		together+=("$t")
	elif is_of "$KINDS_IDLE" "$t"; then
		idle+=("$t")
	else
		alone+=("$t")
	fi
done
[ ${#together[@]} -eq 0 ] || run_together "${together[@]}"
[ ${#idle[@]} -eq 0 ] || run_idle "${idle[@]}"
for t in "${alone[@]}"; do
	forget_first_log "$t"
	try "$t"
	settle "$t"
done
end_idle "${idle[@]}"
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
rm -rf "$RUN_FOLDER"
echo over >&$KEEPER
[ "$failed" -eq 0 ] && [ "$programs" -gt 0 ]
