#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
# The runner itself: what passes, fails, dies, hangs and skips is counted as such.
. "$(dirname "$0")/../tap.sh"

TMP=$(mktemp -d)
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
tap_is "$("$TAP_TOP/selftests/run.sh" no-such-kind 2>&1)" \
	"no-such-kind: no such test, no tests of that kind" "an unknown kind is refused"
tap_done
