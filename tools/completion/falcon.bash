# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# bash completion for the programs of Falcon but falconctl(8), which has its own: their options are those
# of --help. Installed once by each of their names.

# Options of program $1; those that want a value end in "=".
_falcon_options()
{
	"$1" --help 2>/dev/null |
		sed -En 'h; s/^ +(-[[:alnum:]]), .*/\1/p; g; s/^ +(-[[:alnum:]], +)?(--[a-z-]+=?).*/\2/p'
}

# Names of connections.
_falcon_connections()
{
	falconctl conn show 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# Whether a word before the current one is no option: then falcon-run's command begins there, at $COMMAND.
_falcon_command()
{
	for ((COMMAND = 1; COMMAND < COMP_CWORD; COMMAND++)); do
		case ${COMP_WORDS[COMMAND]} in
		-[slt] | --socket | --library | --slice) COMMAND=$((COMMAND + 1)) ;;
		-*) ;;
		*) return 0 ;;
		esac
	done
	return 1
}

_falcon()
{
	local program=${COMP_WORDS[0]##*/} cur=${COMP_WORDS[COMP_CWORD]} words="" COMMAND

	if [ "$program" = falcon-run ] && _falcon_command && declare -F _command_offset >/dev/null; then
		_command_offset "$COMMAND"
		return
	fi
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_falcon_options "${COMP_WORDS[0]}")" -- "$cur")
		[[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
		return
	fi
	case $program:$COMP_CWORD in
	falcon-lab:1) words="up exec agent path links status down" ;;
	falcon-wire:1) words="set show reset" ;;
	falcon-rifl:1) words="encode decode" ;;
	falcon-perf:*) words=$(_falcon_connections) ;;
	falcon-cp:*) words=$(_falcon_connections | sed 's/$/:/') ;;
	falcon-run:*)
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		return
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	compopt -o default
}

complete -F _falcon falcond falcon-{cp,lab,perf,psp,rifl,rue,run,sim,wire}
