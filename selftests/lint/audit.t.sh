#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The table of a review's findings: each is there, with what became of it; what is fixed or refuted names
# tests, and every test that is named exists.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/lint/table.sh
. "$TAP_TOP/selftests/lint/table.sh"
cd "$TAP_TOP/selftests" || exit 1

TABLE=AUDIT.md
TESTS=4		# the column that names them
FINDINGS=(S0 H{1..6} M{1..9} L{1..12} D{1..19} R{1..16} F{1..6} N{1..2} V{1..12} P1)

# wrong: rows whose state is none, or whose tests do not fit it.
wrong()
{
	rows $TABLE | awk -F '\t' '
		$1 == "" || $2 == "" { print; next }
		$3 == "fixed" || $3 == "refuted" { if ($4 == "") print; next }
		$3 == "open" { next }
		{ print }'
}

tap_is "$(rows $TABLE | cut -f 1 | sort)" "$(printf '%s\n' "${FINDINGS[@]}" | sort)" "each finding has a row"
tap_is "$(wrong)" "" "each has a state, and what is settled has tests"
tap_is "$(missing $TABLE $TESTS)" "" "every test that is named exists"
for state in fixed refuted open; do
	tap_note "$state: $(rows $TABLE | cut -f 3 | grep -cx $state)"
done
tap_done
