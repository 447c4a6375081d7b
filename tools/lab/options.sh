# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2153 # variables are for falcon-lab
# Part of falcon-lab: the options of up.

defaults()
{
	hosts=2 mtu=1500 queues=2 xdp=native offload=on clear=0 agents=1 settings=()
	loss=0 dup=0 corrupt=0 ecn=0 ecn_bytes=0 reorder=0
	rate=0 delay=0 jitter=0 queue=$((512 * 1024)) paths=1 emulator=auto seed=1
}

parse_options()
{
	defaults
	while [ $# -gt 0 ]; do
		local name=${1#--} value=${2:-}

		case $1 in
		--clear) clear=1; shift; continue ;;
		--no-agents) agents=0; shift; continue ;;
		-h | --help) usage; exit 0 ;;
		--*=*) value=${1#*=}; name=${name%%=*}; set -- "--$name" "$value" "${@:2}" ;;
		--*) [ $# -ge 2 ] || die "$1: wants a value (falcon-lab --help)" ;;
		esac
		case $1 in
		--hosts) hosts=$(integer "$name" "$value" 2 ${#HOSTS[@]}) ;;
		--mtu) mtu=$(integer "$name" "$value" 1280 3498) ;;
		--queues) queues=$(integer "$name" "$value" 1 64) ;;
		--paths) paths=$(integer "$name" "$value" 1 16) ;;
		--seed) seed=$(integer "$name" "$value" 1 4294967295) ;;
		--xdp) xdp=$(one_of "$name" "$value" native generic libxdp off) ;;
		--offload) offload=$(one_of "$name" "$value" on off) ;;
		--emulator) emulator=$(one_of "$name" "$value" auto netem own) ;;
		--set) [[ $value == ?*=* ]] || die "--set: want KEY=VALUE"; settings+=("$value") ;;
		--loss) loss=$(share "$name" "$value") ;;
		--dup) dup=$(share "$name" "$value") ;;
		--corrupt) corrupt=$(share "$name" "$value") ;;
		--reorder) reorder=$(share "$name" "$value") ;;
		--ecn)
			case $value in
			*[kKmM]) ecn_bytes=$(bytes "$name" "$value") ;;
			*) ecn=$(share "$name" "$value") ;;
			esac
			;;
		--rate) rate=$(bits "$name" "$value") ;;
		--queue) queue=$(bytes "$name" "$value") ;;
		--delay) delay=$(nanoseconds "$name" "$value") ;;
		--jitter) jitter=$(nanoseconds "$name" "$value") ;;
		*) die "up: unknown option $1 (falcon-lab --help)" ;;
		esac
		shift 2
	done
}

check_options()
{
	if [ "$agents" -eq 1 ] && [ "$clear" -eq 0 ]; then
		die "up: connections are encrypted by default, and that is not built yet; give --clear"
	fi
	[ "$agents" -eq 0 ] || [ "$xdp" != off ] || die "--xdp off: needs --no-agents"
	[ "$ecn_bytes" -eq 0 ] || [ "$rate" -gt 0 ] || die "--ecn BYTES: there is no queue without --rate"
	# Overtaking takes somebody who is slower.
	if [ "$reorder" -gt 0 ] && [ "$delay" -eq 0 ]; then
		delay=100000
	fi
	[ "$jitter" -le "$delay" ] || die "--jitter: more than --delay"
	emulate=0
	if [ $((rate + delay + ecn_bytes)) -gt 0 ] || [ "$paths" -gt 1 ] || [ "$emulator" != auto ]; then
		emulate=1
	fi
	middle=$emulate
	if [ $((loss + dup + corrupt + ecn)) -gt 0 ] || [ "$hosts" -gt 2 ]; then
		middle=1
	fi
}
