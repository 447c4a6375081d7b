#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# What tests of programs that talk rely on: processes are waited for with a limit and ended with all that they
# have started, and nobody waits for a peer that is gone. Whatever should end here would go on for 100 s.
# shellcheck disable=SC2317 # functions that tests call
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/procs.sh
. "$TAP_TOP/selftests/procs.sh"
# shellcheck source=selftests/apps/meet.sh
. "$TAP_TOP/selftests/apps/meet.sh"
tap_need ps setsid

SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT

# In place of a lab's.
behind()
{
	"${@:2}" &
}

explain()
{
	echo "agents were asked"
}

# A program with a child in a session of its own, which does not end when it is told to.
cat >"$SCRATCH/stubborn" <<'END'
#!/bin/bash
trap '' TERM
setsid sleep 100 &
echo $! >"$0.child"
echo $$ >"$0.self"
wait
END
chmod +x "$SCRATCH/stubborn"

started()
{
	[ -s "$SCRATCH/stubborn.self" ]
}

gone()
{
	! kill -0 "$(<"$SCRATCH/stubborn.child")" 2>/dev/null &&
		! kill -0 "$(<"$SCRATCH/stubborn.self")" 2>/dev/null
}

# Once more from the beginning.
stubborn()
{
	rm -f "$SCRATCH/stubborn".*
	"$SCRATCH/stubborn" >/dev/null 2>&1 &
	STUBBORN=$!
	tap_wait 20 started
}

try_first_to_end()
{
	local rc=0 long short

	sleep 100 &
	long=$!
	bash -c 'exit 7' &
	short=$!
	first_to_end 50 $long $short || rc=$?
	tap_is "$ENDED, $rc" "$short, 7" "the first to end is named, with its status"
	rc=0
	first_to_end 1 $long || rc=$?
	tap_is "$ENDED, $rc" ", 124" "none ends in time"
	kill $long
	wait $long
	bash -c 'exit 8' &
	short=$!
	tap_wait 20 eval "! kill -0 $short"
	rc=0
	first_to_end 50 $short || rc=$?
	tap_is "$ENDED, $rc" "$short, 8" "one that has ended already"
}

try_end_child()
{
	stubborn
	end_child 1 "$STUBBORN"
	tap_run "a process ends with its children, wherever they are" tap_wait 20 gone
	bash -c 'exit 3' &
	tap_wait 20 eval "! kill -0 $! 2>/dev/null"
	end_child 100 $!
	tap_is $? 3 "of one that has ended by itself its status is known"
}

# A script that waits, and ends its child when it is told to end. It has a process substitution, as run.sh
# has: without one, bash does not forget a child that ends while the trap begins.
cat >"$SCRATCH/waits" <<'END'
#!/bin/bash
. selftests/procs.sh
trap 'trap "" TERM; end_child 10 $child; exit 5' TERM
exec {out}> >(trap "" TERM; cat >/dev/null)
sleep 100 &
child=$!
echo "$child" >"$1"
first_to_end 100 "$child"
END
chmod +x "$SCRATCH/waits"

# The script and all below it are told at once, as end_child tells them, at different moments of the wait.
try_interruption()
{
	local k rc pid all early=0

	for k in 0 1 2 3 4 5 6 7; do
		rm -f "$SCRATCH/child"
		(cd "$TAP_TOP" && exec "$SCRATCH/waits" "$SCRATCH/child") 2>/dev/null &
		pid=$!
		tap_wait 20 test -s "$SCRATCH/child"
		sleep "0.00$k"
		mapfile -t all < <(descendants $pid)
		kill "${all[@]}" 2>/dev/null
		rc=0
		first_to_end 8 $pid || rc=$?
		# 143: it has found its child dead before it was told itself.
		[ $rc -ne 5 ] && [ $rc -ne 143 ] || early=$((early + 1))
		kill -KILL $pid 2>/dev/null
		wait $pid
	done
	tap_is $early 8 "who waits and is told to end ends its child and itself"
}

# ends NAME WANT SERVER CLIENT: meet with these commands.
ends()
{
	local out rc=0

	bash -c "$3" >"$SCRATCH/server" 2>&1 &
	meet $! b bash -c "$4" >"$SCRATCH/out" 2>&1 || rc=$?
	out=$(head -n 1 "$SCRATCH/out")
	tap_is "$rc${out:+, $out}" "$2" "$1"
	tap_is "$(jobs -r)" "" "and nothing is left of it"
	[ "$rc" -eq 0 ] || tap_run "the agents were asked" grep -q "agents were asked" "$SCRATCH/out"
}

try_meet()
{
	ends "both end well" 0 true true
	ends "the client fails: nobody waits for the server" "5, the client failed with status 5" \
		"exec sleep 100" "exit 5"
	ends "the server fails: nobody waits for the client" "6, the server failed with status 6" \
		"exit 6" "exec sleep 100"
	LIMIT=1 ends "neither ends" "124, no end within 1 s, or within 30 s of the other's" \
		"exec sleep 100" "exec sleep 100"
	LINGER=1 ends "one does not follow" "124, no end within 60 s, or within 1 s of the other's" \
		"exec sleep 100" true
	PATIENCE=30 ends "a client that is refused tries again" 0 \
		"until [ -e '$SCRATCH/served' ]; do sleep 0.05; done" \
		"[ -e '$SCRATCH/tried' ] || { touch '$SCRATCH/tried'; exit 1; }; touch '$SCRATCH/served'"
}

try_alone()
{
	local rc=0

	alone a bash -c 'exit 4' >"$SCRATCH/out" || rc=$?
	tap_is "$rc, $(cat "$SCRATCH/out")" "4, " "one alone has its status"
	rc=0
	LIMIT=1 alone a sleep 100 >"$SCRATCH/out" || rc=$?
	tap_is "$rc, $(tr '\n' ' ' <"$SCRATCH/out")" "124, no end within 1 s agents were asked " \
		"one that hangs is ended, and the agents are asked"
}

try_first_to_end
try_end_child
try_interruption
try_meet
try_alone
tap_done
