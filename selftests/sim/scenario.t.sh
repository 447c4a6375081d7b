#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
# Scenario files: the examples run, the same seed gives the same trace, mistakes are named.
. "$(dirname "$0")/../tap.sh"
tap_need python3 cmp gnuplot

sim=$TAP_BUILD/falcon-sim
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# field FILE EXPRESSION: of the JSON object |j| in FILE.
field()
{
	python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' \
		"$1" "$2"
}

for f in "$TAP_TOP"/tools/sim/scenarios/*.sim; do
	name=$(basename "$f" .sim)
	tap_run "$name runs" sh -c "timeout 60 '$sim' -j --trace '$dir/$name.1' '$f' >'$dir/$name'"
	timeout 60 "$sim" -j --trace "$dir/$name.2" "$f" >"$dir/$name.again"
	tap_run "$name: same seed, same trace" cmp "$dir/$name.1" "$dir/$name.2"
	tap_run "$name: same seed, same results" cmp "$dir/$name" "$dir/$name.again"
	timeout 60 "$sim" -j --seed 99 "$f" >"$dir/$name.other"
	tap_is "$(field "$dir/$name" 'all(e["completed"] == e["submitted"] and not e["errors"]
		for e in j["endpoints"])')" True "$name: everything completes"
done
tap_is "$(field "$dir/loss" 'j["links"][1]["lost"] > 0')" True "loss loses"
tap_is "$(field "$dir/reorder" 'j["links"][1]["reordered"] > 0')" True "reorder reorders"
tap_is "$(field "$dir/incast" 'j["links"][0]["queue_full"] > 0 and j["links"][0]["marked"] > 0')" \
	True "incast overruns its port"
tap_is "$(field "$dir/scripted" 'j["links"][1]["lost"]')" 3 "scripted loses three"
trunk='[l for l in j["links"] if l["to"] == "leaf 1 to spine 0"][0]'
tap_is "$(field "$dir/clos" "0 < ${trunk}['lost'] < 100 and ${trunk}['packets'] < 2000")" True \
	"clos goes round the dead trunk"
tap_is "$(field "$dir/blackout" 'j["links"][1]["lost"] > 100 > j["links"][0]["lost"]')" \
	True "blackout is in one direction"
tap_is "$(field "$dir/rekey" 'j["rekeys"] > 20')" True "rekey replaces keys"
tap_is "$(field "$dir/rekey" 'sum(e[k] for e in j["endpoints"] for k in e if k.startswith("tx_retx"))')" 0 \
	"rekey costs no packet"
tap_is "$(field "$dir/rekey" '[v for h in j["hosts"] for v in h["verdicts"] if v.startswith("drop")]')" "[]" \
	"rekey: nothing is refused"
tap_run "another seed gives another trace" \
	test "$(field "$dir/loss" 'j["trace"]')" != "$(field "$dir/loss.other" 'j["trace"]')"

# What the soak runs can be written down and run again.
"$sim" --show 23 >"$dir/23.sim"
tap_run "a schedule as a scenario" sh -c "'$sim' -j '$dir/23.sim' >'$dir/23'"
"$sim" --show 23 | sed 's/^seed = 23$/seed = 0x17/' >"$dir/hex.sim"
"$sim" -j "$dir/hex.sim" >"$dir/hex"
tap_run "numbers in any base" cmp "$dir/23" "$dir/hex"

for ipv6 in no yes; do
	printf '%s\n' '[run]' 'data = no' 'checks = no' '[connection a]' "ipv6 = $ipv6" >"$dir/bare.sim"
	"$TAP_BUILD/asan/falcon-sim" -j "$dir/bare.sim" >"$dir/bare"
	tap_is "$(field "$dir/bare" 'j["endpoints"][0]["completed"]')" 1000 \
		"packets without payload, with sanitizers, ipv6 = $ipv6"
done

# A family of schedules: every combination, conditions, results as CSV and as a picture.
cat >"$dir/family.sim" <<-'END'
	[sweep]
	loss = 0% 5% 20%
	kind = push pull
	[plot]
	y = goodput_gbps, relative(mean_us)
	title = a test
	[run]
	heal = 10s
	[link 1 if kind=push]
	loss = $loss
	[connection if kind=pull]
	pull = 100%
	[connection one]
	transactions = 200
END
tap_run "a sweep runs" \
	"$sim" --csv "$dir/family.csv" --plot "$dir/family.png" "$dir/family.sim"
tap_run "the same sweep gives the same results" \
	sh -c "'$sim' --csv - '$dir/family.sim' | cmp - '$dir/family.csv'"
# Whether the JSON says what the CSV file does.
same_as_csv()
{
	"$sim" -j "$dir/family.sim" | python3 -c 'import csv, json, sys
table, rows = list(csv.DictReader(open(sys.argv[1]))), json.load(sys.stdin)
assert len(rows) == len(table) == 6, rows
for row, line in zip(rows, table):
	assert list(row) == list(line), row
	for k, v in row.items():
		want = line[k]
		assert v == want if isinstance(v, str) else abs(v - float(want)) <= 2e-5 * abs(v), k
' "$dir/family.csv"
}
tap_run "as JSON it says the same" same_as_csv
# column NAME KIND: of the CSV file, the values of KIND's rows.
column()
{
	python3 -c 'import csv, sys
print(*(r[sys.argv[2]] for r in csv.DictReader(open(sys.argv[1])) if r["kind"] == sys.argv[3]))' \
		"$dir/family.csv" "$1" "$2"
}
tap_is "$(column loss push)" "0% 5% 20%" "a sweep has all combinations"
tap_is "$(column lost pull)" "0 0 0" "a section counts only with its condition"
tap_is "$(column messages push)" "200 200 200" "everything completes at any loss"
tap_run "loss rises along the sweep" sh -c "set -- $(column lost push); [ \$1 -lt \$2 ] && [ \$2 -lt \$3 ]"
tap_is "$(head -c 4 "$dir/family.png" | tail -c 3)" PNG "a sweep becomes a picture"
tap_is "$("$sim" --only 4 --csv - "$dir/family.sim" | tail -n 1 | cut -d, -f 1-2)" "5%,pull" \
	"one schedule of a sweep"
tap_run "the figures can be read" "$sim" --check "$TAP_TOP"/tools/sim/figures/*.sim

# refused NAME TEXT LINE...: a scenario of these lines is refused, and the message has TEXT.
refused()
{
	local name=$1 text=$2 rc=0 message

	shift 2
	printf '%s\n' "$@" >"$dir/bad.sim"
	message=$("$sim" "$dir/bad.sim" 2>&1 >/dev/null) || rc=$?
	if [ "$rc" -eq 2 ] && grep -q -- "$text" <<<"$message"; then
		tap_ok "$name"
	else
		tap_not_ok "$name" "exit status $rc: $message"
	fi
}

refused "unknown key" "unknown key" '[link]' 'lag = 5us'
refused "unknown section" "no such section" '[cable]' 'delay = 5us'
refused "time without unit" "not a value" '[link]' 'delay = 5'
refused "rate for a time" "not a value" '[link]' 'delay = 5gbit'
refused "more than always" "out of range" '[link]' 'loss = 101%'
refused "no connection" "no connection" '[run]' 'hosts = 2'
refused "host that is not" "bad hosts" '[connection a]' 'to = 7'
refused "connection to itself" "bad hosts" '[connection a]' 'to = 0'
refused "unknown condition" "no such section" '[link if kind=push]' 'delay = 5us'
refused "unknown list" "no such list" '[link]' 'loss = $loss'
refused "an empty list" "not a list" '[sweep]' 'loss ='
refused "spine that is not" "no such section" '[run]' 'leaves = 2' 'spines = 2' '[trunk 1-2]' 'ecn = 1'
refused "hosts that do not divide" "divide evenly" '[run]' 'hosts = 3' 'leaves = 2' 'spines = 2' \
	'[connection a]' 'to = 1'
refused "sealed, without bytes" "without data" '[run]' 'data = no' '[connection a]' 'encap = esp'
refused "line number" "line 3" '[run]' 'hosts = 2' 'hosts = many'
tap_is "$("$sim" "$dir/none.sim" >/dev/null 2>&1; echo $?)" 2 "no such file"
tap_is "$("$sim" >/dev/null 2>&1; echo $?)" 2 "no scenario"
tap_is "$("$sim" --soak x >/dev/null 2>&1; echo $?)" 2 "soak of what"

# A limit that cannot be kept is a violation, with its seed.
{
	cat "$TAP_TOP/tools/sim/scenarios/loss.sim"
	printf '[run]\nlimit = 10us\n'
} >"$dir/late.sim"
rc=0
"$sim" --seed 7 "$dir/late.sim" >/dev/null 2>"$dir/why" || rc=$?
tap_is "$rc" 1 "a violation is exit status 1"
tap_run "a violation names seed, time and connection" \
	grep -qE '^violation: seed 7, at 0\.0000[0-9]* s, connection [01], side 0: not drained' "$dir/why"
tap_done
