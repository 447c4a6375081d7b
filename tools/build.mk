# SPDX-License-Identifier: BSD-2-Clause
# Each program's folder has its own; common's first, since others use what it defines.
include tools/common/build.mk
include $(filter-out tools/common/build.mk,$(wildcard tools/*/build.mk)) $(filter-out tools/build.mk,$(wildcard tools/*.mk))
