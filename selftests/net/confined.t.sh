#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Agents under what their unit allows them, as root and as a user of their own: connections, files, verbs,
# disks, and a configuration that is read again.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp falcon-run ibv_rc_pingpong nbdkit nbdcopy unshare setpriv

RUN=/run/falcon-$FALCON_LAB
# No host has it.
NOBODY=4000021

# status HOST FIELD: of the agent's process.
status()
{
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$(<"$RUN/$1/falcond.pid")/status"
}

# may_not_write HOST DIRECTORY: what its agent sees there is mounted read-only, or has no rights.
may_not_write()
{
	! nsenter --wdns=/ -t "$(<"$RUN/$1/falcond.pid")" -m touch "$2/falcon_was_here" 2>/dev/null
}

runs_as()
{
	[ "$(status a Uid | cut -f 1)" = "$1" ] && [ "$(status b Uid | cut -f 1)" = "$1" ]
}

pingpong()
{
	local server options=(-d falcon0 -g 0 -c -n 200)

	behind b falcon-run ibv_rc_pingpong "${options[@]}" >"$SCRATCH/server" 2>&1
	server=$!
	tap_wait 20 listens || return 1
	on a falcon-run ibv_rc_pingpong "${options[@]}" 10.250.0.2 && wait $server
}

listens()
{
	on b ss -Hltn 'sport = :18515' | grep -q .
}

# A connection more, in the file.
reread()
{
	cat >>"$RUN/a/falcond.conf" <<-END

		[connection more]
		local = 10.250.0.1
		remote = 10.250.0.2
		service = 9
	END
	kill -HUP "$(<"$RUN/a/falcond.pid")" && tap_wait 20 has_more
}

has_more()
{
	on a falconctl -j conn show more | jq -e 'length == 1' >/dev/null
}

# works WHOSE: what agents are for.
works()
{
	tap_is "$(status a NoNewPrivs)" 1 "$1: no new privileges"
	tap_run "$1: /usr is not to be written" may_not_write a /usr
	serve b
	random_file small 1000000
	tap_run "$1: a file arrives" put a b b small
	tap_run "$1: verbs" pingpong
	tap_run "$1: a disk is attached" on a falconctl nvme connect disk \
		local=10.250.0.1 targets=10.250.0.2/1
	tap_run "$1: and read" on a nbdkit -U - "$TAP_BUILD/nbdkit-falcon-nvme-plugin.so" device=disk \
		--run "nbdcopy \$uri '$SCRATCH/copy'"
	tap_run "$1: and is what it is" cmp "$SCRATCH/disk" "$SCRATCH/copy"
	tap_run "$1: the configuration is read again" reread
	stop_serving
}

chmod 711 "$SCRATCH"
random_file disk $((1 << 20))
export FALCOND=$TAP_TOP/selftests/net/confined.sh
lab_up --export "b:$SCRATCH/disk"
tap_run "as root" runs_as 0
works root
falcon-lab down
chown $NOBODY "$SCRATCH/disk"
export CONFINED_UID=$NOBODY
lab_up --export "b:$SCRATCH/disk"
tap_run "as a user of its own" runs_as $NOBODY
works "its own user"
tap_done
