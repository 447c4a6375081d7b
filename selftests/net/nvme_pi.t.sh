#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 200
#
# Disks with protection information: all that works works with it, and a byte that the medium has changed
# is found: by the target, or by the host if the target does not look; encrypted or not.
# shellcheck source=selftests/net/nvme.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/nvme.sh"
tap_need falcond falconctl nbdkit nbdcopy qemu-io openssl jq

MB=8
ONE=host=10.250.0.2
TWO="host=10.250.0.2 nsid=2"

# at PARAMETERS BYTE: what reading 4 KiB there says.
at()
{
	nbd "$1" "qemu-io -f raw -c 'read $2 4k' \$uri" 2>&1
}

damaged()
{
	on "$1" falconctl -j "$2" | jq '[.[].damaged] | add'
}

# A byte of the medium is another while its agent is away: that block is not read, its neighbours are.
damage()
{
	falcon-lab agent b stop || return 1
	printf x | dd of="$SCRATCH/$2" bs=1 seek=$((8192 + 77)) conv=notrunc status=none
	falcon-lab agent b start && at "$1" 4k | grep -q 'read 4096' &&
		at "$1" 12k | grep -q 'read 4096' && at "$1" 8k | grep -qi 'error'
}

add_secret_device()
{
	(umask 077 && openssl rand -hex 64 >"$SCRATCH/key")
	cat >>"/run/falcon-$FALCON_LAB/a/falcond.conf" <<-END

	[nvme secret]
	local = 10.250.0.1
	targets = 10.250.0.2/1
	key_file = $SCRATCH/key
	protection = type1
	END
	falcon-lab agent a stop && falcon-lab agent a start
}

# Neither data nor their information are on the medium; who has no key is told so.
stored_encrypted()
{
	yes 'nobody should read this on the medium' | head -c $((MB << 20)) >"$SCRATCH/in"
	copies device=secret && ! grep -aq 'nobody should read' "$SCRATCH/one" &&
		copies "device=secret protection=plugin" && at $ONE 0 | grep -qi 'error'
}

head -c $((MB << 20)) /dev/urandom >"$SCRATCH/in"
truncate -s $((MB << 20)) "$SCRATCH/one" "$SCRATCH/two"
chmod 711 "$SCRATCH"

lab_up --clear --export "b:$SCRATCH/one,block_size=512,protection=$SCRATCH/one.pi" \
	--export "b:$SCRATCH/two,protection=$SCRATCH/two.pi,protection_check=off"
tap_run "made by the agent: patterns" patterns $ONE
tap_run "made by the plugin: patterns" patterns "$ONE protection=plugin"
tap_run "not checked by the target: patterns" patterns "$TWO protection=plugin"
tap_run "made by the plugin: nbdcopy" copies "$ONE protection=plugin"
tap_run "read by the agent, not checked by the target: nbdcopy" copies "$TWO"
tap_is "$(damaged a nvme) $(damaged b namespace)" "0 0" "no block was taken for damaged"
tap_run "a damaged block is found by the target" damage $ONE one
tap_is "$(damaged b namespace)" "$(damaged a nvme)" "... which tells the host"
tap_run "a damaged block is found by the host" damage "$TWO" two
tap_is "$(damaged b namespace)" 0 "... since the target does not look"
tap_run "a device with a key" add_secret_device
tap_run "data and information are stored encrypted" stored_encrypted
tap_done
