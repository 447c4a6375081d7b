#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# Metrics of a running agent: another host gets them over HTTP, and they are what falconctl shows.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq python3

RUN=/run/falcon-$FALCON_LAB
OPEN='application/openmetrics-text; version=1.0.0'
CHECK=$TAP_TOP/selftests/unit/metrics_check.py

# scrape ACCEPT: what b answers to a, in $SCRATCH/text; the header Content-Type on standard output.
scrape()
{
	on a python3 - "$1" "$SCRATCH/text" <<-'END'
		import sys, urllib.request
		url = 'http://10.250.0.2:9464/metrics'
		request = urllib.request.Request(url, headers={'Accept': sys.argv[1]})
		with urllib.request.urlopen(request, timeout=20) as answer, open(sys.argv[2], 'wb') as text:
		    print(answer.headers['Content-Type'])
		    text.write(answer.read())
	END
}

# value SAMPLE: the sum over all samples of $SCRATCH/text that begin so.
value()
{
	awk -v name="$1" 'index($0, name) == 1 { sum += $NF } END { printf "%d\n", sum }' "$SCRATCH/text"
}

# Counters grow while they are looked at: each metric lies between what falconctl shows before and after.
between_counters()
{
	python3 - "$SCRATCH/before" "$SCRATCH/text" "$SCRATCH/after" <<-'END'
		import json, re, sys
		metrics = {}
		for line in open(sys.argv[2]):
		    m = re.match(r'falcon_packets_total\{by="(xdp|agent)",verdict="(\w+)"\} (\d+)$', line)
		    m = m or re.match(r'falcon_(xdp)_(\w+)_total (\d+)$', line)
		    if m:
		        metrics[m[1], m[2]] = int(m[3])
		before, after = (json.load(open(sys.argv[i])) for i in (1, 3))
		compared = 0
		for b, a in zip(before, after):
		    for side in ('xdp', 'agent'):
		        name = b['name']
		        if (side, name) not in metrics:
		            name = name.removeprefix('xdp_')
		        if (side, name) in metrics:
		            compared += 1
		            if not b[side] <= metrics[side, name] <= a[side]:
		                sys.exit(f'{side} {name}: {b[side]}, {metrics[side, name]}, {a[side]}')
		if compared != len(metrics) or compared < 90:
		    sys.exit(f'{compared} compared, of {len(metrics)}')
	END
}

counters()
{
	on b falconctl -j counters show all >"$SCRATCH/$1"
}

has_conns()
{
	scrape '*/*' >/dev/null &&
		grep -q '^falcon_connection_up{connection="a",peer="10.250.0.1"} 1$' "$SCRATCH/text"
}

said()
{
	grep -q "$1" "$RUN/b/falcond.log"
}

lab_up --clear --set metrics=0.0.0.0:9464
random_file small 300000
serve b
tap_run "a file arrives" put a b b small

counters before
tap_is "$(scrape "$OPEN" 2>&1)" "$OPEN; charset=utf-8" "another host gets OpenMetrics"
counters after
tap_is "$("$CHECK" openmetrics <"$SCRATCH/text" 2>&1)" "" "and they are right to the letter"
tap_run "counters are those that falconctl shows" between_counters
arrived=$(value 'falcon_packets_total{by="xdp",verdict="rx_data"}')
tap_run "what has arrived is counted" test "$arrived" -gt 100
tap_run "round-trip times are counted" test "$(value 'falcon_rtt_seconds_count')" -gt 0
tap_run "no connection has metrics of its own" test "$(grep -c '^falcon_connection' "$SCRATCH/text")" = 0
tap_is "$(scrape text/plain 2>&1)" "text/plain; version=0.0.4; charset=utf-8" \
	"or the text format of Prometheus"
tap_is "$("$CHECK" prometheus <"$SCRATCH/text" 2>&1)" "" "which is right, too"

# Sums do not get smaller when connections start over.
on b falconctl metrics >"$SCRATCH/text"
before=$(value falcon_transport_rx_packets_total)
tap_run "connections start over" on b falconctl conn reset a
on b falconctl metrics >"$SCRATCH/text"
tap_run "and what they have counted remains" test "$(value falcon_transport_rx_packets_total)" -ge "$before"

on b falconctl metrics --connections >"$SCRATCH/text"
tap_is "$("$CHECK" openmetrics <"$SCRATCH/text" 2>&1)" "" "with connections, from falconctl"
tap_run "each has its own" \
	grep -q '^falcon_connection_setups_total{connection="a6",peer="fd00:250::1"} ' "$SCRATCH/text"

sed -i 's/^metrics = .*/metrics = 0.0.0.0:9465\nmetrics_connections = on/' "$RUN/b/falcond.conf"
kill -HUP "$(<"$RUN/b/falcond.pid")"
tap_wait 20 said 'takes effect when the agent starts again section=agent key=metrics$'
tap_run "another address waits for the next start" said 'starts again section=agent key=metrics$'
tap_wait 20 has_conns
tap_run "connections are added at once" has_conns
tap_done
