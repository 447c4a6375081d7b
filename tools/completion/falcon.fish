# SPDX-License-Identifier: BSD-2-Clause
# fish completion for the programs of Falcon: options are those of --help, falconctl's words those of its help.
# Installed once by each of their names.

# Options of program $argv[1].
function __falcon_options
    $argv[1] --help 2>/dev/null | string match -rga '^ +(-[[:alnum:]], +)?(--[a-z-]+=?)' | string match -- '--*'
end

# Words of falconctl before the current one that are no options.
function __falcon_ctl_words
    commandline -opc | string match -v -- '-*' | tail -n +2
end

# Objects, or actions of the one that there is.
function __falcon_ctl
    set -l words (__falcon_ctl_words)
    switch (count $words)
        case 0
            falconctl help 2>/dev/null | awk '$1 == "falconctl" { print $2 }' | sort -u
        case 1
            falconctl $words[1] help 2>/dev/null | awk '{ print $3 }'
        case '*'
            falconctl conn show 2>/dev/null | awk 'NR > 1 { print $1 }'
    end
end

for program in falcond falconctl falcon-cp falcon-lab falcon-perf falcon-psp falcon-rifl falcon-rue falcon-run falcon-sim \
        falcon-wire
    complete -c $program -n 'string match -q -- "-*" (commandline -ct)' -f -a "(__falcon_options $program)"
end
complete -c falconctl -f -a '(__falcon_ctl)'
complete -c falcon-lab -n '__fish_is_first_token' -f -a 'up exec agent path links status down'
complete -c falcon-run -a '(__fish_complete_subcommand --fcs-skip=1)'
