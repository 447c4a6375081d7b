# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# What the network tests share: a lab of their own, torn down however the script ends.
# shellcheck source=selftests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tap.sh"
# shellcheck source=selftests/procs.sh
. "$(dirname "${BASH_SOURCE[0]}")/../procs.sh"

tap_need_root
tap_need ip jq bpftool ethtool nsenter

export FALCON_LAB=t$$
export PATH=$TAP_BUILD:$TAP_BUILD/selftests/net:$PATH
SCRATCH=$(mktemp -d)

# Not for a child that is ended before it has become the command that it was made for.
net_cleanup()
{
	[ $BASHPID -eq $$ ] || return
	falcon-lab down
	rm -rf "$SCRATCH"
}

# The runner ends a test that takes too long: what hangs may still be there to be asked about.
net_terminated()
{
	[ $BASHPID -ne $$ ] || tap_note "ended from outside" "$(explain)"
	exit 143
}
trap net_cleanup EXIT
trap 'exit 130' INT
trap net_terminated TERM

# Seconds that a command on a host may take, so that one that hangs costs no more.
ON_LIMIT=$([ "${FALCON_TEST_FULL:-0}" = 0 ] && echo 120 || echo 1200)

# on HOST COMMAND...: its status; 124 if it took more than ON_LIMIT seconds.
on()
{
	timeout --foreground -k 5 "$ON_LIMIT" falcon-lab exec "$1" -- "${@:2}"
}

# behind HOST COMMAND...: in the background; $! is the command's own process, and can be killed, which
# that of "on HOST COMMAND &" is not.
behind()
{
	falcon-lab exec "$1" -- "${@:2}" &
}

# say_agent HOST: what its agent has, and the end of what it wrote.
say_agent()
{
	local what out

	printf -- '---- host %s\n' "$1"
	for what in shard conn qp cq counters; do
		out=$(ON_LIMIT=5 on "$1" falconctl "$what" show 2>&1)
		[ $? -ne 124 ] || { echo "does not answer"; break; }
		head -n 60 <<<"$out" | cut -c 1-200
	done
	tail -n 40 "/run/falcon-$FALCON_LAB/$1/falcond.log"
}

# explain: what every host's agent says. What is asked for while a program still hangs is not asked for
# again when its failure is reported.
explain()
{
	local conf

	for conf in "/run/falcon-$FALCON_LAB"/*/falcond.conf; do
		[ -f "$conf" ] && say_agent "$(basename "$(dirname "$conf")")"
	done
	touch "$SCRATCH/explained"
}

# With a result that is not ok, once each.
tap_explain()
{
	if [ -e "$SCRATCH/explained" ]; then
		rm "$SCRATCH/explained"
	else
		explain
		rm -f "$SCRATCH/explained"
	fi
}

# lab_up OPTION...: (re)build the lab; ends the whole test if that fails. With FALCON_TEST_THREADS=N agents
# have N threads that carry packets, and interfaces as many queues, unless the options say otherwise. A system
# call that an agent's sandbox does not allow ends it: the list is what agents in all these tests need.
lab_up()
{
	local out threads=() sandbox=(--set sandbox=strict)

	[[ " $* " != *" sandbox="* ]] || sandbox=()

	[ "${FALCON_TEST_THREADS:-1}" = 1 ] || [[ " $* " == *" threads="* || " $* " == *" --queues "* ]] ||
		threads=(--queues "$FALCON_TEST_THREADS" --set "threads=$FALCON_TEST_THREADS")
	if ! out=$(falcon-lab up "${threads[@]}" "${sandbox[@]}" "$@" 2>&1); then
		tap_not_ok "falcon-lab up $*" "$out"
		tap_done
	fi
}

# field JSON PATH: one value.
field()
{
	jq -r "$2" <<<"$1"
}

# between LOW VALUE HIGH NAME: ok if LOW <= VALUE <= HIGH.
between()
{
	if [ "$1" -le "$2" ] && [ "$2" -le "$3" ]; then
		tap_ok "$4"
	else
		tap_not_ok "$4" "$2 is not in $1..$3"
	fi
}

# ---- with agents ----------------------------------------------------------------------------

# MB to copy where the amount does not matter.
# shellcheck disable=SC2034 # for the scripts
SIZE_MB=${FALCON_TEST_MB:-$([ -n "${VM:-}" ] && echo 4 || echo "${FALCON_TEST_FULL:+64}")}
SIZE_MB=${SIZE_MB:-32}
SERVERS=()

is_serving()
{
	on "$1" falconctl -j client show | jq -e '[.. | objects | select(.service? == 2)] | length > 0'
}

# serve HOST: falcon-cp --serve of $SCRATCH/HOST, until the script ends.
serve()
{
	mkdir -p "$SCRATCH/$1"
	behind "$1" falcon-cp --serve "$SCRATCH/$1" 2>"$SCRATCH/serve.$1"
	SERVERS+=($!)
	tap_wait 30 is_serving "$1" || tap_not_ok "falcon-cp serves on $1" "$(cat "$SCRATCH/serve.$1")"
}

stop_serving()
{
	local pid

	for pid in "${SERVERS[@]}"; do
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	SERVERS=()
}

# random_file NAME BYTES: in $SCRATCH, quickly.
random_file()
{
	head -c "$2" /dev/urandom >"$SCRATCH/$1"
}

same()
{
	[ "$(sha256sum <"$1")" = "$(sha256sum <"$2")" ]
}

# put FROM CONNECTION TO FILE, get FROM CONNECTION TO FILE: copy $SCRATCH/FILE with falcon-cp as a
# client on host FROM, to or from the server on host TO, and compare.
put()
{
	on "$1" falcon-cp "$SCRATCH/$4" "$2:$4" && same "$SCRATCH/$4" "$SCRATCH/$3/$4" &&
		rm "$SCRATCH/$3/$4"
}

get()
{
	cp "$SCRATCH/$4" "$SCRATCH/$3/$4"
	on "$1" falcon-cp "$2:$4" "$SCRATCH/got" && same "$SCRATCH/$4" "$SCRATCH/got" &&
		rm "$SCRATCH/got" "$SCRATCH/$3/$4"
}

# Copy until told to stop; the exit status says whether all copies were right.
copy_on()
{
	while [ ! -e "$SCRATCH/enough" ]; do
		put a b b big || return
	done
}

# start_copying, stop_copying NAME: $SCRATCH/big from a to b, again and again in the background.
start_copying()
{
	rm -f "$SCRATCH/enough"
	copy_on >"$SCRATCH/copies" 2>&1 &
	COPIER=$!
}

stop_copying()
{
	touch "$SCRATCH/enough"
	if wait "$COPIER"; then
		tap_ok "$1"
	else
		tap_not_ok "$1" "$(cat "$SCRATCH/copies")"
	fi
}

# counter HOST NAME [BY]: what ended so in the XDP program, or, BY agent, in the agent. NAME is a
# regular expression; the sum over all that match.
counter()
{
	on "$1" falconctl -j counters show |
		jq --arg n "^($2)\$" --arg by "${3:-xdp}" '[.[] | select(.name | test($n)) | .[$by]] | add'
}

# drops HOST: the reasons for which the XDP program has dropped packets, with their numbers.
drops()
{
	on "$1" falconctl -j counters show |
		jq -r 'map(select((.name | test("^drop_")) and .xdp > 0) | "\(.name) \(.xdp)") | join(", ")'
}

# conn_state HOST CONNECTION: what the maps say about it, as JSON.
conn_state()
{
	local cid

	cid=$(sed -n "/^\[connection $2\]/,/^\[/s/^local_cid = //p" "/run/falcon-$FALCON_LAB/$1/falcond.conf")
	on "$1" bpftool -j map lookup pinned /sys/fs/bpf/tc/globals/falcon_conns key \
		$((cid & 255)) $((cid >> 8)) 0 0 | jq -c .formatted.value
}
