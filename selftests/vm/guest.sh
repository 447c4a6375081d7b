#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# First process of the guest once it has its root: a minimal system, the command, power off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C TERM=dumb

# boot_option NAME: from the kernel's command line.
boot_option()
{
	tr ' ' '\n' </proc/cmdline | sed -n "s/^$1=//p"
}

top=$(boot_option falcon.top)
vm=$(boot_option falcon.vm)
case $vm in
/*) ;;
*) vm=$top/$vm ;;
esac

ln -s /proc/self/fd /dev/fd
mkdir -p /dev/shm /dev/pts /sys/fs/bpf
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs run /run
mount -t tmpfs -o mode=1777 tmp /tmp
mount -t bpf bpf /sys/fs/bpf
mkdir -p /lib/modules
mount --bind "$vm/kernel/lib/modules" /lib/modules
hostname falcon-vm
ip link set lo up
ulimit -l unlimited
ulimit -n 65536
dmesg -n 3

stty -F /dev/ttyS1 raw -echo
cd "$top" || exit 1
# setsid: no controlling terminal, so nothing in here can be stopped by one.
setsid --wait bash -c ". $(printf %q "$vm/command")" </dev/null >/dev/ttyS1 2>&1
echo "vm exit $?" >/dev/ttyS1
dmesg | tail -n 200 >/dev/ttyS0
stty -F /dev/ttyS1 drain
sync
echo o >/proc/sysrq-trigger
sleep 60
