#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
# The dissector of RIFL frames: on frames made by hand after figures 2 and 3 and table 1, and on what
# falcon-rifl captures.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/dissector/shark.sh
. "$(dirname "$0")/shark.sh"
tap_need tshark

RIFL=$TAP_BUILD/falcon-rifl
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
shark_scripts falcon_rifl.lua

# say FILE ARGUMENT...: what tshark says of it.
say()
{
	shark -r "$TMP/$1.pcap" "${@:2}"
}

# bytes HEX
bytes()
{
	printf '%b' "$(sed 's/../\\x&/g' <<<"$1")"
}

# Lines of hexadecimal digits as a capture of link type USER0.
capture()
{
	bytes d4c3b2a1020004000000000000000000ffff000093000000
	while read -r hex; do
		len=$(printf '%02x%02x0000' $((${#hex} / 2 % 256)) $((${#hex} / 512)))
		bytes "0000000000000000$len$len$hex"
	done
}

# Syncword (2 bits), meta code (2) and payload, or control code (16) and zeros; then the remainder of these by
# x^12 + x^5 + x^3 + x^2 + x + 1, exclusive-or the ID. In front end, lane, S_FrameID and, 80, scrambled.
cat >"$TMP/good.txt" <<'END'
01000005 80040000000000000000000000000a30 0.0 Pause request ID 0
01000005 84000000000000000000000000000f41 0.0 Re-transmit request ID 0
01000005 80004000000000000000000000000298 0.0 Idle ID 0
01000005 5000102030405060708090a0b0c0d0fe 0.0 Data 14 bytes ID 0
01000005 65249464c21000000000000000005ebe 0.0 Data 5 bytes end of packet ID 1
01000005 7ffffffffffffffffffffffffffff3c9 0.0 Data 14 bytes end of packet ID 2
01000005 4000000000000000000000000000023a 0.0 Invalid ID 3
01000005 40000000000000000000000000001212 0.0 Flow control pause ID 4
01000005 40000000000000000000000000002262 0.0 Flow control resume ID 5
01000005 8000400000000000000000000000029e 0.0 Idle ID 6
01010108 6746869727479206c6573732074656e00000000000000000000000000000f1a3 1.1 Data 15 bytes end of packet ID 9
01010085 57368e9269de2f7e195ddba737a10d66 1.0 Data 14 bytes ID 31
01010085 757922c90a022743ed18ad93bc435190 1.0 Data 14 bytes end of packet ID 0
END
# A bit turned over in the payload, then in the syncword; codes that are not in the paper; no frames.
cat >"$TMP/bad.txt" <<'END'
01000005 8000400000000000000000000000029e 0.0 Idle ID 6
01000005 5666f75727465656e20227974657339c 0.0 Data 14 bytes [damaged]
01000005 5666f75727465656e20627974657339d 0.0 Data 14 bytes ID 7
01000005 20000000000000000000000000000b3a 0.0 Out of sync [damaged]
01000005 a0000000000000000000000000000d70 0.0 Reserved ID 9
01000005 6616263000000000000000000000e0ba 0.0 Reserved ID 9
01000005 40000000000000000000000000009364 0.0 Reserved ID 10
01000005 80005000000000000000000000000b3e 0.0 Idle ID 11
01000005 65249464c21000000000000000005ebe 0.0 Data 5 bytes end of packet [damaged]
01000005 7ffffffffffffffffffffffffffff3c9 0.0 Data 14 bytes end of packet ID 2
02000005 00000000000000000000000000000000 Malformed
01000005 0000000000000000000000000000000000 Malformed
01000005 none Malformed
END

# check NAME: the packets of NAME.txt are shown as it says.
check()
{
	awk '{ print $1 ($2 ~ /^[0-9a-f]+$/ ? $2 : "") }' "$TMP/$1.txt" | capture >"$TMP/$1.pcap"
	tap_is "$(say "$1" -T fields -e _ws.col.Info)" "$(cut -d ' ' -f 3- "$TMP/$1.txt")" "$1 frames: $2"
	tap_is "$(complaints)" "" "no complaint"
}

# frames NAME FILTER: the numbers of the frames that match.
frames()
{
	say "$1" -Y "$2" -T fields -e frame.number | tr '\n' ' '
}

check good "kind, length, end of packet, ID"
tap_is "$(say good -Y falcon_rifl.payload -T fields -e falcon_rifl.payload | while read -r hex; do
	bytes "$hex" | tr -c '[:print:]' .; echo; done)" '..............
RIFL!
..............
thirty less ten
scrambled once
and once more.' "user data"
tap_is "$(frames good '_ws.expert || _ws.malformed || _ws.lua.error')" "" "nothing to remark"
tap_is "$(say good -Y 'frame.number <= 6' -T fields -e falcon_rifl.syn -e falcon_rifl.meta \
	-e falcon_rifl.control -e falcon_rifl.format -e falcon_rifl.verification | tr '\t' :)" \
	"2::0x000010::0x0a30
2::0x001000::0x0f41
2::0x000001::0x0298
1:1:::0x00fe
1:2::5:0x0ebe
1:3:::0x03c9" "fields as figures 2 and 3 have them"

check bad "damaged, illegal, reserved"
tap_is "$(frames bad falcon_rifl.damaged)" "2 4 9 " "damaged frames are told, those behind them are not"
tap_is "$(frames bad falcon_rifl.out_of_sync)" "4 " "illegal syncwords"
tap_is "$(frames bad falcon_rifl.reserved)" "5 6 7 8 " "codes without a meaning"
tap_is "$(frames bad falcon_rifl.malformed)" "11 12 13 " "packets that are none"
tap_is "$(frames bad _ws.lua.error)" "" "no exception"

# ---- what falcon-rifl captures ----

tap_run "a link without errors" "$RIFL" --soak 1 --seed 5 --schedule 0 --ber 0 --pcap "$TMP/clean.pcap"
tap_is "$(frames clean '_ws.expert || _ws.lua.error')" "" "no frame of it is damaged"
tap_done
