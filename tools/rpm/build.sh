#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build.sh [COMMIT]: make rpm. RPM packages of a commit, HEAD if none is named, and their source package, in
# $RPM_DIR/RPMS and $RPM_DIR/SRPMS (build/rpm).
set -euo pipefail
cd "$(dirname "$0")/../.."

commit=${1:-HEAD}
version=$(git show "$commit:user/base/version.h" | sed -n 's/.*FALCON_VERSION_STRING "\(.*\)"/\1/p')
mkdir -p "${RPM_DIR:-build/rpm}"/{SOURCES,SPECS}
dir=$(realpath "${RPM_DIR:-build/rpm}")

git diff --quiet "$commit" -- || echo "rpm: what has been changed since $commit is not in the packages" >&2
git archive --format=tar.gz --prefix="falcon-$version/" -o "$dir/SOURCES/falcon-$version.tar.gz" "$commit"
git show "$commit:tools/rpm/falcon.spec" >"$dir/SPECS/falcon.spec"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH
options=(--define "_topdir $dir" --define "_buildhost reproducible"
	--define "use_source_date_epoch_as_buildtime 1" --define "clamp_mtime_to_source_date_epoch 1")
unset MAKEFLAGS MAKELEVEL # of "make rpm"
# What the spec needs is there as Debian's packages, if rpm itself is one of these.
rpm -q rpm >/dev/null 2>&1 || options+=(--nodeps)
# One after the other: together each package has the source package's sum, and that one the folder's name.
rpmbuild -bb "${options[@]}" "$dir/SPECS/falcon.spec"
rpmbuild -bs "${options[@]}" "$dir/SPECS/falcon.spec"
