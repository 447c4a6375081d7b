#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A disk on another host, beside the same file locally and over NBD on TCP:
# selftests/bench/nvme.sh [MTU]
#
# Prints a table and writes build/bench/nvme.json. Host b has a file of BENCH_MB (256) MiB in BENCH_DIR
# (/var/tmp): "local" is nbdkit's file plugin on b over a Unix socket, "tcp" the same plugin reached from
# a over TCP on the same link, "falcon" is nbdkit on a with the namespace of b, clear, "psp" the same
# encrypted. Falcon reads and writes the file past the page cache where it can, nbdkit's plugin through
# it: so "uncached" is "tcp" with cache=none, which keeps nothing in the page cache. With BENCH_DIR in
# tmpfs the medium is memory for all of them, and only the ways there differ. Loads, BENCH_SECONDS (2)
# each: random reads of 4 and 16 KiB, writes of 1 MiB, random reads one at a time, and random reads of
# 4 KiB of a namespace with a limit of 1 MB/s.
set -euo pipefail
TOP=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$TOP/build}
OUT=$BUILD/bench
SECS=${BENCH_SECONDS:-2}
MTU=${1:-3498}
MB=${BENCH_MB:-256}
export FALCON_LAB=nvbench$$
LAB=$BUILD/falcon-lab
PLUGIN=$BUILD/nbdkit-falcon-nvme-plugin.so
TMP=$(mktemp -d "${BENCH_DIR:-/var/tmp}/falcon-nvme-XXXXXX")
server=

cleanup()
{
	[ -z "$server" ] || kill "$server" 2>/dev/null || :
	wait
	"$LAB" down >/dev/null 2>&1 || :
	rm -rf "$TMP"
}
trap cleanup EXIT
mkdir -p "$OUT"

# fio_load NAME URI RW SIZE DEPTH: appends {NAME: {...}} to $TMP/results.
fio_load()
{
	(cd "$TMP" && fio --name=l --ioengine=nbd --uri="$2" --rw="$3" --bs="$4" --iodepth="$5" \
		--size="${MB}M" --time_based --runtime="$SECS" --output-format=json 2>/dev/null) |
		sed -n '/^{/,$p' | jq --arg name "$1" '.jobs[0] | (if .read.total_ios > 0 then .read
			else .write end) | {($name): {iops: .iops, mbytes_per_s: (.bw_bytes / 1e6),
			lat_us: {p50: (.clat_ns.percentile["50.000000"] / 1e3),
				 p99: (.clat_ns.percentile["99.000000"] / 1e3)}}}' >>"$TMP/results"
}

# Runs where the server of $1 can be reached.
loads()
{
	: >"$TMP/results"
	fio_load randread_4k "$1" randread 4k 32
	fio_load randread_16k "$1" randread 16k 32
	fio_load write_1m "$1" write 1m 8
	fio_load latency_4k "$1" randread 4k 1
	jq -s add "$TMP/results"
}

limited()
{
	: >"$TMP/results"
	fio_load limited_4k "$1" randread 4k 32
	jq -s add "$TMP/results"
}

# nbd HOST FUNCTION ARGS...: on HOST, nbdkit with ARGS and FUNCTION with its address.
nbd()
{
	local host=$1 what=$2

	shift 2
	"$LAB" exec "$host" -- nbdkit -U - "$@" --run "$(declare -f fio_load "$what")
		TMP='$TMP' MB='$MB' SECS='$SECS'; $what \$uri"
}

# over_tcp ARGS...: the loads on host a, nbdkit with ARGS on host b.
over_tcp()
{
	"$LAB" exec b -- nbdkit -f -i 10.250.0.2 -p 10809 "$@" >&2 &
	server=$!
	for ((i = 0; i < 100; i++)); do
		! "$LAB" exec a -- nbdinfo --size nbd://10.250.0.2 >/dev/null 2>&1 || break
		sleep 0.05
	done
	"$LAB" exec a -- bash -c "$(declare -f fio_load loads)
		TMP='$TMP' MB='$MB' SECS='$SECS'; loads nbd://10.250.0.2"
	kill "$server"
	wait "$server" || :
	server=
}

head -c $((MB << 20)) /dev/urandom >"$TMP/disk"
FILE=(file "$TMP/disk")
EXPORT=b:$TMP/disk

"$LAB" up --clear --mtu "$MTU" --export "$EXPORT" --export "$EXPORT,mbytes_per_s=1" >&2
nbd b loads "${FILE[@]}" >"$TMP/local"
over_tcp "${FILE[@]}" >"$TMP/tcp"
over_tcp "${FILE[@]}" cache=none >"$TMP/uncached"
nbd a loads "$PLUGIN" host=10.250.0.2 >"$TMP/falcon"
nbd a limited "$PLUGIN" host=10.250.0.2 nsid=2 >"$TMP/limited"
"$LAB" up --mtu "$MTU" --export "$EXPORT" >&2
nbd a loads "$PLUGIN" host=10.250.0.2 >"$TMP/psp"
jq -n --argjson mtu "$MTU" --slurpfile local "$TMP/local" --slurpfile tcp "$TMP/tcp" \
	--slurpfile uncached "$TMP/uncached" --slurpfile falcon "$TMP/falcon" \
	--slurpfile limited "$TMP/limited" --slurpfile psp "$TMP/psp" \
	'{mtu: $mtu, local: $local[0], tcp: $tcp[0], uncached: $uncached[0],
	  falcon: ($falcon[0] + $limited[0]), psp: $psp[0]}' >"$OUT/nvme.json"
jq -r '
	def one($load): [.local, .tcp, .uncached, .falcon, .psp | .[$load]];
	["disk, MTU \(.mtu)", "local", "NBD on TCP", "no cache", "Falcon",
		"Falcon, PSP"],
	["random read 4 KiB, IOPS", (one("randread_4k")[] | .iops | round)],
	["random read 16 KiB, IOPS", (one("randread_16k")[] | .iops | round)],
	["write 1 MiB, MB/s", (one("write_1m")[] | .mbytes_per_s | round)],
	["latency 4 KiB p50, us", (one("latency_4k")[] | .lat_us.p50 | round)],
	["read 4 KiB at 1 MB/s, IOPS", "", "", "", (.falcon.limited_4k.iops | round)],
	[""] | @tsv' "$OUT/nvme.json" |
	awk -F '\t' '{ printf "%-28s %12s %12s %12s %12s %12s\n", $1, $2, $3, $4, $5, $6 }'
echo "results: ${OUT#"$TOP"/}/nvme.json"
