# SPDX-License-Identifier: BSD-2-Clause
# Where packages are RPMs rpmbuild says itself what is missing; on Debian it knows of no package.
rpm:
	@if command -v apt-get >/dev/null; then tools/deps.sh rpm; fi
	@tools/rpm/build.sh

.PHONY: rpm
