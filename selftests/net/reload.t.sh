#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 60
#
# SIGHUP: the agent reads its configuration again. Connections come and go, peers are shut out, the log says
# more; what cannot change is named, and a broken file changes nothing.
# shellcheck source=selftests/apps/apps.sh disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/../apps/apps.sh"
tap_need falcond falconctl falcon-cp ibv_ud_pingpong jq

RUN=/run/falcon-$FALCON_LAB
CONF=$RUN/b/falcond.conf

# edit SCRIPT: change b's file so, tell its agent, and wait until that has read it.
edit()
{
	local before

	before=$(grep -c 'read again' "$RUN/b/falcond.log")
	sed -i "$1" "$CONF" && kill -HUP "$(<"$RUN/b/falcond.pid")" && tap_wait 20 read_again "$before"
}

read_again()
{
	[ "$(grep -c 'read again' "$RUN/b/falcond.log")" -gt "$1" ]
}

names()
{
	on b falconctl -j conn show | jq -r '[.[].name] | sort | join(" ")'
}

is_up()
{
	on b falconctl -j conn show "$1" | jq -e '.[0].up'
}

said()
{
	grep -q "$1" "$RUN/b/falcond.log"
}

nothing_dialled()
{
	[ "$(names)" = "a a-unordered a6" ]
}

something_dialled()
{
	! nothing_dialled
}

limit()
{
	on b falconctl -j namespace show | jq '.[0].iops'
}

ana()
{
	on b falconctl -j namespace show | jq -r '.[0].ana'
}

users_changed()
{
	grep -c 'changed section="user or group"' "$RUN/b/falcond.log"
}

DISK='targets = 10.250.0.1/1\nlocal = 10.250.0.2'

disks()
{
	on b falconctl -j nvme show | jq -r '[.[].name] | sort | join(" ")'
}

# Those of them whose data are encrypted here.
encrypted()
{
	on b falconctl -j nvme show | jq -r '[.[] | select(.encrypted).name] | sort | join(" ")'
}

# The operator's own connection instead of that of the section, by the same name.
replaced()
{
	local keys

	mapfile -t keys < <(sed -n '/^\[connection a6\]/,/^$/{/ = /s/ = /=/p}' "$SCRATCH/conf")
	on b falconctl conn del a6 && on b falconctl conn add a6 "${keys[@]}"
}

# The keys of a6 in a file, sorted.
section()
{
	sed -n '/^\[connection a6\]/,/^$/{/ = /p}' "$1" | sort
}

by()
{
	on b falconctl -j conn show "$1" | jq -r '.[0].by'
}

truncate -s 1M "$SCRATCH/disk"
chmod 711 "$SCRATCH"
lab_up --clear --export "b:$SCRATCH/disk"
random_file small 300000
serve b
cp "$CONF" "$SCRATCH/conf"
tap_run "nothing has changed" edit ''
tap_is "$(names)" "a a-unordered a6" "and all connections are there"
tap_run "a section is taken out" edit '/^\[connection a6\]/,/^$/d'
tap_is "$(names)" "a a-unordered" "the connection has gone"
cp "$SCRATCH/conf" "$CONF"
tap_run "it is put back" edit 's/^\[agent\]/&\nlog_level = debug/'
tap_run "and comes up again" tap_wait 20 is_up a6
tap_run "the log says that its level has changed" said 'changed section=agent key=log_level'
cp "$SCRATCH/conf" "$CONF"
tap_run "a namespace gets a limit" edit 's/^\[namespace .*\]/&\niops = 50/'
tap_is "$(limit)" 50 "and has it"
cp "$SCRATCH/conf" "$CONF"
tap_run "initiators are to take another path to it" edit 's/^\[namespace .*\]/&\nana = inaccessible/'
tap_is "$(ana)" inaccessible "as it says"
cp "$SCRATCH/conf" "$CONF"
tap_run "here it is again" edit ''
tap_is "$(ana)" optimized "as it says then"
tap_run "the operator replaces a connection" replaced
tap_run "its section is taken out" edit '/^\[connection a6\]/,/^$/d'
tap_is "$(names)" "a a-unordered a6" "what he has added stays"
printf '# the last line' >>"$CONF"
tap_run "he saves it" on b falconctl config save
tap_is "$(diff <(section "$SCRATCH/conf") <(section "$CONF"))" "" "it is in the file as it was before"
tap_is "$(comm -23 <(sort "$SCRATCH/conf") <(sort "$CONF"))" "" "and so is all else"
tap_is "$(grep -c '^# the last line$' "$CONF")" 1 "as it was written"
tap_is "$(by a6)" command "it is by his command"
tap_run "the file is read" edit ''
tap_is "$(by a6)" file "now it is by the file"
tap_is "$(on b falconctl config save)" "$CONF: there is nothing to add" "there is nothing more to save"
tap_run "its section is taken out again" edit '/^\[connection a6\]/,/^$/d'
tap_is "$(names)" "a a-unordered" "and it goes with it"
cp "$SCRATCH/conf" "$CONF"
tap_run "the file is as it was" edit ''
tap_run "datagrams arrive" run_pair ibv_ud_pingpong -d falcon0 -g 0 -n 20
tap_run "by a connection that b has accepted" something_dialled
tap_run "nobody may dial any more" edit '/^\[peer/,/^$/d'
tap_run "that connection goes" tap_wait 20 nothing_dialled
tap_run "as the log says" said 'its \[peer\] section has gone'
cp "$SCRATCH/conf" "$CONF"
tap_run "a disk of a target that is not there" edit \
	"\$a [nvme disk]\\n$DISK\\n[nvme secret]\\n$DISK\\nkey_file = /nowhere"
tap_is "$(disks)" disk "it is there"
tap_run "one whose key is not there is not" said 'not added section="nvme secret": .*/nowhere: No such file'
(umask 077 && openssl rand -hex 64 >"$SCRATCH/key")
tap_run "its key comes" edit "s|/nowhere|$SCRATCH/key|"
tap_is "$(disks)" "disk secret" "it is there, too"
tap_run "another one is connected by hand" \
	on b falconctl nvme connect mine targets=10.250.0.1/1 "key_file=$SCRATCH/key"
tap_is "$(encrypted)" "mine secret" "with the key, as well"
tap_run "not without" eval '! on b falconctl nvme connect none targets=10.250.0.1/1 key_file=/nowhere'
tap_run "the disk has another target" edit '/^\[nvme disk\]/,/^\[/s/10.250.0.1/10.250.0.9/'
tap_run "which waits for the next start" said 'agent starts again section="nvme disk"'
cp "$SCRATCH/conf" "$CONF"
tap_run "its section is taken out" edit ''
tap_is "$(disks)" mine "and it goes"
tap_run "the operator saves his" on b falconctl config save
tap_is "$(grep -A 4 '^\[nvme mine\]' "$CONF" | sort | xargs)" \
	"[nvme mine] key_file = $SCRATCH/key local = 10.250.0.2 targets = 10.250.0.1/1" \
	"as he has connected it"
tap_run "the file is read" edit ''
tap_is "$(on b falconctl -j nvme | jq -r '.[] | .name, .by' | xargs)" "mine file" "now it is by the file"
cp "$SCRATCH/conf" "$CONF"
tap_run "its section is taken out" edit ''
tap_is "$(disks)" "" "and it goes, too"
tap_run "root may have no queue pairs" edit '$a [user root]\nmax_qps = 0'
tap_run "and gets none" eval '! run_pair ibv_ud_pingpong -d falcon0 -g 0 -n 20'
tap_run "he may have some" edit 's/^max_qps = 0/max_qps = 9/'
tap_run "and gets them" run_pair ibv_ud_pingpong -d falcon0 -g 0 -n 20
tap_run "groups get sections" edit '$a [group daemon]\n[group bin]'
before=$(users_changed)
tap_run "which change places" edit \
	's/^\[group daemon\]/[group x]/; s/^\[group bin\]/[group daemon]/; s/^\[group x\]/[group bin]/'
tap_is "$(users_changed)" $((before + 1)) "the first that a user is in counts, so that is a change"
cp "$SCRATCH/conf" "$CONF"
tap_run "there are no sections for users any more" edit ''
tap_run "which waits for the next start" said 'agent starts again section="user or group": without any'
tap_run "what waits for the next start is changed" edit \
	's/^queues = auto/queues = 1/; s/^\[agent\]/&\npcid = on/'
tap_run "the port is named" said 'takes effect when the agent starts again section="port eth0"'
tap_run "the key is named" said 'takes effect when the agent starts again section=agent key=pcid'
tap_run "the file is broken" edit 's/^\[agent\]/&\nnonsense = 1/'
tap_run "it is named, with its line" said 'nothing changes: .*falcond.conf:[0-9]*: .*nonsense'
tap_run "all goes on" put a b b small
cp "$SCRATCH/conf" "$CONF"
tap_run "and is repaired" edit ''
tap_run "still" put a b b small
tap_done
