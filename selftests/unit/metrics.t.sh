#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Metrics as text: both formats are right to the letter, and have all that the tables of counters describe.
. "$(dirname "$0")/../tap.sh"
tap_need python3

SCRATCH=$(mktemp -d)
trap 'rm -rf "$SCRATCH"' EXIT

CHECK=$TAP_TOP/selftests/unit/metrics_check.py
WRITE=$TAP_BUILD/selftests/unit/metrics_write

# check FORMAT: what is wrong with the metrics on standard input.
check()
{
	"$CHECK" "$1" names "$SCRATCH/names" 2>&1
}

# faulty SCRIPT NAME: OpenMetrics that sed has changed so is refused.
faulty()
{
	sed "$1" "$SCRATCH/text" >"$SCRATCH/changed"
	if cmp -s "$SCRATCH/text" "$SCRATCH/changed" || check openmetrics <"$SCRATCH/changed" >/dev/null; then
		tap_not_ok "refused: $2"
	else
		tap_ok "refused: $2"
	fi
}

"$WRITE" names >"$SCRATCH/names"
tap_is "$(sort "$SCRATCH/names" | uniq -d)" "" "no two counters have the same name"
"$WRITE" openmetrics >"$SCRATCH/text" || tap_not_ok "metrics are written"
tap_is "$(check openmetrics <"$SCRATCH/text")" "" "OpenMetrics"
tap_is "$("$WRITE" prometheus | check prometheus)" "" "the text format of Prometheus"

# absent FILE: metrics that it asks for, and that no agent has.
absent()
{
	comm -23 <(grep -o '\bfalcon_[a-z0-9_]*' "$1" | sort -u) \
		<(sed -n 's/^\(falcon_[a-z0-9_]*\).*/\1/p' "$SCRATCH/text" | sort -u)
}

for file in dashboard.json alerts.yml; do
	tap_is "$(absent "$TAP_TOP/tools/metrics/$file")" "" "$file asks for metrics that there are"
done
tap_run "dashboard.json is JSON" python3 -m json.tool "$TAP_TOP/tools/metrics/dashboard.json"

# The check itself.
faulty '/^# EOF/d' "no end"
faulty '/falcon_queue_rx_frames/d' "a counter that is missing"
faulty 's/^falcon_queue_rx_frames_total/falcon_queue_rx_frames/' "a counter without _total"
faulty 's/^\(# TYPE falcon_queue_rx_frames\) counter/\1 gauge/' "another type"
faulty '/^# UNIT falcon_rdma_qp_tx_bytes/d' "no unit"
faulty 's/name="plain"/name="pl"ain"/' "a quote in a label"
faulty 's/ 0$/ zero/' "a value that is no number"
faulty '/falcon_rtt_seconds_bucket.*+Inf/d' "a histogram without +Inf"
faulty '/^falcon_queue_rx_frames_total{name="plain"}/p' "a sample twice"
tap_done
