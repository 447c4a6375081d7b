#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
# The dissector on ESP: the header as Falcon uses it, and, with keys given to Wireshark's own
# implementation of ESP, which shares nothing with ours, all of the packet.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/dissector/shark.sh
. "$(dirname "$0")/shark.sh"
tap_need tshark

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
KEYS=(-o esp.enable_encryption_decode:TRUE)
shark_scripts falcon.lua
SHARK+=(-r "$TMP/esp.pcap")

# differences FIELD...: where the fields are not what make_esp says, frame by frame.
differences()
{
	local field

	for field in "$@"; do
		diff <(awk -v f="$field" '$2 == f { print $3 }' "$TMP/want" | values) \
			<(shark "${KEYS[@]}" -T fields -e "$field" | values)
	done
}

# Numbers in any base, in decimal.
values()
{
	while read -r v; do
		echo $((v))
	done
}

"$TAP_BUILD/selftests/dissector/make_esp" "$TMP/esp.pcap" >"$TMP/want"
while read -r _ _ key spi ip; do
	sa="\"$ip\",\"*\",\"*\",\"$spi\",\"AES-GCM with 16 octet ICV [RFC4106]\",\"0x$key\""
	KEYS+=(-o "uat:esp_sa:$sa,\"NULL\",\"\"")
done < <(grep ' key ' "$TMP/want")

tap_is "$(grep -c ' key ' "$TMP/want")" 16 "16 packets, each with its key"
tap_is "$(shark -Y falcon | wc -l)" 0 "without keys there is no Falcon to be seen"
tap_is "$(shark -Y 'esp && falcon_esp' | wc -l)" 16 "but ESP, whose header is shown"
tap_is "$(differences falcon_esp.spi falcon_esp.seq falcon_esp.t1)" "" "SPI, sequence number and T1"
tap_is "$(shark "${KEYS[@]}" -Y falcon | wc -l)" 16 "with keys all of it is Falcon"
tap_is "$(differences falcon.cid falcon.psn falcon.type falcon_raw.dst_service)" "" \
	"connection, PSN, type and service"
tap_is "$(shark "${KEYS[@]}" -Y '_ws.malformed || _ws.lua.error || falcon.malformed' | wc -l)" 0 \
	"nothing is malformed"
tap_done
