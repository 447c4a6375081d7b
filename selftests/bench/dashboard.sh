#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The dashboard of tools/metrics as a picture, of a run in the lab: selftests/bench/dashboard.sh [SECONDS]
#
# Prometheus scrapes two agents on a link that loses 0.1 % and carries 2 Gb/s, while a verbs program, a disk
# and raw transactions work one after another and all at once, SECONDS (90) altogether; then gnuplot draws
# what it answers to the dashboard's questions: build/bench/dashboard.png. Grafana is not needed.
# shellcheck source=selftests/bench/bench.sh
. "$(dirname "$0")/bench.sh"
PART=$((${1:-90} / 4))
for tool in prometheus gnuplot python3 ib_write_bw nbdkit fio; do
	command -v $tool >/dev/null || { echo "dashboard.sh needs $tool" >&2; exit 1; }
done
export PATH=$BUILD:$PATH

# verbs SECONDS
verbs()
{
	behind b falcon-run ib_write_bw -d falcon0 -x 0 -F -D "$1" >/dev/null
	wait_for on b sh -c "ss -Hltn 'sport = :18515' | grep -q ."
	on a falcon-run ib_write_bw -d falcon0 -x 0 -F -D "$1" 10.250.0.2 >/dev/null
}

disk()
{
	on a nbdkit -U - "$BUILD/nbdkit-falcon-nvme-plugin.so" host=10.250.0.2 \
		--run "fio --name=mixed --ioengine=nbd --uri=\$uri --rw=randrw --bsrange=4k-256k \
			--iodepth=16 --time_based --runtime=$1" >/dev/null
}

raw()
{
	on a falcon-perf b --op pull --size 16K --seconds "$1" >/dev/null
}

truncate -s 256M "$TMP/disk"
"$LAB" up --set metrics=0.0.0.0:9464 --loss 0.1 --rate 2g --export "b:$TMP/disk"
cat >"$TMP/prometheus.yml" <<-END
	global: {scrape_interval: 1s}
	scrape_configs:
	  - job_name: falcon
	    static_configs:
	      - targets: ["10.250.0.1:9464", "10.250.0.2:9464"]
END
behind a prometheus --config.file "$TMP/prometheus.yml" --storage.tsdb.path "$TMP/data" \
	--web.listen-address 127.0.0.1:9090 --log.level error
wait_for on a python3 -c 'import urllib.request; urllib.request.urlopen("http://127.0.0.1:9090/-/ready")'
behind b falcon-perf --serve
began=$(date +%s)
raw $PART
verbs $PART
disk $PART
raw $PART &
verbs $PART &
disk $PART
wait $!
on a python3 "$TOP/selftests/bench/dashboard.py" "$TOP/tools/metrics/dashboard.json" "$began" \
	"$OUT/dashboard.png"
echo "$OUT/dashboard.png"
