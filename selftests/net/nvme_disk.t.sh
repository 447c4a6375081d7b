#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# What a disk of another host says of itself, and what the operator may change while it is in use.
# shellcheck source=selftests/net/nvme.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/nvme.sh"
tap_need falcond falconctl nbdkit nbdcopy nbdinfo qemu-img jq

MB=64

# map PARAMETER: what takes up room, as "OFFSET LENGTH", one a line.
map()
{
	nbd "$1" "nbdinfo --map --json \$uri" |
		jq -r '.[] | select(.type == 0) | "\(.offset) \(.length)"'
}

# sparse NAME: a file of $MB MiB with data in three places, the last one at its end.
sparse()
{
	truncate -s ${MB}M "$SCRATCH/$1"
	dd if=/dev/urandom of="$SCRATCH/$1" bs=64k seek=16 count=1 conv=notrunc status=none
	dd if=/dev/urandom of="$SCRATCH/$1" bs=4k seek=8192 count=2 conv=notrunc status=none
	dd if=/dev/urandom of="$SCRATCH/$1" bs=64k seek=$((MB * 16 - 1)) count=1 conv=notrunc status=none
}

PLACES="1048576 65536
33554432 8192
$((MB * 1048576 - 65536)) 65536"

# small FILE: it takes up less than 1 MiB.
small()
{
	[ "$(du -k "$1" | cut -f 1)" -lt 1024 ]
}

comes_sparse()
{
	nbd host=10.250.0.2 "nbdcopy \$uri '$SCRATCH/copy'" && small "$SCRATCH/copy" &&
		cmp "$SCRATCH/one" "$SCRATCH/copy"
}

converts_sparse()
{
	nbd host=10.250.0.2 "qemu-img convert -f raw -O qcow2 \$uri '$SCRATCH/image' &&
		qemu-img compare -f raw -F qcow2 \$uri '$SCRATCH/image'" && small "$SCRATCH/image"
}

# goes_sparse PARAMETER FILE...: copied to a disk, it takes up no more room there.
goes_sparse()
{
	local file

	nbd "$1" "nbdcopy --destination-is-zero '$SCRATCH/in' \$uri &&
		nbdcopy '$SCRATCH/in' \$uri && qemu-img compare -f raw -F raw '$SCRATCH/in' \$uri" || return
	for file in "${@:2}"; do
		small "$SCRATCH/$file" || return
	done
}

# Every device is an export; the one that a client names is the one that it gets.
# shellcheck disable=SC2016 # nbdkit's shell expands it
exported()
{
	local all=(nbdkit -U - "$PLUGIN" --run) size

	size=$(on a "${all[@]}" 'nbdinfo --size "nbd+unix:///disk?socket=$unixsocket"') || return
	on a "${all[@]}" 'nbdinfo --list --json "$uri"' |
		jq -e '[.exports[]."export-name"] | sort == ["disk", "striped"]' &&
		[ "$size" = "$(device disk bytes)" ] && ! on a "${all[@]}" 'nbdinfo --size "$uri"'
}

# found HOST ADDRESS: numbers and sizes of what a target there has for the host.
found()
{
	on "$1" falconctl -j nvme discover "$2" | jq -c '[.[] | [.nsid, .bytes]]'
}

striped_map()
{
	on a falconctl nvme connect striped local=10.250.0.1 "targets=10.250.0.2/2 10.250.0.2/3" &&
		goes_sparse device=striped two three && [ "$(map device=striped)" = "$PLACES" ]
}

bytes_are()
{
	[ "$(device disk bytes)" = "$1" ]
}

# An initiator hears of another size, a client that connects then sees it; what is written beyond is
# read, and after the namespace has become smaller nobody reaches what was there.
resized()
{
	on a falconctl nvme connect disk local=10.250.0.1 targets=10.250.0.2/1 &&
		tap_wait 10 bytes_are $((MB << 20)) &&
		on b falconctl namespace resize export1 $((2 * MB))M &&
		tap_wait 10 bytes_are $((2 * MB << 20)) &&
		[ "$(nbd device=disk "nbdinfo --size \$uri")" = $((2 * MB << 20)) ] &&
		nbd device=disk "qemu-io -f raw -c 'write -P 7 $((2 * MB - 1))M 1M' \$uri" >/dev/null &&
		on b falconctl namespace resize export1 $((MB << 20)) &&
		tap_wait 10 bytes_are $((MB << 20)) &&
		[ "$(stat -c %s "$SCRATCH/one")" = $((MB << 20)) ] &&
		[ "$(nbd device=disk "nbdinfo --size \$uri")" = $((MB << 20)) ] &&
		on b falconctl namespace resize export1 $((2 * MB))M &&
		tap_wait 10 bytes_are $((2 * MB << 20)) &&
		nbd device=disk "qemu-io -f raw -c 'read -P 0 $((2 * MB - 1))M 1M' \$uri" >/dev/null
}

# Not by the agent, but by whoever owns the file.
resized_by_others()
{
	truncate -s $((3 * MB))M "$SCRATCH/one" && tap_wait 10 bytes_are $((3 * MB << 20)) &&
		truncate -s ${MB}M "$SCRATCH/one" && tap_wait 10 bytes_are $((MB << 20))
}

not_resized()
{
	! on b falconctl namespace resize export1 1000 && ! on b falconctl namespace resize nobody 1M &&
		! on b falconctl namespace set export1 peers=any
}

# 100 reads cannot be done at once when two a second are allowed, nor do they hang when all are.
limited()
{
	local pid before

	before=$(namespace b export1 reads)
	on b falconctl namespace set export1 iops=2 || return
	nbd device=disk "qemu-io -f raw $(printf -- "-c 'read %dM 4k' " $(seq 0 49)) \$uri" >/dev/null &
	pid=$!
	tap_wait 20 limited_seen
	[ "$(namespace b export1 reads)" -lt $((before + 40)) ] || return
	on b falconctl namespace set export1 iops=unlimited mbytes_per_s=1000 && wait "$pid" &&
		[ "$(namespace b export1 iops)" = 0 ] &&
		[ "$(namespace b export1 bytes_per_s)" = 1000000000 ]
}

limited_seen()
{
	[ "$(namespace b export1 limited)" -gt 3 ]
}

# sees HOST NSID: it can read what is there.
sees()
{
	on "$1" nbdkit -U - "$PLUGIN" host=10.250.0.2 "nsid=$2" --run "qemu-io -f raw -r \
		-c 'read 0 64k' \$uri" >/dev/null 2>&1
}

# One namespace is for a, one for c, one for all; d has no more than that.
given()
{
	sees a 1 && ! sees a 2 && sees a 3 && ! sees c 1 && sees c 2 && sees c 3 &&
		! sees d 1 && ! sees d 2 && sees d 3
}

# target_size: KiB that the agent with the namespaces takes up.
target_size()
{
	awk '/VmRSS/ { print $2 }' "/proc/$(<"/run/falcon-$FALCON_LAB/b/falcond.pid")/status"
}

address()
{
	on "$1" ip -j -4 addr show dev eth0 | jq -r '.[].addr_info[0].local'
}

# Three hosts write as much as they can: the target has 1 MiB for it, waits, and loses nothing.
many_write()
{
	local host pids=() before after most

	before=$(target_size)
	for host in a c d; do
		on $host falconctl nvme connect all "local=$(address $host)" targets=10.250.0.2/3 || return
		nbd_on $host device=all "nbdcopy --requests=64 --request-size=131072 \
			'$SCRATCH/full' \$uri && qemu-img compare -f raw -F raw '$SCRATCH/full' \$uri" \
			>"$SCRATCH/log.$host" 2>&1 &
		pids+=($!)
	done
	for host in "${pids[@]}"; do
		wait "$host" || return
	done
	most=$(namespace b export3 memory_most)
	after=$(target_size)
	tap_note "at most $most bytes of data memory; $before KiB before, $after KiB after"
	[ "$most" -gt 0 ] && [ "$most" -le 1048576 ] && [ $((after - before)) -lt 16384 ]
}

sparse one
sparse in
for f in two three; do
	truncate -s $((MB / 2))M "$SCRATCH/$f"
done
chmod 711 "$SCRATCH"

lab_up --clear --mtu 3498 --export "b:$SCRATCH/one" --export "b:$SCRATCH/two" --export "b:$SCRATCH/three"
tap_is "$(map host=10.250.0.2)" "$PLACES" "nbdinfo --map shows what is there, and no more"
tap_run "nbdcopy of a sparse namespace makes a sparse file" comes_sparse
tap_run "qemu-img convert of a sparse namespace makes a small image" converts_sparse
tap_run "a sparse file stays so on the way to a striped disk, and in its map" striped_map
tap_is "$(errors a nvme)" 0 "no command has ended in error"
tap_run "resized while in use" resized
tap_run "resized by others" resized_by_others
tap_run "not resized" not_resized
on a falconctl nvme disconnect 10.250.0.2-1
tap_run "all devices of the agent as exports" exported
tap_run "limits change at once" limited

random_file full $((8 << 20))
truncate -s 8M "$SCRATCH/two" "$SCRATCH/three"
lab_up --mtu 3498 --hosts 4 --export "b:$SCRATCH/one,peers=a,memory_mbytes=1" \
	--export "b:$SCRATCH/two,peers=c,memory_mbytes=1" --export "b:$SCRATCH/three,memory_mbytes=1"
tap_run "each host sees what it was given" given
ONE=$(stat -c %s "$SCRATCH/one")
tap_is "$(found a 10.250.0.2)" "[[1,$ONE],[3,8388608]]" "a host discovers what is there for it"
tap_is "$(found c 10.250.0.2)" "[[2,8388608],[3,8388608]]" "and another one what is for that"
tap_is "$(on a falconctl -j nvme | jq '[.[].name] | index("discover")')" null "nothing stays of it"
tap_run "many hosts write: memory is not more than it may be" many_write
tap_done
