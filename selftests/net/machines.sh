# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Fresh machines on this one, and a cable: each with a network and mounts of its own, and what it installs is
# written into memory. Nothing of the tree is in its path.
# shellcheck source=selftests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"

tap_need_root
tap_need ip unshare nsenter pgrep
grep -qw overlay /proc/filesystems || tap_skip_all "the kernel has no overlayfs"

SCRATCH=$(mktemp -d)
LINK=eth1
# Of each machine the process that keeps it, and that of systemd if it has been booted; and its address.
declare -A PID=() INIT=() ADDRESS=([first]=192.0.2.1 [second]=192.0.2.2)

# processes MACHINE: what runs there, the one that keeps it last.
processes()
{
	local net pid

	net=$(readlink "/proc/${PID[$1]}/ns/net")
	for pid in /proc/[0-9]*; do
		[ "$(readlink "$pid/ns/net")" != "$net" ] || echo "${pid#/proc/}"
	done 2>/dev/null | grep -vx "${PID[$1]}"
	echo "${PID[$1]}"
}

# alone MACHINE: nothing runs there but the process that keeps it.
alone()
{
	[ "$(processes "$1")" = "${PID[$1]}" ]
}

# What systemd makes of control groups stays when it is killed; so does that of tests that were killed.
remove_groups()
{
	# shellcheck disable=SC2016 # the shell that it is for expands it
	unshare --mount sh -c 'mount -t cgroup2 cgroup2 "$1" || exit 0
		for group in "$1$2"/falcon-test-*; do
			! grep -qsx "populated 0" "$group/cgroup.events" ||
				find "$group" -depth -type d -exec rmdir {} +
		done' sh "$SCRATCH" "$(own_group)"
}

machines_cleanup()
{
	local machine pids

	[ $BASHPID -eq $$ ] || return
	[ ${#INIT[@]} = 0 ] || kill -KILL "${INIT[@]}"
	for machine in "${!PID[@]}"; do
		mapfile -t pids < <(processes "$machine" | head -n -1)
		[ ${#pids[@]} = 0 ] || kill "${pids[@]}"
		tap_wait 10 alone "$machine" || kill -KILL "${pids[@]}"
		kill "${PID[$machine]}"
	done 2>/dev/null
	wait
	[ ${#INIT[@]} = 0 ] || remove_groups
	rm -rf "$SCRATCH"
}
trap machines_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# at MACHINE COMMAND...: there, in $WHERE.
WHERE=/srv
at()
{
	nsenter -t "${INIT[$1]:-${PID[$1]}}" -n -m -u -i -p -C --wdns="$WHERE" env -i HOME=/root TERM=dumb \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin FALCON_TEST_MARKS="${FALCON_TEST_MARKS-}" \
		MAKEFLAGS="B=$TAP_BUILD" "${@:2}"
}

# later MACHINE COMMAND...: in the background, its output in $SCRATCH/log.MACHINE.COMMAND.
later()
{
	at "$@" >"$SCRATCH/log.$1.$2" 2>&1 &
}

# does MACHINE COMMANDS: a shell of the machine's does them, and stops at the first that fails.
does()
{
	at "$1" sh -ec "$2"
}

# Its own /usr, /etc, /srv and /var over this machine's, and the state of a host that has just come up.
# shellcheck disable=SC2016 # the shell that it is for expands it
FRESH='set -e
mount -t tmpfs tmpfs "$1"
mkdir "$1/tree"
mount --bind "$3" "$1/tree"
for dir in usr etc srv var; do
	mkdir -p "$1/$dir" "$1/work.$dir"
	mount -t overlay overlay -o "lowerdir=/$dir,upperdir=$1/$dir,workdir=$1/work.$dir" "/$dir"
done
rm -rf /etc/falcon /etc/systemd/system/*
mount --bind "$1/tree" "$3"
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
mount -t bpf bpf /sys/fs/bpf
echo "$2" | tee /proc/sys/kernel/hostname >/etc/hostname
ip link set lo up
echo ready
exec sleep infinity'

# machine NAME
machine()
{
	local ready

	mkdir "$SCRATCH/$1"
	exec {ready}< <(exec unshare --net --mount --uts sh -c "$FRESH" sh "$SCRATCH/$1" "$1" "$TAP_TOP" \
		2>"$SCRATCH/$1.log")
	PID[$1]=$!
	read -rt 20 <&"$ready" || { cat "$SCRATCH/$1.log"; return 1; }
	exec {ready}<&-
}

cable()
{
	ip link add name "$LINK" netns "${PID[first]}" type veth peer name "$LINK" netns "${PID[second]}" &&
		for machine in first second; do
			at $machine ip addr add "${ADDRESS[$machine]}/24" dev "$LINK" &&
				at $machine ip link set "$LINK" up || return
		done
}

# ---- with systemd ---------------------------------------------------------------------------

GROUP=falcon-test-$$

# Our own control group, of the hierarchy that every process is in.
own_group()
{
	sed -n 's/^0:://p' /proc/self/cgroup | sed 's|^/$||'
}

# systemd as the first process, in namespaces of its own. What would change the machine that it is on is left
# out: kernel variables, modules, and devices but for those of the network; and what other packages start.
# shellcheck disable=SC2016 # the shell that it is for expands it
BOOT='set -e
mkdir -p "$1/groups"
mount -t cgroup2 cgroup2 "$1/groups"
mkdir "$1/groups$2"
echo $$ >"$1/groups$2/cgroup.procs"
umount "$1/groups"
exec unshare --cgroup --ipc --pid --fork --kill-child sh -ec "$3"'
# shellcheck disable=SC2016
FIRST_PROCESS='
for dir in tmp home root; do	# of which systemd-tmpfiles(8) takes care
	mount -t tmpfs tmpfs /$dir
done
mount -o remount,bind,ro /
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs dev /dev
mkdir /dev/shm /dev/pts
mount -t devpts -o newinstance,ptmxmode=666 devpts /dev/pts
ln -s pts/ptmx /dev/ptmx
mknod -m 666 /dev/null c 1 3
mknod -m 666 /dev/zero c 1 5
mknod -m 666 /dev/full c 1 7
mknod -m 666 /dev/random c 1 8
mknod -m 666 /dev/urandom c 1 9
mknod -m 666 /dev/tty c 5 0
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
cd /etc/systemd/system
for unit in systemd-sysctl systemd-modules-load systemd-tmpfiles-setup-dev systemd-remount-fs systemd-logind \
	systemd-binfmt kmod-static-nodes dbus getty@ serial-getty@ console-getty; do
	ln -sf /dev/null $unit.service
done
ln -sf /dev/null dbus.socket
mkdir -p ../system-generators
ln -sf /dev/null ../system-generators/systemd-sysv-generator
mkdir -p systemd-udev-trigger.service.d
cat >systemd-udev-trigger.service.d/network.conf <<END
[Service]
ExecStart=
ExecStart=udevadm trigger --action=add --subsystem-match=net
END
mkdir /run/udev
: >/run/udev/control		# else systemd takes it that there is no udev for it to listen to
exec env -i container=falcon FALCON_TEST_MARKS="$FALCON_TEST_MARKS" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --unit=multi-user.target </dev/null >/dev/null 2>&1'

manages()
{
	at "$1" systemctl is-system-running | grep -Eqx 'starting|running|degraded'
}

# boot MACHINE: systemd runs there, and starts what is enabled.
boot()
{
	local warden

	nsenter -t "${PID[$1]}" -n -m -u unshare --mount sh -c "$BOOT" sh "$SCRATCH/$1" \
		"$(own_group)/$GROUP.$1" "$FIRST_PROCESS" >"$SCRATCH/$1.boot" 2>&1 &
	warden=$!
	tap_wait_for $warden 20 pgrep -P $warden -x systemd && INIT[$1]=$(pgrep -P $warden -x systemd) &&
		tap_wait 60 manages "$1" && return
	cat "$SCRATCH/$1.boot"
	return 1
}
