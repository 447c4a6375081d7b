#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# falconctl top while applications work: each view has rates, and on a terminal keys go from one to the next.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-run ib_write_bw jq
PYTHON=/usr/bin/python3	# the one that python3-pyte is for
$PYTHON -c "import pyte" 2>/dev/null || tap_skip_all "python3-pyte is not installed"

# grows HOST VIEW JQ: what holds of a line of it.
grows()
{
	on "$1" falconctl -j top "$2" -n 1 -d 0.1 | jq -e "any($3)"
}

# terminal: what the keys do there, while the agent ends and comes back.
terminal()
{
	local pid

	on a timeout 40 $PYTHON "$(dirname "$0")/top_terminal.py" >"$SCRATCH/terminal" 2>&1 &
	pid=$!
	tap_wait_for $pid 20 grep -qx stop "$SCRATCH/terminal" && falcon-lab agent a stop &&
		tap_wait_for $pid 20 grep -qx start "$SCRATCH/terminal" && falcon-lab agent a start
	wait $pid || { cat "$SCRATCH/terminal"; return 1; }
}

# A terminal that ncurses knows nothing of.
unknown_terminal()
{
	on a timeout 20 $PYTHON -c "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)" \
		env TERM=none falconctl top -d 0.1 -n 2 >"$SCRATCH/unknown" 2>&1 &&
		[ "$(grep -c 'connections sorted by TX/S' "$SCRATCH/unknown")" = 2 ]
}

lab_up --clear
behind b falcon-run ib_write_bw -d falcon0 -x 0 -F -D 30 >/dev/null
tap_run "a server listens" tap_wait 20 eval 'on b ss -Hltn "sport = :18515" | grep -q .'
behind a falcon-run ib_write_bw -d falcon0 -x 0 -F -D 30 10.250.0.2 >/dev/null
# What ib_write_bw uses: named rdma or any, after the end that was first to set it up.
tap_run "connections" tap_wait 20 grows a show '(.name | test("^(rdma|any)[.]")) and .tx_per_s > 0'
tap_run "queue pairs" tap_wait 20 grows a qp '.state == "RTS" and .sent_per_s > 0 and .tx_bytes_per_s > 0'
# XDP tells the sender's agent of acknowledgments without a frame.
tap_run "threads" tap_wait 20 grows b shard '.shard == 0 and .turns_per_s > 0 and .rx_frames_per_s > 0'
tap_is "$(on a falconctl -j top nvme -n 1 -d 0.1)" "[]" "no disks"
tap_run "on a terminal" terminal
tap_run "on one that ncurses does not know" unknown_terminal
tap_done
