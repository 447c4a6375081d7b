#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# falcon-rue against the reference's events, and against files that are wrong.
. "$(dirname "$0")/../tap.sh"
tap_need awk

HERE=$TAP_TOP/selftests/vectors
RUE=$TAP_BUILD/falcon-rue
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
[ -x "$RUE" ] || tap_skip_all "falcon-rue is not built"

# replays PROGRAM FILE: every row, no mismatch.
replays()
{
	local rows out rc=0

	rows=$(($(wc -l <"$2") - 1))
	out=$("$1" --vectors "$2" 2>&1) || rc=$?
	tap_is "$rc: $(tail -n 1 <<<"$out")" "0: $rows events, 0 mismatches" \
		"${1#"$TAP_BUILD"/}: $(basename "$2")"
}

# refused WHAT PATTERN [FILE]: exit status 2, and a message that matches.
refused()
{
	local out rc=0

	out=$("$RUE" --vectors "${3:-$TMP/bad.csv}" 2>&1) || rc=$?
	if [ "$rc" -eq 2 ] && grep -q "$2" <<<"$out" && ! grep -q ' mismatches$' <<<"$out"; then
		tap_ok "refused: $1"
	else
		tap_not_ok "refused: $1" "exit status $rc, wanted 2 and \"$2\": $out"
	fi
}

# column NAME: its number.
column()
{
	head -n 1 "$HERE/swift_public.csv" | tr ',' '\n' | grep -nx "$1" | cut -d : -f 1
}

# edit LINE COLUMN VALUE: the first rows of a good file, with one field changed, as bad.csv.
edit()
{
	head -n 6 "$HERE/swift_public.csv" | awk -F , -v OFS=, -v line="$1" \
		-v col="$(column "$2")" -v value="$3" 'NR == line { $col = value } { print }' \
		>"$TMP/bad.csv"
}

for file in "$HERE"/swift_*.csv; do
	replays "$RUE" "$file"
	[ -x "$TAP_BUILD/asan/falcon-rue" ] && replays "$TAP_BUILD/asan/falcon-rue" "$file"
done

# Each output column matters: a changed one is found, and nothing else is.
missed=
for name in $(head -n 1 "$HERE/swift_public.csv" | tr ',' '\n' | grep -E '^(st_)?out_'); do
	value=$(sed -n 4p "$HERE/swift_public.csv" | cut -d , -f "$(column "$name")")
	edit 4 "$name" $((value ^ 1))
	out=$("$RUE" --vectors "$TMP/bad.csv") && missed+=" $name(exit 0)"
	[ "$out" = "line 4: $name is $value, expected $((value ^ 1))
5 events, 1 mismatches" ] || missed+=" $name"
done
tap_is "$missed" "" "every changed output is found, alone"

awk -F , -v OFS=, -v col="$(column out_ipg)" 'NR > 1 { $col = 77 } { print }' \
	"$HERE/swift_public.csv" >"$TMP/many.csv"
tap_is "$("$RUE" --vectors "$TMP/many.csv" --show 3 | wc -l)" 5 "the list of mismatches is bounded"

# Columns in another order, unknown remarks, blank lines, CR LF and no last newline are fine.
awk -F , -v OFS=, '{ for (i = NF; i > 0; i--) printf "%s,", $i; printf "note%s\r\n\r\n", NR }' \
	"$HERE/swift_plb_public.csv" | head -c -4 >"$TMP/odd.csv"
tap_is "$("$RUE" --vectors "$TMP/odd.csv" 2>&1)" "2500 events, 0 mismatches" \
	"columns in another order"
tap_is "$("$RUE" --vectors - <"$HERE/swift_public.csv")" "4000 events, 0 mismatches" \
	"the standard input"
head -n 1 "$HERE/swift_public.csv" >"$TMP/none.csv"
tap_is "$("$RUE" --vectors "$TMP/none.csv")" "0 events, 0 mismatches" "a header alone"

# A recorded trace brings parameters along, in remarks before the header.
{
	printf '#config = "mine" as in alt\n#\tretransmit_limit = 5\n#A remark.\n'
	sed 's/^alt,/mine,/' "$HERE/swift_alt_public.csv"
} >"$TMP/mine.csv"
tap_is "$("$RUE" --vectors "$TMP/mine.csv" 2>&1 | tail -n 1)" \
	"$(($(wc -l <"$HERE/swift_alt_public.csv") - 1)) events, 0 mismatches" "parameters in remarks"
{
	printf '#config = "mine"\n#\tretransmit_limit = 0\n'
	cat "$HERE/swift_alt_public.csv"
} >"$TMP/bad.csv"
refused "parameters out of range" "retransmit_limit is \[1, 255\]"
edit 3 in_t1 16777216
refused "a value too large" "line 3: in_t1 is at most 16777215"
edit 3 in_t1 99999999999999999999999999
refused "a value much too large" "line 3: in_t1"
edit 3 in_t1 -1
refused "a negative value" "line 3: in_t1 is no number"
edit 3 in_t1 "1 2"
refused "two values" "line 3: in_t1 is no number"
edit 3 out_fcwnd ""
refused "no value" "line 3: out_fcwnd is no number"
edit 3 out_fcwnd 1.5
refused "a fraction" "line 3: out_fcwnd is no number"
edit 4 config nothing
refused "an unknown configuration" "line 4: no configuration is called \"nothing\""
edit 4 config ""
refused "no configuration" "line 4: config"
edit 1 in_t2 in_t9
refused "an unknown input" "line 1: unknown column \"in_t9\""
edit 1 out_ipg out_new
refused "an unknown output" "line 1: unknown column \"out_new\""
edit 1 in_t2 in_t1
refused "a column twice" "line 1: column \"in_t1\" twice"
edit 1 in_t2 note
refused "a column missing" "line 1: no column \"in_t2\""
edit 5 dbg_target_delay 1,2
refused "a field too many" "line 5: more than"
{
	head -n 5 "$HERE/swift_public.csv"
	sed -n 6p "$HERE/swift_public.csv" | cut -d , -f 1-10
} >"$TMP/bad.csv"
refused "the last line cut off" "line 6: 10 fields"
: >"$TMP/bad.csv"
refused "an empty file" "line 1: no header"
head -c 5000 /dev/zero >"$TMP/bad.csv"
refused "zeros" "line 1: a NUL byte"
head -c 100000 /dev/zero | tr '\0' , >"$TMP/bad.csv"
refused "a line too long" "line 1: too long"
refused "a directory" "directory" "$TMP"
refused "no such file" "No such file" "$TMP/nothing"

for set in default plb eackdrop alt; do
	tap_is "$("$RUE" --params --config "$HERE/swift_config.txt" --use "$set" 2>&1)" \
		"$("$RUE" --params --use "$set")" "the reference's parameters \"$set\" are built in"
done
cat >"$TMP/own.conf" <<END
config = "default" and retransmit_limit = 4, min_retransmit_timeout = 1
END
"$RUE" --vectors "$HERE/swift_public.csv" --config "$TMP/own.conf" >/dev/null
tap_is $? 1 "other parameters, other results"

tap_run "benchmark" "$RUE" --bench -j --seconds 0.03 --connections 16,1000 --state 8,256
if command -v gnuplot >/dev/null; then
	"$RUE" --bench --seconds 0.03 --connections 16,64 --plot "$TMP/b.png" >/dev/null 2>&1
	tap_is "$(head -c 4 "$TMP/b.png" | tail -c 3)" PNG "benchmark: a picture"
else
	tap_skip "benchmark: a picture" "gnuplot is not installed"
fi
tap_done
