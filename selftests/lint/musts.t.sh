#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The table of musts: no row is empty, every test that it names exists, sections 8, 9, 11, those of RDMA
# and NVMe over Falcon, and attacks are there.
. "$(dirname "$0")/../tap.sh"
cd "$TAP_TOP/selftests" || exit 1

TABLE=MUSTS.md

# rows: section, statement and tests of each row, separated by tabs.
rows()
{
	awk -F ' *[|] *' '/^[|]/ && $2 != "section" && $2 !~ /^-/ { print $2 "\t" $3 "\t" $4 }' "$TABLE"
}

# named: each test as "file: name", one a line.
named()
{
	rows | cut -f 3 | sed 's/<br>/\n/g' | sort -u
}

empty_rows()
{
	rows | awk -F '\t' '$1 == "" || $2 == "" || $3 == ""'
}

# missing: tests that are named and do not exist.
missing()
{
	local file name

	while IFS= read -r test; do
		file=${test%%: *}
		name=${test#*: }
		[ "$file" != "$test" ] && [ -f "$file" ] && grep -qwF -- "$name" "$file" ||
			printf '%s\n' "$test"
	done < <(named)
}

# unlisted: tests of section 11's rows that the table does not name.
unlisted()
{
	grep -rhoE '\bs11_(sender|receiver|initiator|target)_[a-z0-9_]+' unit bpf --include='*.c' |
		sort -u | grep -vxFf <(named | sed 's/.*: //')
}

tap_note "$(rows | wc -l) rows, $(named | wc -l) tests"
tap_is "$(empty_rows)" "" "no row is empty"
tap_is "$(missing)" "" "every test that is named exists"
tap_is "$(unlisted)" "" "no test of a row of section 11 is left out"
for section in 8 9 11 RDMA NVMe attack; do
	tap_run "section $section is there" grep -q "^| $section" "$TABLE"
done
tap_done
