#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# What the tree promises about itself: layout, sizes, the purity of the core, tidy text.
. "$(dirname "$0")/../tap.sh"
# shellcheck source=selftests/lint/files.sh
. "$TAP_TOP/selftests/lint/files.sh"
tap_need awk
cd "$TAP_TOP" || exit 1

MAX_FILE=800		# lines, hard
MAX_FUNCTION=100	# lines, hard
WARN_FUNCTION=60	# lines, remarked only
MAX_COLUMNS=110		# 100 is the aim
TOP='bpf include selftests tools user LICENSE Makefile README.md'

top_level()
{
	local f

	for f in *; do
		case " $TOP build " in
		*" $f "*) ;;
		*) git check-ignore -q "$f" 2>/dev/null || printf '%s\n' "$f" ;;
		esac
	done
}

long_files()
{
	files '*.c' '*.h' '*.sh' '*.lua' '*.py' tools/lab/falcon-lab | xargs -r wc -l |
		awk -v max=$MAX_FILE '$2 != "total" && $1 > max { print $2 ": " $1 " lines" }'
}

# LINES NAME (FILE) of every C function, longest first.
functions()
{
	files '*.c' '*.h' | ctags -L - --languages=C --langmap=C:.c.h --kinds-C=f --fields=+ne -o - |
		awk -F '\t' '{
			line = end = 0
			for (i = 4; i <= NF; i++) {
				if ($i ~ /^line:/) line = substr($i, 6)
				if ($i ~ /^end:/) end = substr($i, 5)
			}
			if (end) print end - line + 1, $1, "(" $2 ")"
		}' | sort -rn
}

check_functions()
{
	local list

	if ! ctags --version 2>/dev/null | grep -q 'Universal Ctags'; then
		tap_skip "no function over $MAX_FUNCTION lines" "universal-ctags is not installed"
		return
	fi
	list=$(functions)
	empty "$(awk -v max=$MAX_FUNCTION '$1 > max' <<<"$list")" \
		"no function over $MAX_FUNCTION lines"
	awk -v warn=$WARN_FUNCTION -v max=$MAX_FUNCTION \
		'$1 > warn && $1 <= max { print "# long: " $0 }' <<<"$list"
	tap_note "functions: $(awk '{ n[NR] = $1 } END {
		print NR ", median " n[int((NR + 1) / 2)] " lines, p90 " n[int(NR / 10) + 1] }' \
		<<<"$list")"
}

# C source without comments and string contents, as FILE:LINE: TEXT.
code_of()
{
	# shellcheck disable=SC2016 # awk's dollars
	xargs -r awk '
		FNR == 1 { comment = 0 }
		{
			line = $0
			gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
			sub(/\/\/.*/, "", line)
			gsub(/\/\*[^*]*\*\//, "", line)
			if (comment && sub(/.*\*\//, "", line)) comment = 0
			if (comment) next
			if (sub(/\/\*.*/, "", line)) comment = 1
			print FILENAME ":" FNR ": " line
		}'
}

# The core has no clock and no I/O: time and packets come in as arguments. Memory is taken when a
# core is made and given back with it, both in core.c, and nowhere else. The same for RIFL and its lane.c.
core_impure()
{
	local calls='clock_gettime|gettimeofday|time|socket|open|read|write|ioctl|syscall|u?sleep'
	local more='[a-z]*printf|puts|rand|random|getrandom|pthread_[a-z_]*'
	local memory='malloc|calloc|realloc|free|strdup|alloca'
	local float='(^|[^a-z_A-Z0-9])(double|float)[^a-z_A-Z0-9]'

	files 'user/core/*.[ch]' 'user/rifl/*.[ch]' | code_of |
		grep -E "[^a-z_A-Z0-9>.]($calls|$more) *\(|$float|include <(time|stdio|sys/|unistd)"
	files 'user/core/*.[ch]' 'user/rifl/*.[ch]' | grep -vE '/(core/core|rifl/lane)\.c$' | code_of |
		grep -E "[^a-z_A-Z0-9>.]($memory) *\(|include <stdlib"
}

check_scripts()
{
	local list

	if ! command -v shellcheck >/dev/null; then
		tap_skip "shellcheck has no complaint" "shellcheck is not installed"
		return
	fi
	mapfile -t list < <(files '*.sh' '.ci/*' tools/lab/falcon-lab)
	tap_run "shellcheck has no complaint in ${#list[@]} scripts" shellchecked
}

# To read again with each script what it sources takes four times as long. Without it shellcheck does not see
# that a library uses a variable (SC2034), nor that nothing has set one (SC2154).
shellchecked()
{
	if [ -n "${FALCON_TEST_FULL:-}" ]; then
		shellcheck -x -P SCRIPTDIR -S warning "${list[@]}"
	else
		printf '%s\n' "${list[@]}" | xargs -n 1 shellcheck -S warning -e SC2034
	fi
}

untidy()
{
	files | grep -vE '\.(pcap|csv|png|cfg)$' | xargs -r grep -InE '[[:blank:]]+$' | cut -c 1-100
	files '*.c' '*.h' | xargs -r grep -nP '^ {8,}[^ *\\]' | cut -c 1-100
	files '*.c' '*.h' '*.sh' '*.lua' | while read -r f; do
		expand -t 8 "$f" | awk -v f="$f" -v max=$MAX_COLUMNS \
			'length > max { print f ":" NR ": over " max " columns" }'
	done
}

unfinished()
{
	files '*.c' '*.h' '*.sh' '*.lua' '*.mk' Makefile '*.md' '*.scd' ':!selftests/lint' |
		xargs -r grep -nE '\b(TODO|FIXME|XXX|HACK)\b'
}

# The dissector names what codes.h names.
dissector_types()
{
	sed -n 's/.*return "\(Pull.*\|Push.*\|Resync\|NACK\|BACK\|EACK\)";/\1/p' \
		include/falcon/codes.h | while read -r name; do
		grep -q "\"$name\"" tools/dissector/falcon.lua || printf '%s\n' "$name"
	done
}

# undocumented SOURCE PATTERN PAGE: keys that the pattern, a sed command, finds in the source, and that the
# page does not name.
undocumented()
{
	sed -n "$2" "$1" | sort -u | while read -r key; do
		grep -qF "*$key*" "$3" || printf '%s: %s\n' "$3" "$key"
	done
}

undocumented_keys()
{
	undocumented user/agent/config/keys.c \
		's/^\t{"\([a-z_0-9]*\)",.*/\1/p; s/^\tPOOL_KEY("\([a-z_]*\)",.*/pool_\1/p' \
		user/agent/falcon.conf.5.scd
	undocumented tools/sim/keys.c \
		's/^\t[A-Z]*(\([a-z_0-9]*\), T_.*/\1/p; s/^\t[A-Z]*_[A-Z]*(\([a-z_0-9]*\),.*/\1/p' \
		tools/sim/falcon-sim.8.scd
}

# Every test script can be run, every test program is reachable by the runner.
not_executable()
{
	files '*.t.sh' '.ci/run' 'selftests/*/run.sh' 'selftests/run.sh' | while read -r f; do
		[ -x "$f" ] || printf '%s\n' "$f"
	done
}

empty "$(top_level)" "the top level holds what the layout names"
empty "$(long_files)" "no file over $MAX_FILE lines"
check_functions
empty "$(core_impure)" "user/core and user/rifl do no I/O, ask no clock, allocate nothing"
check_scripts
empty "$(untidy)" "no trailing blanks, tabs indent, no line over $MAX_COLUMNS columns"
empty "$(unfinished)" "nothing left to do is left in the source"
empty "$(dissector_types)" "the dissector knows every packet type"
empty "$(undocumented_keys)" "every setting of falcond and falcon-sim is in its manual page"
empty "$(not_executable)" "scripts that are run are executable"
tap_run "every mutant matches the source" selftests/sim/mutants.py --check
tap_done
