#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# First process of the guest: make the host's file system, with memory laid over it, our root.
b=/bin/busybox

fail()
{
	$b echo "first-init: $*"
	$b poweroff -f
}

$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
if $b grep -q falcon.probe /proc/cmdline; then
	$b echo "first-init: alive"
	$b poweroff -f
fi
for module in /modules/*; do
	$b insmod "$module" || fail "$module"
done
$b mount -t 9p -o ro,trans=virtio,version=9p2000.L,msize=512000,cache=loose host /host ||
	fail "host file system"
$b mount -t tmpfs -o size=80% memory /memory
$b mkdir /memory/upper /memory/work
$b mount -t overlay -o lowerdir=/host,upperdir=/memory/upper,workdir=/memory/work root /root ||
	fail "overlay"
for fs in proc sys dev; do
	$b mount --move /$fs /root/$fs
done
for word in $($b cat /root/proc/cmdline); do
	case $word in
	falcon.top=*) top=${word#falcon.top=} ;;
	esac
done
exec $b switch_root /root /bin/bash "$top/selftests/vm/guest.sh"
