#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# falconctl top while applications work: each view has rates, and on a terminal keys go from one to the next.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-run ib_write_bw jq python3

# grows HOST VIEW JQ: what holds of a line of it.
grows()
{
	on "$1" falconctl -j top "$2" -n 1 -d 0.1 | jq -e "any($3)"
}

# terminal: what falconctl top shows there, of which all views are asked for.
terminal()
{
	on a timeout 20 python3 - <<-'END'
		import os, pty, sys
		pid, fd = pty.fork()
		if pid == 0:
		    os.execvp('falconctl', ['falconctl', 'top', '-d', '60'])
		shown = ''
		steps = (('connections sorted by TX/S', b's'), ('connections sorted by RX/S', b'v'),
		         ('queue pairs sorted by TX_B/S', b'v'), ('disks sorted by READ_B/S', b'v'),
		         ('threads sorted by FRAMES/S', b'v'), ('connections sorted by TX/S', b'q'))
		for wanted, key in steps:
		    while wanted not in shown:
		        shown += os.read(fd, 4096).decode()
		    print(wanted)
		    shown = ''
		    os.write(fd, key)
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	END
}

lab_up --clear
behind b falcon-run ib_write_bw -d falcon0 -x 0 -F -D 30 >/dev/null
tap_run "a server listens" tap_wait 20 eval 'on b ss -Hltn "sport = :18515" | grep -q .'
behind a falcon-run ib_write_bw -d falcon0 -x 0 -F -D 30 10.250.0.2 >/dev/null
tap_run "connections" tap_wait 20 grows a show '(.name | startswith("rdma")) and .tx_per_s > 0'
tap_run "queue pairs" tap_wait 20 grows a qp '.state == "RTS" and .sent_per_s > 0 and .tx_bytes_per_s > 0'
# XDP tells the sender's agent of acknowledgments without a frame.
tap_run "threads" tap_wait 20 grows b shard '.shard == 0 and .turns_per_s > 0 and .rx_frames_per_s > 0'
tap_is "$(on a falconctl -j top nvme -n 1 -d 0.1)" "[]" "no disks"
tap_run "on a terminal" terminal
tap_done
