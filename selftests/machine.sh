# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What else the machine is doing while tests run: a burner or a lab that was left behind is told from a fault.
# shellcheck source=selftests/traces.sh
. "$(dirname "${BASH_SOURCE[0]}")/traces.sh"

MACHINE_BUSY=20		# per cent of a CPU from which on a process is named

# Processes that take more than MACHINE_BUSY per cent of a CPU for a fifth of a second, busiest first.
busy_processes()
{
	COLUMNS=160 top -b -c -n 2 -d 0.2 | awk -v least=$MACHINE_BUSY '
		/^top -/ { turn++ }
		turn == 2 && $1 ~ /^[0-9]+$/ && $9 > least {
			line = $1 " (" $9 " %)"
			for (i = 12; i <= NF; i++)
				line = line " " $i
			print substr(line, 1, 100)
		}' | head -n 8
}

# machine_report: remarks, a line each.
machine_report()
{
	printf '# machine: %d CPUs, load %s\n' "$(nproc)" "$(cut -d ' ' -f 1-3 /proc/loadavg)"
	{
		busy_processes | sed 's/^/busy: /'
		{
			labs
			pinned
		} | grep falcon | sed 's/^/already there: /'
	} | sed 's/^/# machine: /'
}
