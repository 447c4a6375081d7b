#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every source says its licence first, and what runs in the kernel, all that it includes with it, has one that
# the kernel takes.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/lint/files.sh
. "$TAP_TOP/selftests/lint/files.sh"

TREE=$(mktemp -d)
trap 'rm -rf "$TREE"' EXIT

# begins FILE N PATTERN: PATTERN is in the first N lines. A process for each of so many files would take long.
begins()
{
	local lines

	mapfile -t -n "$2" lines <"$1"
	[[ ${lines[*]} == *"$3"* ]]
}

spdx_missing()
{
	local f

	# A manual page begins with its title.
	files '*.c' '*.h' '*.sh' '*.mk' '*.lua' '*.py' '*.pml' '*.md' '*.scd' Makefile \
		tools/lab/falcon-lab '.ci/*' | while read -r f; do
		begins "$f" 3 SPDX-License-Identifier: || printf '%s\n' "$f"
	done
}

# included FILE...: headers of include/falcon that the files name, as paths.
included()
{
	awk 'NR == FNR { named[$0]; next } { name = $0; sub(/.*\//, "", name) } name in named' \
		<(sed -En 's/^#include ("|<falcon\/)([a-z.]+\/)*([a-z_]+\.h)[>"].*/\3/p' "$@") \
		<(files 'include/falcon/*.h')
}

# shared_headers: headers of include/falcon that BPF programs include, and those that these include.
shared_headers()
{
	local all more

	mapfile -t all < <(files '*.bpf.c' 'bpf/*.h')
	while mapfile -t more < <({ printf '%s\n' "${all[@]}"; included "${all[@]}"; } | sort -u) &&
		[ ${#more[@]} -gt ${#all[@]} ]; do
		all=("${more[@]}")
	done
	printf '%s\n' "${all[@]}" | grep '^include/'
}

# What a BPF program includes must allow the GPL, and BPF objects must say so to the kernel.
bpf_licence()
{
	local f

	files 'bpf/*.c' 'bpf/*.h' '*.bpf.c' '*.bpf.h' | while read -r f; do
		begins "$f" 1 GPL-2.0 || printf '%s: SPDX without GPL-2.0\n' "$f"
	done
	files '*.bpf.c' | while read -r f; do
		grep -qE 'SEC\("license"\) *= *"(Dual BSD/GPL|GPL)"' "$f" ||
			printf '%s: no license section\n' "$f"
	done
	shared_headers | while read -r f; do
		begins "$f" 1 GPL-2.0 || printf '%s: used by BPF, SPDX without GPL-2.0\n' "$f"
	done
}

# A tree with one fault of each kind.
try_checks()
{
	made bpf/good.bpf.c <<-'END'
		// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
		#include "falcon/below/first.h"
		char license[] SEC("license") = "Dual BSD/GPL";
	END
	made bpf/silent.bpf.c <<<'// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)'
	made bpf/closed.h <<<'/* SPDX-License-Identifier: BSD-2-Clause */'
	made include/falcon/below/first.h <<-'END'
		/* SPDX-License-Identifier: BSD-2-Clause */
		#include "../second.h"
	END
	made include/falcon/second.h <<<'/* SPDX-License-Identifier: BSD-2-Clause */'
	made include/falcon/other.h <<<'/* SPDX-License-Identifier: BSD-2-Clause */'
	made user/bare.c <<<'int x;'
	tap_is "$(spdx_missing)" "user/bare.c" "a source without a licence is found"
	tap_is "$(bpf_licence)" "bpf/closed.h: SPDX without GPL-2.0
bpf/silent.bpf.c: no license section
include/falcon/below/first.h: used by BPF, SPDX without GPL-2.0
include/falcon/second.h: used by BPF, SPDX without GPL-2.0" "so is what the kernel would not take"
}

cd "$TREE" || exit 1
try_checks
cd "$TAP_TOP" || exit 1
tap_is "$(spdx_missing)" "" "every source says its licence first"
tap_is "$(bpf_licence)" "" "what runs in the kernel may: GPL-compatible"
tap_note "$(shared_headers | wc -l) headers are shared with BPF"
tap_done
