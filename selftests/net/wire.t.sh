#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# falcon-wire by itself: what its counters say is what arrives, the same seed does the same, a path
# that goes down takes its flows and no others, and bad input changes nothing.
#
#	a eth0 ==== to-a  net  to-b ==== eth0 b
. "$(dirname "$0")/../tap.sh"
tap_need_root
tap_need ip jq ethtool ping

export PATH=$TAP_BUILD:$TAP_BUILD/selftests/net:$PATH
SCRATCH=$(mktemp -d)
SOCK=$SCRATCH/wire.sock
COUNT=4000
NS=wire$$
wire=

cleanup()
{
	local host

	[ -z "$wire" ] || kill -KILL "$wire" 2>/dev/null
	for host in a b net; do
		ip netns del "$NS-$host" 2>/dev/null
	done
	rm -rf "$SCRATCH"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

on()
{
	ip netns exec "$NS-$1" "${@:2}"
}

plain()
{
	on "$1" ethtool -K "$2" tx off tso off gso off gro on >/dev/null 2>&1
}

# cable HOST N: the addresses of the other host are known, so that nobody has to ask for them, and
# what passes a link is what the test sends.
cable()
{
	local peer=$((3 - $2))

	ip netns add "$NS-$1"
	ip link add eth0 netns "$NS-$1" address "02:fa:00:00:00:0$2" mtu 1500 \
		numrxqueues 2 numtxqueues 2 type veth \
		peer name "to-$1" netns "$NS-net" mtu 1500 numrxqueues 2 numtxqueues 2
	plain "$1" eth0
	plain net "to-$1"
	on "$1" sh -c 'echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad'
	on "$1" ip address add "10.9.0.$2/24" dev eth0
	on "$1" ip address add "fd00:9::$2/64" dev eth0 nodad
	on "$1" ip link set eth0 up
	for peer in "10.9.0.$peer" "fd00:9::$peer"; do
		on "$1" ip neighbour add "$peer" lladdr "02:fa:00:00:00:0${peer: -1}" dev eth0
	done
	on net ip link set "to-$1" up
}

answers()
{
	falcon-wire show --control "$SOCK" || ! kill -0 "$wire"
}

# start OPTION...: a falcon-wire between a and b.
start()
{
	ip netns exec "$NS-net" falcon-wire --control "$SOCK" "$@" to-a to-b \
		>"$SCRATCH/out" 2>"$SCRATCH/err" &
	wire=$!
	tap_wait 20 answers
	if ! kill -0 $wire 2>/dev/null; then
		tap_not_ok "falcon-wire $* starts" "$(cat "$SCRATCH/err")"
		tap_done
	fi
}

stop()
{
	kill -TERM "$wire"
	wait "$wire"
	wire=
}

# counter JQ: of the links towards b, from now.
counter()
{
	falcon-wire show --control "$SOCK" -j | jq "[.links[] | select(.to == \"to-b\") | $1] | add"
}

# What was lost on the way that falcon-wire knows nothing of: a full ring on a busy machine.
overruns()
{
	local host

	for host in a b net; do
		on "$host" ip -s -j link
	done | jq -s '[.[][].stats64 | .rx.dropped + .tx.dropped] | add'
	falcon-wire show --control "$SOCK" -j | jq '[.ports[] | .overrun + .unsent] | add'
}

# receive COMMAND...: what arrives at b while the command runs; report in $report.
receive()
{
	local pid

	rm -f "$SCRATCH/recv"
	ip netns exec "$NS-b" numbered recv 100 >"$SCRATCH/recv" &
	pid=$!
	tap_wait 20 grep -q ready "$SCRATCH/recv"
	"$@"
	kill -TERM $pid
	wait $pid
	report=$(tail -n 1 "$SCRATCH/recv")
	tap_note "$report"
}

# volley OPTION...: COUNT packets through a falcon-wire with these options; again and slower, with
# a new one, if the machine did not keep up.
volley()
{
	local gap=20 lost

	while :; do
		start "$@"
		lost=$(overruns)
		receive on a numbered send 10.9.0.2 $COUNT 1000 $gap
		[ "$(overruns)" != "$lost" ] && [ $gap -lt 1000 ] || return 0
		gap=$((gap * 3))
		tap_note "interfaces dropped some: once more, slower"
		stop
	done
}

got()
{
	jq -r ".$1" <<<"$report"
}

# between LOW VALUE HIGH NAME
between()
{
	if [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; then
		tap_ok "$4"
	else
		tap_not_ok "$4" "$2 is not in $1..$3"
	fi
}

try_loss()
{
	local first

	volley --loss 10 --seed 5
	between 300 "$(counter .dropped.loss)" 500 "loss: about 10 %"
	tap_is "$(($(got distinct) + $(counter .dropped.loss))) $(got damaged)" "$COUNT 0" \
		"loss: what is missing was lost"
	first=$(got digest)
	stop
	volley --loss 10 --seed 5 --delay 1ms
	tap_is "$(got digest)" "$first" "loss: the same seed loses the same, whatever the delay"
	stop
	volley --loss 10 --seed 6
	if [ "$(got digest)" != "$first" ]; then
		tap_ok "loss: another seed loses others"
	else
		tap_not_ok "loss: another seed loses others"
	fi
	stop
	volley --loss-model ge:2,20
	between 200 "$(counter .dropped.loss)" 550 "Gilbert-Elliott: about p / (p + r)"
	tap_is "$(($(got distinct) + $(counter .dropped.loss)))" "$COUNT" "Gilbert-Elliott: counted"
	stop
}

try_others()
{
	volley --dup 10
	between 300 "$(counter .duplicated)" 500 "dup: about 10 %"
	tap_is "$(got duplicates) $(got distinct)" "$(counter .duplicated) $COUNT" \
		"dup: what came twice was duplicated"
	stop
	volley --corrupt 10 --corrupt-burst 12
	# A damaged header keeps the packet from arriving, or is of no consequence.
	between $(($(counter .corrupted) * 8 / 10)) $((COUNT - $(got distinct))) \
		"$(counter .corrupted)" "corrupt: what is damaged or missing was corrupted"
	between 200 "$(got damaged)" "$(counter .corrupted)" "corrupt: payload among it"
	stop
	volley --delay 2ms --reorder 10
	between 300 "$(counter .reordered)" 500 "reorder: about 10 % are spared the delay"
	tap_is "$(got distinct) $(($(got reordered) > 300))" "$COUNT 1" \
		"reorder: all arrive, and many after later ones"
	stop
	volley --reorder 10 --reorder-by 500us
	# Each that is held back comes after some 25 others, but for the last.
	between $(($(counter .reordered) * 9 / 10)) "$(got reordered)" "$(counter .reordered)" \
		"reorder-by: those held back come late"
	stop
	volley --ecn 10%
	tap_is "$(got marked) $(got distinct)" "$(counter .marked) $COUNT" "ecn: marked is marked"
	between 300 "$(got marked)" 500 "ecn: about 10 %"
	stop
}

# The sums add up, whatever happens at once.
try_all()
{
	volley --loss 3 --dup 3 --corrupt 3 --rate 300mbit --queue 50p --ecn 10p --delay 500us \
		--jitter 200us --reorder 3
	tap_is "$(counter '.offered + .duplicated')" \
		"$(counter '.delivered + (.dropped | add)')" "all at once: the sums add up"
	# Multicast of the hosts' own may be among them.
	between $COUNT "$(counter .offered)" $((COUNT + 10)) "all at once: all offered"
	stop
}

FLOWS=16

# One volley for each of the flows, by source port and flow label; for label 0 the kernel draws one.
send_flows()
{
	local i

	for ((i = 0; i < FLOWS; i++)); do
		on a numbered send "$1" 50 100 10 $((49152 + i)) $((1000 * i)) $((4096 + 17 * i))
	done
}

# try_paths ADDRESS SPREAD: with one of four paths down.
try_paths()
{
	local before after others

	start --paths 4 --spread "$2"
	receive send_flows "$1"
	before=$(got ports)
	tap_is "$(jq -c '[.[]] | unique' <<<"$before") $(jq length <<<"$before")" "[50] $FLOWS" \
		"$1 $2: all flows arrive"
	tap_is "$(falcon-wire show --control "$SOCK" -j | jq '[.links[] | select(.to == "to-b" and
		.offered > 0)] | length')" 4 "$1 $2: over all paths"
	[ "$2" = hash ] || tap_is "$(falcon-wire show --control "$SOCK" -j |
		jq -c '[.links[] | select(.to == "to-b").offered / 50 | floor]')" "[4,4,4,4]" \
		"$1 $2: four flows on each, but for multicast of the hosts' own"
	falcon-wire reset --control "$SOCK"
	falcon-wire set --control "$SOCK" path=2 down=1
	receive send_flows "$1"
	after=$(got ports)
	others=$(jq -c '[.[]] | unique' <<<"$after")
	tap_is "$others $(counter .dropped.down)" "[50] $((50 * (FLOWS - $(jq length <<<"$after"))))" \
		"$1 $2: a path that is down takes whole flows"
	between 1 "$((FLOWS - $(jq length <<<"$after")))" $((FLOWS - 1)) "$1 $2: and not all"
	falcon-wire set --control "$SOCK" path=2 down=0
	receive send_flows "$1"
	tap_is "$(got ports | jq -cS .)" "$(jq -cS . <<<"$before")" "$1 $2: up again, all are back"
	stop
}

# The other ways to read and write.
try_io()
{
	local io

	for io in native generic packet; do
		volley --io $io --loss 5
		tap_is "$(falcon-wire show --control "$SOCK" -j | jq -r '.ports[].io' | uniq)" $io \
			"$io: is what was asked for"
		tap_is "$(($(got distinct) + $(counter .dropped.loss))) $(got damaged)" "$COUNT 0" \
			"$io: forwards what is not lost"
		stop
	done
	on net ip link set to-b mtu 3700
	on b ip link set eth0 mtu 3700
	start
	tap_is "$(grep -c 'trying another way' "$SCRATCH/err")" 1 \
		"an interface too long for native XDP: says so, and takes another way"
	tap_is "$(falcon-wire show --control "$SOCK" -j | jq -r '[.ports[].io] | join(" ")')" \
		"native generic" "which is the next best"
	stop
	on net ip link set to-b mtu 1500
	on b ip link set eth0 mtu 1500
}

attached()
{
	on net ip -j link show dev to-a | jq -e '.[0].xdp' >/dev/null
}

detached()
{
	! attached
}

try_life()
{
	start --loss 1 -j
	tap_run "the XDP program is attached" attached
	kill -USR1 "$wire"
	tap_run "SIGUSR1 prints a report" tap_wait 10 jq -e .links "$SCRATCH/out"
	tap_is "$(falcon-wire show --control "$SOCK" | grep -c '^to-[ab] ')" 4 "show prints a table"
	on net falcon-wire --control "$SOCK" to-a to-b >"$SCRATCH/second" 2>&1
	tap_is "$? $(grep -c 'another falcon-wire has it' "$SCRATCH/second")" "1 1" \
		"a second one does not take the socket"
	stop
	tap_is "$(jq -s length "$SCRATCH/out")" 2 "and the end prints another report"
	tap_run "the socket goes with it" test ! -e "$SOCK"
	start
	kill -KILL "$wire"
	wait "$wire" 2>/dev/null
	tap_run "a killed one leaves no XDP program" tap_wait 10 detached
	start
	tap_run "and no socket in the way" falcon-wire show --control "$SOCK"
	stop
}

# refused TEXT ARGUMENT...
refused()
{
	local out rc=0

	out=$(on net timeout 10 falcon-wire "${@:2}" 2>&1) || rc=$?
	if [ $rc -ne 0 ] && [ $rc -ne 124 ] && grep -qF -e "$1" <<<"$out"; then
		tap_ok "refused: ${*:2}"
	else
		tap_not_ok "refused: ${*:2}" "$rc: $out"
	fi
}

try_refusals()
{
	refused "want 2 to 16 interfaces" to-a
	refused "twice" to-a to-a
	refused "\"to-z\"" to-a to-z
	refused "not a number from 1 to 16" --paths 17 to-a to-b
	refused "none of: auto" --io netmap to-a to-b
	refused "neither \"hash\"" --spread random to-a to-b
	refused "from 0 to 0" --path 1:rate=1g to-a to-b
	refused "more than the delay" --path 0:jitter=1us to-a to-b
	refused "without a rate" --ecn 30k to-a to-b
	refused "more than 100 %" --loss 101 to-a to-b
	refused "from 1 bit/s to 1000 Mbit/s" --path 0:rifl=256,ber=1e-7,rate=10g to-a to-b
	refused "a hop has two ends" --rifl 256 --rate 1g to-a to-b lo
	refused "unrecognized option" --frobnicate to-a to-b
	refused "from -20 to 19" --nice 20 to-a to-b
	refused "lower its MTU" --delay 1ms to-a lo
	refused "No such file" show --control "$SCRATCH/nobody"
	refused "usage" set path=1 down=1
}

# ask TEXT: what a socket gets that sends this.
ask()
{
	python3 - "$SOCK" "$1" <<-'END'
		import os, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		s.sendall(os.fsencode(sys.argv[2]))
		try:
		    s.shutdown(socket.SHUT_WR)
		    while data := s.recv(65536):
		        sys.stdout.buffer.write(data)
		except ConnectionResetError:
		    pass	# it has not read all of a line too long
	END
}

# Many at once who say nothing, and somebody who has a question.
crowd()
{
	python3 - "$SOCK" <<-'END'
		import socket, sys
		idle = []
		for i in range(40):
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    if i % 3 == 0:
		        s.send(b"sh")
		    idle.append(s)
		s.send(b"show\n")
		print(s.recv(1))
	END
}

try_bad_input()
{
	start --paths 2
	tap_is "$(ask $'\n' | jq -r .error)" '"" is none of: set KEY=VALUE..., show, reset' \
		"control: an empty line gets an error"
	tap_is "$(ask set | jq -r .error)" "set: want KEY=VALUE" "control: half a command, too"
	tap_is "$(ask "$(printf 'x%.0s' {1..5000})" | jq -r .error)" \
		'"too-long" is none of: set KEY=VALUE..., show, reset' "control: a line without end, too"
	ask $'set \xff\xfe=\x80' | jq -e .error >/dev/null
	tap_is $? 0 "control: bytes that are no text, too"
	ask ''
	tap_is "$(crowd)" "b'{'" "control: forty silent clients do not keep out another"
	on a ping -n -q -c 2 -i 0.1 -w 10 10.9.0.2 >/dev/null
	tap_is $? 0 "control: and packets go on"
	tap_is "$(falcon-wire show --control "$SOCK" -j | jq -c '[.links[].settings.down] | unique')" \
		"[false]" "control: nothing has changed"
	stop
}

ip netns add "$NS-net"
cable a 1
cable b 2
try_loss
try_others
try_all
for spread in hash index; do
	try_paths 10.9.0.2 $spread
	try_paths fd00:9::2 $spread
done
try_io
try_life
try_refusals
try_bad_input
tap_done
