# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # variables are set by falcon-lab
# Part of falcon-lab: numbers with units, files, processes, and commands on a host.

in_ns()
{
	ip netns exec "$NS$1" "${@:2}"
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
	local state tasks

	[ -s "$1" ] && state=$(sed 's/.*) //; s/ .*//' "/proc/$(<"$1")/stat" 2>/dev/null) || return
	tasks=("/proc/$(<"$1")/task/"*)
	[ "$state" != Z ] || [ "${#tasks[@]}" -gt 1 ]
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
	for tool in ip ethtool nsenter unshare bpftool jq; do
		command -v "$tool" >/dev/null || die "$tool is not installed; run make deps"
	done
}

# Replace this process by a command on a host: its network, a /sys that shows that network, and
# its own bpffs, since `ip link` pins maps by name.
become()
{
	local host=$1
	# shellcheck disable=SC2016 # expanded by the shell inside
	local enter='mount -t sysfs sysfs /sys && mount --bind "$0" /sys/fs/bpf && exec "$@"' on_cpu=()

	shift
	[ ! -e "$RUN/$host/cpu" ] || on_cpu=(taskset -c "$(<"$RUN/$host/cpu")")
	export FALCON_SOCKET=$RUN/$host/falcond.sock FALCON_LAB=$LAB FALCON_LAB_HOST=$host
	export PATH=$HERE:$HERE/../sbin:$PATH	# programs as built, or as installed
	unset NOTIFY_SOCKET
	exec "${on_cpu[@]}" nsenter --net="/run/netns/$NS$host" unshare --mount --propagation slave -- \
		/bin/sh -c "$enter" "$RUN/$host/bpf" "$@"
}

run_on()
{
	(become "$@")
}

check_host()
{
	[ -d "$RUN/$1/bpf" ] || die "no host \"$1\" in lab \"$LAB\"; falcon-lab up makes one"
}
