# SPDX-License-Identifier: BSD-2-Clause
# Unit tests; one NAME.mk a group lists its programs.
include $(filter-out selftests/unit/build.mk,$(wildcard selftests/unit/*.mk))
