#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
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

striped_map()
{
	on a falconctl nvme connect striped local=10.250.0.1 "targets=10.250.0.2/2 10.250.0.2/3" &&
		goes_sparse device=striped two three && [ "$(map device=striped)" = "$PLACES" ]
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
tap_done
