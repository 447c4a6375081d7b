#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# The manual pages: groff renders each without a complaint, and aspell knows their words, or words.txt does.
# shellcheck source=selftests/tap.sh
. "$(dirname "$0")/../tap.sh"
tap_need aspell groff

cd "$TAP_TOP" || exit 1
WORDS=$TAP_TOP/selftests/lint/words.txt
PAGES=(*/*/*.scd)

# complaints: of the pages as they are installed, but that a word is longer than a table's column.
complaints()
{
	local page

	for page in "${PAGES[@]}"; do
		page=$TAP_BUILD/man/$(basename "$page" .scd)
		groff -t -man -Tutf8 -K utf8 -ww -W break -z "$page" 2>&1 | sed "s|^|$(basename "$page"): |"
	done
}

# prose FILE...: without what is bold or underlined (names and values), code, paths, options, and words with
# underscores.
prose()
{
	# shellcheck disable=SC2016 # no command, but the mark of code
	sed -E '/^```/,/^```/d; /^;/d; /^\t\t/d; s/\+\+$//' "$@" | tr '\n' ' ' |
		sed -E 's/\\[*_]/_/g; s/\\(.)/\1/g; s/\*[^*]*\*(\([0-9]\))?//g
			s/(^|[^[:alnum:]])_[^_ ]([^_]{0,60}[^_ ])?_/\1/g
			s/[[:alnum:]_]*_[[:alnum:]_]*//g; s|/[[:alnum:]/._-]+||g; s/--[a-z-]+//g'
}

# unknown_to LANGUAGE FILE...: words that are in no dictionary.
unknown_to()
{
	prose "${@:2}" | aspell list --lang="$1" --encoding=utf-8 --ignore-case | LC_ALL=C sort -u
}

tap_is "$(complaints)" "" "groff has no complaint about ${#PAGES[@]} pages"
unknown=$(unknown_to en "${PAGES[@]}")
tap_is "$(comm -23 <(echo "$unknown") "$WORDS")" "" "all words are in a dictionary or in words.txt"
tap_is "$(comm -13 <(prose "${PAGES[@]}" | tr -cs "A-Za-z'" '\n' | LC_ALL=C sort -u) "$WORDS")" "" \
	"and those in words.txt are used"
tap_is "$(unknown_to en <(echo 'Packets that are *retransmited* are retransmited.'))" retransmited \
	"a word that is wrong is found"
tap_done
