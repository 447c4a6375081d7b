#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
# Connections under Swift share a link evenly, with one flow each or with four, and whoever came first.
# Windows that stay as they are do not: it is Swift that sees to it.
. "$(dirname "$0")/../tap.sh"
tap_need python3

sim=$TAP_BUILD/falcon-sim
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/fair.sim" <<-'END'
	[sweep]
	kind = plain flows late fixed
	[run]
	hosts = 9
	warmup = 10ms
	stop = 30ms
	limit = 1s
	data = no
	checks = no
	[link]
	rate = 25gbit
	delay = 2us
	queue = 500000
	[host]
	nic_rate = 25gbit
	[connection]
	to = 8
	message = 65536
	transactions = 100000
	depth = 4
	from_hosts = 4
	count = 4
	start_spread = 100us
	[connection if kind=plain|flows|late]
	cc = swift
	[connection if kind=flows]
	flows = 4
	[connection early]
	from = 0
	[connection if kind=late]
	start = 5ms
	[connection if kind=fixed]
	fcwnd = 16
	[connection later]
	from = 4
END

# results: of each kind, goodput of all, least fairness index within a section, share of the first section.
results()
{
	python3 -c 'import csv, sys
kinds = {}
for row in csv.DictReader(open(sys.argv[1])):
    kinds.setdefault(row["kind"], []).append(row)
for kind, rows in kinds.items():
    goodput = [float(r["goodput_gbps"]) for r in rows]
    print(kind, "%.1f" % sum(goodput), min(float(r["jain"]) for r in rows), goodput[0] / sum(goodput))' "$1"
}

tap_run "it runs" "$sim" --csv "$dir/fair.csv" "$dir/fair.sim"
while read -r kind goodput jain share; do
	tap_note "$kind: $goodput Gbit/s, fairness index $jain, share of the first half $share"
	if [ "$kind" = fixed ]; then
		tap_run "$kind: the larger windows take more" awk "BEGIN { exit !($share > 0.6) }"
		continue
	fi
	tap_run "$kind: the link is used" awk "BEGIN { exit !($goodput > 22) }"
	tap_run "$kind: the four of each half are alike" awk "BEGIN { exit !($jain > 0.95) }"
	tap_run "$kind: so are the halves" awk "BEGIN { exit !($share > 0.45 && $share < 0.55) }"
done < <(results "$dir/fair.csv")
tap_done
