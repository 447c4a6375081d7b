#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 720
# The Debian packages of the last commit: built twice in different folders they are the same, lintian has no
# complaint, and in a fresh system they are installed, used, upgraded, and purged without a trace. Takes long,
# compiling above all, so only with FALCON_TEST_FULL=1. DEBIAN_MIRROR is where debootstrap gets Debian from,
# unless it is to choose.
. "$(dirname "$0")/../tap.sh"
[ "${FALCON_TEST_FULL:-0}" != 0 ] || tap_skip_all "compiles everything twice: FALCON_TEST_FULL=1"
tap_need_root
tap_need git dpkg-buildpackage dh lintian debootstrap chroot

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
cd "$TAP_TOP" || exit 1
ROOT=$TMP/root
VERSION=$(git show HEAD:user/base/version.h | sed -n 's/.*FALCON_VERSION_STRING "\(.*\)"/\1/p')
NEXT=$VERSION+next
# shellcheck source=/dev/null
SUITE=$(. /etc/os-release && echo "$VERSION_CODENAME")
MIRROR=(${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"})
PACKAGES=$(awk '/^Package:/ { print $2 }' tools/debian/control)
# shellcheck disable=SC2206 # words
PACKAGES=($PACKAGES)

sums()
{
	(cd "$1" && sha256sum ./*.deb)
}

try_build()
{
	tap_run "packages are built" env DEB_DIR="$TMP/one" tools/debian/build.sh || tap_done
	tap_run "and once more elsewhere" env DEB_DIR="$TMP/the/other" tools/debian/build.sh
	tap_is "$(sums "$TMP/one")" "$(sums "$TMP/the/other")" "both are the same, byte for byte"
	tap_note "$(sums "$TMP/one")"
	rm -rf "$TMP/the"
	# lintian leaves files where temporary ones are.
	tap_is "$(TMPDIR=$TMP lintian --allow-root --fail-on none "$TMP"/one/*.changes 2>&1 |
		grep -v '^N:')" "" "lintian has no complaint"
}

# A version that is newer by its changelog, of what has been compiled.
try_next()
{
	local tree=$TMP/one/falcon-$VERSION

	mkdir "$TMP/two"
	mv "$TMP/one"/*.deb "$TMP/two"
	sed -n '1,/^ -- /p' "$tree/debian/changelog" | sed "1s/(.*)/($NEXT)/" >"$TMP/changelog"
	echo >>"$TMP/changelog"
	cat "$tree/debian/changelog" >>"$TMP/changelog"
	mv "$TMP/changelog" "$tree/debian/changelog"
	# Without what "dpkg-buildpackage" does first, it finds all compiled.
	tap_run "a newer version is built" sh -c "cd $tree && dh_clean && dpkg-buildpackage -b -us -uc -nc"
}

inside()
{
	DEBIAN_FRONTEND=noninteractive chroot "$ROOT" "$@"
}

# take FOLDER: its packages are installed in the fresh system, with what they depend on.
take()
{
	mkdir -p "$ROOT/debs"
	rm -f "$ROOT/debs"/*
	cp "$1"/*.deb "$ROOT/debs"
	rm -f "$ROOT/debs"/*-dbgsym_*
	inside sh -c 'apt-get install -y -q --no-install-recommends /debs/*.deb'
}

# The versions of our packages that are installed.
versions()
{
	# shellcheck disable=SC2016 # dpkg's variable
	inside dpkg-query -W -f '${db:Status-Status} ${Version}\n' "${PACKAGES[@]}" 2>/dev/null |
		sort | uniq -c | sed 's/^ *//'
}

try_install()
{
	tap_run "a fresh system" debootstrap --variant=minbase "$SUITE" "$ROOT" "${MIRROR[@]}" || tap_done
	inside apt-get update -q >/dev/null
	tap_run "packages are installed" take "$TMP/two"
	tap_is "$(versions)" "${#PACKAGES[@]} installed $VERSION" "all of them"
	tap_is "$(inside falconctl -V), $(inside falcond -V), $(inside falcon-run -V)" \
		"falconctl $VERSION, falcond $VERSION, falcon-run $VERSION" "programs run"
	mkdir -p "$ROOT/etc/falcon"
	printf '[port eth0]\n' >"$ROOT/etc/falcon/falcon.conf"
	tap_run "falcond -t takes a configuration" inside falcond -t -c /etc/falcon/falcon.conf
	tap_is "$(find "$ROOT/etc/systemd/system" -name 'falcon*' -printf '%P\n')" \
		multi-user.target.wants/falcond.service \
		"the agent's unit is enabled, and no other"
	tap_run "a compiler is installed" \
		inside apt-get install -y -q --no-install-recommends gcc libc6-dev pkgconf
	cat >"$ROOT/use.c" <<-'END'
		#include <falcon/falcon.h>
		#include <stdio.h>

		int main(void)
		{
			return puts(falcon_version()) < 0;
		}
	END
	tap_is "$(inside sh -c "cc -o use use.c \$(pkg-config --cflags --libs libfalcon) && ./use" 2>&1)" \
		"$VERSION" "a program is built with libfalcon-dev"
}

# What our packages have put there, and still is, though it is nobody's.
left_over()
{
	while read -r path; do
		if [ -e "$ROOT$path" ] || [ -L "$ROOT$path" ]; then
			inside dpkg -S "$path" >/dev/null 2>&1 || printf '%s\n' "$path"
		fi
	done <"$TMP/files"
	find "$ROOT" -xdev -iname '*falcon*' ! -path "$ROOT/debs/*" ! -path "$ROOT/etc/falcon/*" \
		! -path "$ROOT/etc/falcon" -printf '/%P\n'
}

try_purge()
{
	tap_run "packages are upgraded" take "$TMP/one"
	tap_is "$(versions)" "${#PACKAGES[@]} installed $NEXT" "all of them"
	inside dpkg -L "${PACKAGES[@]}" | grep '^/[^.]' | sort -u >"$TMP/files"
	tap_run "packages are purged" inside apt-get purge -y -q "${PACKAGES[@]}"
	tap_is "$(left_over)" "" "nothing of them is left"
	tap_run "but what the operator has written" test -s "$ROOT/etc/falcon/falcon.conf"
}

try_build
try_next
try_install
try_purge
tap_done
