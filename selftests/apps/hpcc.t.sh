#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# HPC Challenge over UCX and over libfabric: a real MPI program that checks its own results (the residuals of
# HPL, PTRANS and FFT, the table of RandomAccess). With FALCON_TEST_FULL=1 four ranks, too.
# shellcheck source=selftests/apps/mpi.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/mpi.sh"
tap_need hpcc
# Two or four ranks and two agents share two CPUs: where something else computes, each message waits for a
# time slice.
LIMIT=240

# input P Q: problems of a few hundred kB for a grid of P x Q ranks. hpcc takes each line's first words.
input()
{
	cat <<EOF
HPLinpack benchmark input file
made by hpcc.t.sh
HPL.out
8    device: a file
1    problem sizes
200  N
1    block sizes
40   NB
0    process mapping, by rows
1    grids
$1   P
$2   Q
16.0 threshold
1    panel factorisations
2    right
1    stopping criteria
4    NBMIN
1    divisions
2    NDIV
1    recursive factorisations
1    Crout
1    broadcasts
1    modified ring
1    depths
0    no look-ahead
2    swapping, mixed
64   swapping threshold
0    L1 transposed
0    U transposed
1    equilibration
8    alignment
separator
0    more sizes for PTRANS
0
0    more block sizes for PTRANS
0
EOF
}

# passed RANKS: it has come to its end, HPL and PTRANS have the residuals that they should, the tables of
# RandomAccess (of one rank, of each, and of all by two algorithms) are right, and no part says otherwise.
passed()
{
	local out=$SCRATCH/hpcc/hpccoutf.txt

	grep -qx "CommWorldProcs=$1" "$out" && grep -qx "Success=1" "$out" &&
		[ "$(grep -c "(passed)\.$" "$out")" -eq 4 ] &&
		[ "$(grep -Ec "^ +[1-9][0-9]* tests completed and passed residual checks" "$out")" -eq 2 ] &&
		! grep -E "FAILED|\(failed\)|[1-9][0-9]* tests completed and failed" "$out"
}

# job RANKS ARGUMENT...
job()
{
	rm -rf "$SCRATCH/hpcc"
	mkdir "$SCRATCH/hpcc"
	input "$1" 2 >"$SCRATCH/hpcc/hpccinf.txt"
	mpi_job "$1" --wdir "$SCRATCH/hpcc" "${@:2}" hpcc && passed $((2 * $1)) && return
	# The first to fail says why; the others only that it has gone.
	head -n 20 "$SCRATCH/out"
	tail -n 100 "$SCRATCH/out" "$SCRATCH/hpcc/hpccoutf.txt"
	return 1
}

over_libfabric()
{
	local name="$LINK: hpcc over libfabric, $((2 * $1)) ranks"

	if knows_localhost; then
		tap_run "$name" job "$1" "${OVER_OFI[@]}"
	else
		tap_skip "$name" "$NO_LOCALHOST"
	fi
}

# A job takes ten seconds: one, over UCX, unless all are to run.
jobs_of()
{
	local ucx n ranks=(1)

	[ "$FULL" = 0 ] || ranks+=(2) LIMIT=600
	mapfile -t ucx < <(over_ucx)
	for n in "${ranks[@]}"; do
		[ "$WHOLE" = 0 ] || tap_run "$LINK: hpcc over UCX, $((2 * n)) ranks" job "$n" "${ucx[@]}"
		[ "$FULL" = 0 ] || over_libfabric "$n"
	done
}

environments jobs_of psp-ipv6-1
tap_done
