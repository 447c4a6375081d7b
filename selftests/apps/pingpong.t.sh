#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
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

kinds()
{
	pingpong rc ", checked" -c -n 200
	pingpong rc " with events" -e -n 200
	pingpong ud ", checked" -c -s 1024 -n 200
	pingpong srq ", checked" -c -n 200
	pingpong xsrq ""
	[ "$WHOLE" = 1 ] || return
	pingpong rc ", 1 byte" -s 1 -n 200
	pingpong rc ", 1 MiB, checked" -c -s 1048576 -n 20
	pingpong rc ", on-demand paging" -o -n 200
	pingpong rc ", implicit on-demand paging" -O -n 200
	pingpong rc ", timestamps" -t -n 200
	pingpong rc ", device memory" -j -s 1024 -n 200
	pingpong rc ", extended posting" -N -n 200
	pingpong ud " with events" -e -s 1024 -n 200
	pingpong srq " with events, 4 queue pairs" -e -q 4 -n 200
	pingpong xsrq " with events, 10 000 bytes" -e -s 10000
}

environments kinds clear-ipv4-0 clear-ipv6-1 psp-ipv6-1
# Of XRC domains: the program opens it, and leaves it there.
rm -f /tmp/xrc_domain
tap_done
