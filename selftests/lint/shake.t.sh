#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# shake.sh: what it disturbs is disturbed, and what fails under it is in its table.
. "$(dirname "$0")/../tap.sh"

TMP=$(mktemp -d)
export FALCON_TRACES_ROOT=$TMP
SHAKE=$TAP_TOP/selftests/shake.sh
DISTURB=$TAP_BUILD/selftests/shake/disturb
[ -x "$DISTURB" ] || tap_skip_all "$DISTURB is not built"
mkdir -p "$TMP/build/selftests/shake" "$TMP/build/selftests/probe"
ln -s "$(realpath "$DISTURB")" "$TMP/build/selftests/shake/disturb"
PIDS=()
# What is stopped is not ended by TERM.
trap 'kill -KILL "${PIDS[@]}" 2>/dev/null; rm -rf "$TMP"' EXIT

# probe NAME: the script on stdin is a program of the kind "probe".
probe()
{
	{
		echo '#!/bin/bash'
		cat
	} >"$TMP/build/selftests/probe/$1.t"
	chmod +x "$TMP/build/selftests/probe/$1.t"
}

# state PID: as in /proc/PID/stat.
state()
{
	sed 's/.*) //; s/ .*//' "/proc/$1/stat"
}

is_stopped()
{
	[ "$(state "$1")" = T ]
}

goes_on()
{
	! is_stopped "$1"
}

# agent MARK: a process that looks like an agent with this mark; its PID is $!.
agent()
{
	FALCON_TEST_MARKS=" $1 " "$TMP/falcond" 100 &
	PIDS+=($!)
}

# The other one, of several times that the one with the mark is stopped.
never_with_it()
{
	local i

	for i in {1..10}; do
		tap_wait 20 is_stopped $mine && ! is_stopped $other && tap_wait 20 goes_on $mine || return
	done
}

cp "$(command -v sleep)" "$TMP/falcond"
agent not-mine-$$
other=$!
agent mine-$$
mine=$!
"$DISTURB" stop mine-$$ &
PIDS+=($!)
tap_run "an agent with the mark is stopped" tap_wait 20 is_stopped $mine
tap_run "and goes on" tap_wait 20 goes_on $mine
tap_run "and is stopped again" tap_wait 20 is_stopped $mine
tap_run "another's agent is not" never_with_it
kill $!
wait $!
tap_run "none stays stopped" goes_on $mine

probe steady <<<'echo ok 1; echo 1..1'
probe alone <<<'[ "$(nproc)" -eq 1 ] || echo ok 1; echo ok 2; echo 1..2'
out=$(BUILD=$TMP/build "$SHAKE" -n 4 -d none,one probe/steady probe/alone 2>&1)
status=$?
want="1, probe/steady 0/2 0/2 0/4;probe/alone 0/2 2/2 2/4;"
[ "$(nproc)" -gt 1 ] || want="1, probe/steady 0/2 0/2 0/4;probe/alone 2/2 2/2 4/4;"
tap_is "$status, $(grep '^probe/' <<<"$out" | tr -s ' ' | tr '\n' ';')" "$want" \
	"the table has failures and runs by disturbance"
[ "$(nproc)" -eq 1 ] || tap_is "$(cd "$TMP/build/selftests/shake/log" && ls | tr '\n' ' ')" \
	"now probe.alone.1.one probe.alone.1.one.log probe.alone.3.one probe.alone.3.one.log runs " \
	"logs of the failures are kept"
probe stopper <<<'# stops agents
echo ok 1; echo 1..1'
tap_is "$(BUILD=$TMP/build "$SHAKE" -n 1 -d stop probe/stopper 2>&1 | grep -c '1 none  *probe/stopper')" 1 \
	"agents are not stopped for a program that stops them itself"
for how in burn fork memory; do
	timeout 20 "$DISTURB" $how &
	PIDS+=($!)
	child=$(tap_wait 10 pgrep -P $! >/dev/null && pgrep -P $!)
	before=$(awk '{ print $14 + $15 + $16 + $17 }' "/proc/$child/stat")
	works()
	{
		[ "$(awk '{ print $14 + $15 + $16 + $17 }' "/proc/$child/stat")" -gt $((before + 5)) ]
	}
	tap_run "$how takes time of a CPU" tap_wait 15 works
	kill $!
	wait $! 2>/dev/null
done

probe long <<<"touch $TMP/running; sleep 100"
BUILD=$TMP/build "$SHAKE" -n 1 -d burn probe/long >"$TMP/out" 2>&1 &
tap_wait 20 test -e "$TMP/running"
kill $!
wait $!
tap_is "$?" 130 "an interruption ends the program"
tap_is "$(grep -c '^failures of runs' "$TMP/out")" 1 "and prints the table"
tap_is "$(pgrep -f "^$TMP/build/selftests/shake/disturb")" "" "and ends what disturbs"
tap_is "$("$SHAKE" -d gently 2>&1), $("$SHAKE" -n few 2>&1), $("$SHAKE" nothing/here 2>&1)" \
	"shake.sh: -d gently: no such disturbance, shake.sh: -n few: not a number of runs, $(
	)shake.sh: nothing/here: no such test" "what it does not understand is refused"
tap_done
