# SPDX-License-Identifier: BSD-2-Clause

mutants:
	@selftests/sim/mutants.py

.PHONY: mutants
