#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Very many connections: dialled one after another, all up, all deleted, and nothing of them left, twice,
# while an application goes on talking over another one. FALCON_TEST_FULL=1: 100000.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-perf jq awk

RUN=/run/falcon-$FALCON_LAB
COUNT=2000
OPTIONS=()
if [ -n "${FALCON_TEST_FULL:-}" ]; then
	COUNT=100000
	OPTIONS=(--large)
fi

# what HOST MEMBER: of "falconctl agent".
what()
{
	on "$1" falconctl -j agent | jq ".[0].$2"
}

# have HOST MEMBER N
have()
{
	[ "$(what "$1" "$2")" -eq "$3" ]
}

rss()
{
	awk '/^RssAnon/ { print $2 }' "/proc/$(<"$RUN/$1/falcond.pid")/status"
}

now_ms()
{
	date +%s%3N
}

add()
{
	on a falconctl conn add many "count=$COUNT" local=10.250.0.1 remote=10.250.0.2
}

del()
{
	on a falconctl conn del many "count=$COUNT"
}

serving()
{
	on b falconctl -j client show | jq -e 'length > 0' >/dev/null
}

# Everything that was there before, and no more.
empty()
{
	have "$1" connections "$BEFORE" && have "$1" leaving 0 && have "$1" up "$BEFORE"
}

pools_empty()
{
	on "$1" falconctl -j pool show | jq -e 'all(.used == 0)' >/dev/null
}

# map_entries HOST: how many entries of falcon_conns are not zero.
map_entries()
{
	on "$1" bpftool -j map dump pinned /sys/fs/bpf/tc/globals/falcon_conns |
		jq '[.[].formatted.value.id | select(.cid != 0 or .flags != 0)] | length'
}

# round N: set all up, tear all down.
round()
{
	local start up down host

	start=$(now_ms)
	tap_run "$COUNT connections are added, round $1" add
	tap_wait 120 have a up $((BEFORE + COUNT))
	tap_run "they are all up" have a up $((BEFORE + COUNT))
	tap_wait 30 have b up $((BEFORE + COUNT))
	tap_run "the peer agrees" have b up $((BEFORE + COUNT))
	up=$(($(now_ms) - start))
	FULL=$(rss a)
	tap_is "$(on a falconctl -j conn show | jq 'unique_by(.name) | length')" $((BEFORE + COUNT)) \
		"all are listed, page after page"
	start=$(now_ms)
	tap_run "they are deleted" del
	for host in a b; do
		tap_wait 120 empty "$host"
		tap_run "none is left on $host" empty "$host"
	done
	down=$(($(now_ms) - start))
	tap_note "set up: $((COUNT * 1000 / (up + 1))) a second; torn down: $((COUNT * 1000 / (down + 1)))"
	tap_note "memory a connection: $(((FULL - IDLE) * 1024 / COUNT)) bytes, and 1088 of the map"
}

# Deleted and added at once under the same name and CID: the old one makes room.
again_at_once()
{
	local _

	for _ in 1 2 3; do
		on a falconctl conn del b-unordered &&
			on a falconctl conn add b-unordered local=10.250.0.1 remote=10.250.0.2 \
				local_cid=265 remote_cid=513 ordering=unordered || return
	done
}

is_up()
{
	on a falconctl -j conn show "$1" | jq -e '.[0].up' >/dev/null
}

lab_up "${OPTIONS[@]}" --set log_level=warn
sed -i "s/^max_connections = .*/max_connections = $COUNT/" "$RUN/b/falcond.conf"
tap_run "the peer lets us dial $COUNT" falcon-lab agent b stop
tap_run "its agent starts" falcon-lab agent b start
BEFORE=$(what a connections)
IDLE=$(rss a)
setups=$(on a falconctl -j conn show b | jq '.[0].setups')

behind b falcon-perf --serve >"$SCRATCH/serve" 2>&1
server=$!
tap_wait 10 serving
behind a falcon-perf b --op send --size 64 --seconds 5 >"$SCRATCH/perf" 2>&1
pinging=$!
round 1
FIRST=$FULL
round 2
wait $pinging
tap_is "$?: $(grep falcon-perf: "$SCRATCH/perf")" "0: " "the application was not disturbed"
tap_note "$(grep -iE 'p50|p99|latency' "$SCRATCH/perf" | head -n 3)"
kill $server
tap_is "$(on a falconctl -j conn show b | jq '.[0].setups')" "$setups" \
	"its connection was not set up anew"

tap_run "the second round takes no more memory than the first" [ "$FULL" -le $((FIRST + FIRST / 10)) ]
for host in a b; do
	tap_wait 10 pools_empty "$host"
	tap_run "pools of $host are empty" pools_empty "$host"
	[ -n "${FALCON_TEST_FULL:-}" ] ||
		tap_is "$(map_entries "$host")" "$BEFORE" "the map of $host is empty but for those before"
done
tap_run "a CID is free as soon as its connection is deleted" again_at_once
tap_wait 30 is_up b-unordered
tap_run "and comes up again" is_up b-unordered
tap_done
