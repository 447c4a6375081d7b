#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Targets that die: a disk over four of them of which one is killed, and one whose medium is looked at
# each time that it has been killed in the midst of writes.
# shellcheck source=selftests/net/nvme.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/nvme.sh"
tap_need falcond falconctl nbdkit qemu-io fio jq durable

KILLS=${FALCON_TEST_FULL:+100}
KILLS=${KILLS:-5}
RUNTIME=${FALCON_TEST_FULL:+60}
RUNTIME=${RUNTIME:-4}
MB=16

# ---- power loss ------------------------------------------------------------------------------

# answers N: the writer has answered so often.
answers()
{
	[ "$(wc -l <"$SCRATCH/says")" -ge "$1" ]
}

# killed DEVICE FILE: the target is killed while writes go on; what was flushed is on the medium each
# time, no block is of two writes.
killed()
{
	local i before

	start_writer "$1" "$2" || return
	for ((i = 1; i <= KILLS; i++)); do
		before=$(device "$1" writes)
		tap_wait 30 writes_beyond "$1" $((before + 70 + RANDOM % 200)) || break
		falcon-lab agent b kill || break
		echo check >&9
		tap_wait 30 answers "$i" || break
		falcon-lab agent b start || break
		grep -qv '^ok' "$SCRATCH/says" && break
	done
	stop_writer && [ $i -gt "$KILLS" ] && ! grep -v '^ok' "$SCRATCH/says"
}

# ---- four targets ----------------------------------------------------------------------------

stripes=(10.250.0.2/1 10.250.0.3/1 10.250.0.4/1 10.250.0.5/1)

# dies_in_run: one of four is killed and comes back while fio writes and reads what it has written:
# commands wait for it, none is wrong.
dies_in_run()
{
	local pid rc before

	before=$(device wide writes)
	nbd device=wide "fio --name=v --ioengine=nbd --uri=\$uri --rw=randrw --iodepth=32 \
		--size=$((4 * MB))M --bssplit=512/20:4k/30:64k/30:300k/10:1m/10 \
		--time_based --runtime=$RUNTIME \
		--verify=crc32c --verify_fatal=1 --randrepeat=1 --minimal" >"$SCRATCH/fio" 2>&1 &
	pid=$!
	tap_wait 30 writes_beyond wide $((before + 100)) || return
	falcon-lab agent d kill && falcon-lab agent d start || return
	wait "$pid"
	rc=$?
	[ "$(device wide retried)" -gt 0 ] && [ "$(device wide errors)" = 0 ] && return $rc
}

# qemu-io flushes at its end, which fails while a target is away: that is not looked at.
pattern()
{
	nbd device="$1" "qemu-io -f raw ${*:2} \$uri" >"$SCRATCH/qemu" 2>&1 &&
		! grep -q failed "$SCRATCH/qemu"
}

# stays_dead: commands to the one that is gone end with an error when their time is over, commands to
# the others do not; when it is back all is as it was, but for what was to be written there.
stays_dead()
{
	on a falconctl nvme connect hasty local=10.250.0.1 "targets=${stripes[*]}" timeout_ms=500 &&
		tap_wait 10 ready hasty && pattern hasty "-c 'write -P 1 0 2M' -c flush" &&
		falcon-lab agent d kill || return
	! pattern hasty "-c 'write -P 2 600k 4k'" && ! pattern hasty "-c 'read 512k 256k'" || return
	pattern hasty "-c 'write -P 3 0 256k' -c 'read -P 3 0 256k' -c 'read -P 1 256k 256k' \
		-c 'write -P 4 768k 256k'" || return
	# A command over the boundary of two stripes fails with the one that is dead.
	! pattern hasty "-c 'read 500k 24k'" && [ "$(device hasty errors)" -gt 0 ] || return
	falcon-lab agent d start && tap_wait 20 connected hasty 4 &&
		pattern hasty "-c 'read -P 3 0 256k' -c 'read -P 1 256k 344k' -c 'read -P 1 604k 164k' \
			-c 'read -P 4 768k 256k' -c 'read -P 1 1M 1M' -c 'write -P 5 600k 4k' \
			-c 'read -P 5 600k 4k'"
}

ready()
{
	[ "$(device "$1" ready)" = true ]
}

connected()
{
	[ "$(device "$1" connected)" = "$2" ]
}

for f in small large b c d e; do
	truncate -s ${MB}M "$SCRATCH/$f"
done
chmod 711 "$SCRATCH"

lab_up --clear --mtu 3498 --export "b:$SCRATCH/small,block_size=512" --export "b:$SCRATCH/large"
on a falconctl nvme connect small local=10.250.0.1 targets=10.250.0.2/1
on a falconctl nvme connect large local=10.250.0.1 targets=10.250.0.2/2
tap_run "blocks of 512 bytes: killed $KILLS times, nothing lost, nothing torn" killed small small
tap_run "blocks of 4 KiB: killed $KILLS times, nothing lost, nothing torn" killed large large

exports=()
for f in b c d e; do
	exports+=(--export "$f:$SCRATCH/$f,block_size=512")
done
lab_up --clear --mtu 3498 --hosts 5 "${exports[@]}"
on a falconctl nvme connect wide local=10.250.0.1 "targets=${stripes[*]}"
tap_run "striped over four: one dies and comes back while fio verifies" dies_in_run
tap_run "striped over four: one stays dead, its commands alone fail" stays_dead
tap_done
