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
