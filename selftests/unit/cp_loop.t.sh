#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 200
# falcon-cp between two agents without a network: both ways, confinement, and every kind of death.
. "$(dirname "$0")/../tap.sh"

tap_need timeout cmp python3
dir=$(mktemp -d)
cp=$TAP_BUILD/falcon-cp
pids=()

cleanup()
{
	[ ${#pids[@]} -gt 0 ] && kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf "$dir"
}
trap cleanup EXIT

start_agent()
{
	"$TAP_BUILD/selftests/unit/loop_agent" "$dir" &
	agent=$!
	pids+=("$agent")
}

start_server()
{
	FALCON_SOCKET=$dir/b.sock "$cp" --serve "$dir/srv" --timeout "${1:-30}" 2>>"$dir/server.log" &
	server=$!
	pids+=("$server")
}

client()
{
	FALCON_SOCKET=$dir/a.sock timeout 60 "$cp" "$@"
}

# round_trip FILE CONN: copy there and back, compare both.
round_trip()
{
	client "$dir/$1" "$2:up" && cmp "$dir/$1" "$dir/srv/up" &&
		client "$2:up" "$dir/back" && cmp "$dir/$1" "$dir/back"
}

# refused NAME PATTERN ARGUMENTS...: the client fails, says PATTERN, and leaves nothing.
refused()
{
	local name=$1 pattern=$2 rc=0

	shift 2
	client "$@" >"$dir/log" 2>&1 || rc=$?
	if [ "$rc" -ne 0 ] && [ "$rc" -ne 124 ] && grep -q -- "$pattern" "$dir/log"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "status $rc: $(<"$dir/log")"
	fi
}

no_parts()
{
	[ -z "$(find "$dir" -name '.falcon-cp.*')" ]
}

# A copy of the large file is under way: the server writes to its temporary file.
under_way()
{
	[ -n "$(find "$dir/srv" "$dir/dst" -name '.falcon-cp.*' -size +0)" ]
}

# start_copy ARGUMENTS...: in the background, until it is under way.
start_copy()
{
	FALCON_SOCKET=$dir/a.sock "$cp" --timeout 40 "$@" >"$dir/log" 2>&1 &
	copy=$!
	pids+=("$copy")
	tap_wait 20 under_way || tap_note "not under way: $(<"$dir/log")"
}

# The same, and then the connections stall: nothing moves any more.
start_stalled_copy()
{
	start_copy "$@"
	kill -USR2 "$agent"
}

# nothing_left NAME: neither temporary files nor a copy under its final name.
nothing_left()
{
	if tap_wait 10 no_parts && [ ! -e "$dir/srv/large" ] && [ ! -e "$dir/dst/large" ]; then
		tap_ok "$1: nothing is left"
	else
		tap_not_ok "$1: nothing is left" "$(find "$dir/srv" "$dir/dst" -type f)"
	fi
}

# ended NAME PATTERN: the copy ends with an error that says PATTERN, and leaves nothing.
ended()
{
	local rc=0

	wait "$copy" || rc=$?
	if [ "$rc" -eq 1 ] && grep -q -- "$2" "$dir/log"; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "status $rc: $(<"$dir/log")"
	fi
	nothing_left "$1"
}

restart_agent()
{
	kill -KILL "$agent" 2>/dev/null
	wait "$agent" 2>/dev/null
	start_agent
	if tap_wait 20 client "$dir/small" b:small && cmp -s "$dir/small" "$dir/srv/small"; then
		tap_ok "a copy works after the agent's restart"
	else
		tap_not_ok "a copy works after the agent's restart" "$(<"$dir/server.log")"
	fi
}

mkdir "$dir/srv" "$dir/srv/sub" "$dir/dst"
: >"$dir/empty"
head -c 1 /dev/urandom >"$dir/small"
head -c 1048576 /dev/urandom >"$dir/slot"
head -c 9437185 /dev/urandom >"$dir/odd"
head -c 400M /dev/zero >"$dir/large_source"
start_agent
tap_wait 10 test -S "$dir/b.sock" || tap_not_ok "agent started"
refused "no server" "no falcon-cp server" "$dir/small" b:
start_server
tap_wait 10 client "$dir/small" b: || tap_not_ok "server started"

for conn in b b-unordered; do
	for file in empty small slot odd; do
		tap_run "$file both ways on $conn" round_trip "$file" "$conn"
	done
done
chmod 640 "$dir/odd"
client -j "$dir/odd" b:sub/ >"$dir/json"
tap_is "$(stat -c %a "$dir/srv/sub/odd")" 640 "permissions are kept"
tap_is "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["bytes"])' <"$dir/json")" \
	9437185 "JSON has the bytes"

copies=()
for i in 1 2 3 4 5 6; do
	client "$dir/odd" "b:many$i" >/dev/null &
	copies+=($!)
	client b:sub/odd "$dir/many$i" >/dev/null &
	copies+=($!)
done
good=0
for pid in "${copies[@]}"; do
	wait "$pid" && good=$((good + 1))
done
for i in 1 2 3 4 5 6; do
	cmp -s "$dir/odd" "$dir/srv/many$i" && cmp -s "$dir/odd" "$dir/many$i" && good=$((good + 1))
done
tap_is "$good" 18 "twelve clients at once"

echo secret >"$dir/secret"
ln -s "$dir/secret" "$dir/srv/link"
ln -s "$dir" "$dir/srv/out"
for name in ../secret /etc/passwd "$dir/secret" sub/../../secret link out/secret; do
	refused "download of $name" "leads out" "b:$name" "$dir/stolen"
	[ "$name" = link ] || refused "upload to $name" "leads out" "$dir/small" "b:$name"
done
tap_is "$(<"$dir/secret")" secret "nothing outside was written"
tap_run "nothing outside was read" test ! -e "$dir/stolen"
refused "no such file at the server" "no such file" b:nosuch "$dir/x"
refused "no such file here" "no such file" "$dir/nosuch" b:
refused "a directory" "is a directory" b:sub "$dir/x"
refused "no such directory here" "no such file" b:small "$dir/nosuch/x"
refused "no such connection" "no connection named" "$dir/small" nobody:
refused "two local names" "must be HOST:NAME" "$dir/small" "$dir/x"
tap_run "no temporary file is left so far" no_parts

truncate -s 400M "$dir/srv/source"

start_copy "$dir/large_source" b:large
kill -INT "$copy"
ended "interrupted upload" interrupted

start_copy b:source "$dir/dst/large"
kill -TERM "$copy"
ended "terminated download" interrupted

start_copy "$dir/large_source" b:large
kill -KILL "$copy"
wait "$copy"
nothing_left "client killed during an upload"

start_stalled_copy "$dir/large_source" b:large
kill -USR1 "$agent"
ended "connection goes down" "connection is down"
restart_agent

start_stalled_copy "$dir/large_source" b:large
kill -KILL "$agent"
ended "agent dies during an upload" "agent is gone"
restart_agent

start_stalled_copy b:source "$dir/dst/large"
kill -KILL "$agent"
ended "agent dies during a download" "agent is gone"
restart_agent

start_copy "$dir/large_source" b:large
kill "$server"
wait "$server"
tap_is $? 0 "server stops cleanly during an upload"
ended "server stopped" "server was stopped\|no falcon-cp server"

start_server 2
tap_wait 10 client "$dir/small" b: || tap_not_ok "server started again"
start_stalled_copy "$dir/large_source" b:large
tap_wait 20 no_parts || tap_note "the server did not time out"
kill -TERM "$copy"
ended "server hears nothing any more" interrupted
tap_done
