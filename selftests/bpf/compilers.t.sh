#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
# The kernel's verifier accepts what each clang that is here makes of the XDP programs. A newer one may leave
# out a check that only the verifier needs, spread over two registers what it would see in one, or use more
# stack.
. "$(dirname "$0")/../tap.sh"
tap_need bpftool make unshare
tap_need_root

if [ -z "${FALCON_COMPILERS_INSIDE:-}" ]; then
	FALCON_COMPILERS_INSIDE=1 exec unshare -m "$0" "$@"
fi

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TAP_TOP" || exit 1

# load OBJECT: its maps and programs are gone with this bpffs.
load()
{
	local rc=0

	mount -t bpf bpf /sys/fs/bpf || return
	bpftool prog loadall "$1" /sys/fs/bpf/loaded >"$TMP/log" 2>&1 || rc=$?
	umount /sys/fs/bpf
	tail -n 5 "$TMP/log"
	return "$rc"
}

# try COMPILER: builds and loads all objects.
try()
{
	local object objects=("$TMP/$1"/{falcon,falcon-large,lab_switch}.bpf.o)

	tap_run "$1 builds them" make --no-print-directory B="$TMP/$1" CLANG="$1" "${objects[@]}"
	for object in "${objects[@]}"; do
		tap_run "${object##*/}" load "$object"
	done
}

mapfile -t compilers < <(compgen -c clang- | grep -xE 'clang-[0-9]+' | sort -u)
[ ${#compilers[@]} -gt 0 ] || tap_skip_all "no clang-N is installed beside clang"
for compiler in "${compilers[@]}"; do
	try "$compiler"
done
tap_done
