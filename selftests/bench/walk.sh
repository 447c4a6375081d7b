#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The way of a post to the wire, and of a packet to memory, function by function: selftests/bench/walk.sh
#
# Builds the agent and the verbs library so that they write down each call, has ib_write_lat exchange
# encrypted WRITEs between two hosts, and prints what one post and one packet went through, with file and
# line. Each way ends with a line that counts its calls. Takes some minutes, the first time.
# shellcheck source=selftests/bench/perftest.sh
. "$(dirname "$0")/perftest.sh"
export FALCON_WALK=$TMP/walk FALCOND=$BUILD/walk/falcond

# way TITLE PROGRAM FROM [UNTIL]: of the processes of PROGRAM, the first that went it.
way()
{
	local file

	echo "== $1"
	for file in "$FALCON_WALK/$2".*; do
		! python3 "$TOP/selftests/bench/walk.py" "$file" "${@:3}" 2>>"$TMP/not" || return 0
	done
	cat "$TMP/not" >&2
	return 1
}

make -C "$TOP" --no-print-directory B="$BUILD" "$BUILD/walk/falcond" "$BUILD/walk/libfalcon_verbs.so" >&2
mkdir -m 1777 "$FALCON_WALK"
"$LAB" up --security psp --mtu 3498 >&2
ping=(falcon-run --library "$BUILD/walk/libfalcon_verbs.so" ib_write_lat -d falcon0 -x 0 -F -s 8 -n 1000)
serve t 18515 "${ping[@]}"
client run "${ping[@]}" "$SERVER"
served
"$LAB" down >&2

way "a post: application to agent" ib_write_lat fv_post_send
way "a post: agent to wire" falcond req.c:fetch xsk_tx_commit
way "a packet: wire to memory" falcond rx.c:sort make_run
