#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# files.sh PACKAGE: the files of a Debian package (tools/debian/PACKAGE.install), for %files -f of a spec.
set -euo pipefail

# rpmbuild compresses manual pages. zsh's functions have another folder outside Debian.
# shellcheck disable=SC2016 # debhelper's variable
sed -e 's|^${env:UNITDIR}/|%{_unitdir}/|' \
	-e 's|^usr/bin/|%{_bindir}/|; s|^usr/sbin/|%{_sbindir}/|' \
	-e 's|^usr/lib/\*/|%{_libdir}/|; s|^usr/lib/|%{_prefix}/lib/|' \
	-e 's|^usr/include/|%{_includedir}/|' \
	-e 's|^usr/share/man/.*|&*|; s|^usr/share/man/|%{_mandir}/|' \
	-e 's|^usr/share/zsh/vendor-completions/|%{_datadir}/zsh/site-functions/|' \
	-e 's|^usr/share/|%{_datadir}/|' "${0%/*}/../debian/$1.install"
