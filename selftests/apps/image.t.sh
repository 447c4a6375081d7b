#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 1500
#
# The image of tools/container, built and run by podman with the commands of its README: an agent in a
# container on each of two hosts, and applications in containers of their own. Builds a system and all
# packages, so only with FALCON_TEST_FULL=1. DEBIAN_MIRROR is where debootstrap gets Debian from, unless it is
# to choose.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/apps.sh"
[ -n "${FALCON_TEST_FULL:-}" ] || tap_skip_all "builds a system and all packages: FALCON_TEST_FULL=1"
tap_need podman debootstrap capsh
cd "$TAP_TOP" || exit 1

RUN=/run/falcon-$FALCON_LAB
README=tools/container/README.md
WITHOUT=
MIRROR=(${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"})

# podman's images and containers are this test's own. What it needs where root lacks CAP_SYS_RESOURCE: limits
# below root's, containers without that capability, and runc, for crun would lift the limit on locked memory.
configure()
{
	local engine="" containers=""

	if ! capsh --has-p=cap_sys_resource 2>/dev/null; then
		engine='runtime = "runc"'
		containers='default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
pids_limit = 0'
		export BUILDAH_ISOLATION=chroot
		WITHOUT=SYS_RESOURCE,
	fi
	export CONTAINERS_CONF=$SCRATCH/containers.conf CONTAINERS_STORAGE_CONF=$SCRATCH/storage.conf
	cat >"$CONTAINERS_CONF" <<-END
		[engine]
		events_logger = "file"
		lock_type = "file"
		tmp_dir = "$SCRATCH/libpod"
		$engine
		[containers]
		$containers
	END
	cat >"$CONTAINERS_STORAGE_CONF" <<-END
		[storage]
		driver = "overlay"
		graphroot = "$SCRATCH/storage"
		runroot = "$SCRATCH/runroot"
	END
}

image_cleanup()
{
	[ $BASHPID -eq $$ ] || return
	podman rm -a -f -t 1 >/dev/null 2>&1
	net_cleanup
}

# documented TEXT: README's command that begins so.
documented()
{
	awk -v text="    $1" 'index($0, text) == 1 { on = 1 } on { print; on = /\\$/ }' $README |
		sed "s/$WITHOUT//"
}

# in_network HOST COMMAND...: with the network of that host of the lab, and all else the machine's: engines
# need its control groups, which a lab's hosts do not see.
in_network()
{
	nsenter --net="/run/netns/falcon-$FALCON_LAB-$1" "${@:2}"
}

# start_agent HOST: README's command. /run/falcon, /etc/falcon and the BPF file system are that host's.
start_agent()
{
	local etc=$SCRATCH/etc.$1 run=$SCRATCH/run.$1

	falcon-lab agent "$1" stop && on "$1" ip link set dev eth0 xdp off || return
	mkdir "$etc" "$run"
	cp "$RUN/ca"/{"$1.crt","$1.key",ca.crt,crl.pem} "$etc"
	sed "s|$RUN/ca|/etc/falcon|; s|$RUN/$1|/run/falcon|" "$RUN/$1/falcond.conf" >"$etc/falcon.conf"
	in_network "$1" sh -c "$(documented 'podman run -d' | sed "s|-v /run/falcon:|-v $run:|
		s|-v /etc/falcon:|-v $etc:|; s|-v /sys/fs/bpf:|-v $RUN/$1/bpf:|
		s|--name falcon-agent|&-$1|")" || return
	tap_wait 20 on "$1" falconctl -s "$run/falcond.sock" version || {
		podman logs "falcon-agent-$1"
		return 1
	}
}

conn_up()
{
	on "$1" falconctl -s "$SCRATCH/run.$1/falcond.sock" -j conn show | jq -e 'all(.up)'
}

# in_container HOST OPTION... IMAGE COMMAND...: an application with nothing but that host's socket.
in_container()
{
	podman run --rm --network none -v "$SCRATCH/run.$1:/run/falcon" "${@:2}"
}

# README's command, on host a.
lists_device()
{
	in_network a sh -c "$(documented 'podman run --rm' |
		sed "s|-v /run/falcon:|-v $SCRATCH/run.a:|")" | grep "^falcon0: "
}

# An image for applications, from ours.
application()
{
	podman build -t application -f - . <<-END
		FROM falcon
		RUN apt-get update && apt-get install -y --no-install-recommends perftest
		ENTRYPOINT ["falcon-run"]
	END
}

bandwidth()
{
	local server

	in_container b application stdbuf -oL ib_write_bw -d falcon0 -x 0 -R -n 500 \
		>"$SCRATCH/server" 2>&1 &
	server=$!
	tap_wait_for $server 30 grep -q "Waiting for client" "$SCRATCH/server" || return
	in_container a application ib_write_bw -d falcon0 -x 0 -R -n 500 10.250.0.2 && wait $server
}

copy()
{
	in_container b -d --name server -v "$SCRATCH/served:/served" --entrypoint falcon-cp falcon \
		--serve /served || return
	in_container a -v "$SCRATCH/file:/file:ro" --entrypoint falcon-cp falcon /file b:copy &&
		cmp "$SCRATCH/file" "$SCRATCH/served/copy"
}

# The agent ends as its container is stopped, and takes what it was given with it.
stopped()
{
	podman stop -t 10 falcon-agent-a &&
		[ "$(podman inspect -f '{{.State.ExitCode}}' falcon-agent-a)" = 0 ]
}

configure
trap image_cleanup EXIT
tap_run "a base image" sh -c "debootstrap --variant=minbase bookworm '$SCRATCH/base' ${MIRROR[*]} &&
	tar -C '$SCRATCH/base' -c . | podman import - debian:12" || tap_done
rm -rf "$SCRATCH/base"
tap_run "the image is built" sh -c "$(documented 'podman build')" || tap_done
lab_up --security psp
tap_run "an agent in a container, as documented" start_agent a || tap_done
tap_run "one on the other host" start_agent b
tap_run "their connections come up" tap_wait 20 conn_up a
tap_run "a container has Falcon's device, as documented" lists_device
random_file file 1000000
mkdir "$SCRATCH/served"
tap_run "falcon-cp between containers" copy
tap_run "an image of an application" application
tap_run "ib_write_bw between containers" bandwidth
tap_run "an agent ends with its container" stopped
tap_done
