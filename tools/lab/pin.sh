# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # variables are set by falcon-lab
# Part of falcon-lab: hosts that have a CPU each, as separate machines would: programs, the agent among them,
# and what takes packets from the interface.

# The CPUs that the lab may use, one a line.
allowed_cpus()
{
	local range

	for range in $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | tr , ' '); do
		seq "${range%-*}" "${range#*-}"
	done
}

# Host i has the i-th of them, again from the first if there are more hosts. become() looks at the file.
pin_hosts()
{
	local cpus i

	[ "$pin" -eq 1 ] || return 0
	mapfile -t cpus < <(allowed_cpus)
	for ((i = 0; i < hosts; i++)); do
		echo "${cpus[i % ${#cpus[@]}]}" >"$RUN/${HOSTS[i]}/cpu"
	done
}

# Kernel threads that serve an eth0, of whichever host.
napi_threads()
{
	{ pgrep '^napi/eth0-' || true; } | sort
}

# pin_packets HOST: threads of its own take what its interface receives. Their names do not tell the host.
pin_packets()
{
	local host=$1 before thread

	[ -e "$RUN/$host/cpu" ] || return 0
	before=$(napi_threads)
	run_on "$host" sh -c 'echo 1 >/sys/class/net/eth0/threaded' 2>/dev/null ||
		die "--pin: this kernel has no threaded NAPI (/sys/class/net/eth0/threaded)"
	for thread in $(comm -13 <(echo "$before") <(napi_threads)); do
		taskset -pc "$(<"$RUN/$host/cpu")" "$thread" >/dev/null ||
			die "--pin: cannot pin thread $thread"
	done
}
