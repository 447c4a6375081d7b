#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# The runner takes away what a test leaves behind, and says so; also when it is interrupted or killed itself.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/traces.sh
. "$TAP_TOP/selftests/traces.sh"

TMP=$(mktemp -d)
export FALCON_TRACES_ROOT=$TMP/root
SHM=$TMP/root/dev/shm/falcon-traces
OTHERS=/dev/shm/falcon-traces.$$
trap 'rm -rf "$TMP" $OTHERS' EXIT
mkdir -p "${SHM%/*}"

# probe KIND: the script on stdin is the only test of a kind.
probe()
{
	rm -rf "$TMP/build"
	mkdir -p "$TMP/build/selftests/$1"
	{
		echo '#!/bin/bash'
		cat
	} >"$TMP/build/selftests/$1/it.t"
	chmod +x "$TMP/build/selftests/$1/it.t"
}

# Processes that run "sleep" for a time that no other test chooses.
sleepers()
{
	pgrep -cfx "sleep 7$$"
}

none_sleeps()
{
	[ "$(sleepers)" = 0 ]
}

# run KIND: the probe alone.
run()
{
	BUILD=$TMP/build "$TAP_TOP/selftests/run.sh" "$TMP/build/selftests/$1/it.t" 2>&1
}

# accuses KIND NAME PATTERN: the probe, which passes, has left what matches the pattern.
accuses()
{
	local out rc=0

	out=$(FALCON_TEST_LEFT=1 run "$1") || rc=$?
	tap_is "$rc, $(tail -n 1 <<<"$out")" "1, 1 passed, 1 failed, 0 skipped" "$2: the run fails"
	tap_run "$2: it is named" grep -q "$1/it.*left behind: $3" <<<"$out"
}

probe alone <<-END
	setsid sleep 7$$ >/dev/null &
	echo ok 1; echo 1..1
END
accuses alone "a process in a session of its own" "process [0-9]*: sleep 7$$"
tap_run "it is gone" none_sleeps
probe alone <<-END
	touch $SHM; echo ok 1; echo 1..1
END
accuses alone "a file in /dev/shm" "file $SHM"
tap_run "it is gone" test ! -e $SHM
probe alone <<-END
	touch $OTHERS; echo ok 1; echo 1..1
END
tap_is "$(run alone | tail -n 1)" "1 passed, 0 failed, 0 skipped" \
	"a file that comes where this runner has not to look is another's"
tap_run "it stays" test -e $OTHERS
touch "${SHM}[1]"
probe alone <<-END
	echo ok 1; echo 1..1
END
tap_is "$(FALCON_TEST_LEFT=1 run alone | tail -n 1)" "1 passed, 0 failed, 0 skipped" \
	"a file that was there before, whose name is a pattern, was not left behind"
rm "${SHM}[1]"
probe alone <<-'END'
	mktemp >/dev/null; echo ok 1; echo 1..1
END
accuses alone "a file made by mktemp" "file /tmp/ft"
probe unit <<-END
	setsid sleep 7$$ >/dev/null &
	mktemp >/dev/null; echo ok 1; echo 1..1
END
out=$(FALCON_TEST_LEFT=1 run unit)
tap_run "side by side with others: processes and files, too" \
	grep -q "left behind: process [0-9]*: sleep" <<<"$out"
tap_run "they are gone" none_sleeps
probe alone <<-'END'
	mktemp >/dev/null; (sleep 0.5) & disown; rm -r "$TMPDIR"/*; echo ok 1; echo 1..1
END
tap_is "$(run alone | tail -n 1)" "1 passed, 0 failed, 0 skipped" "what ends a moment later is no fault"

# long KIND: begin a run whose probe has a process, files, and, for root, a folder as a lab has.
long()
{
	probe "$1" <<-END
		setsid sleep 7$$ >/dev/null &
		touch $SHM \$(mktemp); mkdir "/run/falcon-t\$\$" 2>/dev/null
		echo "\$TMPDIR" >$TMP/folder; echo \$\$ >$TMP/running; sleep 7$$
	END
	rm -f "$TMP/running"
	BUILD=$TMP/build setsid env --default-signal=INT "$TAP_TOP/selftests/run.sh" \
		"$TMP/build/selftests/$1/it.t" >"$TMP/out" 2>&1 &
	RUNNER=$!
	tap_wait 20 test -s "$TMP/running"
}

all_gone()
{
	none_sleeps && [ ! -e $SHM ] && [ ! -e "$(dirname "$(<"$TMP/folder")")" ] &&
		[ ! -e "/run/falcon-t$(<"$TMP/running")" ]
}

for kind in alone unit; do
	for signal in INT TERM KILL; do
		long $kind
		kill -$signal $RUNNER
		wait $RUNNER 2>/dev/null
		tap_run "a run ended by $signal leaves nothing, $kind" tap_wait 30 all_gone ||
			tap_note "$(cat "$TMP/out")"
	done
done
tap_done
