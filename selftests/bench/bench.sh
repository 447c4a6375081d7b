# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the benchmarks share: where things are, a lab and a scratch directory of their own, and that
# nothing of it stays.
set -euo pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export BUILD=${BUILD:-$TOP/build}
export FALCON_LAB=bench$$
OUT=$BUILD/bench
LAB=$BUILD/falcon-lab
TMP=$(mktemp -d)
mkdir -p "$OUT"
background=()	# processes that stop() ends

stop()
{
	[ ${#background[@]} -eq 0 ] || kill "${background[@]}" 2>/dev/null || :
	wait
	background=()
}

finish()
{
	stop
	"$LAB" down >/dev/null 2>&1 || :
	rm -rf "$TMP"
}
trap finish EXIT
trap 'exit 130' INT TERM

# wait_for COMMAND...: at most 10 s.
wait_for()
{
	local deadline=$((SECONDS + 10))

	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || { echo "bench: timed out: $*" >&2; return 1; }
		sleep 0.05
	done
}

# on HOST COMMAND...: of the lab.
on()
{
	"$LAB" exec "$1" -- "${@:2}"
}

# behind HOST COMMAND...: in the background, until it ends or stop().
behind()
{
	"$LAB" exec "$1" -- "${@:2}" &
	background+=($!)
}
