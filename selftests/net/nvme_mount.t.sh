#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 600
#
# A file system on a disk of another host, by the kernel's NBD client. The target's agent is killed and
# started again while files are written; then its medium loses, again and again, all that was written and not
# flushed, as a disk does whose power fails: files that fsync(2) has called safe are there, and the file
# system is whole.
# shellcheck source=selftests/net/nvme.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/nvme.sh"
# Not in every kernel; Debian's has them (make vmtest).
for module in nbd dm_flakey loop ext4; do
	[ -d "/sys/module/$module" ] || modprobe -q "$module" ||
		tap_skip_all "this kernel has no module $module"
done
tap_need falcond falconctl nbdkit nbd-client dmsetup mkfs.ext4 e2fsck jq

MB=48
CUTS=3		# of the medium's power
FILES=8		# safe ones before each
LONG=100000	# seconds: the medium does not change by itself
MNT=$SCRATCH/mnt
MEDIUM=falcon-$$
AGENT=/run/falcon-$FALCON_LAB/b/falcond.pid

# A device that is nobody's.
free_disk()
{
	local disk

	for disk in /sys/block/nbd*; do
		[ ! -e "$disk/pid" ] && [ "$(<"$disk/size")" = 0 ] && echo "/dev/${disk##*/}" && return
	done
	return 1
}

# medium FEATURE...: what the medium does from now on; without: what it is told.
medium()
{
	local seconds=("$LONG" 0)

	[ $# -eq 0 ] || seconds=(0 "$LONG")
	echo "0 $((MB * 2048)) flakey $LOOP 0 ${seconds[*]} $# $*"
}
# change FEATURE...: nothing is flushed on the way.
change()
{
	dmsetup suspend --noudevsync --nolockfs "$MEDIUM" &&
		medium "$@" | dmsetup load --noudevsync "$MEDIUM" && dmsetup resume --noudevsync "$MEDIUM"
}

make_medium()
{
	truncate -s ${MB}M "$SCRATCH/medium" &&
		LOOP=$(losetup -f --show "$SCRATCH/medium") &&
		medium | dmsetup create --noudevsync "$MEDIUM" && dmsetup mknodes "$MEDIUM"
}

has_size()
{
	[ "$(<"/sys/block/${DISK#/dev/}/size")" -gt 0 ]
}

socket_there()
{
	[ -S "$SCRATCH/nbd" ]
}

# The disk is there. Not within tap_run, whose commands cannot leave a process behind.
connect()
{
	rm -f "$SCRATCH/nbd"
	falcon-lab exec a -- nbdkit -f -U "$SCRATCH/nbd" "$PLUGIN" host=10.250.0.2 >"$SCRATCH/nbdkit" 2>&1 &
	nbdkit=$!
	tap_wait_for "$nbdkit" 60 socket_there || return
	nbd-client -nonetlink -nofork -unix "$SCRATCH/nbd" "$DISK" >"$SCRATCH/client" 2>&1 &
	client=$!
	tap_wait_for "$client" 60 has_size
}

sum()
{
	md5sum <"$1" | cut -d ' ' -f 1
}

# Files that are on stable storage are in $SCRATCH/safe, with their sums.
write_files()
{
	local n

	for ((n = 0; n < 1000; n++)); do
		[ ! -e "$SCRATCH/stop" ] || return 0
		head -c 100000 /dev/urandom >"$SCRATCH/new"
		sed -i "/^$((n % 100)) /d" "$SCRATCH/safe"
		dd if="$SCRATCH/new" of="$MNT/$((n % 100))" bs=32k conv=fsync status=none || return
		echo "$((n % 100)) $(sum "$SCRATCH/new")" >>"$SCRATCH/safe"
		echo >>"$SCRATCH/count"
	done
}

start_writing()
{
	rm -f "$SCRATCH/stop"
	: >"$SCRATCH/safe"
	: >"$SCRATCH/count"
	write_files >"$SCRATCH/writes" 2>&1 &
	writes=$!
}

written()
{
	[ "$(wc -l <"$SCRATCH/count")" -ge "$1" ]
}

goes_on()
{
	tap_wait_for "$writes" 120 written $(($(wc -l <"$SCRATCH/count") + FILES))
}

stop_writing()
{
	: >"$SCRATCH/stop"
	wait "$writes"
}

# Every file that is safe is what it was, and the file system is clean after that.
all_there()
{
	local name sum bad=0

	mount "$DISK" "$MNT" || return
	while read -r name sum; do
		[ "$(sum "$MNT/$name")" = "$sum" ] && continue
		echo "$name is not what it was"
		bad=1
	done <"$SCRATCH/safe"
	umount "$MNT" && [ "$bad" -eq 0 ] && e2fsck -fn "$DISK"
}

restarted()
{
	falcon-lab agent b kill && falcon-lab agent b start && goes_on
}

# What the target has answered is in $SCRATCH/safe, and no more comes from here on.
cut_power()
{
	kill -STOP "$(<"$AGENT")" && change drop_writes && falcon-lab agent b kill
}

disconnected()
{
	[ "$(on a falconctl -j nvme | jq length)" = 0 ]
}

# The host that has the file system dies, too: what it has not written it does not write later.
crash()
{
	kill -KILL "$nbdkit" 2>/dev/null
	end_child 30 "$nbdkit"
	end_child 60 "$client"
	wait "$writes"
	umount "$MNT"
	tap_wait 30 disconnected
}

end()
{
	[ "$BASHPID" -eq $$ ] || return
	umount "$MNT" 2>/dev/null
	# Without its server the kernel's client ends, too.
	[ -z "$nbdkit" ] || kill -KILL "$nbdkit" 2>/dev/null
	[ -z "$client" ] || end_child 30 "$client"
	net_cleanup
	dmsetup remove --noudevsync "$MEDIUM" 2>/dev/null
	[ -z "$LOOP" ] || losetup -d "$LOOP"
}

DISK=$(free_disk) || tap_skip_all "all devices of the kernel's NBD client are in use"
LOOP='' nbdkit='' client=''
trap end EXIT
mkdir "$MNT"
make_medium || tap_skip_all "this machine lets nobody make a device of the device mapper"
chmod 711 "$SCRATCH"
# The page cache of host b is what a power cut takes away.
lab_up --clear --export "b:/dev/mapper/$MEDIUM,block_size=512,page_cache=on"
connect
tap_is $? 0 "the kernel has the disk"
tap_run "a file system is made on it" mkfs.ext4 -q "$DISK"
tap_run "and mounted" mount "$DISK" "$MNT"
start_writing
tap_run "files are written" goes_on
tap_run "the target's agent is killed and started again amid them" restarted
stop_writing
tap_is $? 0 "no write has failed"
umount "$MNT"
tap_run "all files are there, and the file system is clean" all_there
for ((i = 1; i <= CUTS; i++)); do
	mount "$DISK" "$MNT"
	start_writing
	tap_run "power cut $i: after some files" goes_on
	tap_run "the medium loses what was not flushed" cut_power
	crash
	change && falcon-lab agent b start && connect
	tap_is $? 0 "both hosts come back"
	tap_note "$(wc -l <"$SCRATCH/safe") files are safe"
	tap_run "all files that were safe are there, and the file system is clean" all_there
done
tap_done
