#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# The dissector against captures with one packet of every kind, well-formed and broken.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/dissector/shark.sh
. "$(dirname "$0")/shark.sh"
tap_need tshark editcap jq

MAKE=$TAP_BUILD/selftests/dissector/make_pcap
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
shark_scripts falcon.lua falcon_rdma.lua falcon_nvme.lua
SHARK+=(-o udp.check_checksum:TRUE)

# frames FILE FILTER: the numbers of the frames that match.
frames()
{
	shark -r "$TMP/$1.pcap" -Y "$2" -T fields -e frame.number | tr '\n' ' '
}

# Fields of the good capture. For each: all expected values, frame by frame.
check_fields()
{
	local field fields=() args=()

	mapfile -t fields < <(cut -d ' ' -f 2 "$TMP/good.txt" | sort -u)
	for field in "${fields[@]}"; do
		args+=(-e "$field")
	done
	shark -r "$TMP/good.pcap" -T fields -E separator=/t -e frame.number "${args[@]}" >"$TMP/got"
	tap_is "$(complaints)" "" "tshark does not complain"
	for field in "${fields[@]}"; do
		check_field "$field"
	done
}

# Columns of $TMP/got are the frame and the sorted fields.
check_field()
{
	local frame want got bad='' n=0

	while read -r frame want got; do
		n=$((n + 1))
		case $want in
		0x*) [ -n "$got" ] && [ "$((got))" = "$((want))" ] ;;
		*) [ "$got" = "$want" ] ;;
		esac || bad+="frame $frame: ${got:-nothing}, want $want"$'\n'
	done < <(awk -F '\t' -v field="$1" '
		NR == FNR { split($0, e, " "); if (!seen[e[2]]++) names++
			    if (e[2] == field) want[e[1]] = e[3]; next }
		FNR == 1 { col = column }
		($1 in want) { print $1, want[$1], $col }' \
		"$TMP/good.txt" column="$(column_of "$1")" "$TMP/got")
	if [ -z "$bad" ] && [ "$n" -gt 0 ]; then
		tap_ok "$1: $n values"
	else
		tap_not_ok "$1" "${bad:-no values}"
	fi
}

column_of()
{
	echo $((1 + $(cut -d ' ' -f 2 "$TMP/good.txt" | sort -u | grep -nx "$1" | cut -d : -f 1)))
}

# Every expert item that the broken capture must show, and no Lua error behind any of them.
check_bad()
{
	local expert want

	while read -r expert; do
		want=$(awk -v e="$expert" '$2 == e && $3 == "expert" { print $1 }' "$TMP/bad.txt" |
			tr '\n' ' ')
		tap_is "$(comm -23 <(tr ' ' '\n' <<<"$want" | sort) \
			<(frames bad "$expert" | tr ' ' '\n' | sort) | tr -d '\n')" "" \
			"$expert marks $(wc -w <<<"$want") broken packets"
	done < <(awk '$3 == "expert" { print $2 }' "$TMP/bad.txt" | sort -u)
	shark -r "$TMP/bad.pcap" -V >"$TMP/text"
	tap_is "$(grep -ciE 'lua error|exception' "$TMP/text")" 0 "no exception on broken packets"
}

# Random bytes from the UDP payload on: what is shown may be nonsense, but the script must not fail.
check_mutated()
{
	local seed found=''

	for seed in 1 2 3 4 5 6 7 8; do
		editcap -o 42 -E "0.0$seed" --seed "$seed" "$TMP/good.pcap" "$TMP/mutated.pcap" \
			2>/dev/null
		shark -r "$TMP/mutated.pcap" -V >"$TMP/text"
		found+=$(grep -iE 'lua error|Malformed Packet: falcon' "$TMP/text" | head -n 3)
	done
	tap_is "$found" "" "no exception on $((seed * $(wc -l <"$TMP/got"))) mutated packets"
}

check_info()
{
	local want

	want="Pull Request CID 0xabcde0 PSN 16909060 RSN 84281096 Request Length 1000 GET service 7"
	tap_is "$(shark -r "$TMP/good.pcap" -Y 'frame.number == 1' -T fields -e _ws.col.Info)" \
		"$want" "information column of a pull request"
	want="EACK CID 0x12345a Data 4294967294 Request 5 Rx 4294967295-1 6-13 22-30 63 124-125"
	tap_is "$(shark -r "$TMP/good.pcap" -Y 'frame.number == 11' -T fields -e _ws.col.Info)" \
		"$want OWN data" "information column of an EACK whose window wraps"
	tap_is "$(shark -r "$TMP/good.pcap" -T fields -e _ws.col.Protocol | sort -u)" "Falcon" \
		"every packet is labelled Falcon"
}

"$MAKE" good "$TMP/good.pcap" >"$TMP/good.txt"
"$MAKE" bad "$TMP/bad.pcap" >"$TMP/bad.txt"
check_fields
tap_is "$(frames good '!falcon')" "" "every packet reaches the Falcon dissector"
tap_is "$(frames good '_ws.malformed || falcon_rdma.reserved_set || (_ws.expert && !falcon_rdma.in_error)')" \
	"" "nothing to remark on good packets"
tap_is "$(frames good 'falcon_rdma.in_error' | wc -w)" 1 "one good packet says that a READ has failed"
tap_is "$(frames good 'udp.checksum.status != "Good"')" "" "the captures' checksums are right"
shark -r "$TMP/good.pcap" -T json >"$TMP/json"
tap_run "JSON output parses" jq -e 'length > 100' "$TMP/json"
check_info
check_bad
check_mutated
tap_done
