#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tools/debian says of the packages what the tree says: files, symbols, version, licences, what building
# needs; and tools/rpm what tools/debian says. debian.t.sh and rpm.t.sh build them.
. "$(dirname "$0")/../tap.sh"
tap_need make gcc nm

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TAP_TOP" || exit 1
DEBIAN=tools/debian SPEC=tools/rpm/falcon.spec
TRIPLET=$(gcc -print-multiarch)
VERSION=$(sed -n 's/.*FALCON_VERSION_STRING "\(.*\)"/\1/p' user/base/version.h)
ABI=${VERSION%%.*}
FOLDERS=(PREFIX=/usr LIBDIR="/usr/lib/$TRIPLET" UNITDIR=/usr/lib/systemd/system)

# What "make install" puts somewhere, without the first slash.
installed()
{
	make --no-print-directory B="$TAP_BUILD" GENERATED="$TMP" "${FOLDERS[@]}" "$TMP/list" >&2 &&
		grep -v '^folder:' "$TMP/list" | cut -d : -f 3 | sed 's|^/||'
}

# PACKAGE PATTERN of all lists.
patterns()
{
	local f

	for f in $DEBIAN/*.install; do
		# shellcheck disable=SC2016 # debhelper's variable
		sed 's|${env:UNITDIR}|usr/lib/systemd/system|; s|^|'"$(basename "$f" .install)"' |' "$f"
	done
}

# Paths on standard input, with the packages that have them. A pattern that is a folder stands for all in
# it.
owners()
{
	local path package pattern found

	while read -r path; do
		found=()
		while read -r package pattern; do
			# shellcheck disable=SC2053 # a pattern
			[[ $path == $pattern || $path == $pattern/* ]] && found+=("$package")
		done < <(patterns)
		echo "$path ${found[*]:-nobody}"
	done
}

# Patterns for which there is nothing.
idle_patterns()
{
	local package pattern

	patterns | while read -r package pattern; do
		# shellcheck disable=SC2053
		while read -r path; do
			[[ $path != $pattern && $path != $pattern/* ]] || continue 2
		done <"$TMP/paths"
		echo "$package: $pattern"
	done
}

# symbols PACKAGE: of its file, as NAME@VERSION.
symbols()
{
	awk '/^ / { print $1 }' "$DEBIAN/$1.symbols" | sort
}

# exported OBJECT: as in a symbols file. A version is a symbol of its own, Base is none.
exported()
{
	nm -D --defined-only --with-symbol-versions "$1" |
		awk '{ sub("@@", "@", $3) }
			$2 == "A" { $3 = $3 "@" $3 }
			$3 !~ "@" { $3 = $3 "@Base" }
			{ print $3 }' | sort
}

build_depends()
{
	awk '/^Build-Depends:/ { on = 1; sub(/[^:]*:/, "") } /^$/ { on = 0 } on' $DEBIAN/control |
		tr ',' '\n' | sed 's/^ *//; s/ \[amd64\]//; s/ |.*//; s/ *$//' |
		grep -vE '^$|^debhelper-compat|^systemd-dev' | sort
}

# Of every Debian system that builds, and so not to be named.
essential='gcc|libc6-dev|linux-libc-dev|make'

# What tools/deps.sh installs for building, by its names in Debian.
deps()
{
	tools/deps.sh -l build | sed 's/^linux-tools-generic$/bpftool/' | sort
}

# What the RPM packages are built with, by its names in Debian.
rpm_build_depends()
{
	local name modules

	# PACKAGE:...: /.../MODULE.pc
	modules=$(dpkg -S '*.pc')
	rpmspec -q --buildrequires $SPEC | while read -r name; do
		case $name in
		pkgconfig\(libpcap\)) echo libpcap-dev ;; # which depends on one of its version
		pkgconfig\(*) grep "/${name:10:-1}\.pc$" <<<"$modules" | cut -d : -f 1 ;;
		pkgconf-pkg-config) echo pkg-config ;;
		systemd-rpm-macros) ;;
		intel-ipsec-mb-devel) echo libipsec-mb-dev ;;
		*) echo "${name/%-devel/-dev}" ;;
		esac
	done | sort
}

# Files with both licences, as the copyright file would name them.
dual_files()
{
	grep -lrE 'SPDX-License-Identifier: \(?BSD-2-Clause OR GPL-2.0-only' --include='*.[ch]' \
		bpf include selftests tools user | sed 's|^bpf/.*\.|bpf/*.|' | sort -u
}

named_dual()
{
	awk '/^Files: bpf/ { on = 1; sub("Files:", "") } /^Copyright/ { on = 0 } on { print $1 }' \
		$DEBIAN/copyright | sort
}

installed >"$TMP/paths"
tap_is "$(owners <"$TMP/paths" | awk 'NF != 2 || $2 == "nobody"')" "" "each installed file is one package's"
tap_is "$(idle_patterns)" "" "each package's patterns find something"
for library in libfalcon:libfalcon libfalcon_verbs:libfalcon-verbs; do
	so=$TAP_BUILD/${library%:*}.so package=${library#*:}$ABI
	if [ -e "$so" ]; then
		tap_is "$(symbols "$package")" "$(exported "$so")" "$package has the library's symbols"
	else
		tap_skip "$package has the library's symbols" "$so is not built"
	fi
	tap_is "$(head -n 1 "$DEBIAN/$package.symbols")" "${library%:*}.so.$ABI $package #MINVER#" \
		"and its name"
done
tap_is "$(sed -n '1s/.*(\(.*\)).*/\1/p' $DEBIAN/changelog)" "$VERSION" "the changelog is this version's"
tap_is "$(awk '/^Package:/ { print $2 }' $DEBIAN/control | sort | tr '\n' ' ')" \
	"$(cd $DEBIAN && printf '%s\n' *.install | sed 's/\.install$//' | sort | tr '\n' ' ')" \
	"each package has a list"
tap_is "$(build_depends)" "$(deps | grep -vxE "$essential")" \
	"the packages are built with what tools/deps.sh installs"
tap_is "$(sed -n 's/^Version: *//p' $SPEC)" "$VERSION" "the RPM packages have this version"
tap_is "$(grep -o '[^/]*\.files$' $SPEC | sed '/\$/d; s/\.files$//' | sort)" \
	"$(cd $DEBIAN && printf '%s\n' *.install | sed 's/\.install$//' | sort)" \
	"each of Debian's lists is used by one of them"
if command -v rpmspec dpkg >/dev/null; then
	tap_is "$(rpm_build_depends)" "$(deps | grep -vxE 'libc6-dev|linux-libc-dev')" \
		"they are built with the same"
else
	tap_skip "they are built with the same" "rpmspec or dpkg is not installed"
fi
tap_is "$(comm -23 <(tools/deps.sh -l build) <(tools/deps.sh -l test)), $(
	comm -23 <(tools/deps.sh -l test) <(tools/deps.sh -l bench)), $(
	comm -23 <(tools/deps.sh -l bench) <(tools/deps.sh -l all))" ", , " "its sets contain each other"
tap_is "$(named_dual)" "$(dual_files)" "the copyright file names the files with two licences"
tap_done
