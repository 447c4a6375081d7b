# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# One program of the tests: its name, its time, what it printed, what it left behind.
# shellcheck source=selftests/traces.sh
. "$(dirname "${BASH_SOURCE[0]}")/traces.sh"

CLEANUP_SECONDS=20	# that a program has for tidying up when it is ended
LEFT_SECONDS=${FALCON_TEST_LEFT:-5}	# that what it started has for ending after it
side_by_side=0		# 1: others run at the same time
at_idle_priority=0	# 1: and it has what they leave of the CPUs

# name_of TEST: REPLY is KIND/NAME of a test file.
name_of()
{
	local path=./$1 kind

	kind=${path%/*}
	path=${path##*/}
	path=${path%.sh}
	REPLY=${kind##*/}/${path%.t}
}

# limit_of TEST: REPLY is the seconds it has.
limit_of()
{
	local n=120 line

	name_of "$1"
	case $1 in
	*.sh)
		while read -r line && [[ $line == '#'* ]]; do
			[[ ! $line =~ ^'# timeout: '([0-9]+)$ ]] || n=${BASH_REMATCH[1]}
		done <"$1"
		;;
	*) [ ! -f "selftests/$REPLY.timeout" ] || n=$(<"selftests/$REPLY.timeout") ;;
	esac
	[ $at_idle_priority -eq 0 ] || n=$((n * 5))
	[ "${FALCON_TEST_FULL:-0}" = 0 ] || n=$((n * 10))
	REPLY=${FALCON_TEST_TIMEOUT:-$n}
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

# run_limited SECONDS TEST LOG MARK FOLDER: the program's exit status, 124 when it was ended. PROGRAM was its
# PID.
run_limited()
{
	local rc=0

	FALCON_TEST_MARKS="${FALCON_TEST_MARKS:-} $RUN_MARK $4 " TMPDIR=$5 \
		"$2" >"$3" 2>&1 </dev/null {KEEPER}>&- &
	children=($!)
	echo ${children[0]} >>"$RUN_FOLDER/pids"
	PROGRAM=${children[0]}
	first_to_end "$1" "${children[0]}" || rc=$?
	[ -n "$ENDED" ] || end_child $CLEANUP_SECONDS "${children[0]}"
	children=()
	return $rc
}

# left_behind BEFORE MARK FOLDER [PID]: LEFT is what the program has left, when it has had a moment to end;
# that is taken away. While programs run side by side, what has no mark may be another's: BEFORE is empty.
left_behind()
{
	local deadline=$((SECONDS + LEFT_SECONDS))

	while :; do
		LEFT=$(new_traces "$@")
		[ -n "$LEFT" ] && [ "$SECONDS" -lt $deadline ] || break
		sleep 0.1
	done
	if [ -n "$LEFT" ]; then
		end_marked $CLEANUP_SECONDS "$2"
		remove_traces <<<"$LEFT"
	fi
	rm -rf "$3"
}

# try TEST: run it. RESULT is how its line ends, OK, BAD and SKIP are the numbers of its results, a failure of
# the whole program being one of BAD, and SKIPS are the lines on what it skipped. Its status: passed or not.
# shellcheck disable=SC2034 # for run.sh
try()
{
	local name limit log rc=0 plan counts why='' started=$SECONDS seconds
	local before='' mark=$RUN_MARK.$BASHPID.$RANDOM folder=$RUN_FOLDER/$BASHPID

	name_of "$1"
	name=$REPLY
	limit_of "$1"
	limit=$REPLY
	log=$LOG/$name.log
	[ -d "${log%/*}" ] || mkdir -p "${log%/*}"
	mkdir -m 1777 "$folder"
	[ $side_by_side -eq 1 ] || before=$(traces; echo .)
	run_limited "$limit" "$1" "$log" "$mark" "$folder" || rc=$?
	# The run has been killed: what is left is keeper.sh's to take away, and two are in each other's way.
	kill -0 $$ 2>/dev/null || exit 1
	left_behind "$before" "$mark" "$folder" "$PROGRAM"
	seconds=$((SECONDS - started))
	printf '%d %s\n' $seconds "$name" >>"$LOG/seconds"
	counts=$(read_tap <"$log")
	read -r plan OK BAD SKIP <<<"$counts"
	SKIPS=${counts#"${counts%%$'\n'*}"}
	SKIPS=${SKIPS#$'\n'}
	if [ -z "$ENDED" ]; then
		why="no end within $limit s"
	elif [ "$plan" -lt 0 ]; then
		why="printed no plan, exit status $rc"
	elif [ "$plan" -ne $((OK + BAD + SKIP)) ]; then
		why="planned $plan, reported $((OK + BAD + SKIP)), exit status $rc"
	elif [ "$rc" -ne 0 ] && [ "$BAD" -eq 0 ]; then
		why="exit status $rc"
	fi
	[ -z "$LEFT" ] || printf '# left behind:\n%s\n' "$LEFT" >>"$log"
	if [ -n "$LEFT" ] && [ -z "$why" ]; then
		why="left behind: ${LEFT%%$'\n'*}"
	fi
	RESULT="${why:-$BAD of $plan failed}, $seconds s"
	[ -z "$why" ] || BAD=$((BAD + 1))
	[ "$BAD" -eq 0 ] || return
	RESULT="$OK passed, $seconds s"
	[ "$SKIP" -eq 0 ] || RESULT="$OK passed, $SKIP skipped, $seconds s"
}
