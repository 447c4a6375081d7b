#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every folder has a README, which names each of its files and none that is not there (readme.py).
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/lint/files.sh
. "$TAP_TOP/selftests/lint/files.sh"
tap_need python3

TREE=$(mktemp -d)
trap 'rm -rf "$TREE"' EXIT

unnamed()
{
	files | "$TAP_TOP/selftests/lint/readme.py" 2>&1
}

# A tree with one fault of each kind, and names that look alike.
try_check()
{
	made user/good/README.md <<-'END'
		| file | what |
		|---|---|
		| `a.h`, `a.c` | both |

		| setting | what |
		|---|---|
		| `no.file` | whatever |
	END
	made user/good/a.h </dev/null
	made user/good/a.c </dev/null
	made user/good/build.mk </dev/null
	made tools/bare/a.c </dev/null
	made bpf/README.md <<-'END'
		| file | what |
		|---|---|
		| `a.c.in`, `b-a.c` | others |
		| `gone.c` | nothing, any more |
	END
	made bpf/a.c </dev/null
	made bpf/a.c.in </dev/null
	made bpf/b-a.c </dev/null
	tap_is "$(unnamed)" "bpf/README.md: does not name a.c
bpf/README.md: gone.c is not there
tools/bare: no README.md" "what a README leaves out is found"
}

cd "$TREE" || exit 1
try_check
cd "$TAP_TOP" || exit 1
empty "$(unnamed)" "every folder's README names its files"
tap_done
