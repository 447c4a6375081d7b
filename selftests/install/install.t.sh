#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What "make install" puts where, that it can be used from there, and that "make uninstall" takes away
# that and nothing else.
. "$(dirname "$0")/../tap.sh"
tap_need make gcc clang pkg-config

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TAP_TOP" || exit 1
TRIPLET=$(gcc -print-multiarch)
VERSION=$(sed -n 's/.*FALCON_VERSION_STRING "\(.*\)"/\1/p' user/base/version.h)

# run_make TARGET VARIABLE=VALUE...: of what is built already.
run_make()
{
	make --no-print-directory B="$TAP_BUILD" GENERATED="$TMP/generated" "$@"
}

# everything FOLDER: kind, mode and name of all that is in it.
everything()
{
	(cd "$1" && find . -printf '%y %m %p %l\n' | sort)
}

try_uninstall()
{
	local root=$TMP/root before

	# Others' files lie where ours go, and in our own folders.
	mkdir -p "$root"/usr/{bin,sbin,include/falcon,share/{man/man{1,3,5,7,8},falcon}} \
		"$root"/usr/share/{bash-completion/completions,zsh/vendor-completions} \
		"$root"/usr/share/fish/vendor_completions.d \
		"$root"/usr/lib/{systemd/system,falcon/rue} \
		"$root/usr/lib/$TRIPLET"/{wireshark/plugins,pkgconfig,nbdkit/plugins}
	touch "$root"/usr/{bin/falcon-other,include/falcon/other.h,lib/falcon/rue/other.so}
	before=$(everything "$root" | grep -v ' ./usr/share/falcon ')
	tap_run "make install" run_make install DESTDIR="$root" PREFIX=/usr
	tap_is "$(cut -d : -f 3 "$TMP/generated/list" | while read -r place; do
		[ -e "$root$place" ] || echo "$place"; done)" "" "all that the list names is there"
	tap_is "$(comm -13 <(cut -d : -f 3 "$TMP/generated/list" | sort) \
		<(find "$root" ! -type d -printf '/%P\n' | grep -v other | sort))" "" "and nothing else"
	tap_run "make uninstall" run_make uninstall DESTDIR="$root" PREFIX=/usr
	tap_is "$(everything "$root")" "$before" "what was there before is left, and nothing else"
	tap_run "make uninstall where nothing is" run_make uninstall DESTDIR="$root/usr" PREFIX=/opt
}

# use COMPILER LANGUAGE FLAG...: $TMP/use.c against the installed tree; prints what the program says.
use()
{
	# clang finds "-x none" without a source after it worth a warning.
	"$1" -Wall -Wextra -Werror -Wno-unused-command-line-argument -x "$2" "$TMP/use.c" -x none "${@:3}" \
		-o "$TMP/use" &&
		LD_LIBRARY_PATH=$TMP/dev/usr/lib/$TRIPLET "$TMP/use"
}

pc()
{
	PKG_CONFIG_PATH=$TMP/dev/usr/lib/$TRIPLET/pkgconfig PKG_CONFIG_SYSROOT_DIR=$TMP/dev \
		pkg-config "$@" libfalcon
}

# Headers that applications name, and what these include.
public_headers()
{
	local name

	for name in falcon nvme_api verbs_ext rue_engine; do
		gcc -MM -Iinclude "include/falcon/$name.h"
	done | grep -o 'include/falcon/[a-z_]*\.h' | sed 's/.*\///' | sort -u
}

# shellcheck disable=SC2046 # words
try_develop()
{
	local inc=$TMP/dev/usr/include h

	run_make install DESTDIR="$TMP/dev" PREFIX=/usr LIBDIR="/usr/lib/$TRIPLET" >/dev/null
	cat >"$TMP/use.c" <<-'END'
		#include <falcon/falcon.h>
		#include <falcon/nvme_api.h>
		#include <stdio.h>

		int main(void)
		{
			return puts(falcon_version()) < 0;
		}
	END
	tap_is "$(pc --modversion)" "$VERSION" "pkg-config knows the version"
	tap_is "$(use gcc c $(pc --cflags --libs) 2>&1)" "$VERSION" "a program in C"
	tap_is "$(use clang c++ $(pc --cflags --libs) 2>&1)" "$VERSION" "one in C++"
	tap_is "$(use gcc c $(pc --static --cflags --libs | sed 's/-lfalcon/-l:libfalcon.a/') 2>&1)" \
		"$VERSION" "one with the archive"
	tap_is "$(readlink "$TMP/dev/usr/lib/$TRIPLET"/libfalcon.so{,.0} | tr '\n' ' ')" \
		"libfalcon.so.${VERSION%%.*} libfalcon.so.$VERSION " \
		"the library has its version, and its ABI's"
	tap_is "$(cd "$inc/falcon" && printf '%s\n' *)" "$(public_headers)" \
		"the headers are those that applications name, and what these include"
	for h in "$inc"/falcon/*.h; do
		echo "#include \"$h\"" >"$TMP/alone.c"
		gcc -fsyntax-only -Wall -Wextra "$TMP/alone.c"
		clang -x c++ -fsyntax-only -Wall -Wextra -Wc11-extensions "$TMP/alone.c"
	done >"$TMP/out" 2>&1
	tap_is "$(cat "$TMP/out")" "" "each header stands alone, in C and in C++"
	tap_run "the example of an algorithm needs no more" \
		gcc -shared -fPIC -Wall -Werror -I"$inc" -o "$TMP/aimd.so" user/rue/example/aimd.c
}

try_programs()
{
	local bin=$TMP/dev/usr/bin

	tap_is "$("$bin/falconctl" -V), $("$TMP/dev/usr/sbin/falcond" -V)" \
		"falconctl $VERSION, falcond $VERSION" "programs tell the version"
	tap_run "falcon-lab finds its parts" "$bin/falcon-lab" --help
	# Without its library it would say so, and look for no agent.
	tap_is "$(FALCON_SOCKET=$TMP/none "$bin/falcon-run" true 2>&1 | head -n 1)" \
		"falcon-run: there is no agent at $TMP/none" "falcon-run finds its library"
}

try_dissector()
{
	local plugins=$TMP/home/.local/lib/wireshark/plugins as=()

	if ! command -v tshark >/dev/null; then
		tap_skip "Wireshark loads the dissectors" "tshark is not installed"
		return
	fi
	mkdir -p "${plugins%/*}"
	ln -s "$TMP/dev/usr/lib/$TRIPLET/wireshark/plugins" "$plugins"
	# From 4.2 on it runs none for root.
	[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	chmod 755 "$TMP"
	tap_is "$("${as[@]}" env "HOME=$TMP/home" tshark -G protocols 2>&1 | cut -f 3 |
		grep -xE 'falcon(_raw|_rdma|_nvme)?' | sort | tr '\n' ' ')" \
		"falcon falcon_nvme falcon_raw falcon_rdma " "Wireshark loads the dissectors"
}

try_units()
{
	local dir=$TMP/p/lib/systemd/system

	if ! command -v systemd-analyze >/dev/null; then
		tap_skip "systemd takes the units" "systemd is not installed"
		return
	fi
	run_make install PREFIX="$TMP/p" >/dev/null
	tap_is "$(systemd-analyze verify --man=no "$dir/falcond.service" "$dir/falcon-rue.service" \
		"$dir/falcon-xdp@eth0.service" 2>&1 | grep falcon)" "" "systemd takes the units"
}

try_uninstall
try_develop
try_programs
try_dissector
try_units
tap_done
