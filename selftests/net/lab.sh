# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the network tests share: a lab of their own, torn down however the script ends.
# shellcheck source=selftests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"

tap_need_root
tap_need ip jq bpftool ethtool nsenter

export FALCON_LAB=t$$
export PATH=$TAP_BUILD:$TAP_BUILD/selftests/net:$PATH
SCRATCH=$(mktemp -d)

net_cleanup()
{
	falcon-lab down
	rm -rf "$SCRATCH"
}
trap net_cleanup EXIT
trap 'exit 130' INT TERM

# on HOST COMMAND...
on()
{
	falcon-lab exec "$1" -- "${@:2}"
}

# lab_up OPTION...: (re)build the lab; ends the whole test if that fails.
lab_up()
{
	local out

	if ! out=$(falcon-lab up "$@" 2>&1); then
		tap_not_ok "falcon-lab up $*" "$out"
		tap_done
	fi
}

# field JSON PATH: one value.
field()
{
	jq -r "$2" <<<"$1"
}

# between LOW VALUE HIGH NAME: ok if LOW <= VALUE <= HIGH.
between()
{
	if [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; then
		tap_ok "$4"
	else
		tap_not_ok "$4" "$2 is not in $1..$3"
	fi
}
