# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # variables are set by falcon-lab
# Part of falcon-lab: the XDP object and the agent of each host.

# connection NAME HOST PEER KIND LOCAL REMOTE ORDERING; host, peer and kind are numbers from 0, and their
# connection identifiers show in a capture which is which.
connection()
{
	print <<-END

	[connection $1]
	local = $5
	remote = $6
	local_cid = $((256 * ($2 + 1) + 8 * $3 + $4))
	remote_cid = $((256 * ($3 + 1) + 8 * $2 + $4))
	ordering = $7
	security = $security
	END
}

# Who the hosts are, to one another: an authority of the lab's own, unless the agents talk plainly.
make_certificates()
{
	local i

	[ "$control" = tls ] || return 0
	run_on "${HOSTS[0]}" falconctl ca init "$RUN/ca"
	for ((i = 0; i < hosts; i++)); do
		run_on "${HOSTS[0]}" falconctl ca issue "${HOSTS[i]}" "10.250.0.$((i + 1))" \
			"fd00:250::$((i + 1))" "dir=$RUN/ca"
	done
}

control_config()
{
	if [ "$control" = plain ]; then
		printf 'control = plain\n'
		return
	fi
	print <<-END
	tls_cert = $RUN/ca/$1.crt
	tls_key = $RUN/ca/$1.key
	tls_ca = $RUN/ca/ca.crt
	tls_crl = $RUN/ca/crl.pem
	END
}

# What upper layers dial, and take from others: as safe as the configured connections.
dial_config()
{
	printf '\n[peer any]\nmax_connections = 1024\n'
	if [ "$security" = clear ]; then
		printf 'clear = on\n'
	fi
}

# exports HOST: the NVMe namespaces that --export gives it, numbered as they are given.
exports()
{
	local spec rest key n=0

	for spec in "${export_list[@]}"; do
		[ "${spec%%:*}" = "$1" ] || continue
		n=$((n + 1))
		rest=${spec#*:}
		printf '\n[namespace export%d]\nnsid = %d\npath = %s\n' "$n" "$n" "${rest%%,*}"
		[[ $rest == *,peers=* ]] || printf 'peers = any\n'
		while [[ $rest == *,* ]]; do
			rest=${rest#*,}
			key=${rest%%,*}
			printf '%s = %s\n' "${key%%=*}" "${key#*=}"
		done
	done
}

write_config()
{
	local host=$1 h=$2 p peer line

	print <<-END
	[agent]
	socket = $RUN/$host/falcond.sock
	offload = $offload
	security = $security
	listen = 10.250.0.$((h + 1)), fd00:250::$((h + 1))
	END
	control_config "$host"
	for line in "${settings[@]}"; do
		printf '%s = %s\n' "${line%%=*}" "${line#*=}"
	done
	dial_config
	exports "$host"
	printf '\n[port eth0]\nqueues = auto\n'
	for ((p = 0; p < hosts; p++)); do
		[ "$p" -ne "$h" ] || continue
		peer=${HOSTS[p]}
		connection "$peer" "$h" "$p" 0 "10.250.0.$((h + 1))" "10.250.0.$((p + 1))" ordered
		connection "$peer-unordered" "$h" "$p" 1 "10.250.0.$((h + 1))" \
			"10.250.0.$((p + 1))" unordered
		connection "${peer}6" "$h" "$p" 2 "fd00:250::$((h + 1))" "fd00:250::$((p + 1))" ordered
	done
}

# attach_command OBJECT: in $attach, how the program gets on eth0 of a host; with plain ip link, as
# the README shows, or beside others with libxdp.
attach_command()
{
	local section=xdp

	[ "$mtu" -le 3498 ] || section=xdp.frags
	case $xdp in
	native) attach=(ip link set dev eth0 xdp obj "$1" sec "$section") ;;
	generic) attach=(ip link set dev eth0 xdpgeneric obj "$1" sec xdp) ;;
	libxdp)
		# shellcheck disable=SC2016 # expanded by the shell inside
		attach=(sh -c 'mkdir -p /sys/fs/bpf/falcon &&
			xdp-loader load -m native -p /sys/fs/bpf/falcon -s "$1" eth0 "$0"' "$1" "$section")
		;;
	esac
}

attach_xdp()
{
	local path attach

	[ "$xdp" != off ] || return 0
	path=$(find_object "$object")
	attach_command "$path"
	run_on "$1" "${attach[@]}" >"$RUN/$1/xdp.log" 2>&1 ||
		die "cannot attach $path to eth0 of host $1:"$'\n'"$(tail -n 5 "$RUN/$1/xdp.log")"
}

# attach_hosts HOST...: side by side, as the kernel's verifier takes half a second of a CPU for each; but
# xdp-loader does not wait for another one's lock.
attach_hosts()
{
	local host pid pids=() failed=0

	for host; do
		attach_xdp "$host" &
		pids+=($!)
		[ "$xdp" != libxdp ] || wait $! || failed=1
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || failed=1
	done
	[ $failed -eq 0 ] || exit 1
}

start_agent()
{
	local host=$1

	! alive "$RUN/$host/falcond.pid" || return 0
	(become "$host" setsid "${FALCOND:-falcond}" -c "$RUN/$host/falcond.conf" </dev/null \
		>>"$RUN/$host/falcond.log" 2>&1) &
	echo $! >"$RUN/$host/falcond.pid"
}

connections()
{
	run_on "$1" falconctl -j conn show 2>/dev/null
}

all_up()
{
	connections "$1" | jq -e '[.. | objects | select(has("up")) | .up] | length > 0 and all' >/dev/null
}

# An agent without its socket need not be asked.
agent_settled()
{
	! alive "$RUN/$1/falcond.pid" || { [ -S "$RUN/$1/falcond.sock" ] && all_up "$1"; }
}

# doing HOST: how far its agent has come, and what it waits for: the program, which is enter until it
# is falcond, its state, the place in the kernel, and how busy the machine is.
doing()
{
	local proc

	proc=/proc/$(<"$RUN/$1/falcond.pid")
	printf 'process: %s, %s, in %s\n' "$(tr '\0' ' ' <"$proc/cmdline" | cut -c 1-60)" \
		"$(sed -n 's/^State:[[:blank:]]*//p' "$proc/status")" "$(cat "$proc/wchan")"
	cat "$proc/stack"
	printf 'load: %s\n' "$(cat /proc/loadavg)"
	connections "$1" | jq -r '.[] | "connection \(.name): \(if .up then "up" else .state // "down" end)"'
} 2>/dev/null

wait_for_agent()
{
	local host=$1 why="connections are not up after $TIMEOUT s"

	if wait_until agent_settled "$host"; then
		alive "$RUN/$host/falcond.pid" && return
		why="it has died"
	else
		why+=$'\n'$(doing "$host" || true)
	fi
	die "falcond of host $host: $why"$'\n'"end of $RUN/$host/falcond.log:"$'\n'"$(
		tail -n 20 "$RUN/$host/falcond.log")"
}

dead()
{
	! alive "$1"
}

# stop_pidfile FILE: TERM, and KILL if that does not do within the time limit.
stop_pidfile()
{
	[ -e "$1" ] || return 0
	if alive "$1"; then
		kill -TERM "$(<"$1")" 2>/dev/null || true
		wait_until dead "$1" || kill -KILL "$(<"$1")" 2>/dev/null || true
	fi
	rm -f "$1"
}
