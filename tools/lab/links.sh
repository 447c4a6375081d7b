# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # variables are set by falcon-lab
# Part of falcon-lab: hosts, the cables between them, and what stands in between.

# Checksums and segments complete in every frame, since XDP and AF_XDP see no offload requests.
# GRO keeps an interface able to receive redirected frames even while no XDP program is on it.
plain_frames()
{
	in_ns "$1" ethtool -K "$2" tx off tso off gso off txvlan off rxvlan off tx-vlan-stag-hw-insert off \
		rx-vlan-stag-hw-parse off gro "$3" >/dev/null 2>&1 ||
		die "ethtool refuses offload settings of $2 in $NS$1"
}

make_host()
{
	local host=$1

	mkdir -p "$RUN/$host/bpf"
	mount -t bpf bpf "$RUN/$host/bpf"
	ip netns add "$NS$host"
	# shellcheck disable=SC2016 # expanded by the shell inside
	nsenter --net="/run/netns/$NS$host" sh -c 'for f in accept_dad accept_ra; do for c in all default; do
		echo 0 >/proc/sys/net/ipv6/conf/$c/$f; done; done'
	ip -n "$NS$host" link set lo up
}

address_host()
{
	local host=$1 n=$2

	plain_frames "$host" eth0 on
	ip -n "$NS$host" -batch - <<-END
	address add 10.250.0.$n/24 dev eth0
	address add fd00:250::$n/64 dev eth0 nodad
	link set eth0 up
	END
}

mac()
{
	printf '02:fa:00:00:00:%02x' "$1"
}

direct_cable()
{
	ip link add eth0 netns "${NS}a" address "$(mac 1)" mtu "$mtu" \
		numrxqueues "$queues" numtxqueues "$queues" type veth \
		peer name eth0 netns "${NS}b" address "$(mac 2)" mtu "$mtu" \
		numrxqueues "$queues" numtxqueues "$queues"
}

switch_cable()
{
	local host=$1 n=$2

	ip link add eth0 netns "$NS$host" address "$(mac "$n")" mtu "$mtu" \
		numrxqueues "$queues" numtxqueues "$queues" type veth \
		peer name "to-$host" netns "${NS}net" mtu "$mtu" \
		numrxqueues "$queues" numtxqueues "$queues"
	plain_frames net "to-$host" off
	# An XDP program turns GRO on, which must not join what packet sockets are to read.
	ip -n "${NS}net" link set "to-$host" gro_max_size 1 2>/dev/null || true
	ip -n "${NS}net" link set "to-$host" up
}

le32()
{
	printf '%d %d %d %d' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255))
}

# map_set NAME KEY BYTE...: in the switch's namespace, whose interfaces alone a devmap takes there.
map_set()
{
	local name=$1 key=$2

	shift 2
	# shellcheck disable=SC2046 # bytes are words
	nsenter --net="/run/netns/${NS}net" bpftool map update pinned "$RUN/net/bpf/$name" \
		key $(le32 "$key") value "$@"
}

# Forwarding and impairments: load the switch, tell it its ports, attach it to all of them.
# shellcheck disable=SC2046 # bytes are words
start_switch()
{
	local i host ifindex bpf=$RUN/net/bpf

	bpftool prog load "$(find_object lab_switch.bpf.o)" "$bpf/lab_switch" type xdp pinmaps "$bpf"
	map_set lab_impair 0 $(le32 "$(share "$loss")") $(le32 "$(share "$dup")") \
		$(le32 "$(share "$corrupt")") $(le32 "$(share "$ecn")")
	for ((i = 0; i < hosts; i++)); do
		host=${HOSTS[i]}
		ifindex=$(in_ns net cat "/sys/class/net/to-$host/ifindex")
		map_set lab_ports $((i + 1)) $(le32 "$ifindex")
		bpftool map create "$bpf/twice_$host" type devmap key 4 value 4 entries 2 name lab_twice
		map_set "twice_$host" 0 $(le32 "$ifindex")
		map_set "twice_$host" 1 $(le32 "$ifindex")
		map_set lab_twice $((i + 1)) pinned "$bpf/twice_$host"
		nsenter --net="/run/netns/${NS}net" \
			ip link set dev "to-$host" xdp pinned "$bpf/lab_switch"
	done
}

wire_answers()
{
	"$HERE/falcon-wire" show --control "$RUN/net/wire.sock" >/dev/null 2>&1 ||
		! alive "$RUN/net/wire.pid"
}

start_wire()
{
	local host cables=()

	for host in "${HOSTS[@]:0:hosts}"; do
		cables+=("to-$host")
	done
	# Before the hosts: a real link does not wait for a CPU.
	setsid nsenter --net="/run/netns/${NS}net" "$HERE/falcon-wire" --nice -10 \
		--control "$RUN/net/wire.sock" "${wire[@]}" "${cables[@]}" \
		</dev/null >/dev/null 2>"$RUN/net/wire.log" &
	echo $! >"$RUN/net/wire.pid"
	if ! wait_until wire_answers || ! alive "$RUN/net/wire.pid"; then
		die "falcon-wire does not start: $(cat "$RUN/net/wire.log")"
	fi
}
