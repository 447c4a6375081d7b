#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# UCX, and Open MPI over UCX and over libfabric: one rank on each host, and four.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need mpirun mpicc ucx_perftest ss
mpirun --version | grep -q "Open MPI" || tap_skip_all "mpirun is not Open MPI's"
# shellcheck disable=SC2034 # for apps.sh
PORT=13337

# The hosts of a lab have one name; Open MPI and its directories need one each. On a, where mpirun is,
# nothing is to be entered.
cat >"$SCRATCH/rsh" <<'EOF'
#!/bin/sh
host=$1
shift
export TMPDIR="${0%/*}/$host"
mkdir -p "$TMPDIR"
set -- sh -c "$*"
[ "$host" = "$FALCON_LAB_HOST" ] || set -- falcon-lab exec "$host" -- "$@"
exec unshare --uts sh -c 'hostname "$0"; exec "$@"' "$host" "$@"
EOF
chmod +x "$SCRATCH/rsh"

# job RANKS ARGUMENT...: so many on each host; each must have said that it is through.
job()
{
	local n=$1

	shift
	mkdir -p "$SCRATCH/mpirun"
	alone a env TMPDIR="$SCRATCH/mpirun" mpirun --allow-run-as-root --oversubscribe \
		--bind-to none --host "a:$n,b:$n" --map-by "ppr:$n:node" --mca plm_rsh_agent "$SCRATCH/rsh" \
		--mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1 "$@" \
		falcon-run "$SCRATCH/ring" >"$SCRATCH/out" 2>&1 &&
		[ "$(grep -c "^rank [0-9]* of $((2 * n))$" "$SCRATCH/out")" -eq $((2 * n)) ] && return
	tail -n 200 "$SCRATCH/out"
	return 1
}

# Only these transports, so that neither TCP nor shared memory can stand in.
UCX=(UCX_NET_DEVICES=falcon0:1 "UCX_TLS=rc_v,ud_v,self")
OVER_UCX=(--mca pml ucx -x UCX_NET_DEVICES=falcon0:1 -x "UCX_TLS=rc_v,ud_v,self")
OVER_OFI=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "verbs;ofi_rxm")

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

# UCX has no address of IPv4 in datagrams' headers to check.
jobs_of()
{
	local gid=(-x "UCX_IB_GID_INDEX=$GID")

	[ "$FAMILY" = ipv6 ] || gid+=(-x UCX_UD_VERBS_ETH_DGID_CHECK=n)
	for n in 1 4; do
		tap_run "$LINK: Open MPI over UCX, $((2 * n)) ranks" job $n "${OVER_UCX[@]}" "${gid[@]}"
		over_libfabric $n
	done
	[ "$WHOLE" = 1 ] || return
	gid=("UCX_IB_GID_INDEX=$GID" UCX_UD_VERBS_ETH_DGID_CHECK=n)
	pair "$LINK: ucx_perftest, tag matching, rc_verbs" env "${UCX[@]}" "${gid[@]}" \
		ucx_perftest -t tag_lat -n 100 -w 10 -s 64
	pair "$LINK: ucx_perftest, put, rc_verbs" env "${UCX[@]}" "${gid[@]}" \
		ucx_perftest -t ucp_put_bw -n 100 -w 10 -s 65536
}

tap_run "an MPI program is built" mpicc -O1 -o "$SCRATCH/ring" "$(dirname "$0")/mpi_ring.c"
environments jobs_of psp-ipv6-0 clear-ipv4-1
tap_done
