# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2317 # functions that tap_run calls
# What the tests of NVMe over Falcon share, beside lab.sh.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/lab.sh"

PLUGIN=$TAP_BUILD/nbdkit-falcon-nvme-plugin.so

# nbd_on HOST PARAMETERS COMMAND: with the device's address in $uri. Blanks separate parameters.
nbd_on()
{
	local parameters

	read -ra parameters <<<"$2"
	# fio leaves a file where it stands.
	(cd "$SCRATCH" && on "$1" timeout 120 nbdkit -U - "$PLUGIN" "${parameters[@]}" --run "$3")
}

# nbd PARAMETERS COMMAND: on host a.
nbd()
{
	nbd_on a "$@"
}

# errors HOST OBJECT: what has ended in error there.
errors()
{
	on "$1" falconctl -j "$2" | jq '[.[].errors] | add'
}

# device NAME FIELD, namespace HOST NAME FIELD: what falconctl says of one.
device()
{
	on a falconctl -j nvme | jq -r ".[] | select(.name == \"$1\") | .$2"
}

namespace()
{
	on "$1" falconctl -j namespace | jq -r ".[] | select(.name == \"$2\") | .$3"
}

# copies PARAMETERS: $SCRATCH/in, of $MB MiB, there and back again, byte by byte.
copies()
{
	nbd "$1" "nbdcopy '$SCRATCH/in' \$uri && nbdcopy \$uri '$SCRATCH/out'" &&
		cmp -n $((MB << 20)) "$SCRATCH/in" "$SCRATCH/out"
}

# patterns PARAMETERS: at odd places, zeroes, trims, flush; what lies between stays.
patterns()
{
	nbd "$1" "qemu-io -f raw -c 'write -P 1 0 4M' -c 'write -P 2 511k 130k' -c 'write -z 1M 1M' \
		-c 'write -f -P 3 2560k 512' -c 'flush' -c 'discard 3M 512k' -c 'read -P 1 0 511k' \
		-c 'read -P 2 511k 130k' -c 'read -P 1 641k 383k' -c 'read -P 0 1M 1M' \
		-c 'read -P 3 2560k 512' -c 'read -P 1 2049k 511k' -c 'read -P 0 3M 512k' \
		-c 'read -P 1 3584k 512k' \$uri" >"$SCRATCH/patterns" 2>&1 &&
		! grep -qi 'pattern verification failed\|error' "$SCRATCH/patterns"
}

writer=

# start_writer DEVICE FILE: durable writes, and checks $SCRATCH/FILE in the end: stop_writer.
start_writer()
{
	mkfifo "$SCRATCH/orders" && : >"$SCRATCH/says" || return
	on a durable "$1" "$SCRATCH/$2" <"$SCRATCH/orders" >"$SCRATCH/says" 2>&1 &
	writer=$!
	exec 9>"$SCRATCH/orders"
}

stop_writer()
{
	echo stop >&9
	exec 9>&-
	wait "$writer"
	local rc=$?
	tap_note "$(tail -n 1 "$SCRATCH/says")"
	rm "$SCRATCH/orders"
	return $rc
}

# writes_beyond DEVICE N: more than N writes have ended.
writes_beyond()
{
	[ "$(device "$1" writes)" -gt "$2" ]
}
