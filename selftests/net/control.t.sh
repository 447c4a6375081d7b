#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Two agents over TLS: connections come up and carry data; they outlive the session; a revoked peer is
# shut out and let in again; what is said between the agents cannot be read.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp tcpdump jq

RUN=/run/falcon-$FALCON_LAB

random_file small 300000

all_are()
{
	on a falconctl -j conn show | jq -e --argjson up "$1" 'map(.up == $up) | all' >/dev/null
}

setups()
{
	on a falconctl -j conn show | jq 'map(.setups) | add'
}

sessions()
{
	[ "$(on a ss -Htn state established '( sport = :1000 or dport = :1000 )' | wc -l)" -eq "$1" ]
}

reason_is()
{
	on a falconctl -j conn show | jq -r '.[0].reason' | tee /dev/stderr | grep -qE "$1"
}

reason_of()
{
	on a falconctl -j conn show "$1" | jq -r '.[0].reason' | grep -q "$2"
}

is_up()
{
	on a falconctl -j conn show "$1" | jq -e '.[0].up' >/dev/null
}

no_traffic_in_plain()
{
	! grep -aq FCMH "$SCRATCH/control.pcap"
}

lab_up --control tls
serve b
tap_run "a file arrives" put a b b small

behind a tcpdump -i eth0 -U -w "$SCRATCH/control.pcap" tcp port 1000 2>"$SCRATCH/tcpdump"
capture=$!
tap_wait 10 grep -q 'listening on' "$SCRATCH/tcpdump"
before=$(setups)
on a ss -K -tn '( sport = :1000 or dport = :1000 )' >/dev/null 2>&1
tap_wait 20 sessions 2
tap_run "sessions come back after a cut" sessions 2
tap_run "a file arrives after it" put a b b small
tap_is "$(setups)" "$before" "no connection had to be set up anew"
kill "$capture" && wait "$capture" 2>/dev/null
tap_run "what agents say is not to be read" no_traffic_in_plain

agent=/proc/$(<"$RUN/a/falcond.pid")
tap_is "$(cat "$agent"/task/*/status | grep -cE '^(NoNewPrivs:	1|Seccomp:	2)$')" \
	$((2 * $(find "$agent/task" -mindepth 1 -maxdepth 1 | wc -l))) \
	"every thread of the agent is in the sandbox"
tap_run "host a is revoked" on b falconctl ca revoke a "dir=$RUN/ca"
tap_wait 30 all_are false
tap_run "its connections go down" all_are false
tap_wait 10 reason_is 'revoked|certificate|TLS'
tap_run "and the reason is told" reason_is 'revoked|certificate|TLS'
on b falconctl ca issue a 10.250.0.1 fd00:250::1 "dir=$RUN/ca"
tap_wait 30 all_are true
tap_run "a new certificate brings them up" all_are true
tap_run "and a file arrives" put a b b small

# Host b is told who may dial.
falcon-lab agent b stop
sed -i 's/^\[peer any\]/[peer a]\nfunctions = 0,7/; s/^max_connections = .*/max_connections = 1/' \
	"$RUN/b/falcond.conf"
falcon-lab agent b start
serve b
tap_run "host a dials" on a falconctl conn add dialled local=10.250.0.1 remote=10.250.0.2 \
	function=7 security=psp-aes-gcm-256 data_window=5 req_window=2
tap_wait 10 is_up dialled
tap_run "and is accepted" is_up dialled
tap_run "a file arrives on it" put a dialled b small
tap_is "$(on b falconctl -j window show | jq -c '.[] | select(.name | startswith("a.")) |
	[.data_window, .req_window]')" "[5,2]" "host b keeps to the windows of host a"
tap_run "and comes back" get a dialled b small
tap_is "$(on b falconctl -j conn show | jq -r '.[] | select(.name | startswith("a.")) | .up')" true \
	"host b names it by the peer's certificate"
on a falconctl conn add second local=10.250.0.1 remote=10.250.0.2 function=7
tap_wait 10 reason_of second 'has its 1 connections'
tap_run "one more than allowed is refused" reason_of second 'has its 1 connections'
on a falconctl conn add third local=10.250.0.1 remote=10.250.0.2 function=8
tap_wait 10 reason_of third 'function 8'
tap_run "another function is refused" reason_of third 'function 8'
on a falconctl conn del dialled
tap_wait 20 is_up second
tap_run "with the first gone the second is accepted" is_up second
tap_done
