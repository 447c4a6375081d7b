# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Tables in Markdown whose rows name the tests that show what they say, as "file: name", separated by <br>.
# The working directory is selftests.

# rows TABLE: the first five columns of each row, separated by tabs.
rows()
{
	awk -F ' *[|] *' '/^[|]/ && !/^[|] *-/ && !/^[|] (section|finding) / {
		print $2 "\t" $3 "\t" $4 "\t" $5 "\t" $6
	}' "$1"
}

# named TABLE COLUMN: each test that is named there, one a line.
named()
{
	rows "$1" | cut -f "$2" | sed 's/<br>/\n/g' | grep . | sort -u
}

# missing TABLE COLUMN: tests that are named and do not exist.
missing()
{
	local file name test

	while IFS= read -r test; do
		file=${test%%: *}
		name=${test#*: }
		[ "$file" != "$test" ] && [ -f "$file" ] && grep -qwF -- "$name" "$file" ||
			printf '%s\n' "$test"
	done < <(named "$1" "$2")
}
