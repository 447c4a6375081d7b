# SPDX-License-Identifier: BSD-2-Clause
deb:
	@tools/deps.sh deb
	@tools/debian/build.sh

.PHONY: deb
