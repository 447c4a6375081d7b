# SPDX-License-Identifier: BSD-2-Clause
include $(wildcard selftests/*/build.mk)
