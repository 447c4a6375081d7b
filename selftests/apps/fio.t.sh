#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# fio's engine rdma: WRITE, READ and SEND, one and several requests under way.
# shellcheck source=selftests/apps/apps.sh
. "$(dirname "$0")/apps.sh"
tap_need fio
fio --enghelp 2>/dev/null | grep -qw rdma || tap_skip_all "fio is built without its engine rdma"

# The server is the job that reads, whatever the operation: it says which memory there is.
JOB="--ioengine=rdma --port=9900 --bs=16k --size=1m"

# job VERB DEPTH: the server has more receive requests than there are SENDs under way. A client that is
# refused ends with status 0 all the same.
job()
{
	cm "$LINK: fio, $1, $2 under way" \
		"fio --name=server $JOB --rw=read --iodepth=16" \
		"fio --name=client $JOB --rw=write --iodepth=$2 --verb=$1 --hostname=$ADDRESS" \
		"waiting for connection"
}

jobs_of()
{
	if [ "$FAMILY" = ipv6 ]; then
		tap_skip "$LINK: fio" "its engine knows addresses of IPv4 alone"
		return
	fi
	for verb in write read send; do
		[ "$WHOLE" = 0 ] || job $verb 1
		job $verb 8
	done
}

cd "$SCRATCH" || exit 1
environments jobs_of psp-ipv4-0 clear-ipv4-1
tap_done
