# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# bash completion for falconctl(8). The words come from falconctl's own help, the names of
# connections from the agent.

# Actions of object $1, or all objects.
_falconctl_words()
{
	if [ -n "$1" ]; then
		"${COMP_WORDS[0]}" "$1" help 2>/dev/null | awk '{ print $3 }'
	else
		"${COMP_WORDS[0]}" help 2>/dev/null | awk '$1 == "falconctl" { print $2 }' | sort -u
	fi
}

_falconctl_connections()
{
	"${COMP_WORDS[0]}" "${FALCONCTL_OPTIONS[@]}" conn show 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_falconctl_keys()
{
	"${COMP_WORDS[0]}" conn add help 2>/dev/null | awk '/^  / { print $1 "=" }'
}

_falconctl()
{
	local cur=${COMP_WORDS[COMP_CWORD]} words="" i=1
	local -a FALCONCTL_OPTIONS=() rest=()

	while [ "$i" -lt "$COMP_CWORD" ] && [[ ${COMP_WORDS[i]} == -* ]]; do
		if [[ ${COMP_WORDS[i]} == -s || ${COMP_WORDS[i]} == --socket ]]; then
			FALCONCTL_OPTIONS+=(-s "${COMP_WORDS[i + 1]}")
			i=$((i + 1))
		fi
		i=$((i + 1))
	done
	# The word after -s is a file.
	if [ "$i" -gt "$COMP_CWORD" ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	fi
	rest=("${COMP_WORDS[@]:i:COMP_CWORD-i}")
	case ${#rest[@]}:${rest[*]} in
	0:*) words="$(_falconctl_words '') help -j -p -s -V -h" ;;
	1:*) words="$(_falconctl_words "${rest[0]}") help" ;;
	"2:conn show" | "2:conn del" | "2:conn reset" | "2:conn set" | "2:window show" | \
		"2:flow show" | "2:xlr show" | "2:rue show" | "2:rue set" | "2:key show") words=$(_falconctl_connections) ;;
	"2:key rotate") words="all $(_falconctl_connections)" ;;
	"3:rue set "*) words="swift fixed" ;;
	*:"rue trace "*) words="--count --seconds --conn" ;;
	*:"top "*) words="show qp nvme shard --delay --count --batch --sort --reverse" ;;
	"2:xlr add") words="initiator target" ;;
	*:"xlr add "*)
		words="connection= function= protocol= type="
		compopt -o nospace
		;;
	"2:counters show") words=all ;;
	"2:metrics show") words=--connections ;;
	*:"conn add "*)
		words=$(_falconctl_keys)
		compopt -o nospace
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _falconctl falconctl
