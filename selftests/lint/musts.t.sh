#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The table of musts: no row is empty, every test that it names exists, sections 8, 9, 11, those of RDMA
# and NVMe over Falcon, and attacks are there.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/lint/table.sh
. "$TAP_TOP/selftests/lint/table.sh"
cd "$TAP_TOP/selftests" || exit 1

TABLE=MUSTS.md
TESTS=3		# the column that names them

empty_rows()
{
	rows $TABLE | awk -F '\t' '$1 == "" || $2 == "" || $3 == ""'
}

# unlisted: tests of section 11's rows that the table does not name.
unlisted()
{
	grep -rhoE '\bs11_(sender|receiver|initiator|target)_[a-z0-9_]+' unit bpf --include='*.c' |
		sort -u | grep -vxFf <(named $TABLE $TESTS | sed 's/.*: //')
}

tap_note "$(rows $TABLE | wc -l) rows, $(named $TABLE $TESTS | wc -l) tests"
tap_is "$(empty_rows)" "" "no row is empty"
tap_is "$(missing $TABLE $TESTS)" "" "every test that is named exists"
tap_is "$(unlisted)" "" "no test of a row of section 11 is left out"
for section in 8 9 11 RDMA NVMe attack; do
	tap_run "section $section is there" grep -q "^| $section" "$TABLE"
done
tap_done
