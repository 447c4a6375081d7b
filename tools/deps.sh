#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# deps.sh [-l] [build|deb|rpm|test|bench|all]: install what building needs, what making Debian or RPM packages
# needs, what "make test" needs (the default), what "make bench" needs, or all of it. Asks nothing, and is
# quick when all is there. -l lists the packages instead.
set -euo pipefail

# To build. The packages' Build-Depends name the same (selftests/install/packages.t.sh). Of A|B the first that
# apt can install: Ubuntu 24.04 has bpftool among its kernels' tools.
BUILD=(
	'bpftool|linux-tools-generic'
	clang
	gcc
	libbpf-dev
	libc6-dev
	libcap-dev
	libibverbs-dev
	libinih-dev
	libisal-dev
	libjansson-dev
	libmicrohttpd-dev
	libmnl-dev
	libncurses-dev
	libnvme-dev
	libpcap-dev
	librdmacm-dev
	libseccomp-dev
	libssl-dev
	libsystemd-dev
	liburing-dev
	libxdp-dev
	libxxhash-dev
	linux-libc-dev
	make
	nbdkit-plugin-dev
	pkg-config
	scdoc
	uthash-dev
)
# AES-GCM where it is fastest; OpenSSL does it elsewhere.
[ "$(uname -m)" != x86_64 ] || BUILD+=(libipsec-mb-dev)

# To make packages and check them, besides. Debian 13 has the units' folder, for pkg-config, in a package of
# its own.
DEB=(
	build-essential
	debhelper
	debootstrap
	dpkg-dev
	lintian
	'systemd-dev|systemd'
)

# To make RPM packages, besides.
RPM=(
	rpm
)

# For tests, besides. clang-19 is Debian 13's, another compiler for the XDP programs. libclang-rt-dev has the
# sanitizers' and the fuzzers' part of whichever clang is the default.
TEST=(
	aspell
	aspell-en
	bsdextrautils
	'clang-19|clang'
	e2fsprogs
	ethtool
	fio
	fish
	gnuplot-nox
	groff-base
	hpcc
	ibverbs-utils
	iperf3
	iproute2
	iputils-ping
	jq
	kmod
	libclang-rt-dev
	libcmocka-dev
	libfabric-bin
	libnbd-bin
	libopenmpi-dev
	llvm
	nbdkit
	openmpi-bin
	openssl
	perftest
	procps
	python3
	python3-pyte
	python3-pyverbs
	qemu-system-x86
	qemu-utils
	rdmacm-utils
	shellcheck
	spin
	systemd
	tcpdump
	tshark
	ucx-utils
	udev
	universal-ctags
	util-linux
	xdp-tools
	xz-utils
	zsh
)

# For benchmarks, besides.
BENCH=(
	sockperf
)

# known PACKAGE: apt has it, and not only others that provide it.
known()
{
	[ -n "$(apt-cache show "$1" 2>/dev/null)" ]
}

# resolve PACKAGE...: the names, and of A|B the first that apt knows, or A.
resolve()
{
	local package

	for package; do
		if [[ $package == *'|'* ]] && ! known "${package%|*}" && known "${package#*|}"; then
			package=${package#*|}
		fi
		printf '%s\n' "${package%|*}"
	done
}

# undecided PACKAGE...: of some A|B apt knows neither, as where there are no package lists.
undecided()
{
	local package

	for package; do
		[[ $package != *'|'* ]] || known "${package%|*}" || known "${package#*|}" || return 0
	done
	return 1
}

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

usage()
{
	echo "usage: deps.sh [-l] [build|deb|rpm|test|bench|all]" >&2
	exit 2
}

list=0
if [ "${1:-}" = -l ]; then
	list=1
	shift
fi
[ $# -le 1 ] || usage
case ${1:-test} in
build) PACKAGES=("${BUILD[@]}") ;;
deb) PACKAGES=("${BUILD[@]}" "${DEB[@]}") ;;
rpm) PACKAGES=("${BUILD[@]}" "${RPM[@]}") ;;
test) PACKAGES=("${BUILD[@]}" "${RPM[@]}" "${TEST[@]}") ;;
bench) PACKAGES=("${BUILD[@]}" "${RPM[@]}" "${TEST[@]}" "${BENCH[@]}") ;;
all) PACKAGES=("${BUILD[@]}" "${RPM[@]}" "${TEST[@]}" "${BENCH[@]}" "${DEB[@]}") ;;
*) usage ;;
esac
if [ $list -eq 0 ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null &&
	undecided "${PACKAGES[@]}"; then
	apt-get update -q
fi
mapfile -t PACKAGES < <(resolve "${PACKAGES[@]}" | sort -u)
if [ $list -eq 1 ]; then
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
