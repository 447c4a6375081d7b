#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a dead host and a disk that hangs cost the others: selftests/bench/hosts.sh
#
# Hosts a to e use the disks of the targets f to i, each every one, by the C API, encrypted: reads of 4 KiB, 4
# at a time. Counted is what a to d read from f, g and h, while
#
#	others	there is nothing else
#	all	e reads from all disks, and all read from that of i
#	dead	e's agent and programs were killed in the middle of that
#	hanging	and i's disk answers no more: it is a file whose FUSE server is stopped
#	again	it answers again
#
# BENCH_SECONDS (2) is the length of a measurement, BENCH_ROUNDS (5) how many there are of each; the median
# counts. Prints a table, and writes build/bench/hosts.json.
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "$0")/bench.sh"
SECS=${BENCH_SECONDS:-2}
ROUNDS=${BENCH_ROUNDS:-5}
HOSTS=(a b c d e) TARGETS=(f g h i)
MB=64
MOUNT=$TMP/slow
read -ra BLOCKS <<<"4096 4"	# bytes of a read, reads at a time
server='' dead=()

let_go()
{
	[ -z "$server" ] || kill -CONT "$server" 2>/dev/null || :
	"$LAB" down >/dev/null 2>&1 || :
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	umount "$MOUNT" 2>/dev/null || :
	finish
}
trap let_go EXIT

mounted()
{
	mountpoint -q "$MOUNT" && [ -s "$MOUNT/disk" ]
}

# The disk of i: memory, by nbdkit, as a file, by nbdfuse, which is stopped.
slow_disk()
{
	mkdir "$MOUNT"
	nbdfuse "$MOUNT/disk" [ nbdkit --exit-with-parent memory "${MB}M" ] 2>"$TMP/nbdfuse" &
	server=$!
	background+=("$server")
	wait_for mounted
}

# load HOST TARGET: reads without end; its PID in $!.
load()
{
	"$LAB" exec "$1" -- "$BUILD/selftests/bench/nvme_load" -b "${BLOCKS[0]}" -q "${BLOCKS[1]}" -t 3600 \
		-s $MB "falcon:$2" >/dev/null 2>"$TMP/load.$1$2" &
	background+=($!)
}

# What a to d have read from f, g and h.
reads()
{
	local host

	for host in "${HOSTS[@]:0:4}"; do
		on "$host" falconctl -j nvme
	done | jq -s '[.[][] | select(.name != "i") | .reads] | add'
}

reading()
{
	[ "$(reads)" -gt "$1" ]
}

# measure NAME: rates into $TMP/results.
measure()
{
	local round before from

	for ((round = 1; round <= ROUNDS; round++)); do
		before=$(reads) from=$EPOCHREALTIME
		sleep "$SECS"
		jq -n --arg name "$1" --argjson n "$(($(reads) - before))" \
			--argjson us "$((${EPOCHREALTIME/./} - ${from/./}))" \
			'{name: $name, iops: ($n * 1e6 / $us)}' >>"$TMP/results"
	done
	echo "bench: hosts, $1" >&2
}

exports=()
for target in "${TARGETS[@]:0:3}"; do
	truncate -s ${MB}M "$TMP/disk.$target"
	exports+=(--export "$target:$TMP/disk.$target,page_cache=on")
done
slow_disk
"$LAB" up --mtu 3498 --hosts 9 "${exports[@]}" --export "i:$MOUNT/disk" >&2
for host in "${HOSTS[@]}"; do
	for ((t = 0; t < ${#TARGETS[@]}; t++)); do
		at=10.250.0.$((${#HOSTS[@]} + t + 1))
		on "$host" falconctl nvme connect "${TARGETS[t]}" "targets=$at/1"
	done
done

for host in "${HOSTS[@]:0:4}"; do
	for target in "${TARGETS[@]:0:3}"; do
		load "$host" "$target"
	done
done
wait_for reading 1000
measure others
for target in "${TARGETS[@]}"; do
	load e "$target"
	dead+=($!)
done
for host in "${HOSTS[@]:0:4}"; do
	load "$host" i
done
measure all
kill -KILL "${dead[@]}"
wait "${dead[@]}" 2>/dev/null || :
"$LAB" agent e kill
measure dead
kill -STOP "$server"
measure hanging
kill -CONT "$server"
measure again

jq -s 'group_by(.name) | map({(.[0].name): {iops: (map(.iops) | sort | .[length / 2 | floor])}}) | add |
	.others.iops as $alone | map_values(. + {ratio: (.iops / $alone)})' "$TMP/results" >"$OUT/hosts.json"
jq -r '["", "IOPS", "ratio"], (("others", "all", "dead", "hanging", "again") as $n |
	[$n, (.[$n].iops | round), (.[$n].ratio * 100 | round / 100)]) | @tsv' "$OUT/hosts.json" |
	awk -F '\t' '{ printf "%-10s %10s %10s\n", $1, $2, $3 }'
echo "results: ${OUT#"$TOP"/}/hosts.json"
