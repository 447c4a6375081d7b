#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Falcon with and without RIFL below it, by bit error ratio: selftests/bench/rifl.sh
#
# The schedules of tools/sim/figures/rifl.sim, in the simulator: 8 KB writes over four hops of 25 Gbit/s,
# Ethernet and RIFL256, from 1e-12 to 1e-5. Prints a table and writes build/bench/rifl.json, with packets
# sent again (in % of the packets, and how many of them had arrived), goodput, and the 99th and 99.9th
# percentile of the latency; and these four as curves into build/bench/rifl.png. It takes half a minute and no
# root.
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "$0")/bench.sh"

"$BUILD/falcon-sim" --csv "$TMP/rifl.csv" "$TOP/tools/sim/figures/rifl.sim" >/dev/null
jq -nR '[inputs / ","] | .[0] as $head | [.[1:][] | [$head, .] | transpose | map({(.[0]): .[1]}) | add |
	{link: (if .rifl == "0" then "Ethernet" else "RIFL" + .rifl end), ber: (.ber | tonumber)} +
	(with_entries(select(.key | IN("goodput_gbps", "p50_us", "p99_us", "p999_us", "packets", "retx",
		"rto", "early", "spurious", "lost"))) | map_values(tonumber))]' "$TMP/rifl.csv" \
	>"$OUT/rifl.json"

# curve LINK COLUMN: x and y, for gnuplot.
curve()
{
	echo "\$$1_$2 << EOD"
	jq -r --arg l "$1" --arg c "$2" '.[] | select(.link == $l) | "\(.ber) \(.[$c])"' "$OUT/rifl.json"
	echo EOD
}

# panel COLUMN TITLE [COMMAND]
panel()
{
	printf '%s\nset ylabel "%s"\n' "${3:-}" "$2"
	echo "set style data linespoints"
	echo "plot \$Ethernet_$1 title 'Ethernet', \$RIFL256_$1 title 'RIFL256'"
}

for column in retx goodput_gbps p99_us p999_us; do
	curve Ethernet $column
	curve RIFL256 $column
done >"$TMP/script"
{
	printf 'set terminal pngcairo size 1200,900\nset output "%s"\n' "$OUT/rifl.png"
	echo "set multiplot layout 2,2 title '8 KB writes over four hops of 25 Gbit/s with bit errors'"
	printf "set grid\nset logscale x\nset format x '10^{%%L}'\nset xlabel 'bit error ratio'\n"
	panel retx "sent again (% of packets)" "set key top left"
	panel goodput_gbps "goodput (Gbit/s)" "set key bottom left; set yrange [0:25]"
	panel p99_us "99th percentile (us)" "set key top left; set yrange [*:*]; set logscale y"
	panel p999_us "99.9th percentile (us)"
} >>"$TMP/script"
gnuplot "$TMP/script"
jq -r '["link", "BER", "sent again %", "arrived before %", "lost", "Gbit/s", "p50 us", "p99 us", "p99.9 us"],
	(.[] | [.link, .ber, (.retx * 100 | round / 100), (.spurious * 100 | round / 100), .lost,
	 (.goodput_gbps * 100 | round / 100), (.p50_us * 10 | round / 10), (.p99_us * 10 | round / 10),
	 (.p999_us * 10 | round / 10)]) | @tsv' "$OUT/rifl.json" |
	awk -F '\t' '{ printf "%-9s %8s %13s %17s %6s %7s %8s %8s %9s\n",
		$1, $2, $3, $4, $5, $6, $7, $8, $9 }'
echo "results: ${OUT#"$TOP"/}/rifl.json, rifl.png"
