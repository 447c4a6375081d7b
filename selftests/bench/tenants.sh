#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a tenant that misbehaves costs another one of the same agent: selftests/bench/tenants.sh [NAME]...
#
# Two hosts of the lab, encrypted. A verbs application of one user measures: WRITEs of 64 KiB (ib_write_bw)
# for BENCH_SECONDS (1), and half round trips of SENDs of 8 bytes (ib_send_lat), BENCH_ROUND_TRIPS (10000) of
# them; first alone, then beside each of the rows below, or those that are named, and alone once more. So in
# each of BENCH_ROUNDS (1), of which the median counts. Prints a table and writes build/bench/tenants.json.
#
# Who misbehaves is another user of host a's agent (of b, for UDP), unprivileged, and does as fast as it can
# what a finding of selftests/AUDIT.md is about (misbehave.c). Others are there to compare with, as all hosts
# share the CPUs of this machine: a second tenant that does the same work, one that SENDs in bulk all the
# time, one that writes to an NVMe device, one that only computes, and packets to a port that is not Falcon's.
#
# What counts is whom the agents serve, not whom the kernel gives a CPU: agents have "priority = realtime",
# and the programs that measure latency wait for events and have real-time priority, too.
#
# Not here: an initiator that hoards an NVMe target's memory (M6), as no tenant but only another agent can.
#
# Ratios are to alone, the mean of both runs of a round. Throughput is better if higher, latency if lower.
# shellcheck source=selftests/bench/perftest.sh
. "$(dirname "$0")/perftest.sh"

TRIPS=${BENCH_ROUND_TRIPS:-10000}
ROUNDS=${BENCH_ROUNDS:-1}
MTU=3498
RUN=/run/falcon-$FALCON_LAB
# No host has them.
GOOD=4000001 SECOND=4000002
FIRST_BAD=4000003	# each row has its own: what one held may not be gone when the next begins
ROWS=(second sends writer spin udp stranger event descriptors events ids handles reset memory nvme show
	regions)

# What the table calls a row.
title()
{
	case $1 in
	alone) echo "alone" ;;
	second) echo "a second tenant, the same work" ;;
	sends) echo "a second tenant, SENDs in bulk" ;;
	writer) echo "a second tenant, NVMe writes" ;;
	spin) echo "one that only computes" ;;
	udp) echo "UDP packets to another port" ;;
	stranger) echo "M5 the same to the encrypted port" ;;
	event) echo "H1 closes that linger" ;;
	descriptors) echo "H2 descriptors without end" ;;
	events) echo "H3 rdma_cm events not read" ;;
	ids) echo "H4 rdma_cm ids in bulk" ;;
	handles) echo "H5 address handles to nowhere" ;;
	reset) echo "H6 connections begun anew" ;;
	memory) echo "M1 memory that comes late" ;;
	nvme) echo "M6 dies in NVMe commands" ;;
	show) echo "falconctl show, again and again" ;;
	regions) echo "regions registered, and not" ;;
	again) echo "alone again" ;;
	*) echo "tenants.sh: no row \"$1\"" >&2; return 1 ;;
	esac
}

# as UID: in ${tenant[@]}, what makes a command that user's, and have an end.
as()
{
	tenant=(timeout -k 5 $((BENCH_SECONDS * 2 + 60)) env "XDG_RUNTIME_DIR=$TMP/run.$1"
		setpriv --reuid "$1" --regid "$1" --clear-groups)
}

# pair UID PORT OUTPUT COMMAND...: a server on b and a client on a, both in the background; the PID of the
# client, and of the server, in ${pids[@]}.
pair()
{
	local tenant uid=$1 port=$2 output=$3

	shift 3
	as "$uid"
	[ "$uid/$1" != "$GOOD/${LATENCY[0]}" ] || tenant=(chrt --fifo 1 "${tenant[@]}")
	behind b "${tenant[@]}" "$TMP/bin/falcon-run" "$@" -p "$port" >"$output.server" 2>&1
	pids=($!)
	wait_for listening t "$port"
	behind a "${tenant[@]}" "$TMP/bin/falcon-run" "$@" -p "$port" "$SERVER" >"$output" 2>&1
	pids=($! "${pids[0]}")
}

# end PID...: those of the background that are to stop now.
end()
{
	kill "$@" 2>/dev/null || :
	wait "$@" || :
}

BANDWIDTH=(ib_write_bw -d falcon0 -x 0 -F -s 65536 --report_gbits)
BULK=(ib_send_bw "${BANDWIDTH[@]:1}")
LATENCY=(ib_send_lat -e -d falcon0 -x 0 -F -s 8)

# measure COMMAND...: the good tenant's, to its end; its output in $TMP/good.
measure()
{
	local pids pid rc=0

	pair $GOOD 18515 "$TMP/good" "$@"
	for pid in "${pids[@]}"; do
		wait "$pid" || rc=$?
	done
	[ "$rc" -eq 0 ] || { echo "bench: $*: status $rc" >&2; tail -n 5 "$TMP/good" "$TMP/good.server" >&2; }
	return "$rc"
}

# bad NAME: who misbehaves in that row.
bad()
{
	local i

	for i in "${!ROWS[@]}"; do
		[ "${ROWS[i]}" != "$1" ] || echo $((FIRST_BAD + i))
	done
}

# value SIZE COLUMN: of the row of perftest's table that has the results.
value()
{
	awk -v size="$1" -v column="$2" '$1 == size && NF >= 5 { print $column; exit }' "$TMP/good"
}

busy()
{
	grep -q busy "$TMP/bad"
}

# connected PORT: a pair of perftest's is at work.
connected()
{
	[ -n "$(on b ss -Htn state established "sport = :$1")" ]
}

# second COMMAND...: the reference; ${pids[@]} are its processes.
second()
{
	pair $SECOND 18516 "$TMP/second" "$@"
	wait_for connected 18516
}

writes()
{
	on a falconctl -j nvme | jq '.[0].writes'
}

writing_beyond()
{
	[ "$(writes)" -gt "$1" ]
}

# writer: the reference for "nvme": the same commands, all waited for; ${pids[@]} is its process.
writer()
{
	local tenant before

	before=$(writes)
	as $SECOND
	behind a "${tenant[@]}" "$TMP/bin/nvme_load" -w -b 131072 -q 64 -s 8 -t $((BENCH_SECONDS + 20)) \
		falcon:disk >"$TMP/second" 2>&1
	pids=($!)
	wait_for writing_beyond "$before"
}

# begin NAME bandwidth|latency: who is to be beside; ${beside[@]} are the PIDs.
begin()
{
	local pids tenant before=() host=a command=("$TMP/bin/misbehave" -t $((BENCH_SECONDS * 2 + 50)))

	beside=()
	as "$(bad "$1")"
	case $1 in
	alone | again) return ;;
	second)
		if [ "$2" = bandwidth ]; then
			second "${BANDWIDTH[@]}" -D $((BENCH_SECONDS + 20))
		else
			second "${LATENCY[@]}" -n 10000000
		fi
		beside=("${pids[@]}")
		return ;;
	sends) second "${BULK[@]}" -D $((BENCH_SECONDS + 20)); beside=("${pids[@]}"); return ;;
	writer) writer; beside=("${pids[@]}"); return ;;
	udp) host=b; command+=(udp "10.250.0.1 9") ;;
	stranger) host=b; command+=(udp "10.250.0.1 1000") ;;
	handles) command+=(handles fd00:250::1) ;;
	reset) command+=(reset "10.250.0.1 10.250.0.2") ;;
	nvme) command+=(nvme disk) ;;
	memory)
		# As fusermount3 would, for anybody; gone with the program's mount namespace.
		# shellcheck disable=SC2016 # expanded by the shell inside
		before=(bash -c 'exec 9<>/dev/fuse && mount -i -t fuse -o "$0" late "$1" && exec "${@:2}"'
			"fd=9,rootmode=100600,user_id=$(bad memory),group_id=$(bad memory)" "$TMP/late")
		command=("$TMP/bin/falcon-run" "${command[@]}" memory "9 $TMP/late") ;;
	*) command+=("$1") ;;
	esac
	: >"$TMP/bad"
	behind $host "${before[@]}" "${tenant[@]}" "${command[@]}" >"$TMP/bad" 2>"$TMP/bad.error"
	beside=($!)
	wait_for busy && return
	echo "bench: $1, beside $2, does not get to work" >&2
	cat "$TMP/bad.error" >&2
	on $host falconctl user show >&2
	return 1
}

# finish_beside NAME: its own account, as JSON; null if it keeps none.
finish_beside()
{
	[ ${#beside[@]} -eq 0 ] || end "${beside[@]}"
	background=()
	case $1 in
	alone | again | second | sends | writer) account=null ;;
	*)
		account=$(tail -n 1 "$TMP/bad")
		[[ $account == "{"* ]] || { echo "bench: $1 did not end by itself" >&2; return 1; } ;;
	esac
}

# row NAME ROUND: into $TMP/results.
row()
{
	local beside account gbps p50 p99 name=$1

	begin "$name" bandwidth
	measure "${BANDWIDTH[@]}" -D "$BENCH_SECONDS"
	gbps=$(value 65536 4)
	finish_beside "$name"
	begin "$name" latency
	measure "${LATENCY[@]}" -n "$TRIPS"
	p50=$(value 8 5)
	p99=$(value 8 8)
	finish_beside "$name"
	jq -nc --arg name "$name" --arg title "$(title "$name")" --argjson round "$2" --argjson gbps "$gbps" \
		--argjson p50 "$p50" --argjson p99 "$p99" --argjson account "${account:-null}" '
		{$name, $title, $round, $gbps, p50_us: $p50, p99_us: $p99,
		 done_per_s: (if $account then $account.done / $account.seconds else null end),
		 refused_per_s: (if $account then $account.refused / $account.seconds else null end)}' \
		>>"$TMP/results"
}

# Users, each with the limits that a section has by itself.
admit()
{
	local host uid

	for host in a b; do
		"$LAB" agent $host stop
		sed -i 's/^\[agent\]$/&\npriority = realtime/' "$RUN/$host/falcond.conf"
		for uid in $GOOD $SECOND "${BADS[@]}"; do
			printf '\n[user %s]\n' "$uid"
		done >>"$RUN/$host/falcond.conf"
		"$LAB" agent $host start
	done
}

# What users run, and write, where they can reach it.
prepare()
{
	local uid

	chmod 755 "$TMP"
	install -D -t "$TMP/bin" "$BUILD/falcon-run" "$BUILD/libfalcon_verbs.so" \
		"$BUILD/selftests/bench/misbehave" "$BUILD/selftests/bench/nvme_load"
	for uid in $GOOD $SECOND "${BADS[@]}"; do
		install -d -o "$uid" "$TMP/run.$uid"
	done
	truncate -s 64M "$TMP/disk"
	: >"$TMP/late"
}

[ "$(id -u)" -eq 0 ] || { echo "bench: needs root" >&2; exit 1; }
[ $# -eq 0 ] || ROWS=("$@")
for name in "${ROWS[@]}"; do
	title "$name" >/dev/null
done
read -rd '' -a BADS <<<"$(seq $FIRST_BAD $((FIRST_BAD + ${#ROWS[@]} - 1)))" || :
prepare
"$LAB" up --mtu $MTU --export "b:$TMP/disk,page_cache=on" >&2
admit
on a falconctl nvme connect disk local=10.250.0.1 targets=10.250.0.2/1
: >"$TMP/results"
for ((round = 1; round <= ROUNDS; round++)); do
	echo "bench: tenants, round $round of $ROUNDS" >&2
	for name in alone "${ROWS[@]}" again; do
		row "$name" $round
	done
done
jq -s --arg kernel "$(uname -r)" --argjson cpus "$(nproc)" --argjson mtu $MTU --argjson rounds "$ROUNDS" \
	--argjson seconds "$BENCH_SECONDS" --argjson trips "$TRIPS" '
	def mid: sort | .[length / 2 | floor];
	def mean(f): (map(f) | add) / length;
	def compared: map(select(.name == "alone" or .name == "again")) as $alone |
		map(. + {ratio: {gbps: (.gbps / ($alone | mean(.gbps))),
			p99: (.p99_us / ($alone | mean(.p99_us)))}});
	(group_by(.round) | map(compared) | add) as $all |
	{kernel: $kernel, cpus: $cpus, mtu: $mtu, seconds: $seconds, trips: $trips, rounds: $rounds,
	 rows: [map(select(.round == 1))[] as $row | $all | map(select(.name == $row.name)) |
		{name: $row.name, title: $row.title,
		 gbps: (map(.gbps) | mid), p50_us: (map(.p50_us) | mid), p99_us: (map(.p99_us) | mid),
		 done_per_s: (map(.done_per_s) | mid), refused_per_s: (map(.refused_per_s) | mid),
		 ratio: {gbps: (map(.ratio.gbps) | mid), p99: (map(.ratio.p99) | mid)}}]}' \
	"$TMP/results" >"$OUT/tenants.json"
jq -r '
	def n($d): if . then . * pow(10; $d) | round / pow(10; $d) else "" end;
	["beside", "Gb/s", "of alone", "p50 us", "p99 us", "of alone", "done/s", "refused/s"],
	(.rows[] | [.title, (.gbps | n(2)), (.ratio.gbps | n(2)), (.p50_us | n(1)), (.p99_us | n(1)),
		(.ratio.p99 | n(2)), (.done_per_s | n(0)), (.refused_per_s | n(0))]) | @tsv' \
	"$OUT/tenants.json" |
	awk -F '\t' '{ printf "%-34s %8s %9s %8s %8s %9s %10s %10s\n", $1, $2, $3, $4, $5, $6, $7, $8 }'
echo "load: $(cut -d ' ' -f 1-3 /proc/loadavg) on $(nproc) CPUs"
echo "results: ${OUT#"$TOP"/}/tenants.json"
