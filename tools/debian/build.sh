#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# build.sh [COMMIT]: make deb. Debian packages of a commit, HEAD if none is named, in $DEB_DIR
# (build/deb). What is built is a copy of the committed tree, in which tools/debian is debian, as dpkg
# wants it.
set -euo pipefail
cd "$(dirname "$0")/../.."

commit=${1:-HEAD}
version=$(git show "$commit:user/base/version.h" | sed -n 's/.*FALCON_VERSION_STRING "\(.*\)"/\1/p')
dir=${DEB_DIR:-build/deb}
tree=$dir/falcon-$version

git diff --quiet "$commit" -- || echo "deb: what has been changed since $commit is not in the packages" >&2
rm -rf "$tree"
mkdir -p "$tree"
git archive --format=tar "$commit" | tar -x -C "$tree"
mv "$tree/tools/debian" "$tree/debian"
# It would have to lie in a folder of its own, which this tree has no use for.
mkdir "$tree/debian/source"
echo '3.0 (native)' >"$tree/debian/source/format"
cd "$tree"
dpkg-buildpackage -b -us -uc -J
