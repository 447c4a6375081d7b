#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A disk on another host, beside the same file locally and over NBD on TCP:
# selftests/bench/nvme.sh [--mtu N] [--load NAME]... [--way NAME]...
#
# Prints a table and writes build/bench/nvme.json. Host b has a file of BENCH_MB (256) MiB in BENCH_DIR
# (/var/tmp), which everything uses, past the page cache or, in a way "...-cached", through it. With
# BENCH_DIR in tmpfs the medium is memory, and only the ways there differ.
#
# Without a front end, by nvme_load: "uring" is io_uring on b, the medium's ceiling; "api" is the C API on
# a, "api-psp" the same encrypted, "api-standard" with the specification's packets alone. By fio over NBD:
# "nbd" is nbdkit's file plugin on b over a Unix socket, the front end's ceiling; "tcp" the same plugin
# reached from a over the link that Falcon has, where packets are cut to the MTU before XDP; "tcp-plain" that
# without segmentation and receive offloads; "tcp-tso" that without XDP on the link, which then carries
# segments of 64 KiB whole; "falcon" is nbdkit on a with the namespace of b, "psp" the same encrypted.
# nbdkit's file plugin has no O_DIRECT: what is not "...-cached" of it has cache=none, which drops what was
# read from the page cache.
#
# Loads, BENCH_SECONDS (2) each: random reads of 4 and 16 KiB, 32 at a time, writes of 1 MiB, 8 at a time
# (nvme_load: 64 of 128 KiB, the largest command), random reads of 4 KiB one at a time, and 32 at a time of
# a namespace with a limit of 1 MB/s.
set -euo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
export BUILD=${BUILD:-$TOP/build}
OUT=$BUILD/bench
export SECS=${BENCH_SECONDS:-2} MB=${BENCH_MB:-256}
export FALCON_LAB=nvbench$$
LAB=$BUILD/falcon-lab
PLUGIN=$BUILD/nbdkit-falcon-nvme-plugin.so
ALL_LOADS=(randread_4k randread_16k write_1m latency_4k limited_4k)
ALL_WAYS=(uring uring-cached api api-cached api-psp api-standard api-standard-cached nbd nbd-cached
	tcp tcp-cached tcp-plain tcp-plain-cached tcp-tso tcp-tso-cached falcon falcon-cached psp)
MTU=3498
loads=() ways=() server='' lab=none

while [ $# -gt 0 ]; do
	case $1 in
	--mtu) MTU=$2 ;;
	--load) loads+=("$2") ;;
	--way) ways+=("$2") ;;
	*) echo "nvme.sh: [--mtu N] [--load NAME]... [--way NAME]..." >&2; exit 2 ;;
	esac
	shift 2
done
[ ${#loads[@]} -gt 0 ] || loads=("${ALL_LOADS[@]}")
[ ${#ways[@]} -gt 0 ] || ways=("${ALL_WAYS[@]}")

TMP=$(mktemp -d "${BENCH_DIR:-/var/tmp}/falcon-nvme-XXXXXX")
export TMP

stop_server()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	wait
	server=
}

cleanup()
{
	stop_server
	"$LAB" down >/dev/null 2>&1 || :
	rm -rf "$TMP"
}
trap cleanup EXIT
mkdir -p "$OUT"

# shape LOAD: how it is read or written, bytes at a time, and how many at a time.
shape()
{
	case $1 in
	randread_4k | limited_4k) echo randread 4096 32 ;;
	randread_16k) echo randread 16384 32 ;;
	write_1m) echo write 1048576 8 ;;
	latency_4k) echo randread 4096 1 ;;
	*) echo "nvme.sh: no load \"$1\"" >&2; return 1 ;;
	esac
}

# by_api LOAD TARGET: one load by nvme_load.
by_api()
{
	local target=$2 rw bytes depth

	read -r rw bytes depth <<<"$(shape "$1")"
	[ "$bytes" -le 131072 ] || { depth=$((depth * bytes / 131072)); bytes=131072; }
	set -- -b "$bytes" -q "$depth" -t "$SECS" -s "$MB" "$target"
	[ "$rw" = randread ] || set -- -w "$@"
	"$BUILD/selftests/bench/nvme_load" "$@"
}

# by_nbd LOAD URI: one load by fio, which leaves a file where it stands; nbdkit runs it with /bin/sh.
by_nbd()
{
	# shellcheck disable=SC2046 # three words
	set -- "$2" $(shape "$1")
	cd "$TMP"
	fio --name=l --ioengine=nbd --uri="$1" --rw="$2" --bs="$3" --iodepth="$4" \
		--size="${MB}M" --time_based --runtime="$SECS" --lat_percentiles=1 \
		--clat_percentiles=0 --output-format=json 2>/dev/null |
		sed -n '/^{/,$p' | jq '.jobs[0] | (if .read.total_ios > 0 then .read else .write end) |
			{iops, mbytes_per_s: (.bw_bytes / 1e6),
			 lat_us: {p50: (.lat_ns.percentile["50.000000"] / 1e3),
				  p99: (.lat_ns.percentile["99.000000"] / 1e3)}}'
}

# on HOST FUNCTION ARGS...: what /bin/sh hands down has no functions in it.
on()
{
	local host=$1

	shift
	"$LAB" exec "$host" -- bash -c "$(declare -f shape by_api by_nbd); \"\$@\"" bash "$@"
}

# over_socket HOST LOAD ARGS...: by nbdkit with ARGS on HOST, over a Unix socket.
over_socket()
{
	local host=$1 load=$2

	shift 2
	"$LAB" exec "$host" -- nbdkit -U - "$@" --run "$(declare -f shape by_nbd); by_nbd $load \$uri"
}

# connect NAME NSID KEY...: a device of host a on a namespace of host b.
connect()
{
	local name=$1 nsid=$2

	shift 2
	"$LAB" exec a -- "$BUILD/falconctl" nvme connect "$name" local=10.250.0.1 \
		"targets=10.250.0.2/$nsid" "$@"
}

# lab_up OPTION...: a namespace for each: past the page cache, through it, limited.
lab_up()
{
	local export=b:$TMP/disk

	[ "$lab" != "$*" ] || return 0
	"$LAB" down >&2
	"$LAB" up "$@" --mtu "$MTU" --export "$export" --export "$export,page_cache=on" \
		--export "$export,mbytes_per_s=1" >&2
	lab=$*
	[[ $* != *--no-agents* ]] || return 0
	connect disk1 1
	connect disk2 2
	connect disk3 3
	connect plain1 1 combined=off
	connect plain2 2 combined=off
}

offloads()
{
	local host

	for host in a b; do
		"$LAB" exec "$host" -- ethtool -K eth0 tso "$1" gso "$1" gro "$1" >/dev/null || :
	done
}

# over_tcp LOAD ARGS...: the load on host a, nbdkit's file plugin with ARGS on host b.
over_tcp()
{
	local load=$1

	shift
	"$LAB" exec b -- nbdkit -f -i 10.250.0.2 -p 10809 file "$TMP/disk" "$@" >&2 &
	server=$!
	for ((i = 0; i < 100; i++)); do
		! "$LAB" exec a -- nbdinfo --size nbd://10.250.0.2 >/dev/null 2>&1 || break
		sleep 0.05
	done
	on a by_nbd "$load" nbd://10.250.0.2
	stop_server
}

# one WAY LOAD: its numbers as JSON; none if the two do not go together.
one()
{
	local way=$1 load=$2 device=disk1 cache=(cache=none)

	[[ $way != *-cached ]] || { device=disk2; cache=(); }
	[[ $way != *-standard* ]] || device=${device/disk/plain}
	if [ "$load" = limited_4k ]; then
		[[ $way =~ ^(api|falcon|api-psp|psp)$ ]] || return 0
		device=disk3
	fi
	case $way in
	uring) on b by_api "$load" "direct:$TMP/disk" ;;
	uring-cached) on b by_api "$load" "cached:$TMP/disk" ;;
	api*) on a by_api "$load" "falcon:$device" ;;
	nbd | nbd-cached) over_socket b "$load" file "$TMP/disk" "${cache[@]}" ;;
	tcp | tcp-cached | tcp-tso | tcp-tso-cached) over_tcp "$load" "${cache[@]}" ;;
	tcp-plain | tcp-plain-cached)
		offloads off
		over_tcp "$load" "${cache[@]}"
		offloads on ;;
	falcon | falcon-cached | psp) over_socket a "$load" "$PLUGIN" device=$device ;;
	*) echo "nvme.sh: no way \"$way\"" >&2; return 1 ;;
	esac
}

head -c $((MB << 20)) /dev/urandom >"$TMP/disk"
modprobe -q nvmet-tcp 2>/dev/null || echo "no NVMe/TCP: this kernel has no nvmet-tcp" >&2

for way in "${ways[@]}"; do
	case $way in
	*psp) lab_up ;;
	tcp-tso*) lab_up --xdp off --no-agents ;;
	*) lab_up --clear ;;
	esac
	for load in "${loads[@]}"; do
		one "$way" "$load" | jq -c --arg way "$way" --arg load "$load" \
			'{($way): {($load): .}}' >>"$TMP/results"
	done
done
jq -s --argjson mtu "$MTU" '{mtu: $mtu, ways: (reduce .[] as $r ({}; . * $r))}' "$TMP/results" \
	>"$OUT/nvme.json"
jq -r '
	def of($load; f): .value[$load] | if . then f else "" end;
	["disk, MTU \(.mtu)", "read 4K", "read 16K", "write 1M", "p50 4K", "1 MB/s"],
	["", "IOPS", "IOPS", "MB/s", "us", "IOPS"],
	(.ways | to_entries[] | [.key, of("randread_4k"; .iops | round),
		of("randread_16k"; .iops | round), of("write_1m"; .mbytes_per_s | round),
		of("latency_4k"; .lat_us.p50 | round), of("limited_4k"; .iops | round)]) | @tsv' \
	"$OUT/nvme.json" |
	awk -F '\t' '{ printf "%-18s %10s %10s %10s %10s %10s\n", $1, $2, $3, $4, $5, $6 }'
echo "results: ${OUT#"$TOP"/}/nvme.json"
