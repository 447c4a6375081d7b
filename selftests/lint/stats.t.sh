#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Counters are described where they are declared (include/falcon/abi/stats.h): no structure of counters has
# one that is not in its list, and every list is one of the tables of user/agent/metrics/tables.c.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/lint/files.sh
. "$TAP_TOP/selftests/lint/files.sh"

TREE=$(mktemp -d)
trap 'rm -rf "$TREE"' EXIT

# Of a link layer that no agent has.
NO_AGENT='^rifl_stats$'

# by_hand FILE...: members of 64 bits that were written into a structure of counters beside its list.
by_hand()
{
	[ $# -gt 0 ] || return
	awk -v skip="$NO_AGENT" '
		/^struct [a-z_]*(_stats|_counters) [{]/ { in_stats = $2 }
		/^}/ { in_stats = "" }
		in_stats ~ skip || /^#/ { next }
		in_stats && /(uint64_t|__u64) [a-z]/ { print FILENAME ": " in_stats ": " $0 }
	' "$@" | tr -s '\t' ' '
}

# not_shown FILE...: lists of counters that user/agent/metrics/tables.c makes no table of.
not_shown()
{
	local list

	[ $# -gt 0 ] || return
	while read -r list; do
		grep -q "{ $list(" user/agent/metrics/tables.c || printf '%s\n' "$list"
	done < <(sed -n 's/^#define \([A-Z_]*_STATS\)(V).*/\1/p' "$@")
}

try_checks()
{
	made user/core/core.h <<-'END'
		#define FCORE_STATS(V) \
			V(counter, sent, none, "sent")
		#define NEW_STATS(V) \
			V(counter, new, none, "new")
		struct fcore_stats {
			FCORE_STATS(STAT_MEMBER)
			uint64_t forgotten;	/* by hand */
			int error;
		};
		struct other {
			uint64_t no_counter;
		};
		struct rifl_stats {
			uint64_t frames;
		};
	END
	made user/agent/metrics/tables.c <<<'static const struct stat_desc core[] = { FCORE_STATS(CORE) };'
	tap_is "$(by_hand user/core/core.h)" \
		"user/core/core.h: fcore_stats: uint64_t forgotten; /* by hand */" \
		"a counter without description is found"
	tap_is "$(not_shown user/core/core.h)" NEW_STATS "a list that nobody shows is found"
}

cd "$TREE" || exit 1
try_checks
cd "$TAP_TOP" || exit 1
mapfile -t HEADERS < <(files 'include/falcon/*.h' 'user/*.h')
empty "$(by_hand "${HEADERS[@]}")" "every counter is described"
empty "$(not_shown "${HEADERS[@]}" | grep -v '^THING_STATS$')" "what is described is shown"
tap_done
