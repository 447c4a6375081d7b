#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# Other users at the socket: who has no section is refused, who has one holds no more than it says,
# and what one user has added is nothing to another.
# shellcheck source=selftests/net/lab.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-perf jq setpriv

RUN=/run/falcon-$FALCON_LAB
# No host has them.
ALICE=4000001 BOB=4000002 EVE=4000003 STAFF=4000011
ENDS=(local=10.250.0.1 remote=10.250.0.2)

# They need not reach the tree.
chmod 755 "$SCRATCH"
install -D -t "$SCRATCH/bin" "$TAP_BUILD/falconctl" "$TAP_BUILD/falcon-perf"

# as UID PROGRAM ARGUMENT...: on host a, in group $STAFF if that is Bob.
as()
{
	local uid=$1 groups=(--clear-groups)

	[ "$uid" != "$BOB" ] || groups=(--groups "$STAFF")
	on a setpriv --reuid "$uid" --regid "$uid" "${groups[@]}" "$SCRATCH/bin/$2" "${@:3}"
}

# says TEXT UID COMMAND...: it fails, and gives the reason.
says()
{
	local text=$1

	shift
	! as "$@" >"$SCRATCH/said" 2>&1 && grep -qF -- "$text" "$SCRATCH/said" ||
		{ cat "$SCRATCH/said"; return 1; }
}

is_up()
{
	as "$1" falconctl -j conn show "$2" | jq -e '.[0].up' >/dev/null
}

sees()
{
	as "$1" falconctl -j "$2" show | jq -e --arg n "$3" 'any((.name? // .section?) | endswith($n))' \
		>/dev/null
}

sees_not()
{
	! sees "$@"
}

holds()
{
	on a falconctl -j user show | jq -e ".[] | select(.uid == $1) | .$2 == $3" >/dev/null
}

lab_up
cat >>"$RUN/a/falcond.conf" <<-END

	[user $ALICE]
	max_connections = 2
	max_memory_mbytes = 64

	[group $STAFF]
	max_clients = 2
	max_memory_mbytes = 1
END
tap_run "the agent stops" falcon-lab agent a stop
tap_run "and takes the sections" falcon-lab agent a start
tap_is "$(stat -c %a "$RUN/a/falcond.sock")" 666 "everybody reaches the socket"

tap_run "who has no section is told so" says "user $EVE may not use this agent" $EVE falconctl conn show
tap_run "also as an application" says "may not use this agent" $EVE falcon-perf b --count 1
tap_is "$(counter a clients_refused agent)" 2 "both are counted"

tap_run "a user with a section sees the host's connections" sees $ALICE conn b
tap_run "and adds his own" as $ALICE falconctl conn add mine "${ENDS[@]}"
tap_wait 20 is_up $ALICE mine
tap_run "which comes up" is_up $ALICE mine
tap_run "and is charged to him" holds $ALICE connections 1
tap_run "what the section says is shown" holds $ALICE max_connections 2
tap_run "and what it does not say" holds $ALICE max_objects 16384
tap_run "not with CIDs of his choice" says "is for root" $ALICE falconctl conn add x "${ENDS[@]}" \
	local_cid=7 remote_cid=7
tap_run "not in the clear" says "is for root" $ALICE falconctl conn add x "${ENDS[@]}" security=clear
tap_run "not with code of his own" says "cc is for root" $ALICE falconctl conn add x "${ENDS[@]}" \
	cc=/tmp/x.so
tap_run "not from an address of another host" says "no address of this host" $ALICE falconctl conn add x \
	local=10.250.0.2 remote=10.250.0.1
tap_run "nor from one that nobody has yet" says "no address of this host" $ALICE falconctl conn add x \
	local=10.250.0.77 remote=10.250.0.2
tap_run "not under a name that is taken" says "named b already" $ALICE falconctl conn add b "${ENDS[@]}"
tap_run "a second one" as $ALICE falconctl conn add second "${ENDS[@]}"
tap_run "but no third" says "may hold 2 connections" $ALICE falconctl conn add third "${ENDS[@]}"
tap_run "the host's connections are not his to delete" says "not yours" $ALICE falconctl conn del b
tap_run "nor its keys" says "is for root" $ALICE falconctl key rotate all

tap_run "another user sees the host's connections" sees $BOB conn b
for table in conn window key flow rue config; do
	tap_run "but not his in $table" sees_not $BOB "$table" mine
done
tap_is "$(as $BOB falconctl -j user show | jq -c '[.[].uid]')" "[$BOB]" "of users he sees himself"
tap_run "nor can he delete it" says "no connection named" $BOB falconctl conn del mine
tap_run "nor reset it" says "no connection named" $BOB falconctl conn reset mine
tap_run "an application that wants more memory than his limit is refused" says "bytes of memory" $BOB \
	falcon-perf b --count 1
tap_run "nothing stays charged after a refusal" holds $ALICE memory 0

shared_turns()
{
	on a falconctl -j shard show | jq 'map(.shared_turns) | add'
}
turns_are_shared()
{
	[ "$(shared_turns)" -gt 0 ]
}
no_clients()
{
	[ "$(on a timeout 20 falconctl -j client show | jq length)" = 0 ]
}
serving_at_a()
{
	[ "$(on a falconctl -j client show | jq 'length')" = 1 ]
}
behind a setpriv --reuid $ALICE --regid $ALICE --clear-groups "$SCRATCH/bin/falcon-perf" --serve \
	--arena 1M >/dev/null 2>&1
server=$!
tap_wait 10 serving_at_a
tap_is "$(as $ALICE falconctl -j client show | jq length), $(as $BOB falconctl -j client show | jq length)" \
	"1, 0" "nor does he see her applications"
tap_is "$(shared_turns)" 0 "with applications of one user, no turn is short"
kill $server

behind b falcon-perf --serve >/dev/null 2>&1
server=$!
serving()
{
	on b falconctl -j client show | jq -e 'length > 0' >/dev/null
}
tap_wait 10 serving
tap_run "its owner can use it" as $ALICE falcon-perf mine --count 100
tap_run "root can, too" on a falcon-perf mine --count 100

tap_wait 20 no_clients
behind a falcon-perf --serve >/dev/null 2>&1
other=$!
tap_wait 10 serving_at_a
tap_run "while root has an application here, too" as $ALICE falcon-perf mine --count 100
tap_run "turns are short" turns_are_shared
kill $other

# What she leaves to be closed takes as long as she likes.
install -t "$SCRATCH/bin" "$TAP_BUILD/selftests/net/lingering_event"
mkfifo "$SCRATCH/hold"
exec {hold}<>"$SCRATCH/hold"
tap_run "an application leaves a descriptor behind that does not close" as $ALICE lingering_event \
	<"$SCRATCH/hold"
tap_wait 20 no_clients
tap_run "the agent is there for others" no_clients
tap_run "and carries what they send" on a timeout 60 falcon-perf mine --count 100
exec {hold}>&-
tap_wait 10 holds $ALICE memory 0
tap_run "no memory stays charged to her" holds $ALICE memory 0
kill $server
tap_run "its owner deletes it" as $ALICE falconctl conn del mine
tap_run "and may have another" as $ALICE falconctl conn add third "${ENDS[@]}"
tap_done
