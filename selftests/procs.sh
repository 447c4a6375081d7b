# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Processes of test scripts: waiting for several of them at once with a limit, and ending them with all
# that they have started.

# descendants PID: the process and all below it, also those that have made a session of their own; children
# first.
descendants()
{
	ps -eo pid=,ppid= | awk -v root="$1" '
		{ parent[$1] = $2 }
		END {
			for (pid in parent) {
				depth = 0
				for (p = pid; p != root && p in parent && depth < 100; p = parent[p])
					depth++
				if (p == root)
					print depth, pid
			}
		}' | sort -rn | cut -d ' ' -f 2
}

# first_to_end SECONDS PID...: wait for the first of these children of the shell to end; ENDED is its PID,
# and the status is that of the process. When the time is over ENDED is empty, and the status 124.
#
# It looks, and sleeps in between, instead of waiting by "wait -n": bash 5.2 runs a trap in the middle of
# that, with SIGCHLD blocked, and if a process substitution is open then the trap's own "wait" need not
# return. A trap that comes during a command in the foreground runs after it.
first_to_end()
{
	local deadline=$((SECONDS + $1)) started=$SECONDS pid pause=0.01

	ENDED=
	while [ "$SECONDS" -lt $deadline ]; do
		for pid in "${@:2}"; do
			if ! kill -0 "$pid" 2>/dev/null; then
				ENDED=$pid
				wait "$pid" 2>/dev/null
				return
			fi
		done
		sleep $pause
		# Every look costs a process: the longer the wait, the fewer.
		pause=0.05
		[ $((SECONDS - started)) -lt 3 ] || pause=0.2
	done
	return 124
}

# end_child SECONDS PID: TERM to a child of the shell and all below it, and KILL to those that are left when
# it has ended, or after so many seconds. Its status is the child's.
end_child()
{
	# shellcheck disable=SC2034 # first_to_end sets it, and it stays here
	local ENDED pids left

	read -rd '' -a pids <<<"$(descendants "$2")"
	if [ ${#pids[@]} -gt 0 ]; then
		kill "${pids[@]}" 2>/dev/null
		first_to_end "$1" "$2"
		read -rd '' -a left <<<"$(descendants "$2")"
		kill -KILL "${pids[@]}" "${left[@]}" 2>/dev/null
	fi
	wait "$2" 2>/dev/null
}
