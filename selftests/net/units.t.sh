#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 180
#
# The units under systemd: two machines boot, and their agents are connected. A program and a disk are in use
# while the configuration is read again. An agent that is killed, or hangs, comes back; one with a user of its
# own works as well.
# shellcheck source=selftests/net/machines.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/machines.sh"
tap_need ss make jq nbdkit qemu-io ib_send_lat systemctl journalctl udevadm
[ -x /lib/systemd/systemd ] || tap_skip_all "systemd is not installed"

declare -A PROGRAMS=()
DISK="nbd+unix:///?socket=/run/disk.sock"

# What programs and agents have said, with a result that is not ok.
tap_explain()
{
	local machine

	tail -n 10 "$SCRATCH"/log.*
	for machine in first second; do
		at $machine falconctl qp
		at $machine falconctl conn
		at $machine journalctl -o short-precise --no-pager -n 20 -u 'falcon*'
	done
}

# configuration MACHINE OTHER
configuration()
{
	at "$1" sh -c 'cat >/etc/falcon/falcon.conf' <<-END
		[agent]
		tls_cert = /etc/falcon/host.crt
		tls_key = /etc/falcon/host.key
		tls_ca = /etc/falcon/ca.crt
		listen = ${ADDRESS[$1]}
		rue_mode = process
		metrics_connections = off

		[port $LINK]

		[peer $2]

		[connection $2]
		local = ${ADDRESS[$1]}
		remote = ${ADDRESS[$2]}
		local_cid = 1
		remote_cid = 1
	END
}

both()
{
	does first "$1" && does second "$1"
}

install_it()
{
	local WHERE=$TAP_TOP

	both 'make install PREFIX=/usr'
}

# What an operator does before the units.
prepare()
{
	install_it &&
		does first "falconctl ca init
			falconctl ca issue first ${ADDRESS[first]}
			falconctl ca issue second ${ADDRESS[second]}
			falconctl ca bundle first
			falconctl ca bundle second
			falconctl ca install /etc/falcon/ca/first.pem" &&
		at first cat /etc/falcon/ca/second.pem | at second falconctl ca install - &&
		configuration first second && configuration second first &&
		does second 'truncate -s 16M /srv/disk
			printf "\n[namespace disk]\npath = /srv/disk\npeers = first\n" \
				>>/etc/falcon/falcon.conf'
}

# active MACHINE: all three units are.
active()
{
	local states

	states=$(at "$1" systemctl is-active "falcon-xdp@$LINK" falcond falcon-rue | uniq -c | xargs)
	[ "$states" = "3 active" ]
}

# property MACHINE NAME [UNIT]
property()
{
	at "$1" systemctl show --value -p "$2" "${3:-falcond}"
}

# status MACHINE KEY: of the agent's process.
status()
{
	at "$1" sed -n "s/^$2:[[:space:]]*//p" "/proc/$(property "$1" MainPID)/status"
}

up()
{
	at first falconctl -j conn show second | jq -e '.[0].up' &&
		at second falconctl -j conn show first | jq -e '.[0].up'
}

engine_runs()
{
	at "$1" falconctl -j version | jq -e '.[0].rue_runs == "process"'
}

# in_journal MACHINE PATTERN: the agent's lines, with the journal's times and no other.
in_journal()
{
	at "$1" journalctl -o cat -u falcond >"$SCRATCH/journal"
	grep -Eq -- "$2" "$SCRATCH/journal" && ! grep -Eq '^[0-9]{4}-' "$SCRATCH/journal"
}

# times MACHINE PATTERN: how many of its lines.
times()
{
	in_journal "$1" . && grep -Ec -- "$2" "$SCRATCH/journal"
}

# Frames that found no room, and how often connections were set up.
losses()
{
	at "$1" falconctl -j port | jq -c '["drops", (map(.drops + .refused) | add)]' &&
		at "$1" falconctl -j conn | jq -c 'map([.name, .setups]) | sort'
}

all_losses()
{
	losses first && losses second
}

# Messages of the program, and commands of the disk.
moved()
{
	at first falconctl -j qp | jq 'map(.sent) | add // 0'
	at second falconctl -j namespace | jq 'map(.reads + .writes) | add // 0'
}

# more THAN...: both have moved more than that.
more()
{
	local now

	mapfile -t now < <(moved)
	[ "${now[0]}" -gt "$1" ] && [ "${now[1]}" -gt "$2" ]
}

# go_on: from now on.
go_on()
{
	local was

	mapfile -t was < <(moved)
	tap_wait 30 more "${was[@]}" && kill -0 "${PROGRAMS[@]}"
}

# listens MACHINE PORT
listens()
{
	[ -n "$(at "$1" ss -Hltn "sport = :$2")" ]
}

# A ping-pong, and a disk that is written and read, until they are ended.
use()
{
	at first nbdkit -U /run/disk.sock falcon-nvme host="${ADDRESS[second]}" || return
	later second falcon-run ib_send_lat -d falcon0 -x 0 -s 4096 -D 3600
	PROGRAMS[server]=$!
	tap_wait 20 listens second 18515 || return
	later first falcon-run ib_send_lat -d falcon0 -x 0 -s 4096 -D 3600 "${ADDRESS[second]}"
	PROGRAMS[client]=$!
	later first sh -ec "while :; do
		qemu-io -f raw -c 'write -P 5 0 256k' -c 'read -P 5 0 256k' '$DISK'
	done"
	PROGRAMS[disk]=$!
}

# reloads MACHINE N: it is told to read its configuration again, and has.
reloads()
{
	local i was

	for ((i = 0; i < $2; i++)); do
		was=$(times "$1" 'configuration read again')
		does "$1" "sed -i '/^metrics_connections/{s/off/on/; t; s/on\$/off/}' /etc/falcon/falcon.conf
			systemctl reload falcond" &&
			tap_wait 20 eval "[ \"\$(times $1 'configuration read again')\" -gt $was ]" || return
	done
}

# comes_back MACHINE: its agent has been started again by systemd, and is connected.
comes_back()
{
	tap_wait 60 eval "[ \"\$(property $1 NRestarts)\" -gt 0 ]" && tap_wait 30 up && engine_runs "$1"
}

# drop_in MACHINE: standard input becomes part of the unit, and the agent starts again.
drop_in()
{
	does "$1" 'mkdir -p /etc/systemd/system/falcond.service.d
		cat >/etc/systemd/system/falcond.service.d/test.conf
		systemctl daemon-reload
		systemctl restart falcond'
}

own_user()
{
	does second 'systemd-sysusers /usr/share/falcon/own-user.sysusers
		chown falcon /etc/falcon/*.key /srv/disk
		cat /usr/share/falcon/own-user.conf' | drop_in second
}

# What falcon(7) has between the packages and a last look.
upgrade()
{
	does second "$(sed -n '/^systemctl stop falcond/,/^systemctl start/p' \
		"$TAP_TOP/user/agent/falcon.7.scd")"
}

end_programs()
{
	kill "${PROGRAMS[@]}" && wait "${PROGRAMS[@]}"
	does first 'pkill -x nbdkit; rm /run/disk.sock'
}

no_program()
{
	[ "$(at "$1" ip -j link show dev "$LINK" | jq '.[0] | has("xdp") and .xdp.mode != 0')" = false ]
}

set -o pipefail
# Not by tap_run, whose commands leave no variables.
machine first && machine second && cable
tap_is $? 0 "two machines and a cable"
tap_run "all is installed and configured" prepare
tap_run "the units are enabled" both "systemctl enable falcon-xdp@$LINK falcond falcon-rue"
boot first && boot second
tap_is $? 0 "they boot"
tap_run "and are connected" tap_wait 60 up
for machine in first second; do
	tap_run "the units of the $machine run" tap_wait 20 active $machine
	tap_run "so does its engine" tap_wait 20 engine_runs $machine
done
tap_is "$(status first NoNewPrivs) $(status first Seccomp)" "1 2" "the agent may no more than it needs"
tap_run "the journal has what it says" in_journal first 'connection up conn=second'
tap_run "the doctor has nothing to say against it" at first falconctl doctor

use
tap_is $? 0 "a program and a disk are in use"
tap_run "both move" go_on
before=$(all_losses)
tap_run "the configuration is read again, on the first" reloads first 5
tap_run "and on the second" reloads second 5
tap_run "both move on" go_on
tap_is "$(all_losses)" "$before" "nothing was lost meanwhile"
end_programs

at second systemctl kill -s KILL falcond
tap_run "an agent that was killed comes back" comes_back second
drop_in second <<-END
	[Service]
	WatchdogSec=2
	TimeoutAbortSec=1
END
tap_run "one that shall give signs of life more often" tap_wait 30 up
at second systemctl kill -s STOP falcond
tap_run "comes back when it hangs" comes_back second
own_user
tap_run "an agent with a user of its own" tap_wait 30 up
tap_is "$(status second Uid | cut -f 1)" "$(at second id -u falcon)" "is that user's"
use
tap_is $? 0 "a program and a disk are in use again"
tap_run "both move again" go_on
end_programs
tap_run "an upgrade, as falcon(7) has it" upgrade
tap_run "is over when they are connected" tap_wait 30 up

for machine in first second; do
	at $machine systemctl stop falcond falcon-xdp@$LINK falcon-rue
	tap_is "$(property $machine Result)" success "the agent of the $machine ends"
	tap_run "and the XDP program goes" no_program $machine
	tap_is "$(at $machine systemctl list-units --failed --plain --no-legend 'falcon*')" "" \
		"no unit has failed"
done
tap_done
