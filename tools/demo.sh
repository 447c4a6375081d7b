#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make demo: real files over Falcon, both ways, between two hosts in network namespaces; on small and
# large packets, on a clean link and on one that loses 1 %. Shows the commands, the rates, and the
# counters that tell what XDP did. Takes everything down again.
#
# DEMO_SIZE (1G) bytes of each file; DEMO_DIR (/tmp) has room for five of them.
set -euo pipefail
cd "$(dirname "$0")/.."

BUILD=$(readlink -f "${BUILD:-build}")
export PATH=$BUILD:$PATH FALCON_LAB=demo
SIZE=$(numfmt --from=iec "${DEMO_SIZE:-1G}")
SERVERS=()
TABLE=() COUNTERS=()
FAILED=0

say()
{
	printf '%s\n' "$*"
}

# show COMMAND...: print it as a person would type it, then run it.
show()
{
	printf '$ %s\n' "$*"
	"$@"
}

# What the agents say of a failure; their logs go with the lab.
show_hosts()
{
	local host

	for host in a b; do
		say "== host $host: the end of its agent's log, and its connections"
		tail -n 20 "/run/falcon-$FALCON_LAB/$host/falcond.log" || true
		falcon-lab exec $host -- falconctl conn show || true
	done 2>&1
}

finish()
{
	local status=$?

	[ $status -eq 0 ] || [ $status -eq 130 ] || show_hosts
	stop_servers
	falcon-lab down || true
	rm -rf "$WORK"
	if [ $status -ne 0 ]; then
		say "demo: failed"
	fi
}

prepare()
{
	local dir=${DEMO_DIR:-/tmp} need free

	[ "$(id -u)" -eq 0 ] || { say "demo: needs root, for namespaces and XDP" >&2; exit 1; }
	need=$((5 * SIZE / 1024))
	free=$(df -Pk "$dir" | awk 'NR == 2 { print $4 }')
	if [ "$free" -lt "$need" ]; then
		say "demo: $dir has $((free / 1024)) MiB free, $((need / 1024)) are needed:" \
			"set DEMO_DIR to another directory, or DEMO_SIZE to less than $SIZE" >&2
		exit 1
	fi
	WORK=$(mktemp -d "$dir/falcon-demo.XXXXXX")
	trap finish EXIT
	trap 'exit 130' INT TERM
	mkdir "$WORK/a" "$WORK/b"
}

# Incompressible and quick: a cipher's key stream.
make_file()
{
	head -c "$SIZE" /dev/zero | openssl enc -aes-128-ctr -K "$(openssl rand -hex 16)" \
		-iv "$(openssl rand -hex 16)" >"$1"
}

checksum()
{
	sha256sum <"$1" | cut -d' ' -f1
}

# counter HOST NAME: of the XDP program, and of the agent where that ran the receive path.
counter()
{
	falcon-lab exec "$1" -- falconctl -j counters show |
		jq --arg n "$2" '.[] | select(.name == $n) | .xdp + .agent'
}

is_serving()
{
	falcon-lab exec "$1" -- falconctl -j client show |
		jq -e '[.. | objects | select(.service? == 2)] | length > 0' >/dev/null
}

start_servers()
{
	local host

	for host in a b; do
		falcon-lab exec $host -- falcon-cp --serve "$WORK/$host" &
		SERVERS+=($!)
		for _ in $(seq 200); do
			! is_serving $host || break
			sleep 0.05
		done
	done
}

stop_servers()
{
	local pid

	for pid in "${SERVERS[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	SERVERS=()
}

# copy FROM TO: the file of FROM, timed and compared. Adds to the table; $link says over what.
copy()
{
	local from=$1 to=$2 start end verdict=equal

	start=$(date +%s%N)
	show falcon-lab exec "$from" -- falcon-cp "$WORK/from-$from" "$to:copy"
	end=$(date +%s%N)
	if [ "$(checksum "$WORK/$to/copy")" != "${SUM[$from]}" ]; then
		verdict=DIFFERENT
		FAILED=1
	fi
	rm "$WORK/$to/copy"
	TABLE+=("$(awk -v l="$link" -v d="$from -> $to" -v n="$SIZE" -v t=$((end - start)) -v v=$verdict \
		'BEGIN { printf "%s|%s|%.2f s|%.2f Gbit/s|%s", l, d, t / 1e9, n * 8 / t, v }')")
}

note_counters()
{
	local host row name

	for host in a b; do
		row="$link|$host"
		for name in steered rx_data rx_request xdp_tx ack_consumed; do
			row+="|$(counter $host $name)"
		done
		COUNTERS+=("$row")
	done
}

# try MTU LOSS [--clear]: a lab with these, a file each way.
try()
{
	local mtu=$1 loss=$2

	shift 2
	link="MTU $mtu, $loss % loss${*:+, clear}"
	say
	say "== $link"
	if [ "$loss" = 0 ]; then
		show falcon-lab up "$@" --mtu "$mtu"
	else
		show falcon-lab up "$@" --mtu "$mtu" --loss "$loss"
	fi
	start_servers
	copy a b
	copy b a
	note_counters
	stop_servers
}

table()
{
	local line

	for line; do
		printf '%s\n' "$line"
	done | column -t -s '|'
}

# Over all runs: column N of the counters has to be more than nothing.
proven()
{
	printf '%s\n' "${COUNTERS[@]}" | awk -F '|' -v n="$1" '{ s += $n } END { exit !s }' ||
		{ say "demo: the counters do not show: $2"; FAILED=1; }
}

prepare
say "Two files of $(numfmt --to=iec "$SIZE") travel between hosts a and b: falcon-cp, the agent falcond"
say "on AF_XDP, and the XDP program of falcon.bpf.o that \"ip link\" attached to eth0 of each host."
declare -A SUM
for host in a b; do
	make_file "$WORK/from-$host"
	SUM[$host]=$(checksum "$WORK/from-$host")
done
for loss in 0 1; do
	for mtu in 1500 3498; do
		try $mtu $loss
	done
done
# Of encrypted packets XDP checks what is in the clear; of clear ones it does all that it can.
try 1500 1 --clear

say
say "== What arrived"
table "link|direction|time|rate|checksums" "${TABLE[@]}"
say
say "== What XDP and, once it had decrypted them, the agent did (falconctl counters show)"
table "link|host|checked, to decrypt|data accepted|requests accepted|answered by XDP_TX|ACKs consumed" \
	"${COUNTERS[@]}"
proven 3 "encrypted packets checked by XDP"
proven 4 "data packets accepted"
proven 6 "packets answered by XDP_TX"
proven 7 "ACKs consumed"
[ "$FAILED" -eq 0 ] || exit 1
say
say "All $((${#TABLE[@]})) copies arrived as they were sent."
