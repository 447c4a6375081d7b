#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# Paths between two leaves: unequal ones are used in proportion to what they can carry, a congested one is
# left by Protective Load Balancing, a dead one by Protective ReRoute, whose ACKs follow.
. "$(dirname "$0")/../tap.sh"
tap_need python3

sim=$TAP_BUILD/falcon-sim
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# run NAME <<SCENARIO: results in $dir/NAME.
run()
{
	cat >"$dir/$1.sim"
	tap_run "$1 runs" sh -c "timeout 60 '$sim' -j '$dir/$1.sim' >'$dir/$1'"
}

# results NAME EXPRESSION: j is the JSON object; up(N) the link from leaf 0 to spine N.
results()
{
	python3 - "$dir/$1" "$2" <<-'END'
		import json, sys
		j = json.load(open(sys.argv[1]))
		def up(spine):
		    name = "leaf 0 to spine %d" % spine
		    return [l for l in j["links"] if l["to"] == name][0]
		print(eval(sys.argv[2]))
	END
}

# fabric SPINES: two leaves with a host each, and as fast a fabric as nobody has to wait for.
fabric()
{
	cat <<-END
		[run]
		hosts = 2
		leaves = 2
		spines = $1
		[link]
		rate = 40gbit
		delay = 1us
		queue = 4000000
		[trunk]
		rate = 40gbit
		delay = 1us
		queue = 4000000
		[host]
		nic_rate = 40gbit
		nic_clock = yes
	END
}

# connection KEY=VALUE...
connection()
{
	printf '%s\n' "[connection c]" "from = 0" "to = 1" "ipv6 = yes" "message = 65536" \
		"ack_count = 4" "ack_timeout = 5us" "$@"
}

# 15 Gbit/s in all; each path carries its share, or the fast ones would wait for the slow. The flows stay on
# the paths that they draw: Protective ReRoute may take the slowest for dead while the windows are too large.
run unequal <<-END
	$(fabric 4)
	[run]
	seed = 5
	[trunk 0-0]
	rate = 8gbit
	[trunk 0-1]
	rate = 4gbit
	[trunk 0-2]
	rate = 2gbit
	[trunk 0-3]
	rate = 1gbit
	[run]
	warmup = 20ms
	stop = 60ms
	$(connection "cc = swift" "flows = 16" "transactions = 1000000" "depth = 16" \
		"prr_threshold = 0")
END
tap_note "goodput, Gbit/s: $(results unequal 'j["endpoints"][0]["goodput_bps"] / 1e9')"
for spine in 0 1 2 3; do
	tap_is "$(results unequal "0.8 < up($spine)['bytes'] * 8 / 60e3 / (8000 >> $spine) <= 1")" True \
		"unequal: path $spine carries what it can"
done
tap_is "$(results unequal 'j["endpoints"][0]["goodput_bps"] > 0.8 * 15e9')" True \
	"unequal: and all together"

# Connections of one flow each, four paths, one of which does not carry what falls to it.
congested()
{
	run "$1" <<-END
		$(fabric 4)
		[trunk 0-0]
		rate = 1gbit
		[run]
		stop = 100ms
		[swift]
		fabric_base_delay = 500
		randomize_path = $2
		$(connection "cc = swift" "count = 16" "transactions = 1000000" "load = 800mbit")
	END
	tap_note "$1: Mbit/s on the slow path: $(results "$1" 'up(0)["bytes"] * 8 / 100e3')," \
		"mean latency of the slowest connection, us: $(results "$1" "$SLOWEST / 1e3")"
}

SLOWEST='max(e["mean_latency_ns"] for e in j["endpoints"])'
congested stay off
congested leave on
tap_is "$(results stay 'up(0)["bytes"] * 8 / 100e3 > 800')" True \
	"without PLB the slow path stays full"
tap_is "$(results leave 'up(0)["bytes"] * 8 / 100e3 < 200')" True "PLB leaves the congested path"
tap_is "$(results leave "$SLOWEST < 0.25 * $(results stay "$SLOWEST")")" True \
	"and nobody waits for it any more"

# A path dies in mid-transfer, for good, and no switch notices.
dying()
{
	run "$1" <<-END
		$(fabric 4)
		[trunk 0-0]
		blackout_at = 200us
		blackout_for = 20s
		[run]
		heal = 10s
		$(connection "prr_threshold = $2" "rto = 200us" "transactions = 200" "depth = 4" \
			"count = 16" "cc = swift")
	END
}

dying reroute 2
tap_is "$(results reroute 'up(0)["lost"] > 0')" True "packets were lost with the path"
tap_is "$(results reroute 'all(e["submitted"] == e["completed"] and not e["errors"]
	for e in j["endpoints"])')" True "Protective ReRoute: everything completes"
tap_is "$(results reroute 'up(0)["lost"] < 2000')" True "and the dead path is left"
tap_done
