# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the tests of MPI programs share: Open MPI's jobs over two hosts of the lab, by UCX and by libfabric.
# shellcheck source=selftests/apps/apps.sh
. "$(dirname "${BASH_SOURCE[0]}")/apps.sh"
tap_need mpirun ss
mpirun --version | grep -q "Open MPI" || tap_skip_all "mpirun is not Open MPI's"

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

# Only these transports, so that neither TCP nor shared memory can stand in.
UCX=(UCX_NET_DEVICES=falcon0:1 "UCX_TLS=rc_v,ud_v,self")
OVER_UCX=(--mca pml ucx -x "${UCX[0]}" -x "${UCX[1]}")
# shellcheck disable=SC2034 # for the scripts
OVER_OFI=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "verbs;ofi_rxm")

# over_ucx: OVER_UCX with the GID of the environment. UCX has no address of IPv4 in datagrams' headers to
# check.
over_ucx()
{
	local check=()

	[ "$FAMILY" = ipv6 ] || check=(-x UCX_UD_VERBS_ETH_DGID_CHECK=n)
	printf '%s\n' "${OVER_UCX[@]}" -x "UCX_IB_GID_INDEX=$GID" "${check[@]}"
}

# mpi_job RANKS ARGUMENT... PROGRAM: so many on each host; what they say is in $SCRATCH/out.
mpi_job()
{
	local n=$1

	shift
	mkdir -p "$SCRATCH/mpirun"
	alone a env TMPDIR="$SCRATCH/mpirun" mpirun --allow-run-as-root --oversubscribe \
		--bind-to none --host "a:$n,b:$n" --map-by "ppr:$n:node" --mca plm_rsh_agent "$SCRATCH/rsh" \
		--mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1 "${@:1:$# - 1}" \
		falcon-run "${!#}" >"$SCRATCH/out" 2>&1
}
