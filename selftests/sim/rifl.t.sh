#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
# falcon-rifl: a short soak, files to frames and back, tables and figures beside the paper's numbers.
. "$(dirname "$0")/../tap.sh"

RIFL=$TAP_BUILD/falcon-rifl
ASAN=$TAP_BUILD/asan/falcon-rifl
[ -x "$RIFL" ] && [ -x "$ASAN" ] || tap_skip_all "falcon-rifl is not built"
tap_need awk cmp

D=$(mktemp -d)
trap 'rm -rf "$D"' EXIT

# ---- soak ----

tap_run "nothing is lost, repeated or altered" "$RIFL" --soak 2000000 --seed 11
tap_run "nor with sanitizers" "$ASAN" --soak 100000 --seed 12
"$RIFL" --soak 200000 --seed 13 >"$D/once"
"$RIFL" --soak 200000 --seed 13 >"$D/again"
tap_is "$(cat "$D/again")" "$(cat "$D/once")" "a seed repeats itself"
tap_is "$(tail -n 1 "$D/once" | sed 's/[0-9][0-9]*/N/; s/ 0 / none /')" "N frames, none violations" \
	"its last line"
# ---- encode, decode ----

for bits in 128 256 512 1024 2048; do
	bytes=$((bits / 8 - 2))
	for size in 0 1 $((bytes - 1)) $bytes $((3 * bytes)) $((70 * bytes + 5)); do
		head -c "$size" "$RIFL" >"$D/in"
		"$ASAN" encode --bits $bits --id-bits 6 "$D/in" "$D/frames" &&
			"$ASAN" decode --bits $bits --id-bits 6 - - <"$D/frames" >"$D/out" &&
			cmp "$D/in" "$D/out" || echo "$bits bits, $size bytes"
	done
done >"$D/wrong" 2>&1
tap_is "$(cat "$D/wrong")" "" "files come back as they were"

head -c 3000 "$RIFL" >"$D/in"
"$ASAN" encode "$D/in" "$D/frames"
tap_is "$(stat -c %s "$D/frames")" 3200 "30 bytes of 32 are user data"
printf '\377' | dd of="$D/frames" bs=1 seek=330 conv=notrunc status=none
"$ASAN" decode "$D/frames" "$D/out" 2>"$D/err"
tap_is "$? $(sed 's/.*: frame/frame/' "$D/err")" "1 frame 10: wrong verification code" \
	"a damaged frame is named"
"$ASAN" decode "$D/none" "$D/out" 2>/dev/null
tap_is $? 2 "a file that is not there"
"$ASAN" encode --bits 192 "$D/in" "$D/out" 2>/dev/null
tap_is $? 2 "a size that the paper does not have"

# ---- the paper ----

# at FILE KEY COLUMN: of a row by its first column.
at()
{
	awk -F , -v k="$2" -v c="$3" '$1 == k { print $c }' "$1"
}

# between VALUE LOW HIGH NAME
between()
{
	tap_run "$4: $1" awk -v v="$1" -v l="$2" -v h="$3" 'BEGIN { exit !(v >= l && v <= h) }'
}

"$RIFL" --table 2 >"$D/t2"
tap_is "$(cut -d , -f 1-3 "$D/t2" | tail -n +2 | paste -sd ' ')" \
	"128,9,8 256,8,9 512,7,10 1024,6,11 2048,5,12" "table 2: IDs and checksums"
"$RIFL" --table 3 >"$D/t3"
tap_is "$(awk -F , 'NR > 1 && $4 { print ($2 == $4) }' "$D/t3" | sort | uniq -c | tr -s ' ')" " 4 1" \
	"table 3: the paper's 12 bits"
"$RIFL" --table 5 >"$D/t5"
tap_is "$(at "$D/t5" 1e-07 3)" "$(at "$D/t5" 1e-07 4)" "table 5: the paper's years at 1e-7"
"$RIFL" --figure 8 >"$D/f8"
tap_is "$(at "$D/f8" 1200 2) $(at "$D/f8" 1488 4)" "0.9375 0.9688" "figure 8: whole flits as in table 3"
"$RIFL" --figure 9 --slots 30000 >"$D/f9"
between "$(at "$D/f9" 1.00e-07 2)" 0.955 0.970 "figure 9: bandwidth at 1e-7, 0.963 in the paper"
between "$(at "$D/f9" 1.00e-06 3)" 0.65 0.78 "at 1e-6 in the model, where the formula has 0.716"
between "$(at "$D/f9" 5.62e-10 2)" 0.9996 0.9999 "begins to fall at 5.6e-10"
between "$(at "$D/f9" 1.00e-12 4)" 100 115 "latency without errors, 107 ns in the paper"

if command -v gnuplot >/dev/null; then
	for k in "table 2" "table 3" "table 5" "figure 8" "figure 9 --slots 100"; do
		# shellcheck disable=SC2086 # words
		"$ASAN" --$k --plot "$D/picture" >"$D/csv" && head -c 4 "$D/picture" | tail -c 3 && echo
		rm -f "$D/picture"
	done >"$D/kinds" 2>&1
	tap_is "$(uniq -c "$D/kinds" | tr -s ' ')" " 5 PNG" "each table and figure has a picture"
else
	tap_skip "pictures" "gnuplot is not installed"
fi
"$RIFL" --table 2 --plot "$D/it's" >/dev/null 2>&1
tap_is $? 2 "a name that gnuplot cannot be told"
tap_done
