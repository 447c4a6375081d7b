#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Agents with two threads: namespaces are dealt to those of the target, devices to those of the initiator, and
# each connection is made for the thread that has its namespace. All that can be done with one thread can be
# done with the second one's.
# shellcheck source=selftests/net/nvme.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/nvme.sh"
tap_need falcond falconctl nbdkit nbdcopy nbdinfo qemu-io jq

MB=4

# shards HOST nvme|namespace: which thread has the first one, the second one, and so on.
shards()
{
	on "$1" falconctl -j "$2" | jq -r 'sort_by(.name) | [.[].shard] | join(" ")'
}

# both: copies to and from both disks at the same time.
both()
{
	local pid

	(nbd device=one "nbdcopy '$SCRATCH/in' \$uri && nbdcopy \$uri '$SCRATCH/one.back'") &
	pid=$!
	nbd device=two "nbdcopy '$SCRATCH/in' \$uri && nbdcopy \$uri '$SCRATCH/two.back'" && wait $pid &&
		cmp -n $((MB << 20)) "$SCRATCH/in" "$SCRATCH/one.back" &&
		cmp -n $((MB << 20)) "$SCRATCH/in" "$SCRATCH/two.back"
}

# The media have it: each thread has its own.
stored()
{
	cmp "$SCRATCH/in" "$SCRATCH/one" && cmp "$SCRATCH/in" "$SCRATCH/two"
}

discovered()
{
	on a falconctl -j nvme discover 10.250.0.2 | jq -c '[.[] | [.nsid, .bytes, .block_size]]'
}

has_bytes()
{
	[ "$(device "$1" bytes)" = "$2" ]
}

# The second thread's namespace grows, is limited, and who asks the first thread is told.
changes()
{
	on b falconctl namespace resize export2 $((2 * MB))M && tap_wait 20 has_bytes two $((2 * MB << 20)) &&
		on b falconctl namespace set export2 iops=1000 && [ "$(namespace b export2 iops)" = 1000 ] &&
		[ "$(discovered)" = "[[1,$((MB << 20)),512],[2,$((2 * MB << 20)),512]]" ]
}

connected()
{
	[ "$(device "$1" connected)" = "$2" ]
}

# Their connections are dialled anew, each for its thread.
target_comes_back()
{
	falcon-lab agent b kill && falcon-lab agent b start && tap_wait 20 connected one 1 &&
		tap_wait 20 connected two 1 && both
}

# A name is one device's, whichever thread has it; a controller's namespaces are in one thread.
names()
{
	! on a falconctl nvme connect two local=10.250.0.1 targets=10.250.0.2/1 2>"$SCRATCH/twice" &&
		grep -q 'there is one of that name' "$SCRATCH/twice" &&
		on a falconctl nvme connect three local=10.250.0.1 targets=10.250.0.2/1 controller=two \
			nsid=5 && [ "$(device three shard)" = "$(device two shard)" ] &&
		on a falconctl nvme disconnect three
}

random_file in $((MB << 20))
for f in one two; do
	truncate -s ${MB}M "$SCRATCH/$f"
done
chmod 711 "$SCRATCH"
lab_up --clear --mtu 3498 --queues 2 --set threads=2 --export "b:$SCRATCH/one,block_size=512" \
	--export "b:$SCRATCH/two,block_size=512"
tap_is "$(shards b namespace)" "0 1" "each thread of the target has a namespace"
tap_is "$(discovered)" "[[1,$((MB << 20)),512],[2,$((MB << 20)),512]]" "who asks is told of both"
on a falconctl nvme connect one local=10.250.0.1 targets=10.250.0.2/1
on a falconctl nvme connect two local=10.250.0.1 targets=10.250.0.2/2
tap_is "$(shards a nvme)" "0 1" "each thread of the initiator has a device"
tap_run "copies to and from both" both
tap_run "which the media have" stored
on a falconctl nvme connect wide local=10.250.0.1 "targets=10.250.0.2/1 10.250.0.2/2"
tap_run "striped over both threads: patterns" patterns device=wide
on a falconctl nvme disconnect wide
tap_run "the second thread's namespace changes" changes
tap_run "names and controllers are the whole agent's" names
tap_run "the target dies and comes back" target_comes_back
tap_is "$(errors a nvme)" 0 "no command has ended in error"
on a falconctl nvme disconnect two
tap_is "$(shards a nvme)" 0 "a device is given up"
tap_done
