# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the tests of applications share: two hosts, and programs as Debian has them on both.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../net/lab.sh"
tap_need falcon-run

# Also what takes long: other sizes, modes and links.
# shellcheck disable=SC2034 # for the scripts
FULL=${FALCON_TEST_FULL:-0}
# Where the server is: programs that need more than librdmacm meet there by TCP first, over IPv4.
ADDRESS=10.250.0.1
# The index of the GID, which says whether the queue pairs use IPv4 or IPv6.
GID=0
# The TCP port that perftest and the pingpongs of ibverbs-utils meet on.
PORT=18515

# use ipv4|ipv6: from here on.
# shellcheck disable=SC2034 # for the scripts
use()
{
	case $1 in
	ipv4) GID=0 ;;
	ipv6) GID=1 ;;
	esac
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
# as last argument; both must succeed. Output in $SCRATCH/server and client.
run_pair()
{
	local server rc=0

	tap_wait 20 not_listening a $PORT || { echo "port $PORT is in use"; return 1; }
	behind a timeout 60 falcon-run "$@" >"$SCRATCH/server" 2>&1
	server=$!
	if tap_wait 20 listening a $PORT; then
		on b timeout 60 falcon-run "$@" "$ADDRESS" >"$SCRATCH/client" 2>&1 || rc=$?
	else
		rc=98
	fi
	[ "$rc" -eq 0 ] || kill $server 2>/dev/null
	wait $server || [ "$rc" -ne 0 ] || rc=99
	[ "$rc" -eq 0 ] || { echo "status $rc"; tail -n 30 "$SCRATCH/server" "$SCRATCH/client"; }
	return $rc
}

# pair NAME COMMAND...: the same as a test.
pair()
{
	tap_run "$1" run_pair "${@:2}"
}

cm_client()
{
	# shellcheck disable=SC2086 # words
	on b timeout 30 falcon-run $1 >"$SCRATCH/client" 2>&1
}

said()
{
	[ -z "$1" ] || grep -q "$1" "$SCRATCH/server"
}

# run_cm SERVER CLIENT [TEXT]: two command lines, words separated by blanks, for programs that meet by
# librdmacm alone: the client starts when the server has said TEXT. Without, it is refused, and tries
# again, until the server listens.
run_cm()
{
	local server rc=0

	: >"$SCRATCH/server"	# of the last one nothing is to be read
	# shellcheck disable=SC2086 # words
	behind a timeout 60 falcon-run stdbuf -oL $1 >"$SCRATCH/server" 2>&1
	server=$!
	tap_wait 20 said "${3:-}" && tap_wait 30 cm_client "$2" || rc=98
	[ "$rc" -eq 0 ] || kill $server 2>/dev/null
	wait $server || [ "$rc" -ne 0 ] || rc=99
	[ "$rc" -eq 0 ] || { echo "status $rc"; tail -n 30 "$SCRATCH/server" "$SCRATCH/client"; }
	return $rc
}
