#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# install.sh install|uninstall LIST: put what the list says where it says, below $DESTDIR, or remove it.
#
# A line of the list is MODE:SOURCE:PLACE for a file, link:TARGET:PLACE for a symbolic link, or
# folder::PLACE for a folder that is this package's alone, and goes with it unless it has something else
# in it.
set -euo pipefail

DESTDIR=${DESTDIR:-}

put()
{
	local what=$1 source=$2 place=$DESTDIR$3

	case $what in
	folder)
		install -d "$place"
		;;
	link)
		install -d "${place%/*}"
		ln -sfn "$source" "$place"
		printf '  LINK     %s\n' "$place"
		;;
	*)
		install -D -m "$what" "$source" "$place"
		printf '  INSTALL  %s\n' "$place"
		;;
	esac
}

remove()
{
	local place=$DESTDIR$3

	if [ "$1" = folder ]; then
		[ ! -d "$place" ] || rmdir --ignore-fail-on-non-empty "$place"
	elif [ -e "$place" ] || [ -L "$place" ]; then
		rm "$place"
		printf '  REMOVE   %s\n' "$place"
	fi
}

case "$#,${1:-}" in
2,install)
	while IFS=: read -r what source place; do
		put "$what" "$source" "$place"
	done <"$2"
	;;
2,uninstall)
	# Backwards: files before their folders, inner folders before outer ones.
	while IFS=: read -r what source place; do
		remove "$what" "$source" "$place"
	done < <(tac "$2")
	;;
*)
	echo "usage: install.sh install|uninstall LIST" >&2
	exit 2
	;;
esac
