#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# falcon-lab itself: up is idempotent and rebuilds when asked for something else, down cleans up
# whatever is left, labs do not know of each other, and what cannot be is refused.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl

RUN=/run/falcon-$FALCON_LAB

pid_of()
{
	cat "$RUN/$1/falcond.pid"
}

# What a lab leaves: namespaces, files, mounts.
traces()
{
	ip netns list | grep -o "falcon-$1-[a-z]*"
	ls -d "/run/falcon-$1" 2>/dev/null
	grep -o "/run/falcon-$1/[^ ]*" /proc/mounts
}

# refused TEXT ARGUMENT...: fails with a message that has the text, and leaves nothing.
refused()
{
	local text=$1 out

	shift
	if out=$(falcon-lab "$@" 2>&1); then
		tap_not_ok "refused: $*" "it succeeds"
	elif ! grep -qF -e "$text" <<<"$out"; then
		tap_not_ok "refused: $*" "$out"
	else
		tap_is "$(traces "$FALCON_LAB")" "" "refused: $*"
	fi
}

try_refusals()
{
	refused "not a number" up --clear --mtu 100
	refused "is down" path 0 down
	refused "from 0 to 3" up --no-agents --paths 4 --path 4:rate=1g
	refused "unknown setting" up --no-agents --paths 4 --path 1:speed=1g
	refused "more than the delay" up --no-agents --delay 1us --jitter 2us
	refused "ge:P,R,H,K" up --no-agents --loss-model bursty
	refused "only lose" up --no-agents --emulator switch --delay 1ms
	refused "none of: auto" up --no-agents --delay 1ms --io zerocopy
	refused "unrecognized option" up --clear --frobnicate 1
	refused "wants a value" up --clear --loss
	refused "more than 100 %" up --clear --loss 101
	refused "unknown unit" up --clear --delay 5parsec
	refused "without a rate" up --clear --ecn 30k
	refused "no host" exec a -- true
	refused "is down" status
}

try_idempotent()
{
	local a b

	lab_up --clear --offload on
	a=$(pid_of a) b=$(pid_of b)
	lab_up --clear
	tap_is "$(pid_of a) $(pid_of b)" "$a $b" "up again changes nothing"
	kill -KILL "$b"
	lab_up --clear
	tap_run "up after an agent's death repairs" kill -0 "$(pid_of b)"
	lab_up --clear --mtu 2000 --loss 1
	tap_is "$(on a cat /sys/class/net/eth0/mtu)" 2000 "up with other options rebuilds"
	truncate -s 1M "$SCRATCH/disk"
	lab_up --clear --export "b:$SCRATCH/disk"
	tap_is "$(on b falconctl -j namespace show | jq -r '.[].name')" export1 "also for an export"
	lab_up --no-agents
	tap_is "$(on b cat /sys/class/net/eth0/mtu) $(ls "$RUN/a")" "1500 bpf
xdp.log" "and again, without agents"
}

# An agent that is not ready in time: what it does is said.
try_hang()
{
	local said

	printf '#!/bin/sh\nexec sleep 1000\n' >"$SCRATCH/hangs"
	chmod 755 "$SCRATCH/hangs"
	said=$(FALCOND=$SCRATCH/hangs FALCON_LAB_TIMEOUT=3 falcon-lab up --clear 2>&1)
	tap_is "$?" 1 "an agent that hangs is not waited for"
	tap_run "and what it does is said" grep -qE '^process: .+, . \([a-z]+\), in ' <<<"$said"
	tap_note "$said"
}

try_path()
{
	lab_up --no-agents --paths 2 --path 1:rate=1g/delay=1ms
	tap_is "$(falcon-lab links -j | jq -c '[.links[].settings | [.rate, .delay_ns]]')" \
		"[[0,0],[1000000000,1000000],[0,0],[1000000000,1000000]]" "paths can differ"
	tap_run "a path is set at run time" falcon-lab path 0 down rate=5m to=b
	tap_is "$(falcon-lab links -j | jq -c '[.links[].settings | [.down, .rate]]')" \
		"[[false,0],[false,1000000000],[true,5000000],[false,1000000000]]" "as asked, no other"
	tap_is "$(falcon-lab path 2 up 2>&1)" 'falcon-wire: path: "2" is not a number from 0 to 1' \
		"a path that is not there is refused"
	lab_up --no-agents --paths 2 --path 1:rate=1g/delay=1ms
	tap_is "$(falcon-lab links -j | jq '.links[2].settings.down')" false "up restores what was asked"
	lab_up --no-agents
	tap_is "$(falcon-lab path 0 down 2>&1)" \
		"falcon-lab: lab \"$FALCON_LAB\" has no falcon-wire; up --emulator wire puts it there" \
		"without falcon-wire there is no path to set"
}

# fails_to_run STATUS MESSAGE COMMAND...
fails_to_run()
{
	local out rc=0

	out=$("${@:3}" 2>&1) || rc=$?
	tap_is "$rc: $out" "$1: falcon-lab: $2" "exec ends with $1 and says why"
}

try_exec()
{
	on a true
	tap_is "$?" 0 "exec returns the command's status: 0"
	on a sh -c 'exit 42'
	tap_is "$?" 42 "exec returns the command's status: 42"
	tap_is "$(cd "$SCRATCH" && on a pwd)" "$SCRATCH" "exec stays in the directory"
	tap_is "$(echo through | on b cat)" through "exec passes standard input"
	tap_is "$(on a ls /sys/class/net | tr '\n' ' ')" "eth0 lo " "/sys is the host's"
	tap_is "$(on a sh -c 'mount -t tmpfs tmpfs /sys && ls /sys'; on a ls /sys/class/net | tr '\n' ' ')" \
		"eth0 lo " "what a command mounts shows to no other"
	fails_to_run 127 "cannot run ./none: No such file or directory" on a ./none
	fails_to_run 126 "cannot run /dev/null: Permission denied" on a /dev/null
	fails_to_run 125 "cannot join network namespace /run/netns/falcon-$FALCON_LAB-b:\
 Operation not permitted; it needs root" on a setpriv --bounding-set=-all --inh-caps=-all \
		"$TAP_BUILD/lab/enter" "/run/netns/falcon-$FALCON_LAB-b" "$RUN/b/bpf" true
}

# pinned HOST CPU: all of its agent's threads, what is started there, and a thread for each receive queue.
pinned()
{
	local thread queues

	queues=$(on "$1" sh -c 'ls -d /sys/class/net/eth0/queues/rx-*' | wc -l)
	for thread in /proc/"$(pid_of "$1")"/task/*; do
		[ "$(cpu_of "$thread")" = "$2" ] || return
	done
	[ "$(on "$1" sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)" = "$2" ] &&
		[ "$(on "$1" cat /sys/class/net/eth0/threaded)" = 1 ] &&
		[ "$(packet_threads "$2")" -ge "$queues" ]
}

cpu_of()
{
	sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$1/status"
}

packet_threads()
{
	local thread n=0

	for thread in $(pgrep '^napi/eth0-'); do
		[ "$(cpu_of "/proc/$thread")" != "$1" ] || n=$((n + 1))
	done
	echo $n
}

# in_list CPU LIST: whether it is one of 0,2-4.
in_list()
{
	local range

	for range in ${2//,/ }; do
		[ "$1" -lt "${range%-*}" ] || [ "$1" -gt "${range#*-}" ] || return 0
	done
	return 1
}

try_pin()
{
	local cpus

	# Those that this script may use: root could use others, but the lab does not.
	mapfile -t cpus < <(for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		cpu=${cpu##*/cpu}
		! in_list "$cpu" "$(cpu_of /proc/self)" || echo "$cpu"
	done | sort -n)
	lab_up --clear --pin
	tap_run "host a has a CPU for itself" pinned a "${cpus[0]}"
	tap_run "host b another, if there is one" pinned b "${cpus[1 % ${#cpus[@]}]}"
	lab_up --clear
	tap_is "$(on a cat /sys/class/net/eth0/threaded)" 0 "and none when it is not asked for"
}

# dials HOST PEER KIND FROM TO
dials()
{
	on "$1" falconctl conn add "dialled-$3" "local=$4" "remote=$5"
	tap_wait 20 is_up "$1" "dialled-$3"
	tap_run "host $1 dials host $2 over $3" is_up "$1" "dialled-$3"
}

is_up()
{
	on "$1" falconctl -j conn show | jq -e --arg n "$2" 'any(.[]; .name == $n and .up)'
}

try_dial()
{
	local how

	for how in --clear "--security psp"; do
		# shellcheck disable=SC2086 # two words
		lab_up $how
		dials a b IPv4 10.250.0.1 10.250.0.2
		dials b a IPv6 fd00:250::2 fd00:250::1
	done
}

# What XDP sends back gets through, however falcon-wire reads: more than a veth ring (256 frames) holds,
# so that one in which frames stay would be full.
try_sent_back()
{
	local io

	tap_is "$(falcon-lab up --io generic 2>&1 | grep -c 'give --xdp generic as well')" 1 \
		"generic sockets in front of hosts with native XDP are refused"
	random_file f 4194304
	for io in native generic packet; do
		lab_up --clear --offload on --dup 50 --io $io --xdp "${io/packet/native}"
		serve b
		tap_run "a copy, --io $io" put a b b f
		between 300 "$(counter b xdp_tx)" 1000000 "XDP sends frames back, --io $io"
		stop_serving
	done
}

try_two()
{
	local other=${FALCON_LAB}x

	tap_run "another lab beside it" env FALCON_LAB="$other" falcon-lab up --no-agents --loss 1
	tap_run "which works" env FALCON_LAB="$other" falcon-lab exec a -- \
		ping -n -q -c 3 -i 0.1 -w 20 10.250.0.2
	FALCON_LAB=$other falcon-lab down
	tap_is "$(traces "$other")" "" "and leaves nothing"
	tap_run "this one still works" on a ping -n -q -c 1 -w 20 10.250.0.2
}

try_down()
{
	local sleeper

	lab_up --clear --delay 1ms
	behind a sleep 1000
	sleeper=$!
	kill -KILL "$(pid_of a)" "$(cat "$RUN/net/wire.pid")"
	ip netns del "falcon-$FALCON_LAB-b"
	tap_run "down after a disaster" falcon-lab down
	wait $sleeper 2>/dev/null
	between 129 $? 255 "what ran on a host is ended"
	tap_is "$(traces "$FALCON_LAB")" "" "nothing is left"
	tap_run "down of nothing" falcon-lab down
	cp -r "$TAP_BUILD/falcon-lab" "$TAP_BUILD/falcon-wire" "$TAP_BUILD/lab" "$TAP_BUILD"/*.bpf.o \
		"$SCRATCH"
	rm "$SCRATCH/lab_switch.bpf.o"
	if FALCON_LAB=$FALCON_LAB "$SCRATCH/falcon-lab" up --no-agents --loss 1 \
		>"$SCRATCH/half" 2>&1; then
		tap_not_ok "up without the switch fails"
	fi
	tap_is "$(traces "$FALCON_LAB")" "" "an up that fails half-way leaves nothing"
}

try_refusals
try_idempotent
try_hang
try_path
try_exec
try_pin
try_dial
try_sent_back
try_two
try_down
tap_done
