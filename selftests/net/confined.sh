#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# falcond -c CONFIGURATION..., for FALCOND: an agent under what falcond.service allows it, without systemd:
# capabilities, limits, file systems, no new privileges. Of system calls the agent's own sandbox allows fewer
# than the unit. With CONFINED_UID the drop-in own-user.conf is heeded, too, with that number for its user and
# group, and the files of the lab belong to that user.
#
# Not heeded: PrivateTmp, as the lab's disks may be in /tmp; LimitNOFILE above what there is.
set -e

TOP=$(dirname "$0")/../..
SETTINGS=$(grep -v '^#' "$TOP/user/agent/falcond.service.in")
[ -z "${CONFINED_UID:-}" ] || SETTINGS+=$'\n'$(grep -v '^#' "$TOP/user/agent/own-user.conf")

# Outside of what becomes hidden; the program keeps its name.
exec {programs}<"$(dirname "$(command -v falcond)")"

# setting KEY: the last value.
setting()
{
	sed -n "s/^$1=//p" <<<"$SETTINGS" | tail -n 1
}

# capabilities KEY: as setpriv has them: +net_admin,+bpf.
capabilities()
{
	setting "$1" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g'
}

# read_only DIRECTORY...: with what is mounted below.
read_only()
{
	local dir

	for dir; do
		if [ ! -d "$dir" ] || [ -L "$dir" ]; then continue; fi
		mount --rbind "$dir" "$dir" && mount -o remount,bind,ro "$dir"
	done
}

hide()
{
	local dir

	for dir; do
		[ ! -d "$dir" ] || mount -t tmpfs -o ro,mode=000 none "$dir"
	done
}

if [ -z "${CONFINED:-}" ]; then
	CONFINED=1 exec unshare --mount --propagation slave "$0" "$@"
fi

[ "$(setting ProtectSystem)" != full ] || read_only /usr /boot /efi /etc
[ "$(setting ProtectControlGroups)" != yes ] || read_only /sys/fs/cgroup
[ "$(setting ProtectHome)" != yes ] || hide /home /root /run/user
[ "$(setting ProtectKernelModules)" != yes ] || hide /usr/lib/modules
[ "$(setting ProtectProc)" != invisible ] || mount -t proc -o hidepid=invisible none /proc
ulimit -c "$(setting LimitCORE)"
ulimit -n "$(setting LimitNOFILE)" 2>/dev/null || true
umask "$(setting UMask)"

bounds=-all,$(capabilities CapabilityBoundingSet)
# A container's root may lack what lets the agent raise its limits for "priority": the other way to have it.
setpriv --dump | grep -q "^Capability bounding set:.*sys_resource" || bounds+=,+sys_nice
options=(--bounding-set "$bounds")
if [ -n "${CONFINED_UID:-}" ]; then
	sed -n "s/^ExecStartPre=+//p" <<<"$SETTINGS" | sed "s/chgrp falcon/chgrp $CONFINED_UID/" | sh -e
	lab=$(dirname "$(dirname "$2")")
	chown -R "$CONFINED_UID" "$(dirname "$2")" "$lab/ca"
	ambient=$(capabilities AmbientCapabilities)
	options+=(--reuid "$CONFINED_UID" --regid "$CONFINED_UID" --clear-groups --inh-caps "$ambient" \
		--ambient-caps "$ambient")
fi
[ "$(setting NoNewPrivileges)" != yes ] || options+=(--no-new-privs)
exec setpriv "${options[@]}" "/proc/self/fd/$programs/falcond" "$@"
