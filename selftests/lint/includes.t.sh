#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The direction of includes: what the tables of user/README.md allow, and nothing else (includes.py).
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/lint/files.sh
. "$TAP_TOP/selftests/lint/files.sh"
tap_need python3

TREE=$(mktemp -d)
trap 'rm -rf "$TREE"' EXIT

# A tree with one fault of each kind, and one of each that is none.
try_check()
{
	made user/README.md <<-'END'
		# Folders

		## Who includes what

		| folder | includes |
		|---|---|
		| `include/falcon` | |
		| `user/low` | |
		| `user/high` | `user/low`, `user/old` |

		| file | header | why |
		|---|---|---|
		| `user/low/known.c` | `high/high.h` | until it moves |
		| `user/low/mended.c` | `high/high.h` | until it moves |

		## More

		| `user/new` | |
	END
	made include/falcon/wire.h </dev/null
	made user/low/low.h <<<'#include "falcon/wire/wire.h"'
	made user/high/high.h <<<'#include "low/low.h"'
	made user/low/known.c <<<'#include "high/high.h"'
	made user/low/mended.c <<<'#include "low.h"'
	made user/low/up.c <<<'#include <high/high.h>'
	made user/low/beside.c <<<'#include "../high/high.h"'
	made user/new/new.c <<<'#include "low/low.h"'
	tap_is "$("$TAP_TOP/selftests/lint/includes.py" "$TREE" 2>&1)" \
		"user/low/beside.c includes ../high/high.h: user/low may not include user/high
user/low/up.c includes high/high.h: user/low may not include user/high
user/new: has no row
user/high: includes nothing of user/old, which its row allows
user/low/mended.c, high/high.h: an exception that nothing needs" "includes that point upwards are found"
}

cd "$TREE" || exit 1
try_check
cd "$TAP_TOP" || exit 1
empty "$(selftests/lint/includes.py 2>&1)" "includes point downwards, as user/README.md says"
tap_done
