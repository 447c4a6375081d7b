#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# falcon-perf between two agents without a network: every operation, verified; refusals.
. "$(dirname "$0")/../tap.sh"

tap_need timeout python3
dir=$(mktemp -d)
perf=$TAP_BUILD/falcon-perf
pids=()

cleanup()
{
	[ ${#pids[@]} -gt 0 ] && kill "${pids[@]}" 2>/dev/null
	wait
	rm -rf "$dir"
}
trap cleanup EXIT

client()
{
	FALCON_SOCKET=$dir/a.sock timeout 30 "$perf" "$@"
}

# The number under KEY of the JSON object in FILE.
field()
{
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}

# fails NAME PATTERN ARGUMENTS...: the client fails and says PATTERN.
fails()
{
	local name=$1 pattern=$2 rc=0

	shift 2
	client "$@" >"$dir/out" 2>&1 || rc=$?
	if [ "$rc" -ne 0 ] && [ "$rc" -ne 124 ] && grep -q -- "$pattern" "$dir/out"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "status $rc: $(<"$dir/out")"
	fi
}

"$TAP_BUILD/selftests/unit/loop_agent" "$dir" &
pids+=($!)
tap_wait 10 test -S "$dir/b.sock" || tap_not_ok "agent started"
fails "nobody serves" "nobody serves there" b --count 1
FALCON_SOCKET=$dir/b.sock "$perf" --serve --arena 64M &
server=$!
pids+=("$server")
tap_wait 10 client b --count 1 || tap_not_ok "server started"

for conn in b b-unordered; do
	for op in push pull send; do
		for size in 1 8 1400; do
			tap_run "$op of $size bytes on $conn, verified" client "$conn" --op "$op" \
				--size "$size" --depth 32 --count 2000 --verify
		done
	done
	for op in push pull; do
		tap_run "$op of 1000001 bytes on $conn, verified" client "$conn" --op "$op" \
			--size 1000001 --depth 5 --count 20 --verify
	done
done

client b-unordered --op push --size 64 --count 500 --depth 7 --verify -j >"$dir/json"
tap_is "$(field "$dir/json" operations)" 500 "JSON has the number of operations"
tap_is "$(field "$dir/json" ordered)" False "JSON has the ordering"
tap_is "$(field "$dir/json" mismatches)" 0 "JSON has the mismatches"
tap_run "JSON has the latencies" python3 -c '
import json, sys
l = json.load(open(sys.argv[1]))["latency_us"]
q = [l[k] for k in ("min", "p50", "p90", "p99", "p99.9", "max")]
sys.exit(q != sorted(q) or q[0] <= 0)' "$dir/json"
tap_run "time bounds a run" client b --seconds 1 --depth 4

fails "more memory than the server has" "less than" b --size 16M --depth 8
fails "unknown connection" "no connection named" nobody --count 1
fails "message longer than a segment" "at most 1400 bytes" b --op send --size 1401
fails "bad operation" "none of push, pull and send" b --op jump
fails "bad size" "not a size" b --size 12X
fails "depth out of range" "not a number" b --depth 0

kill "$server"
wait "$server"
tap_is $? 0 "server stops cleanly"
tap_done
