# SPDX-License-Identifier: BSD-2-Clause
include $(filter-out tools/build.mk,$(wildcard tools/*.mk))
