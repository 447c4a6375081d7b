#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
#
# Files arrive as they were over links that lose, duplicate, damage, reorder, mark and limit.
# shellcheck source=selftests/net/lab.sh
. "$(dirname "$0")/lab.sh"
tap_need falcond falconctl falcon-cp jq

SIZE_MB=$((SIZE_MB / 4 + 1))
random_file big $((SIZE_MB * 1024 * 1024 + 17))

# over NAME OPTION...: both ways over a link with these options.
over()
{
	local name=$1

	shift
	lab_up --clear "$@"
	serve b
	tap_run "$name: a to b" put a b b big
	tap_run "$name: b to a" get a b b big
	tap_run "$name: unordered, IPv6" put a b-unordered b big
	tap_note "$(falcon-lab status | grep -E '^(switch|links)')"
	stop_serving
}

over "1 % loss" --loss 1
over "5 % loss at MTU 3498" --loss 5 --mtu 3498
over "2 % duplicates" --dup 2
between 1 "$(counter b 'dup_acked|old_acked')" 1000000000 \
	"XDP answers duplicates by XDP_TX"
over "1 % damaged" --corrupt 1
between 1 "$(counter b drop_csum)" 1000000000 "wrong checksums are counted"
over "5 % reordered, 200 us" --delay 200us --reorder 5
over "10 % marked CE" --ecn 10
over "200 Mbit/s, short queue" --rate 200mbit --queue 128k --delay 100us
over "everything a little" --loss 0.5 --dup 0.5 --corrupt 0.5 --delay 100us --jitter 50us
tap_done
