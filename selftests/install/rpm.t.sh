#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 300
# The RPM packages, of what has been built here: whatever is installed is in one of them, they can be
# installed, used, upgraded and erased. With FALCON_TEST_FULL=1 they are those of "make rpm", which compiles
# the last commit, twice, and both are the same.
# shellcheck disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/../tap.sh"
tap_need_root # rpm changes its root
tap_need make git rpm rpmbuild

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TAP_TOP" || exit 1
SPEC=tools/rpm/falcon.spec
ROOT=$TMP/root
NAMES='%{NAME}-%{VERSION}-%{RELEASE}\n'
VERSION=$(sed -n 's/.*FALCON_VERSION_STRING "\(.*\)"/\1/p' user/base/version.h)

# pack FOLDER [RELEASE]: packages of this tree as it is.
pack()
{
	env -u MAKEFLAGS -u MAKELEVEL rpmbuild -bb --build-in-place --nodeps \
		--define "_topdir $1" --define "_tmppath $TMP" \
		--define "generated $TMP/generated" ${2:+--define "dist $2"} \
		--define "debug_package %{nil}" --define "_binary_payload w1.gzdio" "$SPEC"
}

# compile FOLDER: packages of the last commit.
compile()
{
	RPM_DIR=$1 tools/rpm/build.sh
}

sums()
{
	(cd "$1/RPMS" && sha256sum ./*/*.rpm)
}

try_build()
{
	if [ -z "${FALCON_TEST_FULL:-}" ]; then
		tap_run "this tree is packed" pack "$TMP/one" || tap_done
	else
		tap_run "packages are built" compile "$TMP/one" || tap_done
		tap_run "and once more elsewhere" compile "$TMP/the/other"
		tap_is "$(sums "$TMP/one")" "$(sums "$TMP/the/other")" "both are the same, byte for byte"
		tap_note "$(sums "$TMP/one")"
	fi
	tap_run "with a newer release" pack "$TMP/two" .next
}

# in_root COMMAND...: rpm's, for a system that has nothing. Debian's rpm does not know what packages need.
in_root()
{
	"$@" --root "$ROOT"
}

# The packages installed there.
installed()
{
	in_root rpm -qa --qf "$NAMES" | sort
}

# expected [RELEASE]: by the spec.
expected()
{
	rpmspec -q --builtrpms --qf "$NAMES" ${1:+--define "dist $1"} --define "debug_package %{nil}" \
		"$SPEC" | sort
}

# What "make install" installs, as a list of paths.
listed()
{
	grep -v '^folder:' "$TMP/generated/list" | cut -d : -f 3 | sort
}

# What is there of it. Licences and the like, and links by build ID, rpmbuild adds.
packed()
{
	(cd "$ROOT" && find usr ! -type d ! -path 'usr/lib/.build-id/*' ! -path 'usr/share/licenses/*' \
		! -path 'usr/share/doc/*' ! -path 'usr/lib/sysimage/*' -printf '/%p\n') |
		sed -E '/\/man\/man/s/\.(gz|xz|zst)$//' | sort
}

# Files in more than one package.
twice()
{
	local package

	for package in "$1"/RPMS/*/*.rpm; do
		rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$package"
	done | grep -v '^d' | sort | uniq -d
}

try_install()
{
	mkdir "$ROOT"
	tap_run "packages are installed" in_root rpm -i --nodeps "$TMP"/one/RPMS/*/*.rpm
	tap_is "$(installed)" "$(expected)" "all of them"
	tap_is "$(packed)" "$(listed)" "all that \"make install\" installs is in them"
	tap_is "$(twice "$TMP/one")" "" "and in one of them each"
	tap_is "$(in_root rpm -qa --qf '%{NAME} ' | xargs rpm --root "$ROOT" -V --nodeps 2>&1)" "" \
		"nothing has changed, says rpm"
	tap_is "$("$ROOT/usr/bin/falconctl" -V), $("$ROOT$(rpm --eval %_sbindir)/falcond" -V)" \
		"falconctl $VERSION, falcond $VERSION" "programs run"
	tap_is "$(FALCON_SOCKET=$TMP/none "$ROOT/usr/bin/falcon-run" true 2>&1 | head -n 1)" \
		"falcon-run: there is no agent at $TMP/none" "falcon-run finds its library"
	tap_is "$(rpm -qp --provides "$TMP"/one/RPMS/*/libfalcon-"$VERSION"-*.rpm | grep -c 'LIBFALCON_')" \
		"$(awk '/^ LIBFALCON_/' tools/debian/libfalcon0.symbols | wc -l)" \
		"the library's package provides the versions of its symbols"
}

try_erase()
{
	mkdir -p "$ROOT/etc/falcon"
	printf '[port eth0]\n' >"$ROOT/etc/falcon/falcon.conf"
	tap_run "packages are upgraded" in_root rpm -U --nodeps "$TMP"/two/RPMS/*/*.rpm
	tap_is "$(installed)" "$(expected .next)" "all of them"
	# shellcheck disable=SC2046 # words
	tap_run "packages are erased" in_root rpm -e --nodeps $(installed)
	tap_is "$(cd "$ROOT" && find . -iname '*falcon*')" "./etc/falcon
./etc/falcon/falcon.conf" "nothing of them is left but what the operator has written"
}

try_build
try_install
try_erase
tap_done
