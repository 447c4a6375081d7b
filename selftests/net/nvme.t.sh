#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# A file of host b is a disk on host a, for programs that speak NBD: what is written is read, through
# loss, encryption, striping, and the death of the target in the middle of it.
# shellcheck source=selftests/net/nvme.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/nvme.sh"
tap_need falcond falconctl nbdkit nbdcopy nbdinfo qemu-img qemu-io fio jq

MB=$SIZE_MB
[ -n "${FALCON_TEST_FULL:-}" ] || MB=$((MB < 8 ? MB : 8))
KILLS=${FALCON_TEST_FULL:+20}
KILLS=${KILLS:-3}
DEATHS=${FALCON_TEST_FULL:+3}
DEATHS=${DEATHS:-1}
SECONDS_OF_FIO=${FALCON_TEST_FULL:+60}

converts()
{
	nbd "$1" "qemu-img convert -n -f raw -O raw '$SCRATCH/in' \$uri &&
		qemu-img compare -f raw -F raw '$SCRATCH/in' \$uri"
}

# A file system: made here, taken there and back, still clean.
file_system()
{
	mkfs.ext4 -q -F -d "$TAP_TOP/tools" "$SCRATCH/fs" "${MB}M" &&
		nbd "$1" "nbdcopy '$SCRATCH/fs' \$uri && nbdcopy \$uri '$SCRATCH/fs.back'" &&
		truncate -s "${MB}M" "$SCRATCH/fs.back" && e2fsck -fn "$SCRATCH/fs.back"
}

# verified PARAMETER SIZES: random reads and writes of two jobs, everything that was written is checked.
verified()
{
	nbd "$1" "fio --name=v --ioengine=nbd --uri=\$uri --rw=randrw --bssplit=$2 --iodepth=32 \
		--numjobs=2 --size=$((MB / 2))M --offset_increment=$((MB / 2))M \
		${SECONDS_OF_FIO:+--time_based --runtime=$SECONDS_OF_FIO} \
		--verify=crc32c --verify_fatal=1 --randrepeat=1 --minimal" >"$SCRATCH/fio" 2>&1
}

# Every job of the collection ends, and none with an error.
job_collection()
{
	local job settings="SIZE=$((MB / 4))M RUNTIME=300ms"

	for job in "$TAP_TOP"/tools/fio/*.fio; do
		nbd "$1" "URI=\$uri $settings fio --minimal '$job'" >"$SCRATCH/fio" 2>&1 ||
			{ tap_note "$job"; return 1; }
	done
}

# The target dies in the middle of it, and comes back: commands wait for it, none is wrong.
target_dies()
{
	local pid rc before

	before=$(disk_writes)
	# Some seconds at least, so that the end does not come before the kill.
	SECONDS_OF_FIO=${SECONDS_OF_FIO:-5} verified device=disk 512/30:4k/30:64k/30:128k/10 &
	pid=$!
	tap_wait 30 writes_beyond $((before + 50)) || return 1
	falcon-lab agent b kill && falcon-lab agent b start || return 1
	wait "$pid"
	rc=$?
	[ "$(on a falconctl -j nvme | jq '[.[].retried] | add')" -gt 0 ] || return 1
	return "$rc"
}

namespace_writes()
{
	on b falconctl -j namespace | jq .[0].writes
}

namespace_writes_beyond()
{
	[ "$(namespace_writes)" -gt "$1" ]
}

# The initiator's agent dies in the middle of it, and comes back without the device: nbdkit asks for it again,
# and its client sees nothing.
agent_dies()
{
	local pid rc=0 died=0

	SECONDS_OF_FIO=${SECONDS_OF_FIO:-$((3 * DEATHS))} \
		verified host=10.250.0.2 512/30:4k/30:64k/30:300k/10 &
	pid=$!
	while [ $died -lt "$DEATHS" ]; do
		tap_wait_for $pid 30 namespace_writes_beyond $(($(namespace_writes) + 50)) &&
			falcon-lab agent a kill && falcon-lab agent a start || rc=1
		[ $rc -eq 0 ] || break
		died=$((died + 1))
	done
	wait "$pid" && return $rc
	cat "$SCRATCH/fio"
	return 1
}

disk_writes()
{
	device disk writes
}

# Killed again and again while copies are made: what the last one was told is stored is on the medium.
killed_often()
{
	local pid before killed=0

	rm -f "$SCRATCH/enough"
	nbd device=disk "qemu-io -f raw -c 'write -P 0 0 ${MB}M' \$uri >/dev/null || exit
		while [ ! -e '$SCRATCH/enough' ]; do
			nbdcopy --requests=4 --request-size=65536 '$SCRATCH/in' \$uri || exit
		done" &
	pid=$!
	while [ $killed -lt "$KILLS" ]; do
		before=$(disk_writes)
		tap_wait 30 writes_beyond_or_ended $((before + 8)) $pid
		kill -0 $pid 2>/dev/null || break
		falcon-lab agent b kill && falcon-lab agent b start || break
		killed=$((killed + 1))
	done
	touch "$SCRATCH/enough"
	wait "$pid" && [ $killed -eq "$KILLS" ] && cmp -n $((MB << 20)) "$SCRATCH/in" "$SCRATCH/one"
}

# Encrypted on its way and on the medium; who has no key reads noise.
stored_encrypted()
{
	yes 'nobody should read this on the medium' | head -c $((MB << 20)) >"$SCRATCH/in"
	copies device=secret && ! grep -aq 'nobody should read' "$SCRATCH/two" &&
		nbd host=10.250.0.2 "nbdcopy \$uri '$SCRATCH/stolen'" &&
		cmp -n $((MB << 20)) "$SCRATCH/stolen" "$SCRATCH/two" &&
		! grep -aq 'nobody should read' "$SCRATCH/stolen"
}

add_secret_device()
{
	(umask 077 && openssl rand -hex 64 >"$SCRATCH/key")
	cat >>"/run/falcon-$FALCON_LAB/a/falcond.conf" <<-END

	[nvme secret]
	local = 10.250.0.1
	targets = 10.250.0.2/1
	key_file = $SCRATCH/key
	END
	falcon-lab agent a stop && falcon-lab agent a start
}

writes_beyond()
{
	[ "$(disk_writes)" -gt "$1" ]
}

# writes_beyond_or_ended COUNT PID: or who writes has ended.
writes_beyond_or_ended()
{
	writes_beyond "$1" || ! kill -0 "$2"
}

strangers()
{
	on a timeout 20 nbdkit -U - "$PLUGIN" host=10.250.0.2 nsid=9 timeout=60 --run "nbdinfo \$uri" \
		>"$SCRATCH/stranger" 2>&1
	grep -q 'refuses namespace 9' "$SCRATCH/stranger"
}

plain_disk()
{
	on a falconctl nvme connect plain local=10.250.0.1 targets=10.250.0.2/2 combined=off &&
		copies device=plain
}

connect_disk()
{
	on a falconctl nvme connect disk local=10.250.0.1 targets=10.250.0.2/1
}

random_file in $((MB << 20))
for f in one two three; do
	truncate -s $((MB << 20)) "$SCRATCH/$f"
done
chmod 711 "$SCRATCH"
ONE=b:$SCRATCH/one,block_size=512 TWO=b:$SCRATCH/two THREE=c:$SCRATCH/three

lab_up --clear --export "$ONE" --export "$TWO"
tap_run "512-byte blocks: nbdcopy" copies host=10.250.0.2
tap_run "512-byte blocks: qemu-io patterns" patterns host=10.250.0.2
tap_run "512-byte blocks: a file system" file_system host=10.250.0.2
tap_run "the specification's packets alone: nbdcopy" plain_disk
tap_run "a device of its own, by name" connect_disk
tap_run "random sizes with verify" verified device=disk 512/30:4k/30:64k/20:300k/10:1m/10
tap_run "the collection of fio jobs" job_collection device=disk
tap_run "the target dies and comes back" target_dies
tap_run "the target is killed $KILLS times: the medium has it all" killed_often
tap_is "$(errors a nvme)" 0 "no command has ended in error"
tap_run "a namespace that is not there" strangers
tap_run "the initiator's agent dies and comes back ($DEATHS)" agent_dies

lab_up --clear --mtu 3498 --loss 1 --export "$TWO" --hosts 3 --export "$THREE"
on a falconctl nvme connect striped local=10.250.0.1 "targets=10.250.0.2/1 10.250.0.3/1"
tap_run "striped over two hosts, 1 % loss: nbdcopy" copies device=striped
tap_run "striped over two hosts, 1 % loss: verify" verified device=striped 4k/40:64k/30:256k/20:1m/10
tap_is "$(errors a nvme)" 0 "no command has ended in error"

lab_up --loss 1 --export "$TWO"
tap_run "encrypted, 1 % loss: qemu-img convert" converts host=10.250.0.2
tap_is "$(errors b namespace)" 0 "no command was refused"
tap_run "a device with a key" add_secret_device
tap_run "data are stored encrypted" stored_encrypted
tap_done
