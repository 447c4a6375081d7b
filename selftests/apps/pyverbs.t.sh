#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 240
#
# rdma-core's own tests, from the package python3-pyverbs. Those that pass are listed in pyverbs.list,
# which may only grow; none may fail.
# shellcheck source=selftests/apps/apps.sh
. "$(dirname "$0")/apps.sh"
TESTS=/usr/share/doc/rdma-core/tests
PYTHON=/usr/bin/python3	# the one that the package is for
[ -d $TESTS ] || tap_skip_all "python3-pyverbs is not installed"
# What collects garbage there has taken apart the sets by which pyverbs finds what is still open.
$PYTHON -c 'import sys; sys.exit(sys.version_info >= (3, 13))' ||
	tap_skip_all "from Python 3.13 on pyverbs closes devices before what is on them"
LIST=$(dirname "$0")/pyverbs.list

names_of()
{
	sed -n "s/^$1 \([^ ]*\).*/\1/p" "$SCRATCH/results" | sort
}

cp -r $TESTS "$SCRATCH/tests"
gunzip -f "$SCRATCH"/tests/*.gz
# Newer ones ask the kernel for a device's interface by rdma(8), which knows the kernel's own devices alone.
mkdir "$SCRATCH/bin"
cat >"$SCRATCH/bin/rdma" <<'END'
#!/bin/sh
[ "$*" = "link show -j" ] && echo '[{"ifname":"falcon0","port":1,"netdev":"eth0"}]'
END
chmod +x "$SCRATCH/bin/rdma"
lab_up --clear
LIMIT=120 alone a env PATH="$SCRATCH/bin:$PATH" falcon-run $PYTHON -W ignore \
	"$(dirname "$0")/pyverbs_run.py" "$SCRATCH/tests" falcon0 >"$SCRATCH/results" 2>&1
status=$?
tap_is $status 0 "the tests run to their end"
tap_is "$(names_of bad)" "" "none fails"
if [ $status -ne 0 ] || [ -n "$(names_of bad)" ]; then
	tap_note "$(cat "$SCRATCH/results")"
fi
tap_is "$(comm -23 <(grep -v '^#' "$LIST" | sort) <(names_of ok))" "" "what has passed once passes"
tap_note "$(names_of ok | wc -l) pass, $(names_of skip | wc -l) are skipped:" \
	"$(sed -n 's/^skip [^ ]* //p' "$SCRATCH/results" | sort | uniq -c | sort -rn)"
tap_note "not listed: $(comm -13 <(grep -v '^#' "$LIST" | sort) <(names_of ok))"
tap_done
