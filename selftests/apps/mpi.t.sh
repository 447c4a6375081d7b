#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# UCX, and Open MPI over UCX and over libfabric: one rank on each host, and four.
# shellcheck source=selftests/apps/mpi.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/mpi.sh"
tap_need mpicc ucx_perftest
# shellcheck disable=SC2034 # for apps.sh
PORT=13337

# job RANKS ARGUMENT...: each of the ring's ranks must have said that it is through.
job()
{
	mpi_job "$@" "$SCRATCH/ring" &&
		[ "$(grep -c "^rank [0-9]* of $((2 * $1))$" "$SCRATCH/out")" -eq $((2 * $1)) ] && return
	tail -n 200 "$SCRATCH/out"
	return 1
}

# over_libfabric RANKS: it takes the address of the interface that it finds first, which is IPv4's.
over_libfabric()
{
	local name="$LINK: Open MPI over libfabric, $((2 * $1)) ranks"

	if knows_localhost; then
		tap_run "$name" job "$1" "${OVER_OFI[@]}"
	else
		tap_skip "$name" "$NO_LOCALHOST"
	fi
}

jobs_of()
{
	local gid ucx

	mapfile -t ucx < <(over_ucx)
	for n in 1 4; do
		tap_run "$LINK: Open MPI over UCX, $((2 * n)) ranks" job $n "${ucx[@]}"
		over_libfabric $n
	done
	[ "$WHOLE" = 1 ] || return
	if ldd "$(command -v ucx_perftest)" | grep -q libmpi; then
		tap_skip "$LINK: ucx_perftest" "this one is MPI's unless it has a terminal"
		return
	fi
	gid=("UCX_IB_GID_INDEX=$GID" UCX_UD_VERBS_ETH_DGID_CHECK=n)
	pair "$LINK: ucx_perftest, tag matching, rc_verbs" env "${UCX[@]}" "${gid[@]}" \
		ucx_perftest -t tag_lat -n 100 -w 10 -s 64
	pair "$LINK: ucx_perftest, put, rc_verbs" env "${UCX[@]}" "${gid[@]}" \
		ucx_perftest -t ucp_put_bw -n 100 -w 10 -s 65536
}

tap_run "an MPI program is built" mpicc -O1 -o "$SCRATCH/ring" "$(dirname "$0")/mpi_ring.c"
environments jobs_of psp-ipv6-0 clear-ipv4-1
tap_done
