#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# falcon-psp on packets and keys of another implementation, and on damaged copies of them. The build
# with sanitizers, so that malformed input finds what it can.
. "$(dirname "$0")/../tap.sh"

here=$TAP_TOP/selftests/vectors
psp=$TAP_BUILD/asan/falcon-psp
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# expect STATUS LAST_LINE NAME COMMAND...: both as said; an empty line stands for no output.
expect()
{
	local status=$1 line=$2 name=$3 out rc=0

	shift 3
	out=$(timeout 60 "$@" 2>"$dir/err") || rc=$?
	tap_is "$rc: $(tail -n 1 <<<"$out")" "$status: $line" "$name"
	[ "$rc" -eq "$status" ] || tap_note "$(cat "$dir/err")"
}

# complains TEXT NAME: the last command said so.
complains()
{
	tap_is "$(grep -cF -- "$1" "$dir/err")" 1 "$2"
}

# damaged CASE: a fresh copy of a case in $dir/case.
damaged()
{
	rm -rf "$dir/case"
	cp -r "$here/psp/$1" "$dir/case"
	chmod -R u+w "$dir/case"
}

# flip FILE OFFSET [MASK]: change bits of one byte; a negative offset counts from the end.
flip()
{
	python3 - "$@" <<-'END'
	import sys
	data = bytearray(open(sys.argv[1], "rb").read())
	data[int(sys.argv[2])] ^= int(sys.argv[3], 0) if len(sys.argv) > 3 else 1
	open(sys.argv[1], "wb").write(data)
	END
}

known_answers()
{
	local case

	expect 0 "25 packets, 0 mismatches" "every packet, bit for bit" "$psp" --vectors "$here/psp"
	for case in "$here"/psp/*/; do
		expect 0 "$(grep -o '"cleartext_packets": [0-9]*' "$case/case.json" |
			grep -o '[0-9]*') packets, 0 mismatches" "$(basename "$case") alone" \
			"$psp" --vectors "$case"
	done
	expect 0 "64 keys, 0 mismatches" "every derived key" "$psp" --kdf "$here/psp_kdf.csv"
	expect 0 '{"cases": 6, "packets": 25, "mismatches": 0}' "the same as JSON" \
		"$psp" -j --vectors "$here/psp"
}

# What differs is found, both ways.
differences()
{
	damaged p4_v4_tunnel_256_off6_novc_mixed
	flip "$dir/case/encrypted.pcap" -1
	expect 1 "10 packets, 1 mismatches" "a flipped bit of an ICV" "$psp" --vectors "$dir/case"
	complains "encrypted.pcap: packet 10: ICV mismatch" "it names packet and reason"
	damaged p1_v4_transport_128_off0_novc_full
	flip "$dir/case/cleartext.pcap" -1
	expect 1 "3 packets, 1 mismatches" "a flipped bit of a clear packet" "$psp" --vectors "$dir/case"
	damaged p1_v4_transport_128_off0_novc_full
	flip "$dir/case/decrypt.cfg" 0 1
	expect 1 "3 packets, 3 mismatches" "another master key" "$psp" --vectors "$dir/case"
	damaged p6_v4_transport_256_off1_vc_full_err
	# Byte 2 of the last packet's PSP header: byte 14 + 20 + 8 + 2 of a frame of 1482.
	flip "$dir/case/encrypted.pcap" -1438 0x80
	expect 1 "3 packets, 1 mismatches" "a forced error taken back" "$psp" --vectors "$dir/case"
	complains "opened, in spite of the forced error" "and that is said"
	damaged p3_v6_transport_256_off2_novc_empty
	flip "$dir/case/encrypted.pcap" -1
	expect 1 "3 packets, 1 mismatches" "the ICV of an empty ciphertext counts" \
		"$psp" --vectors "$dir/case"
	damaged p3_v6_transport_256_off2_novc_empty
	sed -i 's/"skipped_packets": 0/"skipped_packets": 1/' "$dir/case/case.json"
	expect 1 "3 packets, 1 mismatches" "a wrong count in case.json" "$psp" --vectors "$dir/case"
	damaged p3_v6_transport_256_off2_novc_empty
	cp "$here/psp/p5_v6_tunnel_256_off13_vc_full/case.json" "$dir/case"
	expect 1 "3 packets, 1 mismatches" "a wrong derived key" "$psp" --vectors "$dir/case"
}

# Offsets that the packets are too short for: all are left out.
too_short()
{
	damaged p3_v6_transport_256_off2_novc_empty
	sed -i '6,8s/.*/3/' "$dir/case/encrypt.cfg"
	head -c 24 "$dir/case/cleartext.pcap" >"$dir/case/encrypted.pcap"
	sed -i 's/"skipped_packets": 0/"skipped_packets": 3/
		s/"encrypted_packets": 3/"encrypted_packets": 0/' "$dir/case/case.json"
	expect 0 "3 packets, 0 mismatches" "packets shorter than the crypt offset are left out" \
		"$psp" --vectors "$dir/case"
}

malformed()
{
	local base=p3_v6_transport_256_off2_novc_empty

	damaged $base
	head -c -5 "$dir/case/encrypted.pcap" >"$dir/cut" && mv "$dir/cut" "$dir/case/encrypted.pcap"
	expect 1 "0 packets, 1 mismatches" "a capture cut short" "$psp" --vectors "$dir/case"
	complains "encrypted.pcap: packet 3" "it names the packet"
	damaged $base
	sed -i '6s/.*/64/' "$dir/case/encrypt.cfg"
	expect 1 "0 packets, 1 mismatches" "a crypt offset of 64" "$psp" --vectors "$dir/case"
	complains "encrypt.cfg: line 6" "it names the line"
	damaged $base
	echo zz >>"$dir/case/decrypt.cfg"
	expect 1 "0 packets, 1 mismatches" "more than two keys" "$psp" --vectors "$dir/case"
	complains "decrypt.cfg: line 3" "it names the line"
	damaged $base
	echo '{' >"$dir/case/case.json"
	expect 1 "0 packets, 1 mismatches" "half a case.json" "$psp" --vectors "$dir/case"
	damaged $base
	rm "$dir/case/cleartext.pcap"
	expect 1 "0 packets, 1 mismatches" "a file that is missing" "$psp" --vectors "$dir/case"
	complains "cleartext.pcap: No such file" "it names the file"
	mkdir "$dir/none"
	expect 2 "" "no case at all" "$psp" --vectors "$dir/none"
	expect 2 "" "no folder" "$psp" --vectors "$dir/nowhere"
}

# Random cases of every kind from a second implementation.
model()
{
	local packets

	mkdir "$dir/model"
	packets=$(python3 "$here/psp_model.py" "$dir/model" 250 "${1:-1}") || packets=none
	expect 0 "$packets packets, 0 mismatches" "250 random cases, seed ${1:-1}" \
		"$psp" --vectors "$dir/model"
	rm -rf "$dir/model"
}

keys()
{
	local csv=$dir/keys.csv

	sed '2s/.$/0/;3s/.$/0/' "$here/psp_kdf.csv" >"$csv"
	expect 1 "64 keys, 2 mismatches" "wrong derived keys" "$psp" --kdf "$csv"
	sed '5s/,[01],\([0-9a-f]*\)$/,x,\1/' "$here/psp_kdf.csv" >"$csv"
	expect 1 "64 keys, 1 mismatches" "a wrong master key selected" "$psp" --kdf "$csv"
	sed '9s/,.*//' "$here/psp_kdf.csv" >"$csv"
	expect 1 "64 keys, 1 mismatches" "a row cut short" "$psp" --kdf "$csv"
	complains "line 9" "it names the line"
	sed '1s/spi/api/' "$here/psp_kdf.csv" >"$csv"
	expect 2 "0 keys, 1 mismatches" "a column missing" "$psp" --kdf "$csv"
	sed 's/$/\r/' "$here/psp_kdf.csv" >"$csv"
	expect 0 "64 keys, 0 mismatches" "DOS line ends" "$psp" --kdf "$csv"
	expect 2 "" "no file" "$psp" --kdf "$dir/nowhere.csv"
}

command_line()
{
	expect 2 "" "no mode" "$psp"
	expect 2 "" "two modes" "$psp" --bench --kdf x
	expect 0 12 "the benchmark, briefly" bash -c "'$psp' -j --bench --seconds 0 | jq length"
}

tap_need python3 jq timeout
known_answers
differences
too_short
malformed
model 1
model 2
keys
command_line
tap_done
