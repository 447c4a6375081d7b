#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# The runner itself: what passes, fails, dies, hangs and skips is counted as such.
. "$(dirname "$0")/../tap.sh"

TMP=$(mktemp -d)
export FALCON_TRACES_ROOT=$TMP
LOG=$TMP/build/selftests/log
trap 'rm -rf "$TMP"' EXIT

# verdict NAME WANT_LAST_LINE WANT_STATUS: run the script on stdin as the only test.
verdict()
{
	local out rc=0

	rm -rf "$TMP/build"
	mkdir -p "$TMP/build/selftests/probe"
	{
		echo '#!/bin/bash'
		cat
	} >"$TMP/build/selftests/probe/it.t"
	chmod +x "$TMP/build/selftests/probe/it.t"
	out=$(BUILD=$TMP/build FALCON_TEST_TIMEOUT=2 "$TAP_TOP/selftests/run.sh" probe 2>&1) || rc=$?
	tap_is "$(tail -n 1 <<<"$out"), status $rc" "$2, status $3" "$1"
	last=$out
}

verdict "passes" "2 passed, 0 failed, 0 skipped" 0 <<'END'
echo 1..2; echo ok 1 - a; echo ok 2
END
verdict "a failure" "1 passed, 1 failed, 0 skipped" 1 <<'END'
echo 1..2; echo ok 1 - a; echo not ok 2 - b
END
verdict "exit status alone" "1 passed, 1 failed, 0 skipped" 1 <<'END'
echo 1..1; echo ok 1 - a; exit 3
END
verdict "death" "1 passed, 1 failed, 0 skipped" 1 <<'END'
echo 1..3; echo ok 1 - a; kill -9 $$
END
verdict "too few results" "1 passed, 1 failed, 0 skipped" 1 <<'END'
echo 1..2; echo ok 1 - a
END
verdict "no plan" "1 passed, 1 failed, 0 skipped" 1 <<'END'
echo ok 1 - a
END
verdict "nothing at all" "0 passed, 1 failed, 0 skipped" 1 </dev/null
verdict "no end" "0 passed, 1 failed, 0 skipped" 1 <<'END'
echo 1..1; exec sleep 60
END
verdict "plan at the end, two groups" "3 passed, 0 failed, 0 skipped" 0 <<'END'
echo ok 1 - a; echo 1..1; echo 1..2; echo ok 1 - a; echo ok 2 - b
END
verdict "skips" "1 passed, 0 failed, 2 skipped" 0 <<'END'
echo 1..3; echo ok 1 - a; echo "ok 2 - b # SKIP no netem"; echo "not ok 3 # SKIP c"
END
tap_is "$(grep '^# skipped' <<<"$last" | tr '\n' ';')" "# skipped b: no netem;# skipped c;" \
	"skips are named with their reason"
verdict "everything skipped" "0 passed, 0 failed, 1 skipped" 0 <<'END'
echo "1..0 # SKIP needs root"
END
tap_is "$(grep '^# skipped' <<<"$last")" "# skipped all: needs root" "so is a whole program"
verdict "output of a failure is shown" "0 passed, 1 failed, 0 skipped" 1 <<'END'
echo 1..1; echo not ok 1 - a; echo "the reason" >&2
END
tap_is "$(grep -c 'the reason' <<<"$last")" 1 "and its standard error with it"

# second NAME WANT_LAST_LINES WANT_STATUS OPTION... -- PROGRAM...: run such programs of the kind net, whose
# numbers of results differ; |unsteady| fails at the first try alone, |broken| always, |good| never.
second()
{
	local name=$1 want="$2, status $3" options=() files=() program rc=0

	shift 3
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -rf "$TMP/build" "$TMP/tried".*
	mkdir -p "$TMP/build/selftests/net"
	for program; do
		files+=("$TMP/build/selftests/net/$program.t")
		cat >"${files[-1]}" <<-END
		#!/bin/bash
		case \$(basename "\$0") in
		good*) echo 1..1; echo ok 1; exit ;;
		broken*) echo 1..1; echo not ok 1; exit 1 ;;
		esac
		echo 1..2
		[ -e "$TMP/tried.\$(basename "\$0")" ] && { echo ok 1; echo ok 2; exit; }
		touch "$TMP/tried.\$(basename "\$0")"
		echo ok 1; echo not ok 2 - first try
		exit 1
		END
		chmod +x "${files[-1]}"
	done
	last=$(BUILD=$TMP/build "$TAP_TOP/selftests/run.sh" "${options[@]}" "${files[@]}" 2>&1) || rc=$?
	tap_is "$(tail -n 2 <<<"$last" | grep -v '^#\|^ok\|^not ok' | tr '\n' ';'), status $rc" "$want" \
		"$name"
}

second "a program of net that fails once passes" \
	"unsteady: net/unsteady1;3 passed, 0 failed, 0 skipped;" 0 -- unsteady1 good1
tap_is "$(grep '^ok\|^not ok' <<<"$last" | sed 's/, [0-9]* s//' | tr '\n' ';')" \
	"ok 1 - net/good1 # 1 passed;ok 2 - net/unsteady1 # 2 passed, at the second try;" \
	"it has one line, after all others"
tap_is "$(grep -c 'first try' "$LOG/net/unsteady1.first.log")" 1 "its first log is kept"
tap_is "$(grep -c 'first try' <<<"$last")" 1 "and shown"
second "one that fails twice fails" "0 passed, 1 failed, 0 skipped;" 1 -- broken1
second "three that are unsteady pass" \
	"unsteady: net/unsteady1 net/unsteady2 net/unsteady3;6 passed, 0 failed, 0 skipped;" \
	0 -- unsteady1 unsteady2 unsteady3
second "four fail the run" \
	"unsteady: net/unsteady1 net/unsteady2 net/unsteady3 net/unsteady4;8 passed, 1 failed, 0 skipped;" \
	1 -- unsteady1 unsteady2 unsteady3 unsteady4
second "-1: no second try" "1 passed, 1 failed, 0 skipped;" 1 -1 -- unsteady1
tap_is "$(cut -d ' ' -f 2 "$LOG/seconds"), $(cat "$LOG/summary")" \
	"net/unsteady1, 1 passed, 1 failed, 0 skipped" "times and the last line are kept in files"
tap_is "$(grep -c '^# machine: [0-9]* CPUs, load' <<<"$last")" 2 \
	"what else the machine does is said first, and with a failure"
verdict "other kinds have one try" "0 passed, 1 failed, 0 skipped" 1 <<END
echo 1..1; [ ! -e $TMP/once ] || { echo ok 1; exit; }; touch $TMP/once; echo not ok 1
END

mkdir -p "$TMP/build/selftests/unit"
printf '#!/bin/bash\nkill -KILL $PPID\n' >"$TMP/build/selftests/unit/murder.t"
printf '#!/bin/bash\necho ok 1; echo 1..1\n' >"$TMP/build/selftests/unit/next.t"
chmod +x "$TMP/build/selftests/unit"/*.t
out=$(BUILD=$TMP/build timeout 60 "$TAP_TOP/selftests/run.sh" \
	"$TMP/build/selftests/unit"/{murder,next}.t 2>&1)
tap_is "$?, $(tail -n 1 <<<"$out")" "1, 1 passed, 1 failed, 0 skipped" \
	"side by side, the death of one's process in the runner is a failure of that one"

# Programs of the kind sim, beside one of net: how they are scheduled is in their own output.
mkdir -p "$TMP/build/selftests"/{sim,net}
rm -f "$TMP/build/selftests"/{sim,net}/*
for name in sim/passes sim/fails net/meets; do
	file=$TMP/build/selftests/$name.t
	case $name in
	sim/passes)
		echo "touch $TMP/begun; chrt -p \$\$"
		echo "until [ -e $TMP/met ]; do sleep 0.1; done; echo ok 1"
		;;
	sim/fails) echo "echo not ok 1" ;;
	net/meets) echo "until [ -e $TMP/begun ]; do sleep 0.1; done; touch $TMP/met; echo ok 1" ;;
	esac | cat <(echo '#!/bin/bash') - <(echo 'echo 1..1') >"$file"
	chmod +x "$file"
done
out=$(BUILD=$TMP/build FALCON_TEST_TIMEOUT=30 timeout 60 "$TAP_TOP/selftests/run.sh" \
	"$TMP/build/selftests"/{sim/passes,sim/fails,net/meets}.t 2>&1)
tap_is "$?, $(tail -n 1 <<<"$out")" "1, 2 passed, 1 failed, 0 skipped" \
	"what only computes runs beside what has the machine for itself, and each counts"
tap_is "$(grep -c 'SCHED_IDLE' "$LOG/sim/passes.log")" 1 "at idle priority"

# What runs beside this may leave it less than is named, for a while.
burner_named()
{
	(. "$TAP_TOP/selftests/machine.sh" && machine_report) >"$TMP/report"
	grep -q '^# machine: busy: .*while :; do :; done' "$TMP/report"
}

burner()
{
	local pid rc=0

	timeout 60 sh -c 'while :; do :; done' &
	pid=$!
	tap_wait 50 burner_named || rc=$?
	kill $pid
	[ $rc -eq 0 ] || cat "$TMP/report"
	return $rc
}

tap_run "a process that takes a CPU is named" burner
tap_is "$(cd "$TAP_TOP/selftests" && grep -E '^[^#]*< ?<\(' run.sh shake.sh procs.sh traces.sh)" "" \
	"no process substitutions in what runs for long (procs.sh)"
tap_is "$("$TAP_TOP/selftests/run.sh" no-such-kind 2>&1)" \
	"no-such-kind: no such test, no tests of that kind" "an unknown kind is refused"
tap_done
