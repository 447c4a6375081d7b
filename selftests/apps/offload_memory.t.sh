#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
# stops agents
#
# WRITEs into offload memory, READs and atomics of it, which XDP carries out, and what comes back, which it
# places in that of the initiator: whatever else there is between them, while the agent stands still, and when
# it is killed.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need ss bpftool

OPERATIONS=$([ "${FALCON_TEST_FULL:-0}" = 0 ] && echo 3000 || echo 100000)
COUNT=500 BYTES=20000
AGENT_A=/run/falcon-$FALCON_LAB/a/falcond.pid

# ---- all operations against a model ----

# chaos ERRORS: what failed operations do to queue pairs.
chaos()
{
	pair "$LINK: $OPERATIONS operations, $1" env FALCON_QP_ERRORS="$1" \
		"$TAP_BUILD/selftests/apps/chaos" -n "$OPERATIONS" -g "$GID" -o
}

environment clear-ipv6-1
chaos complete
between $((OPERATIONS / 20)) "$(counter a xdp_placed)" 1000000000 "XDP has its part in them"
between $((OPERATIONS / 100)) "$(counter a xdp_read)" 1000000000 "READs among them"
between $((OPERATIONS / 100)) "$(counter a xdp_atomic)" 1000000000 "and atomics"

# The agent has them all; the memory is as good as any.
environment psp-ipv4-0
chaos verbs
tap_is "$(counter a 'xdp_placed|xdp_read|xdp_atomic')" 0 "none of what is encrypted"

# ---- a stream of WRITEs ----

# The server on a, and the client on b, which gets its commands from file descriptor 9.
begin()
{
	local writes=("$TAP_BUILD/selftests/apps/writes" -g 0 -n "$COUNT" -l "$BYTES")

	tap_wait 20 not_listening a $PORT
	behind a falcon-run "${writes[@]}" -o >"$SCRATCH/server" 2>&1
	SERVER=$!
	tap_wait_for $SERVER 20 listening a $PORT || return
	rm -f "$SCRATCH/commands"
	mkfifo "$SCRATCH/commands"
	# Both ways, so that opening it does not wait for the other end; the client has none that writes.
	exec 9<>"$SCRATCH/commands"
	falcon-lab exec b -- falcon-run "${writes[@]}" -o "$MEET" \
		<"$SCRATCH/commands" 9>&- >"$SCRATCH/client" 2>&1 &
	CLIENT=$!
}

# lines FILE: how many it has.
lines()
{
	wc -l <"$SCRATCH/$1"
}

has_lines()
{
	[ "$(lines "$1")" -ge "$2" ]
}

# tell COMMAND: without waiting. do_all COMMAND...: one after the other, each until it is done.
tell()
{
	echo "$1" >&9
}

do_all()
{
	local command n

	for command; do
		n=$(($(lines client) + 1))
		tell "$command"
		tap_wait_for $CLIENT 30 has_lines client $n || { cat "$SCRATCH/client"; return 1; }
	done
}

environment clear-ipv4-0
begin
tap_run "WRITEs arrive" do_all write send
before=$(counter a xdp_placed) packets=$(counter a 'xdp_placed|rx_data')
tap_run "and more" do_all write write write send
placed=$(($(counter a xdp_placed) - before)) packets=$(($(counter a 'xdp_placed|rx_data') - packets))
between $((packets * 99 / 100)) $placed $packets "XDP places 99 % of their packets"
between $((placed / 64)) "$(counter a xdp_acked)" $placed "and acknowledges them"
# The first go through the agent, which asks the peer for room behind them.
tap_run "READs find what was written" do_all read
before=$(counter a xdp_read) packets=$(counter a 'xdp_read|rx_request')
before_b=$(counter b xdp_placed) packets_b=$(counter b 'xdp_placed|rx_data')
tap_run "and more of them" do_all read read
placed=$(($(counter a xdp_read) - before)) packets=$(($(counter a 'xdp_read|rx_request') - packets))
# On a busy machine some ACKs come too late, and the agent sees to what they are for.
between $((packets * 95 / 100)) $placed $packets "XDP answers 95 % of their packets, at least"
tap_note "XDP has answered $placed of $packets"
placed=$(($(counter b xdp_placed) - before_b)) packets=$(($(counter b 'xdp_placed|rx_data') - packets_b))
between $((packets * 95 / 100)) $placed $packets "and at the initiator places 95 % of the data, at least"
tap_note "XDP has placed $placed of $packets"
before=$(counter a xdp_atomic) before_b=$(counter b xdp_placed)
tap_run "fetch-and-adds find what those before them left" do_all atomic atomic
between $((2 * COUNT * 95 / 100)) $(($(counter a xdp_atomic) - before)) $((2 * COUNT)) "XDP does 95 % of them"
between $((2 * COUNT * 95 / 100)) $(($(counter b xdp_placed) - before_b)) $((2 * COUNT)) \
	"and places as many of their results"
tap_is "$(on a falconctl -j mr show | jq -r 'map(.kind) | unique | join(" ")')" offload \
	"falconctl shows the region"
between "$((COUNT * 4 * BYTES))" "$(on a falconctl -j qp show | jq 'map(.rx_bytes) | add')" \
	$((COUNT * 4 * BYTES + 64)) "and what the queue pair has got"

# ---- the agent stands still ----

MAPS=/sys/fs/bpf/tc/globals

# What XDP on a has counted as NAME, as the map has it.
in_map()
{
	on a bpftool -j map dump pinned $MAPS/falcon_counters |
		jq --arg n "$1" '[.[0].formatted.values[].value[$n]] | add'
}

rises_above()
{
	[ "$(in_map "$1")" -gt "$2" ]
}

kill -STOP "$(<"$AGENT_A")"
tap_run "with the agent stopped, WRITEs go on" do_all write write
tap_run "and READs" do_all read read
tap_run "and atomics" do_all atomic atomic
before=$(in_map rx_data) done=$(lines client)
tell send
tap_run "a SEND gets as far as the agent" tap_wait 10 rises_above rx_data "$before"
tap_is "$(lines client)" "$done" "and waits for it"
kill -CONT "$(<"$AGENT_A")"
tap_run "until it goes on" tap_wait_for $CLIENT 20 has_lines client $((done + 1))
tap_run "WRITEs, READs, atomics and SENDs go on" do_all write read atomic send
exec 9>&-
first_to_end 20 $CLIENT && first_to_end 20 $SERVER
tap_is $? 0 "client and server end well"
tap_is "$(cat "$SCRATCH/server")" "$(printf '%s\n' $COUNT $((4 * COUNT)) $((6 * COUNT)) $((7 * COUNT)))" \
	"before every SEND was all that was written before it"

# ---- the agent is killed ----

# keys MAP: that it has.
keys()
{
	on a bpftool -j map dump pinned "$MAPS/$1" |
		jq -c 'map(select((.value | type) != "object" or (.value | has("error") | not)) | .key)'
}

begin
do_all write send >/dev/null
# known REGIONS MEMORIES: so many of each are in the maps.
known()
{
	[ "$(keys falcon_regions | jq length) $(keys falcon_memory | jq length)" = "$1 $2" ]
}
tap_run "XDP knows region and memory, and no others any more" tap_wait 10 known 1 1
for _ in 1 2 3 4 5 6; do
	tell write
done
falcon-lab agent a kill
placed=$(in_map xdp_placed) dropped=$(in_map drop_no_agent)
tap_run "packets come all the same" tap_wait 20 rises_above drop_no_agent "$dropped"
tap_is "$(in_map xdp_placed)" "$placed" "nothing is placed without an agent"
tap_run "another agent" falcon-lab agent a start
tap_is "$(keys falcon_regions) $(keys falcon_memory)" "[] []" "knows neither region nor memory of the old one"
exec 9>&-
end_child 5 $CLIENT
end_child 5 $SERVER
tap_done
