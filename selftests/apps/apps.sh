# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the tests of applications share: two hosts, and programs as Debian has them on both.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../net/lab.sh"
# shellcheck source=selftests/apps/meet.sh
. "$(dirname "${BASH_SOURCE[0]}")/meet.sh"
tap_need falcon-run

# Where every application is to work: clear or encrypted, the addresses of the queue pairs, and the packets
# lost, in per cent. Neighbours share a lab.
ENVIRONMENTS="clear-ipv4-0 clear-ipv6-0 clear-ipv4-1 clear-ipv6-1 psp-ipv4-0 psp-ipv6-0 psp-ipv4-1 psp-ipv6-1"
# Where programs meet that exchange the numbers of their queue pairs by TCP first: perftest and the
# pingpongs of ibverbs-utils, which listen on IPv4 alone.
MEET=10.250.0.1 PORT=18515

LAB_OPTIONS=()	# of the labs that environment() makes; a script may add some

# environment NAME: from here on it is that one.
# shellcheck disable=SC2034 # for the scripts
environment()
{
	local lab=${1/-ipv[46]/} security=${1%%-*} loss=${1##*-} family

	family=${1#*-}
	FAMILY=${family%-*}
	LINK="${security/psp/PSP}, ${FAMILY/ip/IP}$([ "$loss" = 0 ] || echo ", $loss % lost")"
	# The server's, for programs that meet by librdmacm, and the index of the GID for the others, which
	# says what the queue pairs use.
	case $FAMILY in
	ipv4) ADDRESS=10.250.0.1 GID=0 ;;
	ipv6) ADDRESS=fd00:250::1 GID=1 ;;
	esac
	[ "$lab" = "${LAB:-}" ] && return
	LAB=$lab
	case $security in
	clear) lab_up --clear --loss "$loss" "${LAB_OPTIONS[@]}" ;;
	*) lab_up --security "$security" --loss "$loss" "${LAB_OPTIONS[@]}" ;;
	esac
}

# environments FUNCTION NAME...: run FUNCTION in those: all it has, $WHOLE is 1, in the first one, a
# part that fits in the others. With FALCON_TEST_FULL=1, all, $FULL is 1, in every environment there is,
# or in those of FALCON_TEST_ENVIRONMENTS="NAME...".
# shellcheck disable=SC2034 # for the scripts
environments()
{
	local name names=${*:2}

	WHOLE=1 FULL=${FALCON_TEST_FULL:-0}
	[ "$FULL" = 0 ] || names=${FALCON_TEST_ENVIRONMENTS:-$ENVIRONMENTS}
	for name in $names; do
		environment "$name"
		"$1"
		WHOLE=$FULL
	done
}

# libfabric's verbs provider asks for the address of localhost, with any adapter. A system that debootstrap
# has made has no /etc/hosts, and hosts of a lab have no name server.
# shellcheck disable=SC2034 # for the scripts
NO_LOCALHOST="localhost has no address, and libfabric asks for it: /etc/hosts is missing"
knows_localhost()
{
	unshare --net getent hosts localhost >/dev/null
}

# listening HOST PORT: a server waits there.
listening()
{
	[ -n "$(on "$1" ss -Hltn "sport = :$2")" ]
}

not_listening()
{
	! listening "$@"
}

# run_pair COMMAND [ARGUMENT]...: the server on a, then the client on b, which has the server's address
# as last argument; both must succeed.
run_pair()
{
	local server

	tap_wait 20 not_listening a $PORT || { echo "port $PORT is in use"; return 1; }
	behind a falcon-run "$@" >"$SCRATCH/server" 2>&1
	server=$!
	tap_wait_for $server 20 listening a $PORT
	meet $server b falcon-run "$@" "$MEET"
}

# pair NAME COMMAND...: the same as a test.
pair()
{
	tap_run "$1" run_pair "${@:2}"
}

# Processes of that name on host a.
on_a()
{
	local pid

	for pid in $(ip netns pids "falcon-$FALCON_LAB-a"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || echo "$pid"
	done
}

# The program has its agent, and sleeps until somebody connects.
sleeps()
{
	local pid

	for pid in $(on_a "$1"); do
		grep -q '^State:	S' "/proc/$pid/status" &&
			find "/proc/$pid/fd" -lname 'socket:*' 2>/dev/null | grep -q . && return
	done
	return 1
}

# Twice: it may have waited for the agent.
is_waiting()
{
	sleeps "$1" && sleeps "$1"
}

said()
{
	grep -q "$1" "$SCRATCH/server"
}

# run_cm SERVER CLIENT [TEXT]: two command lines, words separated by blanks, for programs that meet by
# librdmacm alone: the client, on $FROM or b, starts when the server on a has said TEXT, or else waits.
run_cm()
{
	local server

	: >"$SCRATCH/server"	# of the last one nothing is to be read
	# shellcheck disable=SC2086 # words
	behind a falcon-run stdbuf -oL $1 >"$SCRATCH/server" 2>&1
	server=$!
	if [ -n "${3:-}" ]; then
		tap_wait_for $server 20 said "$3"
	else
		tap_wait_for $server 20 is_waiting "${1%% *}"
	fi
	# shellcheck disable=SC2086 # words
	meet $server "${FROM:-b}" falcon-run $2
}

# until_listening COMMAND...: a pair of perftest's that meets by librdmacm. Its server sleeps before it
# listens, and listens a second time after a first exchange; its client may ask before, and is rejected, as by
# any adapter (datagrams: the service is unsupported, and the client crashes over that). Both begin again, for
# at most 20 s: to a server that waits a second time another client would be the first one's second half.
until_listening()
{
	local deadline=$((SECONDS + 20))

	until "$@"; do
		grep -Eq "REJECTED; error: 8|CM event bl blka 8$|UNREACHABLE; error: 1\." "$SCRATCH/client" &&
			[ $SECONDS -lt $deadline ] || return 1
		rm -f "$SCRATCH/explained"
	done
}

# cm NAME SERVER CLIENT [TEXT]: run_cm() as a test.
cm()
{
	tap_run "$1" run_cm "${@:2}"
}
