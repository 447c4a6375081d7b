#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# A virtual machine boots from a disk of another host and lives on it: QEMU has it by vhost-user-blk from
# qemu-storage-daemon, and that from nbdkit. Then the target's agent is killed and started again, and the
# initiator's.
# shellcheck source=selftests/net/nvme.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/nvme.sh"
tap_need falcond falconctl nbdkit qemu-storage-daemon qemu-system-x86_64

BLK=$SCRATCH/blk
ROUNDS=3	# of the guest's, after each thing that has happened

# in_background LOG COMMAND...: on host a; its process is $!.
in_background()
{
	local log=$SCRATCH/$1

	shift
	falcon-lab exec a -- "$@" >"$log" 2>&1 &
}

is_there()
{
	[ -S "$1" ]
}

# Not within tap_run, whose commands cannot leave a process behind.
start_front_ends()
{
	in_background nbdkit nbdkit -f -U "$SCRATCH/nbd" "$PLUGIN" host=10.250.0.2
	nbdkit=$!
	tap_wait_for $nbdkit 20 is_there "$SCRATCH/nbd" || return
	in_background daemon qemu-storage-daemon \
		--blockdev "driver=nbd,node-name=disk,server.type=unix,server.path=$SCRATCH/nbd" \
		--export "type=vhost-user-blk,id=e,node-name=disk,writable=on,addr.type=unix,addr.path=$BLK"
	daemon=$!
	tap_wait_for $daemon 20 is_there "$BLK"
}

# How often the guest has written its places and read them again.
rounds()
{
	tr -cd . <"$SCRATCH/serial" | wc -c
}

# has_done N: by now, or it has found something wrong.
has_done()
{
	[ "$(rounds)" -ge "$1" ] || grep -q E "$SCRATCH/serial"
}

goes_on()
{
	tap_wait_for $guest 60 has_done $(($(rounds) + ROUNDS)) && ! grep -q E "$SCRATCH/serial" && return
	cat "$SCRATCH/serial" "$SCRATCH/guest" "$SCRATCH/daemon" "$SCRATCH/nbdkit"
	return 1
}

start_guest()
{
	in_background guest qemu-system-x86_64 -machine pc,accel=tcg,memory-backend=memory -nodefaults \
		-object memory-backend-memfd,id=memory,size=64M,share=on -m 64 -display none \
		-chardev "socket,id=blk,path=$BLK" -device vhost-user-blk-pci,chardev=blk \
		-serial "file:$SCRATCH/serial"
	guest=$!
}

restarted()
{
	falcon-lab agent "$1" kill && falcon-lab agent "$1" start && goes_on
}

cp "$TAP_BUILD/selftests/net/disk_guest.img" "$SCRATCH/disk"
truncate -s 8M "$SCRATCH/disk"
chmod 711 "$SCRATCH"
lab_up --clear --export "b:$SCRATCH/disk,block_size=512"
: >"$SCRATCH/serial"
start_front_ends
start_guest
tap_run "a guest boots from it, writes and reads" goes_on
tap_run "the target's agent is killed and started again" restarted b
tap_run "the initiator's agent is killed and started again" restarted a
for process in $guest $daemon $nbdkit; do
	end_child 10 "$process"
done
tap_is "$(on b falconctl -j namespace | jq .[0].errors)" 0 "no command has ended in error"
tap_done
