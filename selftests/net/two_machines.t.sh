#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# The README's two machines, by its own words: every command of "On a real interface" is taken from there and
# run on two fresh machines joined by a cable.
# shellcheck source=selftests/net/machines.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/machines.sh"
tap_need ss bpftool make gcc jq nbdkit qemu-io ib_write_bw

# The blocks of commands and files in the section, each as $SCRATCH/blocks/N, from 1.
blocks()
{
	mkdir -p "$SCRATCH/blocks"
	awk -v dir="$SCRATCH/blocks" '
		/^#/ { inside = $0 == "## On a real interface"; next }
		!inside { next }
		/^       / { n += !inblock; inblock = 1; print substr($0, 8) >(dir "/" n); next }
		!/^$/ { inblock = 0 }
		inblock { print "" >(dir "/" n) }' "$TAP_TOP/README.md"
}

# block PATTERN: the one block with a line that matches; it is used.
block()
{
	local found

	found=$(grep -l -- "$1" "$SCRATCH/blocks/"*) && [ "$(wc -w <<<"$found")" = 1 ] && cat "$found" &&
		mv "$found" "$SCRATCH/used.${found##*/}"
}

up()
{
	at first falconctl -j conn show | jq -e 'length == 1 and all(.up)'
}

# listens MACHINE PORT
listens()
{
	[ -n "$(at "$1" ss -Hltn "sport = :$2")" ]
}

# Another's file: arrived whole.
arrived()
{
	at second cat /srv/in/copy | cmp - <(at first cat /srv/file)
}

# said FILE PATTERN
said()
{
	grep -q -- "$2" "$SCRATCH/$1" || { tail -n 20 "$SCRATCH/$1"; return 1; }
}

gone()
{
	! at "$1" sh -c "command -v falcond falconctl falcon-run"
}

both()
{
	local machine

	for machine in first second; do
		tap_run "$1: $machine" does $machine "$2"
	done
}

# Its own, of all that are on the machine that it is on.
end_agent()
{
	local pid

	for pid in $(processes "$1"); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != falcond ] || kill "$pid"
	done
}

blocks
set -o pipefail
# Not by tap_run, whose commands leave no variables.
machine first && machine second && cable
tap_is $? 0 "two machines and a cable"

WHERE=$TAP_TOP
both "1. build and install" "$(block '^make install')"
WHERE=/srv
block '^apt-get install' >/dev/null	# install/debian and lint/packages do that

both "2. attach" "$(block '^ip link set dev eth1 xdp obj')"
block '^xdp-loader load' >/dev/null	# net/offload does that

tap_run "3. an authority" does first "$(block '^falconctl ca init')"
at first cat /etc/falcon/ca/second.pem | at second sh -c 'umask 077; cat >second.pem'
tap_run "3. the second's part of it" does second "$(block '^falconctl ca install second.pem')"

block '^\[agent\]' | at first sh -c 'cat >/etc/falcon/falcon.conf'
{
	at first cat /etc/falcon/falcon.conf |
		sed 's/second/first/; s/192\.0\.2\.1/A/; s/192\.0\.2\.2/192.0.2.1/; s/= A/= 192.0.2.2/'
	block '^\[namespace disk\]'
} | at second sh -c 'cat >/etc/falcon/falcon.conf'
tap_run "4. the disk's file" does second "$(block '^truncate')"
both "4. the configuration" "falcond -t"

for machine in first second; do
	later $machine falcond
done
tap_run "5. the agents: the connection comes up" tap_wait 20 up
does first "$(block '^falconctl conn show')" >"$SCRATCH/look"
tap_is $? 0 "6. look"
tap_run "6. the connection is up" said look '^second *up '
tap_run "6. the doctor has nothing to say against it" said look '^ok *connection'

at first sh -c 'head -c 3000000 /dev/urandom >file'
later second sh -ec "$(block '^falcon-cp --serve')"
tap_run "7. the second serves" tap_wait 20 listens second 18515
does first "$(block '^falcon-cp FILE' | sed 's/FILE/file/; s/NAME/copy/')" >"$SCRATCH/moved" 2>&1
tap_is $? 0 "7. a file and perftest"
tap_run "7. the file has arrived" arrived
tap_run "7. perftest has moved something" said moved '^ *65536 *[0-9]* *[1-9]'
tap_run "7. a disk" does first "$(block '^nbdkit')"
block '^nbd-client' >/dev/null		# the kernel's disks are not those of a namespace
tap_is "$(at second od -An -tx1 -N4 disk)" " cd cd cd cd" "7. its blocks are the second's"

does second "$(block '^falconctl counters show')" >"$SCRATCH/counters"
tap_is $? 0 "8. see"
tap_run "8. counters" said counters '^rx_data  *0  *[1-9]'
does second "$(block '^bpftool map')" >"$SCRATCH/maps"
tap_is $? 0 "8. maps"
tap_run "8. the program" said maps 'name falcon_rx'

for machine in first second; do
	end_agent $machine
done
block '^ip link set dev eth1 xdp off' >"$SCRATCH/down"
both "9. take it down" "$(<"$SCRATCH/down")"
WHERE=$TAP_TOP
both "9. and away" "make uninstall PREFIX=/usr"
for machine in first second; do
	tap_run "nothing is left on the $machine" gone $machine
done
tap_is "$(cat "$SCRATCH/blocks/"* 2>/dev/null)" "" "there is no other command in that section"
tap_done
