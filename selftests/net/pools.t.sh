#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# What transactions hold comes back (Falcon 8.2): after copies over a bad link, after an application
# was killed amid a copy, and after a connection was deleted. Limits refuse, and all gets through.
# A connection whose upper layer does not answer does not stop the others.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-perf jq

random_file big $((8 * 1024 * 1024 + 17))

# pool HOST FIELD [RESOURCE]: the sum over the agent's own pools.
pool()
{
	on "$1" falconctl -j pool show |
		jq --arg f "$2" --arg r "${3:-.*}" \
			'[.[] | select(.level == "nic" and (.resource | test($r))) | .[$f]] | add'
}

pools_full()
{
	[ "$(pool a used)" = 0 ] && [ "$(pool b used)" = 0 ]
}

# run_on HOST NAME COMMAND...: in the background; its process is ${PID[NAME]}.
declare -A PID
run_on()
{
	behind "$1" "${@:3}" >"$SCRATCH/$2.out" 2>&1
	PID[$2]=$!
}

# end NAME SIGNAL
end()
{
	kill -"$2" "${PID[$1]}"
	wait "${PID[$1]}" 2>/dev/null
}

in_use()
{
	[ "$(pool a used 'Req Pkt Tx')" -gt 0 ]
}

# all_back WHEN: nothing is held any more, at any level.
all_back()
{
	local out

	tap_wait 60 pools_full
	out=$(for h in a b; do
		on "$h" falconctl -j pool show | jq -c '.[] | select(.used != 0)'
	done)
	tap_is "$out" "" "$1: all pools are full again"
}

# Something is under way in b's network region, or was.
touched()
{
	[ "$(pool b high 'Net Req Pkt')" -gt 0 ]
}

killed_client()
{
	random_file long $((64 * 1024 * 1024))
	run_on a copy falcon-cp --timeout 30 "$SCRATCH/long" b:long
	tap_wait 30 in_use || tap_not_ok "a copy is under way"
	end copy KILL
	all_back "a client was killed"
}

# A connection that may hold one percent of each pool: what is beyond waits, and all gets through.
tight_connection()
{
	on a falconctl conn add tight local=10.250.0.1 remote=10.250.0.2 local_cid=901 \
		remote_cid=902 security=clear pool_percent=1
	on b falconctl conn add tight local=10.250.0.2 remote=10.250.0.1 local_cid=902 \
		remote_cid=901 security=clear pool_percent=1
	tap_wait 30 eval 'on a falconctl -j conn show tight | jq -e ".[0].up"' ||
		tap_not_ok "the tight connection is up"
	tap_run "copy over a connection with one percent" put a tight b big
	tap_run "and back" get a tight b big
	between 1 "$(on a falconctl -j pool show tight | jq '[.[].refused] | add')" 1000000000 \
		"its limits have refused"
	tap_is "$(on a falconctl -j pool show tight |
		jq -c '[.[] | select(.limit != null and .high > .limit)]')" "[]" "and were kept"
	all_back "one percent"
	on a falconctl conn del tight
	on b falconctl conn del tight
	all_back "connections deleted"
}

# Operations of 2 s of pushes over the connection that is not stalled.
push_rate()
{
	on a falcon-perf b-unordered --service 22 --size 64K --depth 8 --seconds 2 -j | jq .operations
}

# A message service on b is stopped: its connection is RNRed, and the other one goes on.
stalled_upper_layer()
{
	local before during

	run_on b stuck falcon-perf --serve --service 21
	run_on b other falcon-perf --serve --service 22
	tap_wait 30 eval '[ "$(on b falconctl -j client show | jq length)" -ge 3 ]' ||
		tap_not_ok "services are attached"
	before=$(push_rate)
	run_on a sender falcon-perf b --service 21 --op send --size 1K --depth 64 --seconds 60 \
		--timeout 60
	tap_wait 30 in_use
	kill -STOP "${PID[stuck]}"
	tap_wait 30 eval '[ "$(on a falconctl -j conn show b | jq ".[0].rnr_nacks_received")" -gt 0 ]' ||
		tap_not_ok "the upper layer is not ready"
	during=$(push_rate)
	tap_note "operations in 2 s: $before alone, $during beside a stalled connection"
	between 1 "${during:-0}" 1000000000 "a stalled connection does not stop the others"
	end sender KILL
	end stuck KILL
	end other TERM
	all_back "the upper layer was stalled and died"
}

lab_up --clear --loss 1 --dup 1 --delay 100us --jitter 100us
serve b
tap_run "copy to b" put a b b big
tap_run "copy back" get a b b big
all_back "copies with loss"
tap_run "pools were in use" touched
killed_client
tap_is "$(on a falconctl -j pool show b | jq -c '[.[].used] | add')" 0 "and so says the connection"
tap_is "$(on a falconctl pool show b | wc -l)" 9 "one connection's table has eight rows"
tap_run "connection reset" on a falconctl conn reset b
all_back "a connection was reset"
tight_connection
stop_serving
lab_up --clear
serve b
stalled_upper_layer
stop_serving
tap_done
