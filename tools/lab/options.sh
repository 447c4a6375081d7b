# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2034,SC2153 # variables are for falcon-lab
# Part of falcon-lab: the options of up.

defaults()
{
	object=falcon.bpf.o
	hosts=2 mtu=1500 queues=2 xdp=native offload=on security=psp control="" agents=1 pin=0 settings=()
	export_list=()
	emulator=auto io=auto wire=() loss=0 dup=0 corrupt=0 ecn=0 timed=0 delay=0 reorder=0
}

# An option that falcon-wire understands as it is; its values are looked at there.
wire_option()
{
	wire+=("--$1" "$2")
	case $1 in
	loss | dup | corrupt) printf -v "$1" %s "$2" ;;
	delay | reorder | io) printf -v "$1" %s "$2"; timed=1 ;;
	*) timed=1 ;;
	esac
}

# A plain number is a percentage here, and bytes for falcon-wire.
ecn_option()
{
	case $2 in
	*[!0-9.%]*) wire_option ecn "$2" ;;
	*) ecn=${2%\%}; wire+=(--ecn "$ecn%") ;;
	esac
}

parse_options()
{
	defaults
	while [ $# -gt 0 ]; do
		local name=${1#--} value=${2:-}

		case $1 in
		--clear) security=clear; shift; continue ;;
		--large) object=falcon-large.bpf.o; shift; continue ;;
		--no-agents) agents=0; shift; continue ;;
		--pin) pin=1; shift; continue ;;
		-h | --help) usage; exit 0 ;;
		--*=*) value=${1#*=}; name=${name%%=*}; set -- "--$name" "$value" "${@:2}" ;;
		--*) [ $# -ge 2 ] || wrong_line "up: $1 wants a value, or is no option" ;;
		esac
		case $1 in
		--hosts) hosts=$(integer "$name" "$value" 2 ${#HOSTS[@]}) ;;
		--mtu) mtu=$(integer "$name" "$value" 1280 9000) ;;
		--queues) queues=$(integer "$name" "$value" 1 64) ;;
		--xdp) xdp=$(one_of "$name" "$value" native generic libxdp off) ;;
		--security)
			security=$(one_of "$name" "$value" clear psp psp-aes-gcm-128 psp-aes-gcm-256 \
				psp-gmac-128 psp-gmac-256 esp-aes-gcm-128 esp-aes-gcm-256)
			;;
		--control) control=$(one_of "$name" "$value" tls plain) ;;
		--offload) offload=$(one_of "$name" "$value" on off) ;;
		--emulator) emulator=$(one_of "$name" "$value" auto switch wire) ;;
		--set) [[ $value == ?*=* ]] || die "--set: want KEY=VALUE"; settings+=("$value") ;;
		--export) [[ $value == ?:/* ]] || die "--export: want HOST:/FILE[,KEY=VALUE]..."
			export_list+=("$value") ;;
		--ecn) ecn_option "$name" "$value" ;;
		--seed) wire+=(--seed "$value") ;;
		--loss | --loss-model | --dup | --corrupt | --corrupt-burst | --reorder | \
			--reorder-by | --rate | --overhead | --queue | --delay | --jitter | \
			--ber | --rifl | --paths | --path | --spread | --io)
			wire_option "$name" "$value"
			;;
		*) wrong_line "up: unrecognized option '$1'" ;;
		esac
		shift 2
	done
}

check_wire()
{
	local why

	# Overtaking takes somebody who is slower.
	if [ "$reorder" != 0 ] && [ "$delay" = 0 ] && [[ " ${wire[*]} " != *" --reorder-by "* ]]; then
		wire+=(--delay 100us)
	fi
	[ -x "$HERE/falcon-wire" ] || die "falcon-wire not found beside $ME; run make"
	why=$("$HERE/falcon-wire" --check "${wire[@]}" "${HOSTS[@]:0:hosts}" 2>&1) ||
		die "up: ${why#falcon-wire: }"
}

# What stands between the hosts: nothing, the switch, or falcon-wire where the switch does not do.
check_options()
{
	if [ -z "$control" ]; then
		control=tls
		[ "$security" != clear ] || control=plain
	fi
	[ "$control" = tls ] || [ "$security" = clear ] ||
		die "--control plain: keys do not travel in the clear; give --clear as well"
	[ "$agents" -eq 0 ] || [ "$xdp" != off ] || die "--xdp off: needs --no-agents"
	# Generic XDP has no rings that the driver at the other end could send back into.
	[ "$io" != generic ] || [ "$xdp" = generic ] || [ "$xdp" = off ] ||
		die "--io generic: XDP of the hosts could send nothing back; give --xdp generic as well"
	check_wire
	if [ "$emulator" = auto ]; then
		emulator=none
		if [ "$timed" -eq 1 ]; then
			emulator=wire
		elif [ "$loss$dup$corrupt$ecn" != 0000 ] || [ "$hosts" -gt 2 ]; then
			emulator=switch
		fi
	elif [ "$emulator" = switch ] && [ "$timed" -eq 1 ]; then
		die "--emulator switch: it can only lose, duplicate, damage and mark at random"
	fi
	[ "$mtu" -le 3498 ] || [ "$emulator" = none ] ||
		die "--mtu $mtu: above 3498 there are two hosts, and nothing between them"
}
