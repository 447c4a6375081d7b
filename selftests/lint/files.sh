# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# The files of the tree that is the working directory, and how a list of complaints about them is reported.

# find_files PATTERN...: what git ls-files would, by find: all but build/, but ':!FOLDER', what matches.
find_files()
{
	local p names=() not=(-path ./build -o -path ./.git)

	for p; do
		case $p in
		:!*) not+=(-o -path "./${p#:!}") ;;
		*) names+=(-o -path "./$p") ;;
		esac
	done
	[ ${#names[@]} -gt 0 ] || names=(-o -true)
	find . \( "${not[@]}" \) -prune -o -type f \( "${names[@]:1}" \) -printf '%P\n'
}

# files PATTERN...: of the tree, as git knows it, with what is new; without git, all but build/.
files()
{
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do
			[ -f "$f" ] && printf '%s\n' "$f"
		done
	else
		find_files "$@"
	fi | sort
}

# empty LIST NAME: ok if there is nothing on the list.
empty()
{
	tap_is "$1" "" "$2"
}

# made FILE: a file of a tree that a check is tried on, with standard input as its text.
made()
{
	mkdir -p "$(dirname "$1")"
	cat >"$1"
}
