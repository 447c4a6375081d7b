# SPDX-License-Identifier: BSD-2-Clause
include $(wildcard user/*/build.mk)
