#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
# Falcon over four hops with a bit error ratio of 1e-7, from NIC to NIC through two leaves and a spine: over
# RIFL nothing is lost, so that Falcon has nothing to send again; over Ethernet each damaged frame is.
. "$(dirname "$0")/../tap.sh"
tap_need python3 cmp

sim=$TAP_BUILD/falcon-sim
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# scenario LINE...: the hops have these lines.
scenario()
{
	cat <<-END
		[run]
		hosts = 2
		leaves = 2
		spines = 1
		heal = 10s
		[link]
		rate = 10gbit
		delay = 500ns
		$(printf '%s\n' "$@")
		[trunk]
		rate = 10gbit
		delay = 500ns
		$(printf '%s\n' "$@")
		[host]
		nic_rate = 9gbit
		[connection]
		size_min = 4096
		size_max = 4096
		transactions = 3000
		back = 1000
		pull = 20%
		ipv6 = yes
		depth = 16
		ack_timeout = 10us
		[connection there]
		from = 0
		to = 1
	END
}

# field NAME EXPRESSION: of the JSON object |j| in $dir/NAME.
field()
{
	python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
		"$dir/$1" "$2"
}

# run NAME LINE...: results in $dir/NAME.
run()
{
	local name=$1

	shift
	scenario "$@" >"$dir/$name.sim"
	tap_run "$name runs" sh -c "timeout 50 '$sim' -j '$dir/$name.sim' >'$dir/$name'"
	tap_is "$(field "$name" "$COMPLETE")" True "$name: everything completes"
	tap_note "$name: $(field "$name" "$DAMAGED") frames damaged, $(field "$name" "$AGAIN") of" \
		"$(field "$name" "$PACKETS") packets sent again," \
		"mean latency $(field "$name" "$LATENCY") us, goodput $(field "$name" "$GOODPUT") Gbit/s"
}

COMPLETE='all(e["completed"] == e["submitted"] and not e["errors"] for e in j["endpoints"])'
PACKETS='sum(e["tx_packets"] for e in j["endpoints"])'
LATENCY='j["endpoints"][0]["mean_latency_ns"] / 1e3'
GOODPUT='j["endpoints"][0]["goodput_bps"] / 1e9'
AGAIN='sum(e["tx_" + k] for e in j["endpoints"]
	for k in ("retx_rto", "retx_early", "retx_own", "retx_rack", "probes"))'
DAMAGED='sum(l["damaged"] for l in j["links"])'
LOST='sum(l["lost"] for l in j["links"])'

run rifl "rifl = 256" "ber = 1e-7"
tap_is "$(field rifl "$DAMAGED > 50 and $LOST == 0")" True "RIFL: damaged frames, and none lost"
tap_is "$(field rifl "$AGAIN")" 0 "RIFL: Falcon sends nothing again"
run ethernet "ber = 1e-7"
tap_is "$(field ethernet "$DAMAGED == $LOST")" True "Ethernet: what is damaged is lost"
tap_is "$(field ethernet "$AGAIN > 0.8 * $LOST > 20")" True "Ethernet: and all but ACKs is sent again"
run clean "rifl = 256"
tap_is "$(field clean "$DAMAGED + $AGAIN")" 0 "RIFL without errors"
tap_is "$(field rifl "0.9 < $GOODPUT / $(field clean "$GOODPUT") < 1")" True "errors cost RIFL a little"
timeout 50 "$sim" -j "$dir/rifl.sim" >"$dir/again"
tap_run "same seed, same results" cmp "$dir/rifl" "$dir/again"

# Many errors, queues that overflow, other faults before and behind, no payload, an end of all faults.
{
	scenario "rifl = 512" "ber = 1e-5" "queue = 20000" "ecn = 5000" "loss = 1%" "duplicate = 1%" \
		"jitter = 2us"
	printf '%s\n' "[run]" "heal = 5ms" "data = no" "checks = no" "[host]" "nic_rate = 20gbit" \
		"[connection more]" "from = 1" "to = 0" "transactions = 300" "back = 100"
} >"$dir/mixed.sim"
timeout 50 "$TAP_BUILD/asan/falcon-sim" -j "$dir/mixed.sim" >"$dir/mixed"
tap_is "$(field mixed "$COMPLETE and $LOST > 10 and sum(l['queue_full'] for l in j['links']) > 10")" True \
	"among other faults, with sanitizers"

# What is on its way at the end is given back.
{
	scenario "rifl = 256" "ber = 1e-6"
	printf '%s\n' "[run]" "limit = 50us"
} >"$dir/short.sim"
rc=0
timeout 50 "$TAP_BUILD/asan/falcon-sim" "$dir/short.sim" >"$dir/short" 2>&1 || rc=$?
tap_is "$rc $(grep -c 'not drained' "$dir/short") $(grep -c Sanitizer "$dir/short")" "1 1 0" \
	"a run that ends early leaves nothing behind"

# refused TEXT LINE...: such hops are refused with this message.
refused()
{
	local rc=0 message

	scenario "${@:2}" >"$dir/bad.sim"
	message=$("$sim" "$dir/bad.sim" 2>&1 >/dev/null) || rc=$?
	tap_is "$rc $(grep -o -m 1 -- "$1" <<<"$message")" "2 $1" "refused: ${*:2}"
}

refused "no such frames" "rifl = 192"
refused "no such frames" "rifl = 128" "delay = 100us"
refused "no such frames" "rifl = 256" "rate = 0"
refused "not a value" "ber = often"
refused "out of range" "ber = 0.1"
tap_done
