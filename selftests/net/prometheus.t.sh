#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Prometheus itself, with the configuration that tools/metrics/README.md shows: it takes two agents' metrics,
# answers what the dashboard asks, and an alert comes when an agent goes.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq python3
# Not among what "make deps" installs: Debian's package starts a server on the machine.
for program in prometheus promtool; do
	[ -n "$(command -v $program)" ] || tap_skip_all "$program is not installed"
done

METRICS=$TAP_TOP/tools/metrics

# configuration: the one of the README, for the lab's hosts, and quick.
configuration()
{
	printf 'global:\n  scrape_interval: 1s\n  evaluation_interval: 1s\n'
	sed -n 's/^    //; /^scrape_configs:/,/^$/p' "$METRICS/README.md" |
		sed "s|192\.0\.2\.|10.250.0.|g; s|alerts.yml|$METRICS/alerts.yml|"
}

# query EXPRESSION: the results, a JSON array; fails if Prometheus does not understand it.
query()
{
	on a python3 - "$1" <<-'END' | jq -e .data.result
		import sys, urllib.parse, urllib.request
		q = urllib.parse.urlencode({'query': sys.argv[1]})
		with urllib.request.urlopen('http://127.0.0.1:9090/api/v1/query?' + q, timeout=20) as answer:
		    print(answer.read().decode())
	END
}

# The agent's metrics as Prometheus' own text format.
text_format()
{
	on a python3 - <<-'END'
		import urllib.request
		url = 'http://10.250.0.1:9464/metrics'
		request = urllib.request.Request(url, headers={'Accept': 'text/plain'})
		with urllib.request.urlopen(request, timeout=20) as answer:
		    print(answer.read().decode(), end='')
	END
}

# holds EXPRESSION: it has results.
holds()
{
	query "$1" | jq -e 'length > 0'
}

# asked FILE: expressions of the dashboard, with its variables filled in.
asked()
{
	jq -r '.panels[].targets[]?.expr' "$METRICS/dashboard.json" |
		sed 's/\$instance/.*/g; s/\$__rate_interval/10s/g'
}

# The expressions that Prometheus refuses.
refused()
{
	local expr

	while read -r expr; do
		query "$expr" >/dev/null 2>&1 || echo "$expr"
	done < <(asked)
}

# Agents' own counter and Prometheus' copy of it.
same_value()
{
	local mine theirs

	mine=$(on a falconctl metrics |
		awk '/^falcon_transport_push_submitted_total/ { n += $NF } END { print n }')
	theirs=$(query 'sum(falcon_transport_push_submitted_total{instance="10.250.0.1:9464"})' |
		jq -r '.[0].value[1]')
	[ "$mine" -gt 0 ] && [ "$mine" = "$theirs" ]
}

lab_up --clear --set metrics=0.0.0.0:9464
tap_run "the rules" promtool check rules "$METRICS/alerts.yml"
configuration >"$SCRATCH/prometheus.yml"
tap_run "the configuration" promtool check config "$SCRATCH/prometheus.yml"
tap_is "$(text_format | promtool check metrics 2>&1)" "" "the metrics have names and help as they should"
behind a prometheus --config.file "$SCRATCH/prometheus.yml" --storage.tsdb.path "$SCRATCH/data" \
	--web.listen-address 127.0.0.1:9090 --log.level warn 2>"$SCRATCH/prometheus.log"
server=$!
tap_run "both agents are up" tap_wait 30 holds 'count(up{job="falcon"} == 1) == 2'
random_file small 300000
serve b
tap_run "a file arrives" put a b b small
tap_run "Prometheus has what the agent has counted" tap_wait 20 same_value
# Over minutes: where the machine is held up, or its clock is set, all of ten seconds may be over.
tap_run "rates grow" tap_wait 20 holds 'sum by (instance) (rate(falcon_transport_rx_packets_total[5m])) > 0'
tap_run "and round-trip times" tap_wait 20 holds \
	'histogram_quantile(0.5, sum by (le) (rate(falcon_rtt_seconds_bucket[5m]))) > 0'
tap_is "$(refused)" "" "it understands all $(asked | wc -l) questions of the dashboard"
tap_run "no alert" eval '! holds "ALERTS"'
falcon-lab agent b stop
tap_run "an alert when an agent is gone" \
	tap_wait 30 holds 'ALERTS{alertname="FalconAgentAbsent",instance="10.250.0.2:9464"}'
kill $server
wait $server
tap_done
