#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 400
#
# The pingpongs of ibverbs-utils: RC, UD, SRQ and XRC, with events, checks and extended verbs.
# shellcheck source=selftests/apps/apps.sh
. "$(dirname "$0")/apps.sh"
tap_need ibv_rc_pingpong ibv_ud_pingpong ibv_srq_pingpong ibv_xsrq_pingpong ss

# pingpong KIND WHAT [OPTION]...: |WHAT| tells what is special.
pingpong()
{
	pair "$LINK: $1_pingpong$2" "ibv_$1_pingpong" -d falcon0 -g $GID "${@:3}"
}

# A few of each kind, on a link as it is now.
few()
{
	LINK=$1
	pingpong rc ", checked" -c -n 200
	pingpong rc " with events" -e -n 200
	pingpong ud "" -s 1024 -n 200
	pingpong srq "" -n 200
	pingpong xsrq ""
}

more()
{
	LINK=$1
	pingpong rc ", 1 byte" -s 1 -n 200
	pingpong rc ", 1 MiB, checked" -c -s 1048576 -n 20
	pingpong rc ", on-demand paging" -o -n 200
	pingpong rc ", implicit on-demand paging" -O -n 200
	pingpong rc ", timestamps" -t -n 200
	pingpong rc ", device memory" -j -s 1024 -n 200
	pingpong rc ", extended posting" -N -n 200
	pingpong ud " with events" -e -s 1024 -n 200
	pingpong srq " with events, 4 queue pairs" -e -q 4 -n 200
	pingpong xsrq " with events, 3 clients' sizes" -e -s 10000
}

lab_up --clear
few "clear, IPv4"
more "clear, IPv4"
use ipv6
few "clear, IPv6"
lab_up --security psp --loss 1
few "encrypted, IPv6, 1 % lost"
if [ "$FULL" = 1 ]; then
	more "encrypted, IPv6, 1 % lost"
	use ipv4
	few "encrypted, IPv4, 1 % lost"
fi
tap_done
