#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# What the agent tells its service manager: that it is ready, that it reads its configuration again, that it
# lives, which is so as long as the threads that carry packets turn, and that it stops.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond python3

# The service manager: what it is told, a line each.
manager()
{
	exec python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)' "$SCRATCH/notify"
}

# times TEXT: how often it was told so.
times()
{
	grep -cx "$1" "$SCRATCH/told"
}

more()
{
	[ "$(times "$1")" -gt "$2" ]
}

# soon TEXT: it is told so once more than up to now.
soon()
{
	tap_wait 20 more "$1" "$(times "$1")"
}

told()
{
	tap_wait 20 more "$1" 0
}

# Stop a thread of the process |1| by ptrace, the one with name |2|, until standard input ends.
hold()
{
	exec python3 -c '
import ctypes, os, sys
tasks = "/proc/%s/task" % sys.argv[1]
tid = next(int(t) for t in os.listdir(tasks) if open(tasks + "/" + t + "/comm").read().strip() == sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_DETACH, WALL = 16, 17, 0x40000000
assert libc.ptrace(PTRACE_ATTACH, tid, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.waitpid(tid, WALL)
print("held", flush=True)
sys.stdin.read()
libc.ptrace(PTRACE_DETACH, tid, 0, 0)' "$@"
}

# One more sign of life may be under way when the thread is stopped, but then there are no more: those of a
# whole second would be ten.
silent()
{
	local before

	before=$(times WATCHDOG=1)
	sleep 1
	[ "$(times WATCHDOG=1)" -le $((before + 1)) ]
}

lab_up --clear
falcon-lab agent b stop
manager >"$SCRATCH/told" &
pids=($!)
tap_run "the service manager listens" tap_wait 20 test -S "$SCRATCH/notify"
# falcon-lab keeps its own service manager's variables from agents.
cat >"$SCRATCH/falcond" <<EOF
#!/bin/sh
NOTIFY_SOCKET=$SCRATCH/notify WATCHDOG_USEC=300000 exec falcond "\$@"
EOF
chmod +x "$SCRATCH/falcond"
FALCOND=$SCRATCH/falcond falcon-lab agent b start
agent=$(<"/run/falcon-$FALCON_LAB/b/falcond.pid")
tap_run "it is ready" told READY=1
tap_run "it lives" soon WATCHDOG=1
kill -HUP "$agent"
tap_run "it reads its configuration again" told RELOADING=1
tap_run "and says when" grep -Eqx 'MONOTONIC_USEC=[0-9]+' "$SCRATCH/told"
tap_run "and is ready again" tap_wait 20 more READY=1 1
mkfifo "$SCRATCH/release"
hold "$agent" falcon-shard-0 <"$SCRATCH/release" >"$SCRATCH/held" &
pids+=($!)
exec 8>"$SCRATCH/release"
tap_run "the thread that carries packets is stopped" tap_wait 20 grep -q held "$SCRATCH/held"
tap_run "no more signs of life" silent
exec 8>&-
tap_run "it lives again" soon WATCHDOG=1
falcon-lab agent b stop
tap_run "it stops" told STOPPING=1
kill "${pids[@]}" 2>/dev/null
tap_done
