#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Applications in containers that have nothing of Falcon but the agent's socket: users, processes, mounts, and
# a network that leads nowhere, of their own. And an agent in a container.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
tap_need falcond falconctl falcon-cp ib_write_bw rping nbdkit qemu-io unshare setpriv jq
unshare -U -r -m true 2>/dev/null || tap_skip_all "this machine lets nobody make user namespaces"

NOBODY=$(id -u nobody)

# What a container engine does before the command: the agent's socket, at its usual place, is all that is in
# /run.
# shellcheck disable=SC2016 # the shell that it is for expands it
SETUP='set -e
mount -t proc proc /proc
mount -t tmpfs tmpfs /dev/shm
touch /dev/shm/socket
mount --bind "$FALCON_SOCKET" /dev/shm/socket
mount -t tmpfs tmpfs /run
mkdir /run/falcon
touch /run/falcon/falcond.sock
mount --bind /dev/shm/socket /run/falcon/falcond.sock
unset FALCON_SOCKET
exec "$@"'
CONTAINER=(unshare -U -r -m -p -f -n -i -u --kill-child sh -c "$SETUP" sh)
# The same, made by a user without privileges.
ROOTLESS=(setpriv --reuid="$NOBODY" --clear-groups "${CONTAINER[@]}")

# says TEXT COMMAND...
says()
{
	"${@:2}" 2>&1 | grep -q -- "$1"
}

# perftest COMMAND...: two of its programs, which these commands put into containers.
perftest()
{
	local server

	behind b "$@" "$ALL/falcon-run" stdbuf -oL ib_write_bw -d falcon0 -x 0 -R -n 500 \
		>"$SCRATCH/server" 2>&1
	server=$!
	tap_wait_for $server 20 said "Waiting for client" || return
	meet $server a "$@" "$ALL/falcon-run" ib_write_bw -d falcon0 -x 0 -R -n 500 10.250.0.2
}

# ping COMMAND...: likewise.
ping()
{
	local server

	behind b "$@" "$ALL/falcon-run" rping -s -a 10.250.0.2 -C 10 -v >"$SCRATCH/server" 2>&1
	server=$!
	# It does not say when it listens; who comes too soon is rejected.
	PATIENCE=20 meet $server a "$@" "$ALL/falcon-run" rping -c -a 10.250.0.2 -C 10 -v -V
}

disk()
{
	local plugin=$TAP_BUILD/nbdkit-falcon-nvme-plugin.so

	on a "${CONTAINER[@]}" nbdkit -U /dev/shm/nbd "$plugin" host=10.250.0.2 --run \
		'qemu-io -f raw -c "write -P 7 0 1M" -c "read -P 7 0 1M" $uri'
}

# agent_in_container HOST: its agent starts anew, with processes of its own.
agent_in_container()
{
	falcon-lab agent "$1" stop &&
		behind "$1" unshare -m -p -f --kill-child --mount-proc falcond -c "$RUN/$1/falcond.conf" \
			>"$SCRATCH/falcond.$1" 2>&1 && tap_wait 20 on "$1" falconctl version &&
		chmod 666 "$RUN/$1/falcond.sock"
}

# The same by the entry point of the image, which attaches the XDP program first.
started_by_image()
{
	falcon-lab agent "$1" stop && on "$1" ip link set dev eth0 xdp off || return
	behind "$1" env FALCON_INTERFACES=eth0 FALCON_OBJECT="$TAP_BUILD/falcon.bpf.o" \
		unshare -m -p -f --kill-child --mount-proc "$TAP_TOP/tools/container/start.sh" \
		-c "$RUN/$1/falcond.conf" >"$SCRATCH/image.$1" 2>&1
	tap_wait_for $! 20 on "$1" falconctl version && return
	cat "$SCRATCH/image.$1"
	return 1
}

# verbs_beside COMMAND...: verbs in a container, by an agent in another, for which the kernel has to tell of
# processes across PID namespaces.
verbs_beside()
{
	local major minor

	IFS=. read -r major minor _ < <(uname -r)
	if ((major > 6 || (major == 6 && ${minor%%[!0-9]*} >= 5))); then
		until_listening perftest "$@"
	else
		says "before Linux 6.5 it has to be in" on a "$@" "$ALL/falcon-run" ibv_devices
	fi
}

# Without the host's BPF file system or interface it says so.
# shellcheck disable=SC2016 # the shell that it is for expands it
not_started()
{
	says "BPF file system" on b unshare -m sh -c 'mount -t tmpfs tmpfs /sys/fs/bpf && exec "$@"' sh \
		"$TAP_TOP/tools/container/start.sh" &&
		says "no such interface" on b env FALCON_INTERFACES=eth9 "$TAP_TOP/tools/container/start.sh"
}

conn_up()
{
	on a falconctl -j conn show b | jq -e '.[0].up'
}

RUN=/run/falcon-$FALCON_LAB
ALL=$SCRATCH/all		# where everybody may look, unlike the tree
truncate -s 16M "$SCRATCH/disk"
random_file file 1000000
lab_up --clear --export "b:$SCRATCH/disk"
chmod 666 "$RUN"/{a,b}/falcond.sock
chmod 755 "$SCRATCH"
install -D -t "$ALL" "$TAP_BUILD/falcon-run" "$TAP_BUILD/libfalcon_verbs.so"

tap_is "$(on a "${CONTAINER[@]}" sh -c 'id -u; ip -o addr | grep -c eth0; ls /run/falcon*')" "0
0
falcond.sock" "a container has neither the host's users and network nor anything of Falcon but the socket"
tap_run "it has Falcon's device" says "^falcon0: .* active" on a "${CONTAINER[@]}" "$ALL/falcon-run" -c
tap_run "ib_write_bw between containers" until_listening perftest "${CONTAINER[@]}"
tap_run "rping between containers" ping "${CONTAINER[@]}"
tap_run "ib_write_bw between containers of a user without privileges" \
	until_listening perftest "${ROOTLESS[@]}"
tap_run "rping between them" ping "${ROOTLESS[@]}"
tap_run "a disk in a container" disk
serve b
tap_run "falcon-cp in a container" on a "${CONTAINER[@]}" falcon-cp "$SCRATCH/file" b:copy
tap_run "the file has arrived" cmp "$SCRATCH/file" "$SCRATCH/b/copy"

agent_in_container a
tap_is $? 0 "an agent in a container"
tap_run "its connection comes up" tap_wait 20 conn_up
tap_run "falcon-cp of another container" on a "${CONTAINER[@]}" falcon-cp "$SCRATCH/file" b:again
tap_run "ib_write_bw from a container that it does not see into, or the reason" verbs_beside "${CONTAINER[@]}"
tap_run "from that of a user without privileges" verbs_beside "${ROOTLESS[@]}"
stop_serving
started_by_image b
tap_is $? 0 "the image's entry point attaches the program and starts the agent"
tap_run "its connection comes up" tap_wait 20 conn_up
tap_run "what it has not been given it names" not_started
tap_done
