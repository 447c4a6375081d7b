#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# libfabric over verbs: messages, and reliable datagrams through rxm; connected by librdmacm.
# shellcheck source=selftests/apps/apps.sh
. "$(dirname "$0")/apps.sh"
tap_need fi_pingpong ss
knows_localhost || tap_skip_all "$NO_LOCALHOST"
# shellcheck disable=SC2034 # for apps.sh
PORT=47592

messages()
{
	local family=()

	[ "$FAMILY" = ipv4 ] || family=(-6)
	MEET=$ADDRESS
	pair "$LINK: fi_pingpong, messages" fi_pingpong "${family[@]}" -p verbs -e msg -I 10 -c
	pair "$LINK: fi_pingpong, reliable datagrams" \
		fi_pingpong "${family[@]}" -p "verbs;ofi_rxm" -e rdm -I 10 -c
	[ "$WHOLE" = 1 ] || return
	pair "$LINK: fi_pingpong, tagged" \
		fi_pingpong "${family[@]}" -p "verbs;ofi_rxm" -e rdm -m tagged -I 10 -c
}

environments messages psp-ipv4-0 clear-ipv6-1
tap_done
