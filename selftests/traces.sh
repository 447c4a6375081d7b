# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What a test may leave behind on the machine, and taking it away: processes, namespaces, pinned maps, files
# in /run, /dev/shm and /tmp.
#
# A test's processes are known by a mark in their environment, what it makes by mktemp is in a folder of its
# own, $TMPDIR, and the names of its labs end with its PID. Files of applications, whose names are known, are
# those that were not there before. A runner that tests of the runner start, beside other tests, must not take
# these tests' for its own: FALCON_TRACES_ROOT, unless empty, is the folder that has its dev/shm, tmp and
# sys/fs/bpf.
# shellcheck source=selftests/procs.sh
. "$(dirname "${BASH_SOURCE[0]}")/procs.sh"

# Of perftest and the pingpongs of ibverbs-utils, Open MPI and UCX; of ours, verbs programs without root.
TRACES_TMP=('xrc_domain*' 'ompi.*' 'pmix*' 'ucx*' 'falcon-verbs-*')

# Maps and programs of ours.
pinned()
{
	find "${FALCON_TRACES_ROOT-}/sys/fs/bpf" -maxdepth 3 -name 'falcon*' -prune \
		-printf 'pinned %p\n' 2>/dev/null
}

# Namespaces of any name, and folders of labs.
labs()
{
	ip netns list 2>/dev/null | awk '{ print "namespace " $1 }'
	find /run -maxdepth 1 -name 'falcon-*' ! -name falcon-verbs -printf 'folder %p\n'
}

# traces: what is there that has nobody's name on it, a line each: its kind and its name.
traces()
{
	local names=() name

	pinned
	find "${FALCON_TRACES_ROOT-}/dev/shm" -mindepth 1 -maxdepth 1 -printf 'file %p\n' 2>/dev/null
	for name in "${TRACES_TMP[@]}"; do
		names+=(-o -name "$name")
	done
	find "${FALCON_TRACES_ROOT-}/tmp" -mindepth 1 -maxdepth 1 \( "${names[@]:1}" \) -printf 'file %p\n' \
		2>/dev/null
}

# labs_of PID...: what there is of the labs of these tests.
labs_of()
{
	local tests=$*

	{
		labs
		find /run/falcon-verbs -mindepth 1 -maxdepth 1 -printf 'file %p\n' 2>/dev/null
	} | grep -E "(falcon-|namespace )[a-z]*(${tests// /|})[a-z]*([-_].*)?\$"
}

# marked MARK: the processes that have it.
marked()
{
	grep -lzs "^FALCON_TEST_MARKS=.* $1 " /proc/[0-9]*/environ | tr -dc '0-9\n'
}

# new_traces BEFORE MARK FOLDER PID...: what traces() finds and had not BEFORE, unless that is empty;
# processes with the mark; what is in the folder; and the labs of these tests.
new_traces()
{
	local pid

	for pid in $(marked "$2"); do
		printf 'process %d: %s\n' "$pid" "$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
	done
	find "$3" -mindepth 1 -maxdepth 1 -printf 'file %p\n'
	[ $# -lt 4 ] || labs_of "${@:4}"
	[ -z "$1" ] || traces | grep -Fvx -e "$1"
}

# end_marked SECONDS MARK: TERM to the processes that have it, and after so many seconds KILL.
end_marked()
{
	local deadline=$((SECONDS + $1)) pids

	read -rd '' -a pids <<<"$(marked "$2")"
	[ ${#pids[@]} -gt 0 ] || return 0
	kill "${pids[@]}" 2>/dev/null
	while [ -n "$(marked "$2")" ] && [ "$SECONDS" -lt $deadline ]; do
		sleep 0.1
	done
	read -rd '' -a pids <<<"$(marked "$2")"
	[ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" 2>/dev/null
}

# Take away what the lines on stdin, as new_traces() prints them, name.
remove_traces()
{
	local kind name lab
	declare -A down=()

	while read -r kind name; do
		case $kind/$name in
		namespace/falcon-*-*)
			lab=${name#falcon-}
			down[${lab%-*}]=1
			;;
		namespace/*) ip netns del "$name" ;;
		folder/*) down[${name#/run/falcon-}]=1 ;;
		pinned/* | file/*) rm -rf --one-file-system "$name" ;;
		esac
	done
	for lab in "${!down[@]}"; do
		FALCON_LAB=$lab "$(dirname "${BASH_SOURCE[0]}")/../tools/lab/falcon-lab" down
	done
} >/dev/null 2>&1
