#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Run tests on the oldest kernel that we promise to support, Debian 12's 6.1, in a virtual machine:
#
#	selftests/vm/run.sh [KIND | FILE]...	as for selftests/run.sh; default: see TESTS
#	selftests/vm/run.sh -- COMMAND...	any command instead, as root in the tree
#
# The guest's root is this machine's, read-only under an overlay in memory, so it runs what make
# built here, with the tools installed here, and changes nothing. KVM is used where it works, else
# software emulation, some twenty times slower. All of it lives in build/vm.
#
# VM_TIMEOUT (3600) seconds; VM_CPUS (2); VM_MEMORY (4G); VM_ACCEL (kvm, else tcg).
set -euo pipefail
cd "$(dirname "$0")/../.."

VM=${BUILD:-build}/vm
TESTS=(
	bpf
	selftests/net/xdp_attach.t.sh
	selftests/net/transfer.t.sh
	selftests/net/coexist.t.sh
	selftests/net/esp.t.sh
	selftests/net/vlan.t.sh
	selftests/net/nvme_mount.t.sh
)
PACKAGES=(busybox-static cpio dmsetup e2fsprogs kmod nbd-client qemu-system-x86)
# What the guest needs before it has a root with modules on it.
BOOT_MODULES=(virtio_pci 9pnet_virtio 9p overlay)

die()
{
	printf 'vmtest: %s\n' "$*" >&2
	exit 1
}

need_packages()
{
	local package todo=()

	command -v apt-get dpkg-query >/dev/null ||
		die "needs Debian, for its kernel and these packages: ${PACKAGES[*]}"
	for package in "${PACKAGES[@]}"; do
		case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
		installed) ;;
		*) todo+=("$package") ;;
		esac
	done
	[ ${#todo[@]} -gt 0 ] || return 0
	[ "$(id -u)" -eq 0 ] || die "not installed, and installing needs root: ${todo[*]}"
	printf '# installing %s\n' "${todo[*]}"
	apt-get update -q >/dev/null
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${todo[@]}" \
		>/dev/null
}

# The newest package of the stock 6.1 kernel that the package lists know.
kernel_package()
{
	apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-amd64$' | cut -d' ' -f1 |
		sort -V | tail -n 1
}

# Unpack the kernel without installing it.
need_kernel()
{
	local package

	[ ! -e "$VM/kernel.ok" ] || return 0
	package=$(kernel_package)
	if [ -z "$package" ]; then
		apt-get update -q >/dev/null
		package=$(kernel_package)
	fi
	[ -n "$package" ] || die "the package lists know no linux-image-6.1.0-*-amd64"
	printf '# fetching %s\n' "$package"
	rm -rf "$VM"
	mkdir -p "$VM/kernel"
	(cd "$VM" && apt-get download -q "$package" >/dev/null 2>&1) || die "cannot fetch $package"
	dpkg-deb -x "$VM/$package"_*.deb "$VM/kernel"
	rm -f "$VM/$package"_*.deb
	depmod -b "$VM/kernel" "$(kernel_release)"
	: >"$VM/kernel.ok"
}

kernel_release()
{
	local image

	image=$(echo "$VM"/kernel/boot/vmlinuz-*)
	printf '%s' "${image##*/vmlinuz-}"
}

# Modules with what they depend on, in loading order.
boot_modules()
{
	local module

	for module in "${BOOT_MODULES[@]}"; do
		modprobe -d "$PWD/$VM/kernel" -S "$(kernel_release)" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# A first root with a shell and the modules, just enough to mount the real one.
build_initrd()
{
	local root=$VM/initrd module i=10

	rm -rf "$root"
	mkdir -p "$root"/{bin,modules,proc,sys,dev,host,memory,root}
	cp /bin/busybox "$root/bin/busybox"
	cp selftests/vm/first-init.sh "$root/init"
	chmod 755 "$root/init"
	for module in $(boot_modules); do
		cp "$module" "$root/modules/$i-${module##*/}"
		i=$((i + 1))
	done
	(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$VM/initrd.gz"
}

# start ACCELERATOR SECONDS APPEND OPTION...: qemu with our kernel, in the background; its process is
# $machine, and ends with this script at the latest.
start()
{
	timeout -k 10 "$2" qemu-system-x86_64 -accel "$1" -cpu max,arch-capabilities=off \
		-machine q35 -smp "${VM_CPUS:-2}" -m "${VM_MEMORY:-4G}" -nodefaults -no-user-config \
		-display none -no-reboot -kernel "$VM/kernel/boot/vmlinuz-$(kernel_release)" \
		-initrd "$VM/initrd.gz" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable nowatchdog $3" \
		"${@:4}" </dev/null 2>"$VM/qemu.log" &
	machine=$!
}

machine=
trap '[ -z "$machine" ] || kill "$machine" 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

# Whether KVM runs our kernel; a /dev/kvm, even one that opens, does not say so.
kvm_works()
{
	[ -w /dev/kvm ] || return 1
	rm -f "$VM/probe.log"
	start kvm 10 falcon.probe -serial "file:$VM/probe.log"
	wait "$machine" 2>/dev/null || true
	grep -q 'first-init: alive' "$VM/probe.log" 2>/dev/null
}

# Boot; the guest's script has the second serial line, which we show as it comes.
boot()
{
	local accel=${VM_ACCEL:-tcg,thread=multi,tb-size=512}

	if [ -z "${VM_ACCEL:-}" ] && kvm_works; then
		accel=kvm
	fi
	printf '# Linux %s under qemu, %s\n' "$(kernel_release)" "${accel%%,*}"
	: >"$VM/output"
	start "$accel" "${VM_TIMEOUT:-3600}" "falcon.top=$PWD falcon.vm=$VM" \
		-serial "file:$VM/console.log" -serial "file:$VM/output" \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap
	tail -n +1 -f -s 0.2 --pid="$machine" "$VM/output" | sed -u 's/\r$//; /^vm exit /d'
	wait "$machine" || true
	machine=
}

# The command line travels through a file, which the guest finds where we left it.
leave_command()
{
	if [ "${1:-}" = -- ]; then
		shift
		printf '%q ' "$@" >"$VM/command"
		return
	fi
	[ $# -gt 0 ] || set -- "${TESTS[@]}"
	{
		printf 'FALCON_TEST_TIMEOUT=1200 FALCON_LAB_TIMEOUT=180 VM=1 '
		printf '%q ' selftests/run.sh "$@"
	} >"$VM/command"
}

need_packages
need_kernel
leave_command "$@"
build_initrd
boot
status=$(tr -d '\r' <"$VM/output" | sed -n 's/^vm exit //p' | tail -n 1)
if [ -z "$status" ]; then
	tail -n 20 "$VM/qemu.log" "$VM/console.log" >&2 || true
	die "the guest ended without a result; its console is $VM/console.log"
fi
exit "$status"
