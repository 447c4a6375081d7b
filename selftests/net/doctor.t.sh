#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# falconctl doctor: nothing to complain of on a host that works, and the right sentence, with what to do, for
# each of many that do not.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl ethtool jq

RUN=/run/falcon-$FALCON_LAB
CONF=$RUN/a/falcond.conf
SICK=$SCRATCH/falcond.conf

# finding STATUS CHECK SENTENCE ADVICE: the doctor has it, by regular expressions of the latter two. So its
# exit status says whether anything fails.
finding()
{
	local out rc=0 want=0

	out=$(on a falconctl -j doctor -c "$SICK") || rc=$?
	[ "$1" != fail ] || want=2
	jq -e --arg status "$1" --arg check "$2" --arg text "$3" --arg advice "$4" '
		any(.status == $status and .check == $check and (.finding | test($text)) and
			(.advice // "" | test($advice)))' <<<"$out" >/dev/null &&
		{ [ "$want" = 0 ] || [ "$rc" = 2 ]; } && return
	jq -c '.[]' <<<"$out"
	return 1
}

# sick NAME SCRIPT STATUS CHECK SENTENCE ADVICE: what it finds in the configuration, edited by SCRIPT.
sick()
{
	sed "$2" "$CONF" >"$SICK"
	tap_run "$1" finding "${@:3}"
}

# The only complaint is of the machine's own clock.
healthy()
{
	local out

	out=$(on a falconctl -j doctor -c "$CONF") &&
		jq -e 'all(.status == "ok" or .check == "clock") and
			any(.check == "agent" and .status == "ok") and
			any(.check == "connection" and (.finding | test("3 of 3 up"))) and
			any(.check == "peer" and .status == "ok") and
			any(.check == "certificate" and .status == "ok")' <<<"$out" && return
	jq -c '.[]' <<<"$out"
	return 1
}

conn_up()
{
	on a falconctl -j conn show | jq -e 'all(.up)'
}

lab_up --queues 2
tap_run "all connections are up" tap_wait 20 conn_up
tap_run "a host that works" healthy
tap_run "the peer's agent takes it for what it is" \
	tap_wait 20 grep -q "as falconctl doctor does" "$RUN/b/falcond.log"
tap_run "for people" grep -Eq '^ok +agent +version' <(on a falconctl doctor -c "$CONF")

sick "a key that there is not" 's/^\[port eth0\]/&\nqeues = 2/' \
	fail config "falcond.conf:[0-9]+: .*qeues" "falcon.conf\(5\)"
sick "no such interface" 's/^\[port eth0\]/[port eth9]/' \
	fail "port eth9" "no such interface" "ip link"
sick "no interface" '/^\[port eth0\]/,/^$/d' fail ports "no \[port\]" "IFNAME"
sick "fewer queues served than there are" 's/^queues = auto/queues = 1/' \
	fail "port eth0" "queues = 1, but there are 2" "ethtool -L eth0 combined 1"
sick "more threads than queues" 's/^\[agent\]/&\nthreads = 4/' \
	fail "port eth0" "threads = 4, but there are only 2" "ethtool -L eth0 combined 4"
on a ip link add wide0 mtu 9000 type veth peer name wide1 mtu 9000
sick "a large MTU" 's/^\[port eth0\]/[port wide0]/' ok "port wide0" "MTU 9000, .* take 3498" ""
tap_run "and no program" \
	finding fail "port wide0" "no XDP program" "ip link set dev wide0 xdp obj .* sec xdp.frags"
sick "an address of another host" '/^\[connection b\]/,/^$/s/^local = .*/local = 10.250.0.99/' \
	fail connection "10.250.0.99 is no address" "ip address"
tap_run "for which the certificate is not" \
	finding warn certificate "does not hold 10.250.0.99" "ca issue HOST 10.250.0.99"
sick "dialling is listened for, and nobody may" \
	'/^\[peer any\]/,/^$/d' warn policy "nobody may dial" "\[peer NAME\]"
sick "plain sessions" '/^tls_/d; s/^\[agent\]/&\ncontrol = plain/' \
	warn certificate "control = plain" "certificates"
sick "no certificates" '/^tls_/d' fail certificate "neither tls_cert nor psk_file" "ca init"
sick "a certificate that is not there" "s|^tls_cert = .*|tls_cert = $SCRATCH/none.crt|" \
	fail certificate "none.crt" "ca issue"
sick "another's certificate" "s|^tls_cert = .*|tls_cert = $RUN/ca/b.crt|" \
	fail certificate "a.key: key values mismatch" ""
cp "$RUN/ca/a.key" "$SCRATCH/open.key"
chmod 644 "$SCRATCH/open.key"
sick "a key that all may read" "s|^tls_key = .*|tls_key = $SCRATCH/open.key|" \
	fail certificate "chmod 600" ""

# Certificates of an authority of this test's own.
own_ca()
{
	local days=$1

	rm -rf "$SCRATCH/ca"
	falconctl ca init "$SCRATCH/ca" >/dev/null &&
		falconctl ca issue a 10.250.0.1 fd00:250::1 "days=$days" "dir=$SCRATCH/ca" >/dev/null
}

# The same key, in a certificate that has been valid until now.
expire()
{
	local ca=$SCRATCH/ca

	openssl req -new -key "$ca/a.key" -subj /CN=a -out "$SCRATCH/a.csr" 2>/dev/null &&
		openssl x509 -req -in "$SCRATCH/a.csr" -CA "$ca/ca.crt" -CAkey "$ca/ca.key" -CAcreateserial \
			-days -1 -out "$ca/a.crt" 2>/dev/null
}

OWN="s|$RUN/ca/|$SCRATCH/ca/|"
tap_run "an authority" own_ca 20
sick "a certificate that ends soon" "$OWN" warn certificate "expires on" "ca issue"
tap_run "it is revoked" falconctl ca revoke a "dir=$SCRATCH/ca"
sick "a certificate that is revoked" "$OWN" fail certificate "refuse.*revoked" "ca issue"
sick "that of another authority" "s|^tls_ca = .*|tls_ca = $SCRATCH/ca/ca.crt|; /^tls_crl/d" \
	fail certificate "peers will refuse" "tls_ca"
tap_run "another one, which has expired" expire
sick "a certificate that has expired" "$OWN; /^tls_crl/d" fail certificate "has expired on" "ca issue"

cp "$CONF" "$SICK"
falcon-lab agent b stop
tap_run "the peer's agent is gone" \
	finding fail peer "10.250.0.2, TCP port 1000: Connection refused" "start falcond there"
tap_run "and the connection is down" finding fail connection "^b is .*: ." "conn show b"
falcon-lab agent a stop
tap_run "no agent" finding fail agent "no falcond at $RUN/a/falcond.sock" "systemctl start falcond"
on a ip link set dev eth0 xdp off
tap_run "no XDP program" finding fail "port eth0" "no XDP program" "ip link set dev eth0 xdp obj"
on a ip link set dev eth0 xdpgeneric obj "$TAP_BUILD/falcon.bpf.o" sec xdp
tap_run "in generic mode" finding warn "port eth0" "generic mode" "xdpgeneric off"
on a ip link set dev eth0 xdpgeneric off
on a ip link set dev eth0 xdp obj "$TAP_BUILD/lab_switch.bpf.o" sec xdp
tap_run "another XDP program" finding fail "port eth0" "program lab_[a-z]+ is attached" "xdp off"
on a ip link set dev eth0 xdp off
on a sh -c 'rm /sys/fs/bpf/tc/globals/falcon_*'
tap_run "no maps" finding fail maps "falcon_conns" ""
on a ip link set dev eth0 down
tap_run "the link is down" finding fail "port eth0" "is down" "ip link set dev eth0 up"
tap_done
