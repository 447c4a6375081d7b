# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # variables are set by falcon-lab
# Part of falcon-lab: numbers with units, files, processes, and commands on a host.

in_ns()
{
	ip netns exec "$NS$1" "${@:2}"
}

# print: write the here document that it is given, as cat does, but without a process.
print()
{
	local text

	IFS= read -r -d '' text || printf %s "$text"
}

# share PCT: out of 2^32, as the switch wants it.
share()
{
	awk -v p="${1%\%}" 'BEGIN { s = p / 100 * 4294967296
		printf "%.0f", (s < 4294967295 ? s : 4294967295) }'
}

integer()
{
	if ! [[ $2 =~ ^[0-9]+$ ]] || [ "$2" -lt "$3" ] || [ "$2" -gt "$4" ]; then
		die "--$1: \"$2\" is not a number from $3 to $4"
	fi
	printf '%s' "$2"
}

# one_of NAME VALUE WORD...
one_of()
{
	local word

	for word in "${@:3}"; do
		if [ "$2" = "$word" ]; then
			printf '%s' "$2"
			return
		fi
	done
	die "--$1: \"$2\" is none of: ${*:3}"
}

find_object()
{
	local dir

	for dir in "${FALCON_OBJECTS:-$HERE}" "$HERE" "$HERE/../lib/falcon"; do
		if [ -f "$dir/$1" ]; then
			printf '%s/%s' "$dir" "$1"
			return
		fi
	done
	die "$1 not found beside $ME; run make"
}

# alive PIDFILE: whether the process runs; a corpse that nobody has collected yet does not, unless it is
# only that of the first thread: the sockets are there until the last one has ended.
alive()
{
	local pid stat tasks

	{ read -r pid <"$1" && read -r stat <"/proc/$pid/stat"; } 2>/dev/null || return
	stat=${stat##*) }
	tasks=("/proc/$pid/task/"*)
	[ "${stat%% *}" != Z ] || [ "${#tasks[@]}" -gt 1 ]
}

# Poll until the command succeeds; fails when the time is over.
wait_until()
{
	local deadline=$((SECONDS + TIMEOUT))

	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

need_tools()
{
	local tool

	[ "$EUID" -eq 0 ] || die "needs root"
	for tool in ip ethtool nsenter bpftool jq; do
		command -v "$tool" >/dev/null || die "$tool is not installed; run make deps"
	done
}

# Replace this process by a command on a host.
become()
{
	local host=$1 on_cpu=()

	shift
	[ -x "$PARTS/enter" ] || die "$PARTS/enter not found; run make, then build/falcon-lab"
	[ ! -e "$RUN/$host/cpu" ] || on_cpu=(taskset -c "$(<"$RUN/$host/cpu")")
	export FALCON_SOCKET=$RUN/$host/falcond.sock FALCON_LAB=$LAB FALCON_LAB_HOST=$host
	export PATH=$HERE:$HERE/../sbin:$PATH	# programs as built, or as installed
	unset NOTIFY_SOCKET
	exec "${on_cpu[@]}" "$PARTS/enter" "/run/netns/$NS$host" "$RUN/$host/bpf" "$@"
}

run_on()
{
	(become "$@")
}

check_host()
{
	[ -d "$RUN/$1/bpf" ] || die "no host \"$1\" in lab \"$LAB\"; falcon-lab up makes one"
}
