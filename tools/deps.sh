#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Install what building, testing and benchmarking need; asks nothing, and is quick when all is
# there. tools/deps.sh -l lists the packages.
set -euo pipefail

PACKAGES=(
	bpftool
	bsdextrautils
	clang
	clang-format
	e2fsprogs
	ethtool
	fio
	gcc
	gnuplot-nox
	hpcc
	ibverbs-utils
	iperf3
	iproute2
	iputils-ping
	jq
	kmod
	libbpf-dev
	libc6-dev
	libcap-dev
	libclang-rt-14-dev
	libcmocka-dev
	libelf-dev
	libfabric-bin
	libibverbs-dev
	libinih-dev
	libisal-dev
	libjansson-dev
	libmnl-dev
	libnbd-bin
	libnvme-dev
	libopenmpi-dev
	libpcap-dev
	librdmacm-dev
	libseccomp-dev
	libssl-dev
	libsystemd-dev
	liburing-dev
	libxdp-dev
	libxxhash-dev
	linux-libc-dev
	llvm
	make
	nbdkit
	nbdkit-plugin-dev
	openmpi-bin
	openssl
	perftest
	pkg-config
	procps
	python3
	python3-pyverbs
	qemu-system-x86
	qemu-utils
	rdmacm-utils
	scdoc
	shellcheck
	sockperf
	spin
	tcpdump
	tshark
	ucx-utils
	universal-ctags
	uthash-dev
	util-linux
	xdp-tools
	zlib1g-dev
)

missing()
{
	local package

	for package in "${PACKAGES[@]}"; do
		case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
		installed) ;;
		*) printf '%s\n' "$package" ;;
		esac
	done
}

install_packages()
{
	DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

if [ "${1:-}" = -l ]; then
	printf '%s\n' "${PACKAGES[@]}"
	exit
fi
if ! command -v apt-get dpkg-query >/dev/null; then
	printf 'deps: only Debian and its relatives are known here. Install what these packages hold:\n' >&2
	printf '  %s\n' "${PACKAGES[@]}" >&2
	exit 1
fi
mapfile -t todo < <(missing)
[ ${#todo[@]} -gt 0 ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	printf 'deps: not installed, and installing needs root: %s\n' "${todo[*]}" >&2
	exit 1
fi
# The package lists may be absent or old: fetch them if they do not know a package or its file.
printf 'deps: installing %s\n' "${todo[*]}"
if ! apt-cache show "${todo[@]}" >/dev/null 2>&1 || ! install_packages "${todo[@]}" >/dev/null; then
	apt-get update -q
	install_packages "${todo[@]}"
fi
mapfile -t todo < <(missing)
if [ ${#todo[@]} -gt 0 ]; then
	printf 'deps: still missing: %s\n' "${todo[*]}" >&2
	exit 1
fi
