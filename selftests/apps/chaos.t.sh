#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Random sequences of all operations against a model of memory (chaos.c), between two hosts, also with
# packets that are lost. FALCON_TEST_FULL=1: a million operations each.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that environments calls
. "$(dirname "$0")/apps.sh"
tap_need ss
OPERATIONS=2000
if [ "${FALCON_TEST_FULL:-0}" != 0 ]; then
	# shellcheck disable=SC2034 # for apps.sh
	OPERATIONS=1000000 LIMIT=900
fi
OPERATIONS=${FALCON_TEST_OPERATIONS:-$OPERATIONS}

# chaos ORDERING ERRORS: of the queue pairs.
chaos()
{
	pair "$LINK: $OPERATIONS operations, $1, $2" \
		env FALCON_QP_ORDERING="$1" FALCON_QP_ERRORS="$2" \
		"$TAP_BUILD/selftests/apps/chaos" -n "$OPERATIONS" -g "$GID"
}

modes()
{
	chaos strong verbs
	[ "$WHOLE" = 1 ] || return
	chaos strong complete
	chaos weak verbs
	chaos weak complete
}

environments modes psp-ipv4-1 clear-ipv6-0
tap_done
