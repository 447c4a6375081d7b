#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# An agent with several threads that carry packets: connections are spread over them, an application uses
# those of all, and whatever queue a packet comes by, it gets to the thread that has its connection. An
# interface with fewer queues than there are threads is refused.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

# threads HOST N [CPUS]: its agent has N threads from now on.
threads()
{
	local conf=/run/falcon-$FALCON_LAB/$1/falcond.conf

	falcon-lab agent "$1" stop &&
		sed -i "/^threads = /d; /^cpus = /d; s/^\[agent\]/&\nthreads = $2\ncpus = ${3:-}/" "$conf" &&
		falcon-lab agent "$1" start
}

# How many connections each of the host's threads has, as "2 2".
spread()
{
	on "$1" falconctl -j shard show | jq -r '[.[].connections] | join(" ")'
}

handed_over()
{
	on "$1" falconctl -j shard show | jq -e 'map(.handed_over) | add > 0'
}

conn_up()
{
	on "$1" falconctl -j conn show "$2" | jq -e '.[0].up'
}

too_many()
{
	! threads b 3
}

# The CPUs that b's threads may have, in their order.
cpus_of_threads()
{
	local task

	for task in "/proc/$(<"/run/falcon-$FALCON_LAB/b/falcond.pid")/task/"*; do
		printf '%s %s\n' "$(<"$task/comm")" \
			"$(awk '/^Cpus_allowed_list/ { print $2 }' "$task/status")"
	done | sort | awk '/^falcon-shard-/ { printf "%s%s", sep, $2; sep = " " }'
}

random_file big $((SIZE_MB * 1024 * 1024 / 4 + 7))
lab_up --queues 2 --loss 1
tap_run "the agent starts with two threads" threads b 2
for conn in b b-unordered b6; do
	tap_run "connection $conn" tap_wait 20 conn_up a "$conn"
done
tap_is "$(spread b)" "2 1" "three connections are spread over two threads"
for conn in a a-unordered a6; do
	tap_run "a trace of b's connection $conn" \
		on b falconctl rue trace "$SCRATCH/trace.csv" --count 1 --seconds 1 --conn "$conn"
done
# Whatever thread has the connection, nothing writes into the memory of a trace that is over.
serve b
for conn in b b-unordered b6; do
	tap_run "a file arrives by $conn" put a "$conn" b big
done
tap_run "frames that came by the other thread's queue were handed over" handed_over b
stop_serving
if [ "$(nproc --all)" -gt 1 ]; then
	tap_run "the agent starts with a CPU for each thread" threads b 2 1,0
	tap_is "$(cpus_of_threads)" "1 0" "which they have"
else
	tap_skip "a CPU for each thread" "this machine has only one"
fi
tap_run "more threads than queues: refused" too_many
tap_run "and the log says why" grep -q 'threads = 3, but eth0 has only 2 receive queues' \
	"/run/falcon-$FALCON_LAB/b/falcond.log"
tap_done
