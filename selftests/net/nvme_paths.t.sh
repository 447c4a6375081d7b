#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Two targets that have one medium, and a device with a path to each: one of them dies, or is taken out of
# use, while writes go on, and the other one is used. No command ends in error, and no old write comes after
# a new one.
# shellcheck source=selftests/net/nvme.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/nvme.sh"
tap_need falcond falconctl nbdkit qemu-io jq durable

NGUID=f2b1c0de-0000-4000-8000-000000000001
B=10.250.0.2/1 C=10.250.0.3/1

# path_is DEVICE PATH
path_is()
{
	[ "$(device "$1" paths)" = "$2" ]
}

# moves_to PATH: the device gets there by itself, and writes by it.
moves_to()
{
	local before

	tap_wait 60 path_is disk "$1" || return
	before=$(device disk writes)
	tap_wait 60 writes_beyond disk $((before + 50))
}

dies()
{
	falcon-lab agent b kill && moves_to "$C" && falcon-lab agent b start || return
	falcon-lab agent c kill && moves_to "$B" && falcon-lab agent c start
}

switched()
{
	local failed

	failed=$(device disk failovers)
	on b falconctl namespace set export1 ana=inaccessible && moves_to "$C" || return
	[ "$(namespace b export1 ana)" = inaccessible ] &&
		[ "$(on a falconctl -j nvme discover 10.250.0.2 | jq length)" = 0 ] || return
	on b falconctl namespace set export1 ana=optimized &&
		on c falconctl namespace set export1 ana=inaccessible && moves_to "$B" || return
	on c falconctl namespace set export1 ana=optimized &&
		[ "$(device disk failovers)" -ge $((failed + 2)) ]
}

# Nothing that has ended is lost or overwritten by what is older, and nothing has failed.
amid_writes()
{
	local rc

	start_writer disk shared || return
	moves_to "$B" && dies && switched
	rc=$?
	stop_writer && [ "$(device disk errors)" = 0 ] && [ "$(device disk retried)" -gt 0 ] && return "$rc"
}

# Another disk of the same size behind the second path is not written to.
other_disk()
{
	on a falconctl nvme connect wrong "targets=$B|10.250.0.3/2" timeout_ms=20000 || return
	nbd device=wrong "qemu-io -f raw -c 'write -P 1 15M 64k' -c flush \$uri" >"$SCRATCH/qemu" || return
	on b falconctl namespace set export1 ana=inaccessible && tap_wait 30 refused || return
	cmp -n $((MB << 20)) "$SCRATCH/other" /dev/zero &&
		on b falconctl namespace set export1 ana=optimized && tap_wait 30 usable &&
		nbd device=wrong "qemu-io -f raw -c 'read -P 1 15M 64k' \$uri" >"$SCRATCH/qemu"
}

refused()
{
	[[ $(device wrong reason) == *nguid* ]]
}

usable()
{
	[ -z "$(device wrong reason)" ]
}

MB=16
truncate -s ${MB}M "$SCRATCH/shared" "$SCRATCH/other"
chmod 711 "$SCRATCH"
lab_up --hosts 3 --mtu 3498 --export "b:$SCRATCH/shared,nguid=$NGUID" \
	--export "c:$SCRATCH/shared,nguid=$NGUID" --export "c:$SCRATCH/other,nguid=${NGUID/%1/2}"
on a falconctl nvme connect disk "targets=$B|$C"
tap_run "targets die and are taken out of use amid writes, of which none is lost" amid_writes
tap_run "a path to another disk is not taken" other_disk
tap_done
