#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# stops agents
#
# Time that passes without an agent: a machine that stands still, with all that is on it, as one that moves to
# another host does, makes no transaction time out; and a queue pair that is to be patient waits for a peer
# whose agent has no CPU, for as long as its timeout and retry_cnt say.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need falconctl ib_send_bw jq

is_under_way()
{
	on b falconctl -j conn show | jq -e 'any(.[]; .by != "file" and .completed > 1000)'
}

# Agents of HOST... stand still for SECONDS while b sends to a; both programs end well all the same.
survives()
{
	local pair pids=() seconds=$1 host

	shift
	run_pair ib_send_bw -d falcon0 -x "$GID" -F -u 18 -D 6 -s 4096 >"$SCRATCH/pair" 2>&1 &
	pair=$!
	tap_wait_for $pair 20 is_under_way || return
	for host; do
		pids+=("$(<"/run/falcon-$FALCON_LAB/$host/falcond.pid")")
	done
	kill -STOP "${pids[@]}"
	sleep "$seconds"
	kill -CONT "${pids[@]}"
	wait $pair
}

# errors HOST: transactions that ended with one, and sessions between agents that ended.
errors()
{
	echo "$(on "$1" falconctl -j conn show | jq '[.[].completed_in_error] | add')" \
		"$(grep -c 'control session ended' "/run/falcon-$FALCON_LAB/$1/falcond.log")"
}

told()
{
	grep -Eq 'thread 0 has not run for [1-9][0-9]*\.[0-9] s: ' "/run/falcon-$FALCON_LAB/$1/falcond.log"
}

GID=0 MEET=10.250.0.1
lab_up --clear --set txn_timeout_ms=2000
tap_run "both agents stand still, for longer than transactions may take" survives 3 a b
tap_is "$(errors b)" "0 0" "no transaction has timed out"
tap_run "the agents say that they have not run" told a
lab_up --clear
tap_run "the target's agent is silent for longer than max_retx attempts take" survives 4 a
tap_is "$(errors b)" "0 0" "no transaction has ended in error, and the agents' session has not ended"
tap_done
