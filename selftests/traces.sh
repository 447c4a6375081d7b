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
shopt -s extglob

# Of perftest and the pingpongs of ibverbs-utils, Open MPI and UCX; of ours, verbs programs without root.
TRACES_TMP=('xrc_domain*' 'ompi.*' 'pmix*' 'ucx*' 'falcon-verbs-*')

# lines KIND PATH...: a line for each.
lines()
{
	[ $# -eq 1 ] || printf "$1 %s\n" "${@:2}"
}

# Maps and programs of ours.
pinned()
(
	shopt -s nullglob
	lines pinned "${FALCON_TRACES_ROOT-}"/sys/fs/bpf/{,!(falcon*)/{,!(falcon*)/}}falcon*
)

# Namespaces of any name, and folders of labs.
labs()
(
	shopt -s nullglob
	cd /run/netns 2>/dev/null && lines namespace *
	lines folder /run/falcon-!(verbs)
)

# traces: what is there that has nobody's name on it, a line each: its kind and its name.
traces()
(
	local name

	shopt -s nullglob dotglob
	pinned
	lines file "${FALCON_TRACES_ROOT-}"/dev/shm/*
	for name in "${TRACES_TMP[@]}"; do
		# shellcheck disable=SC2086 # a pattern
		lines file "${FALCON_TRACES_ROOT-}"/tmp/$name
	done
)

# labs_of PID...: what there is of the labs of these tests.
labs_of()
{
	local tests=$* line

	tests="(falcon-|namespace )[a-z]*(${tests// /|})[a-z]*([-_].*)?\$"
	while read -r line; do
		[[ ! $line =~ $tests ]] || printf '%s\n' "$line"
	done <<<"$(labs; shopt -s nullglob; lines file /run/falcon-verbs/*)"
}

# marked MARK: the processes that have it.
marked()
{
	local file

	while read -r file; do
		[ -z "$file" ] || printf '%s\n' "${file//[!0-9]/}"
	done <<<"$(grep -lzs "^FALCON_TEST_MARKS=.* $1 " /proc/[0-9]*/environ)"
}

# new_traces BEFORE MARK FOLDER PID...: what traces() finds and had not BEFORE, unless that is empty;
# processes with the mark; what is in the folder; and the labs of these tests.
new_traces()
(
	local pid line

	shopt -s nullglob dotglob
	for pid in $(marked "$2"); do
		printf 'process %d: %s\n' "$pid" "$(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
	done
	lines file "$3"/*
	[ $# -lt 4 ] || labs_of "${@:4}"
	[ -n "$1" ] || return 0
	while read -r line; do
		[[ $'\n'$1$'\n' == *$'\n'"$line"$'\n'* ]] || printf '%s\n' "$line"
	done <<<"$(traces)"
)

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
